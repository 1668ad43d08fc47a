"""What the loop of the tests asks of the program's, and what it believes; the program here is a list of replies."""

import asyncio

import pytest

from code_env.harness.judge.handles import HandleMisuse, ProgramDied
from code_env.harness.judge.lasting import LastingContainers
from code_env.harness.judge.loops import Loop, Loops
from code_env.harness.wire.plain import Decoder


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """A judge has no threads; what runs these tests can have some."""
    monkeypatch.setattr(Loop, "_waits_for_others", lambda self: False)


class Program:
    """Gives these replies, one after the other, and keeps the requests."""

    def __init__(self, *replies):
        self.replies, self.asked = list(replies), []
        self.loops = Loops(self.step, LastingContainers(), Decoder())

    def step(self, op, **fields):
        running = self.loops.running()
        fields = self.loops.fields(running) | fields
        self.asked.append((op, fields))
        reply = self.replies.pop(0)
        if isinstance(reply, BaseException):
            raise reply
        return reply if running is None else running.noted(reply)

    @property
    def ops(self):
        return [op for op, _ in self.asked]

    def wait_for(self, target=7):
        return self.loops.outcome_of(target, reports=True)


def done(*ids, **fields):
    return {"ready": [[id_, {"value": id_}] for id_ in ids], **fields}


def test_a_lone_coroutine_costs_one_message():
    program = Program(done(0))
    assert asyncio.run(program.wait_for()) == {"value": 0}
    assert [(op, fields["for"]) for op, fields in program.asked] == [("start", None)]


def test_without_a_loop_too():
    program = Program({"value": 5})
    with pytest.raises(StopIteration) as ended:
        program.wait_for().send(None)
    assert (ended.value.value, program.ops) == ({"value": 5}, ["await"])


def test_who_has_nothing_to_do_lets_the_program_run_until_the_next_timer():
    program = Program(done(due=0.5), done(due=0.5), done(0))

    async def main():
        task = asyncio.ensure_future(program.wait_for())
        await asyncio.sleep(0)
        await asyncio.wait([task], timeout=60)
        return task.result()

    assert asyncio.run(main()) == {"value": 0}
    waits = [fields["for"] for _, fields in program.asked]
    assert waits[0] == 0
    assert all(50 < wait <= 60 for wait in waits[1:])


def test_a_program_that_is_not_due_is_left_alone():
    program = Program(done(due=3600), *[done(due=3600)] * 100)

    async def main():
        task = asyncio.ensure_future(program.wait_for())
        for _ in range(3000):  # The tests have something to do.
            await asyncio.sleep(0)
        task.cancel()
        program.replies[0] = {"ready": [[0, {"cancelled": True}]]}
        return await task

    assert asyncio.run(main()) == {"cancelled": True}
    assert len(program.asked) < 30


def test_cancelling_waits_for_what_the_program_makes_of_it():
    program = Program(done(due=9), done(due=9), done(0))

    async def main():
        task = asyncio.ensure_future(program.wait_for())
        await asyncio.sleep(0)
        task.cancel()
        return await task

    assert asyncio.run(main()) == {"value": 0}
    assert program.ops == ["start", "cancel", "run"]


def test_a_closed_loop_is_reported_once():
    program = Program(done(0, due=5), done(0), done(0))
    for _ in range(3):
        asyncio.run(program.wait_for())
    assert [fields.get("ended") for _, fields in program.asked] == [None, [0], [1]]


@pytest.mark.parametrize(
    "lie",
    [
        *({}, {"ready": None}, {"ready": 7}, {"ready": [7]}, {"ready": [[0]]}, {"ready": [[0, 7]]}),
        *(done(1), done(True), done("0"), done(-1), done([0]), done(0, 0), done(0, given=7), done(0, given=[7])),
    ],
    ids=str,
)
@pytest.mark.parametrize("when", ["at once", "later"])
def test_lies_end_the_conversation(lie, when):
    program = Program(*([done(due=0)] if when == "later" else []), lie)
    with pytest.raises((ProgramDied, RuntimeError)):
        asyncio.run(program.wait_for())
    program.loops.fields(None)  # It forgets loops that are closed.
    assert program.loops.are_lost


def test_the_conversation_is_over_even_if_the_tests_keep_the_exception():
    program = Program(done(1))

    async def main():
        return await asyncio.gather(program.wait_for(), return_exceptions=True)

    assert isinstance(asyncio.run(main())[0], ProgramDied)
    assert program.loops.are_lost


@pytest.mark.parametrize("given", [[[7, [[0, [1]]]]], [["7", []]], [[None, []]], [[[], []]]])
def test_arguments_that_are_not_known_do_not_change(given):
    program = Program(done(due=0), done(given=given))
    with pytest.raises(HandleMisuse):
        asyncio.run(program.wait_for())
    assert not program.loops.are_lost


@pytest.mark.parametrize("due", ["1", None, [], float("nan"), float("inf"), -1e300, 1e300, True])
def test_no_time_that_the_program_names_does_harm(due):
    program = Program(done(due=due), done(due=due), done(0, due=due))
    assert asyncio.run(program.wait_for()) == {"value": 0}


def test_the_end_of_the_program_ends_the_loop():
    async def main(program):
        task = asyncio.ensure_future(program.wait_for())
        await asyncio.Event().wait()  # Nobody sets it.
        await task

    with pytest.raises((ProgramDied, RuntimeError)):
        asyncio.run(main(Program(done(due=0), ProgramDied("gone"))))


def test_a_refusal_reaches_all_tasks_that_wait():
    program = Program(done(due=0), HandleMisuse("no"))
    with pytest.raises(HandleMisuse):
        asyncio.run(program.wait_for())
    assert program.ops == ["start", "run"]


def test_each_task_has_a_context_which_is_forgotten_after_it():
    program = Program(*[done(id_, due=5) for id_ in range(6)])

    async def twice():
        await program.wait_for()
        await program.wait_for()

    async def main():
        await program.wait_for()
        await asyncio.create_task(twice())
        await asyncio.create_task(program.wait_for())
        await program.wait_for()
        await asyncio.sleep(0)
        await program.wait_for()

    asyncio.run(main())
    own = [0, None]
    assert [fields["context"] for _, fields in program.asked] == [own, [1, 0], [1, None], [2, 0], own, own]
    assert [number for _, fields in program.asked for number in fields.get("gone", ())] == [1, 2]
