"""An executor of one's own over a command that takes a command for a shell, such as `ssh`, `podman exec` or `kubectl`.

    python examples/command_executor.py                              # sh -c: this machine, without isolation
    python examples/command_executor.py ssh -o BatchMode=yes my-host
    python examples/command_executor.py podman exec -i my-box sh -c

`MachineExecutor` brings what runs a program there, keeps its limits, and keeps the judge on this machine. The other
machine needs Python 3.11 or newer as `python3`, a POSIX shell, `tar` and `gzip`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from code_env import CallTest, Isolation, Task, judge
from code_env.executors.machines import ENFORCED, MachineExecutor, Machines, ShellMachines

FAULTS = {"ssh": (255,), "podman": (125,), "docker": (125,)}
"""Exit codes by which a command says that it failed itself."""


class CommandExecutor(MachineExecutor):
    """Runs each program in a directory of its own, where a command leads.

    Args:
        command: The command and its first arguments; one more is added, the text for the shell.
        workers: How many programs run at a time.
    """

    name = "command"

    def __init__(self, command: Sequence[str] = ("sh", "-c"), workers: int = 4) -> None:
        super().__init__()
        self._command, self._workers = tuple(command), workers

    def machines(self) -> Machines:
        """All programs go through the same command. `ssh` and `podman` have exit codes for failures of their own."""
        return ShellMachines(
            self._command, self._workers, faults={"ssh": (255,), "podman": (125,)}.get(self._command[0], ())
        )

    def describe(self) -> Isolation:
        """No more than what holds for every command: where it leads to another machine, more does."""
        return Isolation(
            level="none",
            peer="same_machine" if self.runs_peers else "none",
            languages=self.languages,
            enforces=ENFORCED,
        )


if __name__ == "__main__":
    task = Task("add", "Write add(a, b).", (CallTest((1, 2), expected=3),), entry_point="add")
    with CommandExecutor(sys.argv[1:] or ("sh", "-c")) as executor:
        verdict = judge(task, "def add(a, b):\n    return a + b", executor)
        print(f"{verdict.outcome}, reward {verdict.fraction}")
