"""The other end of a link: runs the programs that come in frames, and gives the frames with their results."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

from code_env.errors import UnsupportedProgram
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult

from .gathering import Gathering
from .messages import result_data
from .peers import PeersKept


class NotRun(Exception):
    """A program was not run, through no fault of its own: it is to be run elsewhere."""


class Answering:
    """The programs of one link. It belongs to the event loop that runs.

    Args:
        run: Runs a program; it may raise `NotRun` and `UnsupportedProgram`.
    """

    def __init__(self, run: Callable[[Program], Awaitable[ExecutionResult]]) -> None:
        self._run = run
        self._peers = PeersKept()
        self._running: dict[int, asyncio.Task[None]] = {}
        self._done: Gathering[tuple[str, int, Any]] = Gathering(self._running.__len__)

    def take(self, text: str) -> None:
        """Take a frame.

        Raises:
            KeyError: If it means nothing. So do `TypeError`, `ValueError`, `RecursionError` and `TaskError`.
        """
        frame = json.loads(text)
        if "programs" in frame:
            for number, program in self._peers.programs(frame).items():
                task = self._running[number] = asyncio.create_task(self._answer(number, program))
                # Also of a task that is cancelled before it begins.
                task.add_done_callback(lambda _, number=number: self._running.pop(number, None))  # type: ignore[misc]
        else:
            for number in frame["cancel"]:
                if number in self._running:
                    self._running[number].cancel()

    async def next(self) -> str:
        """Wait until something is done; return all that is, in one frame."""
        frame: dict[str, dict[str, Any]] = {}
        for kind, number, data in await self._done.take():
            frame.setdefault(kind, {})[str(number)] = data
        return json.dumps(frame, separators=(",", ":"))

    def end(self) -> None:
        """End all programs that still run."""
        for task in self._running.values():
            task.cancel()

    async def _answer(self, number: int, program: Program) -> None:
        # Of what was not run nothing is said: it is run elsewhere when the link ends.
        with contextlib.suppress(NotRun):
            try:
                self._done.put(("results", number, result_data(await self._run(program))))
            except UnsupportedProgram as error:
                self._done.put(("refused", number, str(error)))
            finally:
                self._running.pop(number, None)  # At once, because `next` waits for what still runs.
