"""What was done and is to be sent: it waits for more, because sending costs more than most of what is sent."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

_FEW, _SHARE, _GATHER_S = 4, 4, 0.04
"""If more than a few programs run, what is done first waits until one of so many of them is done, or for so many
seconds."""


class Gathering(Generic[T]):
    """What programs gave, for one reader. It belongs to the event loop that runs.

    Args:
        running: Returns how many programs run now.
    """

    def __init__(self, running: Callable[[], int]) -> None:
        self._running = running
        self._done: list[T] = []
        self._wanted, self._enough = 1, asyncio.Event()

    def put(self, item: T) -> None:
        """Add what a program gave."""
        self._done.append(item)
        if len(self._done) >= self._wanted:
            self._enough.set()

    async def take(self) -> list[T]:
        """Wait until something is there; return all that is."""
        await self._enough.wait()
        running = self._running()
        if running > _FEW:
            self._wanted = running // _SHARE
            if len(self._done) < self._wanted:
                self._enough.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_GATHER_S):
                        await self._enough.wait()
        done, self._done, self._wanted = self._done, [], 1
        self._enough.clear()
        return done
