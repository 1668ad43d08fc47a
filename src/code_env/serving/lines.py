"""Answers to batches: a JSON line for each item, as soon as it is done."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from code_env.executors.remote.gathering import Gathering

T = TypeVar("T")
Answer = dict[str, Any]


async def lines_of(answer: Callable[[T], Coroutine[Any, Any, Answer | None]], items: Sequence[T]) -> AsyncIterator[str]:
    """Answer all items at once; yield a line for each as it is done, several at a time if many are.

    Args:
        answer: Gives the answer to an item. An item without an answer has no line.
        items: The items.

    Yields:
        Lines; each is an answer with the `number` of its item.
    """
    running: set[asyncio.Task[tuple[int, Answer | None]]] = set()
    done: Gathering[asyncio.Task[tuple[int, Answer | None]]] = Gathering(running.__len__)

    async def numbered(number: int, item: T) -> tuple[int, Answer | None]:
        return number, await answer(item)

    def ended(task: asyncio.Task[tuple[int, Answer | None]]) -> None:
        running.discard(task)
        done.put(task)

    for number, item in enumerate(items):
        task = asyncio.create_task(numbered(number, item))
        running.add(task)
        task.add_done_callback(ended)
    missing = len(items)
    try:
        while missing:
            answers = [task.result() for task in await done.take()]
            missing -= len(answers)
            lines = [json.dumps({"number": number} | told) + "\n" for number, told in answers if told is not None]
            if lines:
                yield "".join(lines)
    finally:
        for task in list(running):
            task.cancel()
