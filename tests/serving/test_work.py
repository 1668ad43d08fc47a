"""What a request has begun, and nobody waits for any more."""

import asyncio
import threading

import pytest

from code_env.serving.work import Work


@pytest.fixture
def cancelled(executor):
    """Cancels a call at once, sets its event after that, and returns when all that follows is done."""

    def cancel(call, **then):
        async def request():
            work, is_gone = Work(executor, 1), threading.Event()
            doing = asyncio.create_task(work.call(lambda: call(is_gone), **then))
            while not work._threads._threads:
                await asyncio.sleep(0.001)
            doing.cancel()
            asyncio.get_running_loop().call_later(0.3, is_gone.set)
            with pytest.raises(asyncio.CancelledError):
                await doing
            await asyncio.to_thread(work._threads.shutdown)

        asyncio.run(request())

    return cancel


def test_what_was_done_for_a_client_that_is_gone_is_taken_back(cancelled):
    undone = []
    cancelled(lambda is_gone: is_gone.wait(60), undo=undone.append)
    assert undone == [True]


def test_a_call_that_fails_has_nothing_to_take_back(cancelled):
    undone = []
    cancelled(lambda is_gone: is_gone.wait(60) and 1 / 0, undo=undone.append)
    assert undone == []


def test_an_interrupt_that_came_too_early_comes_again(cancelled):
    """The call takes no interrupt before it is busy."""
    interrupts = []
    ended = threading.Event()

    def interrupt():
        interrupts.append(None)
        if len(interrupts) == 3:
            ended.set()

    cancelled(lambda is_gone: ended.wait(60), interrupt=interrupt)
    assert ended.is_set()
