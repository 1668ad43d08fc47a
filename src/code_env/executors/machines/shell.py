"""Machines behind a command that takes another command for a shell: `ssh host`, `podman exec -i box sh -c`.

The command is started twice for each program: to write the files into a new directory below the temporary directory,
and to run the program there. The second command removes the directory when it ends. Its standard input stays open as
long as this process wants the program, so the program does not outlive this process.

Threads read the output: asyncio's own subprocesses wait forever if they are cancelled at the wrong moment.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import secrets
import subprocess
import tarfile
import threading
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import IO

from .faults import MachineFault
from .machine import Command, Listener, Machine, Machines

_PIECE = 1 << 16

_LET_GO_S = 4.0
"""How long a command may take to end after its standard input was closed, in seconds. Then it is killed here."""

_STDERR_CHARS = 500


class ShellMachines(Machines):
    """Machines that are reached by a command.

    Args:
        command: The command and its first arguments. It is started with one more argument, the text for a shell, and
            must connect its own standard streams to those of that shell.
        most: How many programs run at a time.
        faults: Exit codes by which the command says that it failed itself, such as 255 of `ssh`. A program that runs as
            the same user as the shell may end the shell and so cause one; it gets no verdict then.
    """

    def __init__(self, command: Sequence[str], most: int, faults: Collection[int] = ()) -> None:
        self._command, self._faults = tuple(command), frozenset(faults)
        self._places = asyncio.Semaphore(most)

    @contextlib.asynccontextmanager
    async def one(self, lifetime_s: float) -> AsyncIterator[Machine]:
        """A directory of its own for one program."""
        async with self._places:
            machine = _ShellMachine(self._command, self._faults)
            try:
                yield machine
            finally:
                machine.clear_up()


class _ShellMachine(Machine):
    ends_with_input = True

    def __init__(self, command: tuple[str, ...], faults: frozenset[int]) -> None:
        self._command, self._faults = command, faults
        self._directory = f'"${{TMPDIR:-/tmp}}"/code_env-{secrets.token_hex(8)}'
        self._last: _ShellCommand | None = None
        self._may_be_left = False

    async def write_files(self, files: Mapping[str, bytes]) -> None:
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            for name, content in files.items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(content), 0o600
                tar.addfile(entry, io.BytesIO(content))
        self._may_be_left = True
        text = f"umask 077 && mkdir {self._directory} && cd {self._directory} && tar xf -"
        code, told = await self._run(text, archive.getvalue())
        if code:
            raise MachineFault(f"files cannot be written there (exit code {code}): {told}")

    async def start(
        self, command: str, *, stdout: Listener, stderr: Listener, timeout_s: float, takes_input: bool
    ) -> Command:
        directory = self._directory
        # In brackets, so that this shell goes on when the command has ended.
        text = f"cd {directory} && ({command}); code=$?; cd / && rm -rf {directory}; exit $code"
        self._last = _ShellCommand([*self._command, text], stdout, stderr, self._faults)
        return self._last

    async def is_there(self) -> bool:
        code, _ = await self._run("exit 0")
        return not code

    def clear_up(self) -> None:
        """Remove the directory if the last command has not done that; nobody waits for this."""
        if self._may_be_left and (self._last is None or not self._last.has_ended):
            _ShellCommand([*self._command, f"rm -rf {self._directory}"], _drop, _drop, frozenset())

    async def _run(self, text: str, data: bytes = b"") -> tuple[int, str]:
        """Run a short command; return its exit code, and what it wrote to standard error."""
        told = ""

        async def take(piece: str) -> None:
            nonlocal told
            told = (told + piece)[-_STDERR_CHARS:]

        command = _ShellCommand([*self._command, text], _drop, take, self._faults)
        try:
            with contextlib.suppress(BrokenPipeError):  # It has ended, and its exit code says why.
                await command.send(data)
            command.close_input()
            return await command.wait(), told.strip()
        except BaseException:
            await command.disconnect()
            raise


async def _drop(piece: str) -> None:
    """Take output that nobody needs."""


class _ShellCommand(Command):
    def __init__(self, command: Sequence[str], stdout: Listener, stderr: Listener, faults: frozenset[int]) -> None:
        self._faults = faults
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._is_wanted = True
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # Ctrl-C in the terminal is for the trainer, which then ends its programs.
        )
        readers = [
            threading.Thread(target=self._read, args=(stream, take), daemon=True)
            for stream, take in ((self._process.stdout, stdout), (self._process.stderr, stderr))
        ]
        for reader in readers:
            reader.start()
        threading.Thread(target=self._reap, args=(readers,), daemon=True).start()

    @property
    def has_ended(self) -> bool:
        """Whether it has ended."""
        return self._ended.done()

    async def send(self, data: bytes) -> None:
        await asyncio.to_thread(self._write, data)

    def close_input(self) -> None:
        """Close its standard input."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()

    async def wait(self) -> int:
        code = await asyncio.shield(self._ended)
        if code in self._faults:
            raise MachineFault(f"the connection to the machine failed (exit code {code})")
        return code

    async def disconnect(self) -> None:
        self._is_wanted = False
        self.close_input()
        await asyncio.wait({self._ended}, timeout=_LET_GO_S)
        if not self._ended.done():
            self._process.kill()

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view and self._process.stdin is not None:
            view = view[self._process.stdin.write(view) :]

    def _read(self, stream: IO[bytes], take: Listener) -> None:
        while piece := stream.read(_PIECE):
            if self._is_wanted:
                # The lines are of ASCII characters; what else comes is not from the supervisor.
                text = piece.decode("ascii", errors="replace")
                with contextlib.suppress(Exception):
                    asyncio.run_coroutine_threadsafe(take(text), self._loop).result()

    def _reap(self, readers: list[threading.Thread]) -> None:
        for reader in readers:
            reader.join()
        code = self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        with contextlib.suppress(RuntimeError):  # The loop is closed, so no caller waits.
            self._loop.call_soon_threadsafe(self._ended.set_result, code)
