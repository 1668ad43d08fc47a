"""What an executor needs of a machine that runs a program: to write files there, and to run a command.

A machine may be a micro-VM, a container, or another host. The rest of this folder uses it only through these classes,
in the thread of one event loop. Any exception of their methods is a fault of the machine or of the connection to it,
never the program's.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

from code_env.errors import ExecutorMisconfigured
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult

LAST_LOOK_S = 10.0
"""How much longer than asked `Machines.close` may take for a last look at what is left, in seconds."""

Listener = Callable[[str], Coroutine[Any, Any, None]]
"""A function that takes the next piece of a stream. No more of the stream is read until it returns."""


class Command(abc.ABC):
    """A command that runs on a machine."""

    @abc.abstractmethod
    async def send(self, data: bytes) -> None:
        """Write to its standard input."""

    @abc.abstractmethod
    async def wait(self) -> int:
        """Wait until it has ended and the listeners have all its output; return its exit code.

        Raises:
            Exception: If the connection broke, so that nobody knows how the command ended.
        """

    async def is_stopped(self) -> bool:
        """Whether a signal has stopped it, without ending it; False if that cannot be found out."""
        return False

    @abc.abstractmethod
    async def disconnect(self) -> None:
        """Let go of it: its output and its end do not matter any more."""


class Machine(abc.ABC):
    """A machine that runs one program."""

    needs: ClassVar[str] = "a machine needs Python 3.11 or newer as python3, a POSIX shell, tar and gzip"
    """What it must have, for messages."""
    misconfigured: ClassVar[type[ExecutorMisconfigured]] = ExecutorMisconfigured
    """The error to raise if it lacks that."""
    ends_with_input: ClassVar[bool] = False
    """Whether the standard input of a command stays open until its caller ends or disconnects. Then the end of the
    input ends the program, too. A machine that is ended after its program does not need that."""

    @abc.abstractmethod
    async def write_files(self, files: Mapping[str, bytes]) -> None:
        """Write files into the directory in which the machine's commands run; `files` has the content by name."""

    @abc.abstractmethod
    async def start(
        self, command: str, *, stdout: Listener, stderr: Listener, timeout_s: float, takes_input: bool
    ) -> Command:
        """Start a command in a shell.

        Args:
            command: The text for the shell.
            stdout: Gets the output.
            stderr: Gets what the command writes to standard error.
            timeout_s: How long the command may run, in seconds.
            takes_input: Whether lines will be sent to its standard input.
        """

    @abc.abstractmethod
    async def is_there(self) -> bool:
        """Whether the machine answers."""


class Machines(abc.ABC):
    """The machines of one executor in one process, and how its programs use them."""

    name: ClassVar[str] = "the machine"
    """What fails, in messages about a fault."""
    reruns: int = 2
    """How many times a program is run again, on another machine, after a fault that the program did not cause."""
    silence_s: float = 20.0
    """A run is given up after this time without a sign of life, in seconds."""
    request_timeout_s: float = 60.0
    """How long a request to a machine may take, in seconds, without the time that the program runs."""

    @abc.abstractmethod
    def one(self, lifetime_s: float) -> AbstractAsyncContextManager[Machine]:
        """A machine for one program, which is freed when the context ends.

        Args:
            lifetime_s: How long the machine may be needed, in seconds.

        Raises:
            ExecutorMisconfigured: If these settings give no machine; the executor then runs no other program.
            NoMachine: If no machine could be had in any of the tries.
        """

    async def run_notebook(self, machine: Machine, program: Program) -> ExecutionResult:
        """Run a program with `notebook=True`, where `MachineExecutor.notebooks` says that these machines can."""
        raise NotImplementedError("machines of an executor with notebooks=True run notebooks")

    def hide(self, text: str) -> str:
        """A text of an error without the secrets of these machines."""
        return text

    @property
    def known(self) -> int:
        """The number of machines whose end is not confirmed."""
        return 0

    async def close(self, patience_s: float) -> int:
        """End all machines; return how many are left after `patience_s` seconds and, at most, `LAST_LOOK_S` more."""
        return self.known
