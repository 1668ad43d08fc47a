"""What an executor requires of the processes that run tests. The base class only has them end with their parent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .forks import ForkGate
from .limits import die_with_parent


class Confinement:
    """What a serving process does around each test."""

    refuses_forks = False
    """Whether a test's process cannot start other processes, so that there are none to count or to kill."""
    measures = True
    """Whether a test's process can measure everything that a process which it has started uses."""
    ends_all = False
    """Whether no process that a test started outlives `clean`."""
    scratch: str | None = None
    """A directory that holds only files of the tests, if there is one."""

    steps: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]] | None = None
    """Calls that replace `enter`, each of which returns -1 if it fails; None if calls alone cannot replace it."""

    def notice_changes(self, directories: list[str]) -> int | None:
        """Return a descriptor that becomes readable when these directories change; None if this is not possible."""
        return None

    def gate(self) -> ForkGate | None:
        """Return the gate that counts and limits the processes of the next test; None if they are not counted."""
        return None

    def enter(self, parent: int, gate: ForkGate | None) -> None:
        """In the test's process: give up what a program must not have.

        Args:
            parent: Pid of the serving process.
            gate: Counts the processes that the test starts, and gets their listener; if None, the test must start none.
        """
        die_with_parent(parent)

    def clean(self) -> float:
        """After a test's process has ended: kill what it left, and return the CPU seconds that this had used."""
        return 0.0
