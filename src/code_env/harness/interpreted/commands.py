"""Runs programs that are not Python: the interpreter replaces, by exec, the process that would run a Python program.

At that point the process has entered all layers of isolation, has set all limits, and holds its standard streams and
the report. The order says what arguments the interpreter gets; nothing here depends on the language.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

_STANDARD = 3
"""The number of descriptors that every program has."""

_ALL_DESCRIPTORS = 1 << 30

INHERITED = ("HOME", "LANG", "PATH", "TMPDIR")
"""Environment variables that are the same for programs in every language."""


class Command(NamedTuple):
    """How programs in a language are run."""

    interpreter: list[str]
    """The interpreter's path, and its options."""
    driver: str
    """Path of the driver, which loads the program and reports the result on a descriptor; empty without a driver."""
    file: str
    """Name of the program's file."""
    environment: Mapping[str, str]
    """Environment variables for programs in this language."""
    out_of_memory: str
    """What the interpreter writes to standard error when it ends itself because it has no memory left, or empty."""

    def to_run(self, report: int, argv: Sequence[str]) -> list[str]:
        """Return the command line that runs a program.

        Args:
            report: The descriptor on which a driver reports that it has started, and reports an uncaught error.
            argv: The program's own arguments.
        """
        return [*self.interpreter, *self._driven("run", report), self.file, *argv]

    def to_serve(self, channel: int, argv: Sequence[str]) -> list[str]:
        """Return the command line that loads a program and serves calls or tests on a channel; it needs a driver."""
        return [*self.interpreter, *self._driven("serve", channel), self.file, *argv]

    def _driven(self, mode: str, fd: int) -> list[str]:
        return [self.driver, mode, str(fd)] if self.driver else []

    def ran_out_of_memory(self, status: str, stderr: bytes | bytearray | str) -> bool:
        """Return whether a program that a signal ended says that its interpreter ran out of memory.

        The program can write this text itself. That changes only the way in which it has failed.
        """
        said = stderr if isinstance(stderr, str) else stderr.decode("utf-8", "replace")
        return bool(self.out_of_memory) and status == "signal" and self.out_of_memory in said


def become(argv: list[str], environment: Mapping[str, str], kept: int) -> NoReturn:
    """Replace this process by the interpreter.

    Args:
        argv: The interpreter's path and its arguments.
        environment: Its environment variables, in addition to those that are the same for all languages.
        kept: A descriptor that it gets in addition to the standard ones.

    Raises:
        OSError: If the interpreter cannot be executed.
    """
    # Python ignores SIGPIPE, and an executed program inherits this.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.closerange(_STANDARD, kept)
    os.closerange(kept + 1, _ALL_DESCRIPTORS)
    os.set_inheritable(kept, True)
    os.execve(argv[0], argv, {name: os.environ[name] for name in INHERITED if name in os.environ} | {**environment})
