"""Finds out what this machine grants the `local` executor, what is missing for more isolation, and what a run costs.

`code-env doctor` shows the result; `examine` returns it as data.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from code_env.abuses import Finding, probe
from code_env.errors import ExecutorError
from code_env.executors import Program, make_executor
from code_env.executors.loader import loader_environment
from code_env.executors.local.executor import LocalExecutor
from code_env.executors.local.interpreter import ENVIRONMENT, find_interpreter
from code_env.executors.local.server import BOOT
from code_env.executors.local.servers import LEVELS
from code_env.executors.local.users import programs_user
from code_env.judging import judge
from code_env.tasks import CallTest, Task

_PROBE_S = 60.0
"""How long it may take to try all layers, in seconds."""

_RUNS = 50
"""How many programs are run for the timing."""


@dataclass(frozen=True)
class Layer:
    """A layer that the jail asks of the kernel."""

    name: str
    """The name of the layer."""
    granted: bool
    """Whether the kernel granted it in this examination."""
    needed_for: str
    """The level that needs this layer: `full`, or `contained` (`full` includes it). If no level needs it, its use."""
    detail: str = ""
    """More about what was granted, or the kernel's reason for not granting it."""
    remedy: str = ""
    """What this machine needs to grant the layer, if the layer was tried and not granted."""


@dataclass(frozen=True)
class Examination:
    """The findings on one machine."""

    system: str
    """The kernel, the processor architecture, and whether the user is root."""
    layers: tuple[Layer, ...]
    """The layers that were asked of the kernel."""
    level: str | None
    """The level at which programs run; None if neither level works."""
    why_not_full: str
    """Why level `full` does not work; empty if it works."""
    min_isolation: str
    """The lowest level that was requested."""
    timing: dict[str, float] = field(default_factory=dict)
    """Milliseconds: `start` of a server with the first program, then `program` and `judged` (medians)."""
    probe: tuple[Finding, ...] = ()
    """The results of the abuses, if any were run."""

    @property
    def passed(self) -> bool:
        """Whether the level is at least the requested one, and all abuses that were run were stopped."""
        reached = self.level is not None and LEVELS.index(self.level) >= LEVELS.index(self.min_isolation)
        return reached and all(finding.held for finding in self.probe)

    def to_dict(self) -> dict[str, Any]:
        """Return the examination as plain data."""
        return {**asdict(self), "passed": self.passed}


def examine(
    min_isolation: str = "contained",
    python: str | None = None,
    probing: Callable[[Iterable[Finding]], Iterable[Finding]] | None = None,
) -> Examination:
    """Ask the kernel for every layer, run programs, and time them.

    Args:
        min_isolation: The lowest level to accept.
        python: Path of the interpreter that runs programs; the interpreter of this process by default.
        probing: If given, also run abuses, see `code_env.abuses`. It is called with an iterator of their results, and
            must yield each result again, as a progress bar does.

    Raises:
        ExecutorError: If `min_isolation` is not a level, or `local` does not run on this system.
    """
    with LocalExecutor(workers=1, python=python, min_isolation=min_isolation):
        pass  # This checks the arguments, and starts no process.
    level, why_not_full, timing = None, "", {}
    findings: tuple[Finding, ...] = ()
    try:
        with make_executor("local", workers=1, python=python) as executor:
            if isinstance(executor, LocalExecutor):
                timing = _time(executor)
                level, why_not_full = executor.describe().level, executor.why_not_full()
        if probing is not None:
            with make_executor("local", workers=2, python=python) as executor:
                findings = tuple(probing(probe(executor)))
    except ExecutorError as error:
        why_not_full = str(error)
    return Examination(
        system=f"Linux {platform.release()} on {platform.machine()}, as {'root' if os.geteuid() == 0 else 'a user'}",
        layers=tuple(_layers(find_interpreter(python))),
        level=level,
        why_not_full=why_not_full,
        min_isolation=min_isolation,
        timing=timing,
        probe=findings,
    )


def _time(executor: LocalExecutor) -> dict[str, float]:
    task = Task(id="double", prompt="", tests=(CallTest(args=(2,), expected=4),), entry_point="f")

    def milliseconds(action: Any) -> float:
        started = time.perf_counter()
        action()
        return 1000 * (time.perf_counter() - started)

    def run() -> None:
        result = executor.run(Program("print('hello')"))
        if result.stdout != "hello\n":
            raise ExecutorError(f"a program that prints hello gave {result}; please report it")

    first = milliseconds(run)
    program = statistics.median(milliseconds(run) for _ in range(_RUNS))
    answer = "def f(x):\n    return 2 * x"
    judged = statistics.median(milliseconds(lambda: judge(task, answer, executor)) for _ in range(_RUNS // 5))
    return {"start": round(first, 1), "program": round(program, 2), "judged": round(judged, 2)}


def _layers(python: str) -> list[Layer]:
    user, group = programs_user()
    command = [python, "-S", "-s", "-P", str(BOOT), "probe", str(user), str(group)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**ENVIRONMENT, **loader_environment(python)},
        cwd="/",
        timeout=_PROBE_S,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    layers = []
    for one in found:
        needed_for, remedy = _ABOUT[one["layer"]]
        granted = not one["error"]
        detail = one["detail"] if granted else one["error"]
        tried = not granted and not detail.startswith("not tried")
        layers.append(Layer(one["layer"], granted, needed_for, detail, remedy if tried else ""))
    if done.returncode != 0:
        raise ExecutorError(f"the layers could not be tried with {python}: {done.stderr.strip()[-500:]}")
    return layers


_NAMESPACE_REMEDY = (
    "sysctl user.max_user_namespaces above 0, kernel.unprivileged_userns_clone=1 (Debian), "
    "kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu); in a container, a seccomp profile that allows unshare "
    "and mount (--security-opt seccomp=unconfined)"
)

_ABOUT: dict[str, tuple[str, str]] = {
    "seccomp filter": ("contained", "a kernel with CONFIG_SECCOMP_FILTER"),
    "seccomp listener": (
        "contained",
        "Linux 5.5 or newer, and a container runtime that has no listener of its own",
    ),
    "Landlock": ("contained", "Linux 5.13 or newer with landlock in its lsm= list"),
    "Landlock signal scope": (
        "signals to children, at contained as a user",
        "Linux 6.12 or newer; without, a program of an ordinary user can send signals to itself only",
    ),
    "pidfd": ("contained", "Linux 5.3 or newer"),
    "list of children": ("contained", "a kernel with CONFIG_PROC_CHILDREN"),
    "waits for a core": ("wall time that leaves out the wait for a core", "a kernel with CONFIG_SCHED_INFO"),
    "user namespace": ("full", _NAMESPACE_REMEDY),
    "mount namespace": ("full", _NAMESPACE_REMEDY),
    "pid namespace": ("full", _NAMESPACE_REMEDY),
    "network namespace": ("full", _NAMESPACE_REMEDY),
    "IPC namespace": ("full", _NAMESPACE_REMEDY),
    "host name namespace": ("full", _NAMESPACE_REMEDY),
    "own view of files": ("full", _NAMESPACE_REMEDY),
    "own /proc": (
        "full",
        "a container that does not cover parts of /proc (--security-opt systempaths=unconfined; with Podman, "
        "unmask=ALL)",
    ),
    "user of its own": ("contained, as root", "the right to change users (CAP_SETUID and CAP_SETGID)"),
}
