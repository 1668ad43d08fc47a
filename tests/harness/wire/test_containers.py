"""What is shared in an exchange crosses as shared, and a forged number can do no more than content could."""

from collections import OrderedDict, deque

import pytest

from code_env.harness.wire.containers import MAX_DEPTH, Containers
from code_env.harness.wire.plain import Decoder, Encoder, NotPlain


def across(*values):
    """Values, and the containers of both sides, after they have crossed in one exchange."""
    here, there = Containers(), Containers()
    forms = [Encoder(known=here).encode(value) for value in values]
    return [Decoder(known=there).decode(form) for form in forms], here, there


def test_one_container_stays_one():
    row = [1]
    (table, again, queue), here, there = across([row, row, {"a": row}], row, deque([row]))
    assert table[0] is table[1] is table[2]["a"] is again is queue[0]
    assert table == [[1], [1], {"a": [1]}]
    assert here.values == there.values


def test_equal_ones_stay_two():
    (table,), _, _ = across([[1], [1], {}, {}])
    assert table[0] is not table[1]
    assert table[2] is not table[3]


def test_without_an_exchange_each_crosses_as_a_copy():
    row = [1]
    assert Encoder().encode([row, row]) == [[1], [1]]
    with pytest.raises(NotPlain, match="unknown tag 'sa'"):
        Decoder().decode({"sa": 0})


def test_both_sides_number_alike_whatever_lies_within():
    class Sub(list):
        pass

    def subclass(value):
        return (lambda e, v, d: e.encode(list(v), d)) if isinstance(value, Sub) else None

    here = Containers()
    encoder = Encoder(lambda value, why: {"h": [0, why, 0]}, subclass, here)
    row = [3]
    form = encoder.encode([(1, [2]), {"a": {4}}, object(), Sub([5]), OrderedDict(b=row), row])
    there = Containers()
    value = Decoder(lambda tag, body: None, there).decode(form)
    assert value[5] is value[4]["b"]
    assert len(here.values) == len(there.values)
    assert [type(one) for one in there.values] == [list, set, dict, list, list, OrderedDict, list]


@pytest.mark.parametrize("number", [-1, 1, True, "0", None, 1.0, [0]])
def test_a_number_that_nobody_has_told_of_is_refused(number):
    with pytest.raises(NotPlain):
        Decoder(known=Containers()).decode([[], {"sa": number}])


def test_a_few_numbers_cannot_stand_for_very_many_values():
    form = [[0] * 1000]
    for at in range(10):
        form.append([{"sa": at}] * 1000)
    with pytest.raises(NotPlain, match="more than"):
        Decoder(known=Containers()).decode(form)


def test_a_few_numbers_cannot_nest_deeper_than_content():
    form = [[]]
    for at in range(MAX_DEPTH + 1):
        form.append([{"sa": at}])
    with pytest.raises(NotPlain, match="deep"):
        Decoder(known=Containers()).decode(form)


def contents(known, *forms):
    """Numbers and new contents of all containers, as a program tells of them."""
    return [(number, Decoder(known=known).decode(form)) for number, form in enumerate(forms)]


def test_new_contents_refer_to_what_is_there():
    (rows,), _, there = across([[1], [2]])
    first, second = rows
    there.change(contents(there, [1], [2], [{"sa": 1}, {"sa": 0}, []]))
    assert rows == [[2], [1], []]
    assert rows[0] is second
    assert rows[1] is first


@pytest.mark.parametrize(
    "forms",
    [
        ([{"sa": 1}], [{"sa": 0}]),
        ([{"sa": 0}], []),
        ({"d": []}, []),
        ([], {"s": []}),
    ],
)
def test_contents_that_do_not_fit_are_refused(forms):
    _, _, there = across([], [])
    with pytest.raises(NotPlain):
        there.change(contents(there, *forms))


def test_new_contents_cannot_stand_for_very_many_values():
    _, _, there = across(*[[] for _ in range(10)])
    forms = [[0] * 1000, *([{"sa": at}] * 1000 for at in range(9))]
    with pytest.raises(NotPlain, match="more than"):
        there.change(contents(there, *forms))


def test_copies_have_the_same_numbers_and_lives_of_their_own():
    (rows,), _, there = across([[1], [2]])
    copies = there.copied()
    copies.change(contents(copies, [9], [2], [{"sa": 0}]))
    assert rows == [[1], [2]]
    assert copies.values[2] == [[9]]
    assert copies.values[2][0] is copies.values[0]
