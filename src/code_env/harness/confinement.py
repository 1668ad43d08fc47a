"""What an executor asks of the processes that run tests; as it stands, nothing but to end with their parent."""

from __future__ import annotations

from .forks import ForkGate
from .limits import die_with_parent


class Confinement:
    """What a serving process does around each test."""

    refuses_forks = False
    """Whether a test's process can start no other, so that there is none to count or to end."""
    ends_all = False
    """Whether nothing that a test started outlives `clean`."""
    scratch: str | None = None
    """A directory that holds nothing but what is the tests', if there is one."""
    stamps_changes = False
    """Whether its file system is one of the kernel's own that stamps each change."""

    def gate(self) -> ForkGate | None:
        """What counts the processes of the next test, if they are counted; it lets it start what its task allows."""
        return None

    def enter(self, parent: int, *, counted: bool) -> int | None:
        """In the test's process: give up what a program must not have; the listener of its forks, if counted.

        Args:
            parent: Pid of the serving process.
            counted: Whether there is a gate; if not, it must not start processes.
        """
        die_with_parent(parent)
        return None

    def clean(self) -> None:
        """When a test's process has ended: end what it left."""
