"""What waits to be sent: for others if many programs run, and never for long."""

from __future__ import annotations

import asyncio

from code_env.executors.remote.gathering import Gathering


def _taken(running: int, puts: list[int], later: list[int]) -> tuple[list[int], list[int]]:
    """What the first two calls give, if some items come at once and others while the first call waits."""

    async def take_twice() -> tuple[list[int], list[int]]:
        gathering: Gathering[int] = Gathering(lambda: running)
        for item in puts:
            gathering.put(item)
        first = asyncio.create_task(gathering.take())
        await asyncio.sleep(0)
        for item in later:
            gathering.put(item)
        taken = await first
        gathering.put(99)
        return taken, await gathering.take()

    return asyncio.run(take_twice())


def test_if_few_programs_run_nothing_waits() -> None:
    assert _taken(3, [0], [1]) == ([0], [1, 99])


def test_if_many_run_the_first_waits_for_a_share_of_them() -> None:
    assert _taken(12, [0], [1, 2]) == ([0, 1, 2], [99])


def test_it_does_not_wait_for_ever() -> None:
    assert _taken(1000, [0], [1]) == ([0, 1], [99])
