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

from .messages import result_data
from .peers import PeersKept

_FEW, _SHARE, _GATHER_S = 4, 4, 0.04
"""A frame costs more than what is in it. So if more than a few programs run, results wait for others, until one of so
many of these programs is done, or for so many seconds."""


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
        self._done: asyncio.Queue[tuple[str, int, Any]] = asyncio.Queue()
        self._wanted, self._enough = 0, asyncio.Event()

    def take(self, text: str) -> None:
        """Take a frame.

        Raises:
            KeyError: If it means nothing. So do `TypeError`, `ValueError`, `RecursionError` and `TaskError`.
        """
        frame = json.loads(text)
        if "programs" in frame:
            for number, program in self._peers.programs(frame).items():
                self._running[number] = asyncio.create_task(self._answer(number, program))
        else:
            for number in frame["cancel"]:
                if number in self._running:
                    self._running[number].cancel()

    async def next(self) -> str:
        """Wait until something is done; return all that is, in one frame."""
        done = [await self._done.get()]
        if len(self._running) > _FEW:
            self._wanted = len(self._running) // _SHARE
            self._enough.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_GATHER_S):
                    await self._enough.wait()
        while not self._done.empty():
            done.append(self._done.get_nowait())
        frame: dict[str, dict[str, Any]] = {}
        for kind, number, data in done:
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
                self._done.put_nowait(("results", number, result_data(await self._run(program))))
            except UnsupportedProgram as error:
                self._done.put_nowait(("refused", number, str(error)))
            finally:
                del self._running[number]
                if self._done.qsize() >= self._wanted:
                    self._enough.set()
