"""Runs programs that are not Python: their interpreter takes the place of the process that a Python program would be.

By then that process has entered all layers and limits, and holds its standard streams and the report. What the
interpreter is given is told in the order; nothing here knows a language.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

_STANDARD = 3
"""How many descriptors every program has."""

_ALL_DESCRIPTORS = 1 << 30

_INHERITED = ("HOME", "LANG", "PATH", "TMPDIR")
"""Variables that are the same for programs in every language."""


class Command(NamedTuple):
    """How programs in a language are run."""

    interpreter: list[str]
    """The interpreter's path, and its options."""
    driver: str
    """Path of the driver, which loads the program and says on a descriptor how that went; empty if there is none."""
    file: str
    """Name of the program's file."""
    environment: Mapping[str, str]
    """Variables of its own."""
    out_of_memory: str
    """What it writes to standard error when it ends itself for want of memory; empty if it does no such thing."""

    def to_run(self, report: int, argv: Sequence[str]) -> list[str]:
        """The arguments that run a program.

        Args:
            report: Where a driver says that it is up, and tells of an uncaught error.
            argv: The program's own arguments.
        """
        return [*self.interpreter, *self._driven("run", report), self.file, *argv]

    def to_serve(self, channel: int, argv: Sequence[str]) -> list[str]:
        """The arguments that load a program and serve calls, or tests, on a channel; there must be a driver."""
        return [*self.interpreter, *self._driven("serve", channel), self.file, *argv]

    def _driven(self, mode: str, fd: int) -> list[str]:
        return [self.driver, mode, str(fd)] if self.driver else []

    def ran_out_of_memory(self, status: str, stderr: bytes | bytearray | str) -> bool:
        """Whether a program that was ended by a signal says that its interpreter did that for want of memory.

        It may say so without: then it has failed in one way and not in another.
        """
        said = stderr if isinstance(stderr, str) else stderr.decode("utf-8", "replace")
        return bool(self.out_of_memory) and status == "signal" and self.out_of_memory in said


def become(argv: list[str], environment: Mapping[str, str], kept: int) -> NoReturn:
    """Be the interpreter from here on.

    Args:
        argv: Its path and its arguments.
        environment: Its variables, beside those that are the same for all.
        kept: A descriptor that it shall have beside the standard ones.

    Raises:
        OSError: If it cannot be executed.
    """
    # Python ignores this one, and who is executed inherits that.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.closerange(_STANDARD, kept)
    os.closerange(kept + 1, _ALL_DESCRIPTORS)
    os.set_inheritable(kept, True)
    os.execve(argv[0], argv, {name: os.environ[name] for name in _INHERITED if name in os.environ} | {**environment})
