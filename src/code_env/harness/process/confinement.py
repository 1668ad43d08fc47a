"""What an executor asks of the processes that run tests; as it stands, nothing but to end with their parent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .forks import ForkGate
from .limits import die_with_parent


class Confinement:
    """What a serving process does around each test."""

    refuses_forks = False
    """Whether a test's process can start no other, so that there is none to count or to end."""
    measures = True
    """Whether a test's process can measure all that one which it has started uses."""
    ends_all = False
    """Whether nothing that a test started outlives `clean`."""
    scratch: str | None = None
    """A directory that holds nothing but what is the tests', if there is one."""

    steps: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]] | None = None
    """Calls that do what `enter` does, -1 being failure, where that is all there is to do; else None."""

    def notice_changes(self, directories: list[str]) -> int | None:
        """A descriptor that can be read once anything was changed in these directories; None if nobody can tell."""
        return None

    def gate(self) -> ForkGate | None:
        """What counts the processes of the next test, if they are counted; it lets it start what its task allows."""
        return None

    def enter(self, parent: int, gate: ForkGate | None) -> None:
        """In the test's process: give up what a program must not have.

        Args:
            parent: Pid of the serving process.
            gate: Counts the processes that it starts, and is handed their listener; if None, it must start none.
        """
        die_with_parent(parent)

    def clean(self) -> float:
        """When a test's process has ended: end what it left; the CPU seconds that this had used."""
        return 0.0
