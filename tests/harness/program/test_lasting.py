"""What both sides keep of an iterator: containers that can still change or occur again, and no others."""

import pytest

from code_env.harness.judge.handles import HandleMisuse
from code_env.harness.judge.lasting import LastingContainers
from code_env.harness.program.lasting import Steps
from code_env.harness.wire.containers import Containers
from code_env.harness.wire.plain import Decoder, Encoder, NotPlain


def encode(value, known=None, *, content=False):
    return Encoder(known=known).encode(value, content=content)


class Iterating:
    """An iterator with both sides of its conversation."""

    def __init__(self, iterator, size=10):
        self.iterator, self.size = iterator, size
        self.here, self.there = LastingContainers(), Steps(encode, lambda error: {"name": str(error)})
        self.replies = []

    def __iter__(self):
        more = True
        while more:
            if self.here.request(0):
                self.there.forget(0)
            reply = self.there.take(0, lambda: next(self.iterator))
            self.replies.append(reply)
            yield from self.here.step(0, reply, self.size, Decoder(), None)
            more = reply.get("more", False)


def climbing(n):
    path = []
    for i in range(n):
        path.append(i)
        yield path


def test_fresh_lists_are_kept_by_nobody():
    iterating = Iterating([i] for i in range(1000))
    assert list(iterating) == [[i] for i in range(1000)]
    assert all(reply.get("kept") == [] for reply in iterating.replies[1:-1])
    assert not any(reply.get("changed") for reply in iterating.replies)


def test_one_list_is_one_list():
    values = list(Iterating(climbing(100)))
    assert {id(value) for value in values} == {id(values[0])}
    assert values[0] == list(range(100))
    assert [list(value) for value in Iterating(climbing(3))] == [[0], [0, 1], [0, 1, 2]]


def test_plain_values_cost_nothing_more():
    iterating = Iterating(iter([1, "a", (2, 3), None]))
    assert list(iterating) == [1, "a", (2, 3), None]
    assert [set(reply) for reply in iterating.replies] == [{"values", "more"}] * 4 + [{"values", "more", "end"}]


@pytest.mark.parametrize(("count", "size"), [(600, 10), (20, 1 << 19)])
def test_what_is_kept_is_bounded(count, size):
    rows = [[i] for i in range(count)]
    iterating = Iterating(iter([*rows, rows[-1]]), size)
    values = list(iterating)
    assert values == [*rows, rows[-1]]
    assert values[-1] is values[-2] or size > 10
    assert iterating.here._lasting == {}


def test_a_long_argument_is_looked_at_less_often_and_at_the_end():
    long = list(range(50_000))

    def dropping():
        for i in range(30):
            long.pop()
            yield i

    steps, iterator = Steps(encode, lambda error: {}), dropping()
    steps.remember({"value": {"ge": 0}}, [long])
    replies = [steps.take(0, lambda: next(iterator)) for _ in range(31)]
    told = ["given" in reply for reply in replies]
    assert told[-1]
    assert sum(told) < 5
    assert len(replies[-1]["given"][0][1]) == 50_000 - 30


def first_step(reply):
    here = LastingContainers()
    here.remember({"ge": 0}, Containers.of([[1], {"a": 2}]), 2)
    return here, lambda stands_for=None: here.step(0, {"values": [], **reply}, 10, Decoder(), stands_for)


@pytest.mark.parametrize(
    "reply",
    [
        *({"kept": kept} for kept in ([0], [-1], "0", [None], {"a": 1}, [True])),
        *({"changed": [[at, [1]]]} for at in (0, 1, 2, -1, None, "0")),
        *({"given": given} for given in ([[2, [1]]], [[-1, [1]]], [[0, {"d": []}]], [[0]], 5, [[0, {"sa": 9}]])),
        {"values": [{"sa": 2}]},
        {"values": [{"h": [0, "x", 0]}]},
    ],
    ids=str,
)
def test_a_forged_step_is_refused(reply):
    _, take = first_step(reply)
    with pytest.raises(NotPlain):
        take()


def test_changes_are_held_back_and_then_made():
    here = LastingContainers()
    row, table = [1], [[1], 2]
    table[0] = row
    here.remember({"ge": 0}, Containers.of([row, table]), 2)
    held = {}
    reply = {"values": [{"sa": 1}], "given": [[0, [5]], [1, [{"sa": 0}]]], "more": True}
    (value,) = here.step(0, reply, 10, Decoder(), held)
    assert (value, row, table) == ([[5]], [1], [[1], 2])
    assert held[id(value)][1] is table
    assert here.step(0, {"values": [{"sa": 1}], "more": True}, 10, Decoder(), held) == [[[5]]]
    here.let_go(Decoder())
    assert (row, table) == ([5], [[5]])
    assert table[0] is row
    (again,) = here.step(0, {"values": [{"sa": 1}], "more": True}, 10, Decoder(), {})
    assert again is table


def test_held_changes_that_hold_a_reference_without_an_object_are_refused():
    here = LastingContainers()
    here.remember({"ge": 0}, Containers.of([[1]]), 1)
    here.step(0, {"values": [], "given": [[0, [{"h": 1}]]]}, 10, Decoder(lambda tag, body: None), {})
    with pytest.raises(HandleMisuse):
        here.let_go(Decoder())
