"""Runs one program as a process on a machine: the files, the command that runs it, and the line with its result.

Only a line with the run's nonce is a result; anything else is a fault of the machine, with one exception: if the
command has ended without that line, and the machine still answers, then the supervisor, which runs the program, was
killed. Only the program can have done that, because nothing else runs there. The exception holds only after the
supervisor has sent its first line: if it ends before that, it has never run a program.

Lines that are sent to the supervisor are numbered. A line counts as sent already before the request, because the
connection may lose it, never answer, or report a failure. If the supervisor has not received all lines, the result says
nothing about the program, because the program may have waited for a lost line.
"""

from __future__ import annotations

import asyncio
import binascii
import contextlib
import dataclasses
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Any

from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult
from code_env.harness.process.limits import WHOLE_RUN

from .bundle import BUNDLE, COMMAND, JOB, bundle, longest_line, order_of, received_of, result_from
from .faults import MachineFault, SupervisorDied, described
from .loop import LET_GO_S, within
from .machine import Command, Machine

COMMAND_SPARE_S = 20.0
"""How much longer than its program a command may take, in seconds: time without a core does not count for a program."""

OUTER_SPARE_S = 25.0
"""How much longer than the program's time limit a whole run may take, in seconds."""

_LIFETIME_SPARE_S = 60.0
"""How much longer a machine lives than the longest wait for its run, in seconds."""

_ARRIVAL_S, _ARRIVAL_LATEST_S = 0.2, 5.0
"""The time after which a sent line must have arrived, in seconds: if the run has ended, and while it goes on."""

_ANSWER_S = 0.5
"""The time after which a request that sends a line must have been answered, in seconds, if the program reads it."""

_SLOW_LINE_BYTES_PER_S = 1 << 20
"""The lowest speed at which a long line arrives, in bytes per second; its time is added to the times above."""

_NO_COMMAND = (126, 127)
"""Exit codes of a shell that did not find the command, or could not start it."""

_STDERR_CHARS = 500

Frames = Callable[[bytes | None], Awaitable[None]]
"""A function that takes what a program sends to its peer; None if the program has closed the channel."""


def time_limit_s(program: Program) -> float:
    """The longest time that a program may take, in seconds, with the time that it waits for its peer."""
    return program.limits.wall_s * (1 if program.peer is None else WHOLE_RUN)


def lifetime_s(program: Program, request_timeout_s: float) -> float:
    """How long its machine must live, in seconds."""
    return request_timeout_s + time_limit_s(program) + OUTER_SPARE_S + _LIFETIME_SPARE_S


class Run:
    """One run of a program on a machine.

    Args:
        machine: The machine.
        program: The program.
        request_timeout_s: How long a request may take, in seconds.
        silence_s: The run is given up after this time without a line, in seconds.
    """

    def __init__(self, machine: Machine, program: Program, request_timeout_s: float, silence_s: float) -> None:
        self._machine, self._program = machine, program
        self._request_timeout_s, self._silence_s = request_timeout_s, silence_s
        self._nonce = secrets.token_hex(16)
        self._lines: list[str] = []
        self._length, self._longest = 0, longest_line(program)
        self._stderr = ""
        self._frames: Frames | None = None
        self._heard = time.monotonic()
        self._command: Command | None = None
        self._is_busy = False
        self._due: list[float] = []
        """For each sent line, the time at which it has arrived, without the extra time that every line gets."""
        self._unanswered: float | None = None
        """The same time for the last line, until its request is answered; all later lines wait for that answer."""
        self._closed: float | None = None
        """When the program closed the channel; it does not need lines that are sent later."""
        self._has_spoken = False
        """Whether the supervisor has sent any line."""
        self._line_began = 0.0
        self._result: asyncio.Future[ExecutionResult] = asyncio.get_running_loop().create_future()
        self.started = asyncio.Event()
        """Set when the program's process runs."""

    async def begin(self, frames: Frames | None = None) -> None:
        """Write the code and the order, and start the command.

        Args:
            frames: Gets what the program sends to its peer, if it has a peer.

        Raises:
            Exception: Any exception of the machine.
        """
        self._frames = frames
        order = order_of(self._program, self._nonce, ends_with_input=self._machine.ends_with_input)
        await self._within(self._machine.write_files({BUNDLE: bundle(), JOB: order}))
        self._command = await self._within(
            self._machine.start(
                COMMAND,
                stdout=self._take,
                stderr=self._take_stderr,
                timeout_s=time_limit_s(self._program) + COMMAND_SPARE_S,
                takes_input=frames is not None,
            )
        )
        self._heard = time.monotonic()

    async def _within(self, request: Awaitable[Any]) -> Any:
        try:
            return await within(self._request_timeout_s, request)
        except TimeoutError:
            raise MachineFault(f"no answer within {self._request_timeout_s:g} s") from None

    async def send(self, line: bytes) -> None:
        """Send a line to the supervisor."""
        self._due.append(time.monotonic() + len(line) / _SLOW_LINE_BYTES_PER_S)
        self._unanswered = self._due[-1]
        numbered = b"%d %s\n" % (len(self._due), line)
        await self._within(self._started_command().send(numbered))
        self._unanswered = None  # If sending has raised, it stays set, and no further line is sent.

    async def result(self) -> ExecutionResult:
        """Wait for the result, and return it.

        Raises:
            SupervisorDied: If the supervisor was killed.
            ExecutorMisconfigured: If the machine does not have what is needed to run the program.
            MachineFault: If the machine failed.
        """
        ended: asyncio.Future[int] = asyncio.ensure_future(self._started_command().wait())
        deadline = time.monotonic() + time_limit_s(self._program) + OUTER_SPARE_S
        try:
            waited: set[asyncio.Future[Any]] = {self._result, ended}
            while not self._result.done() and not ended.done():
                now = time.monotonic()
                if self._is_busy:
                    self._heard = now
                left_s = min(deadline, self._heard + self._silence_s) - now
                if left_s <= 0:
                    what = f"nothing was heard of the program for {now - self._heard:.0f} s"
                    # Only the program can stop the supervisor; a dead connection cannot.
                    if await self._is_stopped():
                        raise SupervisorDied(f"{what}: it has stopped what runs it")
                    raise MachineFault(what)
                await asyncio.wait(waited, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            if self._result.done():
                return self._result.result()
            return await self._why_ended(ended)
        finally:
            ended.cancel()
            await asyncio.wait({ended})

    @property
    def is_over(self) -> bool:
        """Whether the result is there."""
        return self._result.done()

    async def wait_for_result(self, seconds: float) -> bool:
        """Wait at most this long for the result; return whether it is there."""
        await asyncio.wait({self._result}, timeout=seconds)
        return self.is_over

    async def close(self) -> None:
        """Disconnect from the command."""
        if self._result.done() and not self._result.cancelled():
            self._result.exception()
        if self._command is not None:
            with contextlib.suppress(Exception):
                await within(LET_GO_S, self._command.disconnect())

    async def _is_stopped(self) -> bool:
        with contextlib.suppress(Exception):
            return await self._within(self._started_command().is_stopped()) is True
        return False

    def _started_command(self) -> Command:
        if self._command is None:
            raise MachineFault("the command that runs the program was not started")
        return self._command

    async def _why_ended(self, ended: asyncio.Future[int]) -> ExecutionResult:
        code = ended.result()
        if not self._has_spoken:
            why = f"it ended with exit code {code} before it began: {self._stderr.strip()}"
            needs = self._machine.needs
            if code in _NO_COMMAND:
                raise self._machine.misconfigured(f"the machine cannot run programs ({why}); {needs}")
            raise MachineFault(f"what runs the program cannot run on the machine: {why}; {needs}")
        what = f"what ran the program ended with exit code {code} and no result: {self._stderr.strip()}"
        try:
            answers = await self._within(self._machine.is_there())
        except Exception as failed:
            raise MachineFault(f"{what} ({described(failed)})") from None
        raise SupervisorDied(what) if answers else MachineFault(f"{what} (the machine is gone)")

    async def _take(self, text: str) -> None:
        self._heard = time.monotonic()
        if self._result.done():
            return
        first, *rest = text.split("\n")
        if not self._length:
            self._line_began = self._heard
        self._lines.append(first)
        self._length += len(first)
        # A line longer than any result does not come from the supervisor.
        if self._length > self._longest:
            self._lines, self._length = [], 0
        for further in rest:
            line, self._lines, self._length = "".join(self._lines), [further], len(further)
            await self._take_line(line)
            self._line_began = self._heard

    async def _take_line(self, line: str) -> None:
        if line.startswith("{"):
            try:
                result = result_from(line, self._nonce)
            except MachineFault as fault:
                self._settle(fault)
                return
            if result is not None and not self._result.done():
                # The result cannot confirm lines that were sent after this time.
                ended = self._line_began if self._closed is None else self._closed
                if self._frames is not None and self._missed(received_of(line), ended, _ARRIVAL_S, _ANSWER_S):
                    self._settle(MachineFault("what was sent to the machine did not come there"))
                    return
                # A program that has found the nonce may fake a result, but must not add files that were not requested.
                files = {name: result.files[name] for name in self._program.collect if name in result.files}
                self._result.set_result(dataclasses.replace(result, files=files))
                self.started.set()
        elif line.startswith("~"):
            self._has_spoken = True
            now = time.monotonic()
            if self._closed is None and self._missed(line[1:], now, _ARRIVAL_LATEST_S, _ARRIVAL_LATEST_S):
                self._settle(MachineFault("what was sent to the machine did not come there"))
        elif line == "!":
            self.started.set()
        elif self._frames is not None and line[:1] in (">", "."):
            if line[0] == "." and self._closed is None:
                self._closed = time.monotonic()
            self._is_busy = True  # No more output is read until the peer has taken this.
            try:
                await self._frames(None if line[0] == "." else binascii.a2b_base64(line[1:]))
            except ValueError:
                self._settle(MachineFault("what came from the machine is not what was sent there"))
            finally:
                self._is_busy = False
                self._heard = time.monotonic()

    def _missed(self, received: object, moment: float, arrival_s: float, answer_s: float) -> bool:
        """Whether a line was lost, so that the program may have waited for it without end.

        Args:
            received: How many lines the supervisor has received; -1 if the program does not read them.
            moment: The time for which to decide, on the monotonic clock.
            arrival_s: The time after which a line must have arrived, in seconds.
            answer_s: The time after which a request must have been answered, so that the next line can be sent, in
                seconds.
        """
        try:
            count = int(str(received))
        except ValueError:
            return False
        waits = self._unanswered is not None and self._unanswered < moment - answer_s
        return count >= 0 and (waits or any(due < moment - arrival_s for due in self._due[count:]))

    def fail(self, error: Exception) -> None:
        """Let the run fail, because the connection to the machine is broken."""
        self._settle(MachineFault(f"the line to the machine broke: {described(error)}"))

    def _settle(self, fault: MachineFault) -> None:
        if not self._result.done():
            self._result.set_exception(fault)

    async def _take_stderr(self, text: str) -> None:
        self._stderr = (self._stderr + text)[-_STDERR_CHARS:]


async def run_plain(machine: Machine, program: Program, request_timeout_s: float, silence_s: float) -> ExecutionResult:
    """Run a program without a peer; see `Run`."""
    run = Run(machine, program, request_timeout_s, silence_s)
    try:
        await run.begin()
        return await run.result()
    finally:
        await run.close()
