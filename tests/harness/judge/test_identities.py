"""Which values of a result are parts of the arguments, as told by a process that may tell anything."""

from collections import namedtuple

import pytest

from code_env.harness.judge.identities import claimed, confirmed
from code_env.harness.wire.identities import MAX_SAME

Pair = namedtuple("Pair", "a b")
TEXT = "".join(["te", "xt"])
GIVEN = [[Pair(1, 2), TEXT], {"k": (3, [4])}, 5.5]


def places(told, value):
    return [original for _, original in confirmed(claimed(told, GIVEN), value)]


def test_an_equal_value_is_the_part_of_the_arguments_that_is_named():
    other = namedtuple("Pair", "a b")
    (found,) = places([[[], [0, 0]]], other(1, 2))
    assert found is GIVEN[0][0]
    found = places([[[0], [0, 1]], [[1, 0], [1, 0]]], ["".join(["te", "xt"]), ((3, [4]),)])
    assert found[0] is TEXT
    assert found[1] is GIVEN[1]["k"]


@pytest.mark.parametrize("value", [(1, 3), (1, 2, 3), [1, 2], "text", (1, {2}), None], ids=str)
def test_another_value_is_not(value):
    assert places([[[], [0, 0]]], value) == []


def test_a_number_of_another_type_is_not():
    assert places([[[0], [2]]], ["5.5"]) == []
    assert places([[[], [1, 0]]], (3.0, [5])) == []


@pytest.mark.parametrize(
    "told",
    [
        *(None, 7, "x", {}, [1], [[[]]], [[[], [9]]], [[[], [0, 2]]], [[[], [0, -1]]], [[[9], [0, 0]]]),
        *([[[], [0, 0, 0, 0]]], [[[], [True, 0]]], [["", [0, 0]]], [[[], None]], [[None, [0, 0]]], [[[], [0, 0], 1]]),
    ],
    ids=str,
)
def test_what_is_malformed_names_nothing(told):
    assert places(told, (1, 2)) == []


def test_only_so_many_are_looked_at():
    assert len(places([[[], [0, 0]]] * (MAX_SAME + 50), (1, 2))) == MAX_SAME
