"""Machines behind a command that takes another command for a shell: `ssh host`, `podman exec -i box sh -c`.

The command is started once for each program. Its shell makes a directory, reads the files from its standard input,
runs the program there, and removes the directory, however the program ends. The standard input stays open as long as
this process wants the program, and its end ends the program. So nothing is left over if this process dies.

Where it takes long until a command's shell runs, as in a container, commands can be started ahead: these wait for the
text of their shell on their standard input.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import shlex
import socket
import subprocess
import tarfile
import threading
from collections import deque
from collections.abc import AsyncIterator, Collection, Mapping, Sequence

from .faults import MachineFault
from .machine import Command, Listener, Machine, Machines

_PIECE = 1 << 16

_DRAIN_S = 1.0
"""How long the output is still read after the command has ended, in seconds: a surviving child may hold it open."""

_LET_GO_S = 4.0
"""How long to wait for a command to end that is not wanted any more, in seconds."""

_KILL_AFTER_S = 60.0
"""How long such a command may take to end and to clear up, in seconds. Then it is killed on this machine."""

_UNPACK = """\
import io, os, tarfile
archive = bytearray()
while len(archive) < {size}:
    piece = os.read(0, {size} - len(archive))
    if not piece:
        raise SystemExit("the files did not come")
    archive += piece
tarfile.open(fileobj=io.BytesIO(archive)).extractall()
"""
"""Reads the files from standard input and leaves what follows them there, which `tar` would read too."""


_WAIT = """\
import os
def read(count):
    data = b""
    while len(data) < count:
        piece = os.read(0, count - len(data))
        if not piece:
            raise SystemExit
        data += piece
    return data
os.execv("/bin/sh", ["sh", "-c", read(int(read(10)))])
"""
"""Reads the length of a text in ten digits, and the text, from standard input; then the shell with it takes over."""


class ShellMachines(Machines):
    """Machines that are reached by a command.

    Args:
        command: The command and its first arguments. It is started with one more argument, the text for a shell, and
            must connect its own standard streams to those of that shell.
        most: How many programs run at a time.
        faults: Exit codes by which the command says that it failed itself, such as 255 of `ssh`. A program that runs as
            the same user as the shell may end the shell and so cause one; it gets no verdict then.
        ahead: How many commands are started before there is a program for them.
        directory: The directory on this machine in which commands are started; the current one by default.
    """

    def __init__(
        self,
        command: Sequence[str],
        most: int,
        faults: Collection[int] = (),
        ahead: int = 0,
        directory: str | None = None,
    ) -> None:
        self._command, self._faults, self._ahead = tuple(command), frozenset(faults), ahead
        self._directory = directory
        self._places = asyncio.Semaphore(most)
        self._waiting: deque[_ShellCommand] = deque()

    @contextlib.asynccontextmanager
    async def one(self, lifetime_s: float) -> AsyncIterator[Machine]:
        """A directory of its own for one program."""
        async with self._places:
            yield _ShellMachine(self)

    async def start(self, text: str, stdout: Listener, stderr: Listener) -> _ShellCommand:
        """Start a shell with a text, by a command that waits if there is one.

        Raises:
            OSError: If the command cannot be started.
        """
        if not self._ahead:
            started = self._started(text)
            started.listen(stdout, stderr)
            return started
        while len(self._waiting) <= self._ahead:
            self._waiting.append(self._started(f"exec python3 -S -c {shlex.quote(_WAIT)}"))
        started = self._waiting.popleft()
        while started.has_ended and self._waiting:
            await started.disconnect()
            started = self._waiting.popleft()
        started.listen(stdout, stderr)
        told = text.encode()
        with contextlib.suppress(OSError):  # It has ended, and its exit code says why.
            await started.send(b"%010d" % len(told) + told)
        return started

    def _started(self, text: str) -> _ShellCommand:
        return _ShellCommand([*self._command, text], self._faults, self._directory)

    async def close(self, patience_s: float) -> int:
        """End the commands that wait; return how many are left."""
        waiting, self._waiting = self._waiting, deque()
        await asyncio.gather(*(one.disconnect() for one in waiting))
        return sum(not one.has_ended for one in waiting)


class _ShellMachine(Machine):
    ends_with_input = True

    def __init__(self, machines: ShellMachines) -> None:
        self._machines = machines
        self._archive = b""

    async def write_files(self, files: Mapping[str, bytes]) -> None:
        """Keep the files for the command that is started next."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            for name, content in files.items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(content), 0o600
                tar.addfile(entry, io.BytesIO(content))
        self._archive = archive.getvalue()

    async def start(
        self, command: str, *, stdout: Listener, stderr: Listener, timeout_s: float, takes_input: bool
    ) -> Command:
        unpack = f"python3 -c {shlex.quote(_UNPACK.format(size=len(self._archive)))}"
        # The inner brackets make a shell of their own, so that this one goes on after an `exec`.
        text = (
            'directory=$(mktemp -d "${TMPDIR:-/tmp}"/code_env-XXXXXXXX) || exit 1; '
            f'(cd "$directory" && {unpack} && ({command})); '
            'code=$?; rm -rf "$directory"; exit $code'
        )
        started = await self._machines.start(text, stdout, stderr)
        try:
            with contextlib.suppress(OSError):  # It has ended, and its exit code says why.
                await started.send(self._archive)
        except BaseException:
            await started.disconnect()
            raise
        return started

    async def is_there(self) -> bool:
        asked = await self._machines.start("exit 0", _drop, _drop)
        try:
            return not await asked.wait()
        finally:
            await asked.disconnect()


async def _drop(piece: str) -> None:
    """Take output that nobody needs."""


class _ShellCommand(Command):
    def __init__(self, command: Sequence[str], faults: frozenset[int], directory: str | None) -> None:
        self._faults = faults
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        # Sockets, not pipes: the event loop writes to them and reads them without threads, and a write that waits
        # fails when its end is shut down.
        pairs = [socket.socketpair() for _ in range(3)]
        self._sockets = [ours for ours, _ in pairs]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=pairs[0][1].fileno(),
                stdout=pairs[1][1].fileno(),
                stderr=pairs[2][1].fileno(),
                cwd=directory,
                start_new_session=True,  # Ctrl-C in the terminal is for the trainer, which then ends its programs.
            )
        except BaseException:
            self._close_sockets()
            raise
        finally:
            for _, theirs in pairs:
                theirs.close()
        for sock in self._sockets:
            sock.setblocking(False)
        self._readers: list[asyncio.Task[None]] = []
        threading.Thread(target=self._reap, name="code_env-shell-command", daemon=True).start()

    @property
    def has_ended(self) -> bool:
        """Whether its process has ended."""
        return self._ended.done()

    def listen(self, stdout: Listener, stderr: Listener) -> None:
        """Begin to read its output."""
        self._readers = [
            self._loop.create_task(self._read(sock, take))
            for sock, take in zip(self._sockets[1:], (stdout, stderr), strict=True)
        ]

    async def send(self, data: bytes) -> None:
        await self._loop.sock_sendall(self._sockets[0], data)

    async def wait(self) -> int:
        code = await asyncio.shield(self._ended)
        if self._readers:
            await asyncio.wait(self._readers, timeout=_DRAIN_S)
        if code in self._faults:
            raise MachineFault(f"the connection to the machine failed (exit code {code})")
        return code

    async def disconnect(self) -> None:
        with contextlib.suppress(OSError):
            self._sockets[0].shutdown(socket.SHUT_WR)
        if not self._ended.done():
            self._loop.call_later(_KILL_AFTER_S, self._kill)
        try:
            await asyncio.wait({self._ended}, timeout=_LET_GO_S)
        finally:
            for reader in self._readers:
                reader.cancel()
            await asyncio.gather(*self._readers, return_exceptions=True)
            self._close_sockets()

    async def _read(self, sock: socket.socket, take: Listener) -> None:
        with contextlib.suppress(ConnectionResetError):
            while piece := await self._loop.sock_recv(sock, _PIECE):
                # The lines are of ASCII characters; what else comes is not from the supervisor.
                await take(piece.decode("ascii", errors="replace"))

    def _kill(self) -> None:
        if not self._ended.done():
            self._process.kill()

    def _reap(self) -> None:
        code = self._process.wait()
        with contextlib.suppress(RuntimeError):  # The loop is closed, so no caller waits.
            self._loop.call_soon_threadsafe(self._ended.set_result, code)

    def _close_sockets(self) -> None:
        for sock in self._sockets:
            sock.close()
