"""Boxes: commands that run one after the other on the files of an image, and may change them."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import IO, Any, NamedTuple

from code_env.errors import ExecutorError

from .jail.box import INTERRUPT, receive, send
from .server import BOOT
from .servers import refuse_unsupported_machine
from .users import box_user

_PATIENCE_S = 600.0
"""How long the trainer waits for a sign of life from a box, in seconds. Even on a busy machine one comes sooner."""

_END_S = 60.0
"""How long the trainer waits for a box to end before it kills it, in seconds."""

MEMORY_BYTES = 4 << 30
"""How much memory the processes of a box may hold together unless told otherwise, in bytes."""


class BoxEnded(ExecutorError):
    """A box has ended."""


class TooLarge(ExecutorError):
    """What a box holds is too large or too deep to be taken out of it."""


class Ran(NamedTuple):
    """How a command ended."""

    code: int | None
    """Its exit code, 128 + N if signal N ended it, or None if a limit did."""
    signal: int | None
    """The number of the signal that ended it, if one did."""
    limit: str | None
    """`timeout` or `memory` if this limit was reached, or `interrupt`."""
    output: str
    """The end of what it wrote to stdout and stderr."""
    daemons: bool
    """Whether the box has had a process whose parent had ended, while the command ran."""
    writes: Sequence[str] = ()
    """The names of files in watched directories, one for each time that a file was closed after writing, and `TOO_MANY`
    if the kernel has dropped some."""
    touched: Sequence[str] = ()
    """The kept files that were changed or replaced, and directories above them that were moved."""

    @property
    def limit_word(self) -> str:
        """What the limit that it reached is on, in a word; empty if it reached none."""
        return {"timeout": "time", "memory": "memory"}.get(self.limit or "", "")


class Box:
    """A root file system that commands may change, with the processes that they leave running.

    Commands are root in it. It has no network but its own loopback, and sees no other file of this machine.

    Args:
        root: The root file system. It belongs to `box_user()`, and its path has no links.
        writable_bytes: How much may be written, in memory, without a change of the root; None to change the root.
        memory_bytes: How much memory all processes may hold together. If they hold more, all are ended.
        network: Whether it may reach the network.
        shown: Directories of this machine that it sees, read-only, by their paths in it.

    Raises:
        ExecutorError: If the kernel does not grant it; the message says what is missing.
    """

    def __init__(
        self,
        root: str,
        *,
        writable_bytes: int | None = None,
        memory_bytes: int = MEMORY_BYTES,
        network: bool = False,
        shown: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        refuse_unsupported_machine()
        user, group = box_user()
        config = {"root": root, "user": user, "group": group, "writable_bytes": writable_bytes}
        config |= {"memory_bytes": memory_bytes, "network": network, "shown": dict(shown)}
        self._sending = threading.Lock()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-S", "-s", "-P", str(BOOT), "box", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                cwd="/",
            )
        try:
            self._send(config)
            self._answer()
        except BaseException:
            self.close()
            raise

    def run(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        directory: str = "/",
        limit_s: float,
        watched: Sequence[str] = (),
        kept: Sequence[str] = (),
    ) -> Ran:
        """Run a command. Processes that it leaves continue until `stop`.

        Args:
            command: The path of a program, and its arguments.
            environment: The environment variables.
            directory: The working directory.
            limit_s: How long it may run, in seconds; time in which it waits for a core does not count.
            watched: Directories whose files are watched. If there are any, all processes end with the command.
            kept: Files that no process should change. `Ran.touched` names those that were changed.

        Raises:
            BoxEnded: If the box has ended.
        """
        answer = self._ask(
            "run",
            command=list(command),
            environment=dict(environment),
            directory=directory,
            limit_s=limit_s,
            watched=list(watched),
            kept=list(kept),
        )
        return Ran(**answer)

    def stop(self) -> None:
        """End all processes in the box."""
        self._ask("stop")

    def clear(self, *paths: str) -> None:
        """Remove files and directories; those that are not there are left out."""
        self._ask("clear", paths=list(paths))

    def make(self, *directories: str) -> None:
        """Make directories. Files that have their names are removed first."""
        self._ask("make", directories=list(directories))

    def cut(self, paths: Sequence[str], *targets: str) -> None:
        """Remove links to the targets from some directories, so that no link leads to what is put there later."""
        self._ask("cut", paths=list(paths), targets=list(targets))

    def pack(self, paths: Sequence[str], file: IO[bytes], most_bytes: int) -> None:
        """Write files and directories into a tar.

        Args:
            paths: Their paths; what does not exist is left out.
            file: Where to write the tar.
            most_bytes: How large it may become.

        Raises:
            TooLarge: If they are larger, or too deep.
            BoxEnded: If the box has ended.
        """
        answer = self._ask("pack", file.fileno(), paths=list(paths), most_bytes=most_bytes)
        if "too_large" in answer:
            raise TooLarge(answer["too_large"])

    def unpack(self, file: IO[bytes]) -> None:
        """Unpack a tar at the root."""
        self._ask("unpack", file.fileno())

    def interrupt(self) -> None:
        """From another thread, end the running command, if there is one. Processes that it has started continue."""
        self._send(INTERRUPT)

    def end(self) -> None:
        """End the box from another thread, which may be waiting for it; `close` is still needed."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the box."""
        self._control.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Box:
        """Return the box, which ends with the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the box."""
        self.close()

    def _ask(self, do: str, *descriptors: int, **request: Any) -> dict[str, Any]:
        self._send({"do": do, **request}, descriptors)
        return self._answer()

    def _send(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        # If the box has ended, reading its answer says so.
        with self._sending, contextlib.suppress(OSError):
            send(self._control, message, descriptors)

    def _answer(self) -> dict[str, Any]:
        try:
            self._control.settimeout(_PATIENCE_S)
            received = receive(self._control)
            while received is not None and "alive" in received[0]:
                received = receive(self._control)
        except TimeoutError:
            self.end()  # Otherwise a late answer would be taken for the answer to the next request.
            raise ExecutorError(f"a box has given no sign of life for {_PATIENCE_S:.0f} s") from None
        except (OSError, ValueError):
            received = None
        except BaseException:  # An interrupt: as above.
            self.end()
            raise
        if received is None:
            raise BoxEnded("a box has ended")
        answer, _ = received
        if "error" in answer:
            raise ExecutorError(f"in a box: {answer['error']}")
        return answer
