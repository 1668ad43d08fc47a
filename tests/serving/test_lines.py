"""Lines of a batch: one for each item that has an answer, as soon as it is there."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from code_env.serving.lines import lines_of


async def _lines(answer: Any, items: list[Any]) -> list[dict[str, Any]]:
    text = "".join([part async for part in lines_of(answer, items)])
    return [json.loads(line) for line in text.splitlines()]


def test_each_item_has_one_line_and_those_without_an_answer_none() -> None:
    async def answer(item: int) -> dict[str, Any] | None:
        await asyncio.sleep(0.001 * (item % 7))
        return {"twice": 2 * item} if item % 10 else None

    lines = asyncio.run(_lines(answer, list(range(100))))

    assert sorted(line["number"] for line in lines) == [number for number in range(100) if number % 10]
    assert all(line["twice"] == 2 * line["number"] for line in lines)


def test_a_line_does_not_wait_for_a_slow_item() -> None:
    async def first_of_many() -> list[str]:
        never = asyncio.Event()

        async def answer(item: int) -> dict[str, Any]:
            if item:
                await never.wait()
            return {}

        lines = lines_of(answer, list(range(100)))
        first = await anext(lines)
        await lines.aclose()  # type: ignore[attr-defined]  # It is an async generator.
        return first.splitlines()

    assert [json.loads(line) for line in asyncio.run(first_of_many())] == [{"number": 0}]


def test_what_still_runs_ends_with_the_reader() -> None:
    ended: list[int] = []

    async def read_one() -> None:
        async def answer(item: int) -> dict[str, Any]:
            try:
                await asyncio.sleep(3600.0 if item else 0.0)
            finally:
                ended.append(item)
            return {}

        lines = lines_of(answer, [0, 1, 2])
        await anext(lines)
        await lines.aclose()  # type: ignore[attr-defined]  # It is an async generator.
        await asyncio.sleep(0)

    asyncio.run(read_one())

    assert sorted(ended) == [0, 1, 2]


def test_an_error_of_this_package_reaches_the_server() -> None:
    async def answer(item: int) -> dict[str, Any]:
        raise ZeroDivisionError(item)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(_lines(answer, [0, 1]))
