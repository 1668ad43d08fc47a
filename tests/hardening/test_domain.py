"""What examples tell of the inputs that a statement allows: both what is allowed, and what is not."""

import pytest

from code_env.hardening.domain import Domain

CASES = {
    "numbers that are positive": ([(1,), (7,), (30,)], [(2,), (70,)], [(0,), (-1,), (71,), (2.0,), (True,)]),
    "negative numbers and zero": ([(-3,), (0,), (5,)], [(-20,), (1,)], [(21,)]),
    "lists that are not empty": ([([1],), ([3, 1, 2],)], [([2, 2],)], [([],), ([1] * 12,), (["a"],)]),
    "an empty list": ([([],), ([3, 1, 2],)], [([],)], [([-1],)]),
    "sorted lists": ([([1, 2, 3],), ([2, 5, 9],), ([1, 1, 4],)], [([1, 4, 5],)], [([4, 1, 5],)]),
    "lists in any order": ([([1, 2, 3],), ([2, 5, 1],), ([1, 1, 4],)], [([4, 1, 5],)], [([0],)]),
    "texts of one length": ([("ab",), ("cd",), ("ba",), ("xy",)], [("qq",)], [("a",), ("abc",), ("a1",)]),
    "lower case": ([("ab",), ("c",), ("bay",)], [("zz",)], [("",), ("B",), ("a b",)]),
    "a form": ([("5-1",), ("16-22",), ("7-30",)], [("1-2",)], [("a-2",), ("1--2",), ("12",)]),
    "brackets": ([("(())",), ("()",), ("()()",)], [("(()())",)], [("(",), (")(",)]),
    "words of a list": ([("one two",), ("two one",), ("one one two",)], [("two two",)], [("one twoo",), ("one  two",)]),
    "a dictionary": ([({"a": 1},), ({"b": 2, "c": 3},)], [({"z": 5},)], [({},), ({"a": -1},), ({1: 1},)]),
    "pairs": ([((1, "a"),), ((2, "b"),)], [((3, "q"),)], [((3, 3),), ((0, "q"),)]),
    "sets": ([({1, 2},), ({4},)], [({3},)], [(set(),), ({-3},)]),
    "None": ([(None,), (1,)], [(None,), (2,)], [("a",)]),
    "two lists of one length": (
        [([1], [2]), ([1, 2], [3, 4]), ([5, 6, 7], [1, 1, 1]), ([9], [3])],
        [([1, 2], [2, 1])],
        [([1, 2], [2])],
    ),
    "the first is not larger": ([(1, 2), (3, 3), (2, 9), (1, 5)], [(2, 4)], [(4, 2)]),
    "one more operand than operators, in three examples": (
        [(["+", "-"], [2, 3, 4]), (["-", "+"], [5, 2, 4]), (["+"], [7, 3])],
        [(["-"], [2, 3])],
        [(["+", "-"], [2, 3]), (["+"], [2, 3, 4])],
    ),
    "at most the length": ([(1, [9]), (2, [5, 5]), (2, [9, 4, 1]), (1, [3, 3])], [(3, [9, 9, 9])], [(2, [9])]),
    "an argument less": ([(1,), (1, 2)], [(3,), (3, 4)], [(1, 2, 3), ()]),
}


@pytest.mark.parametrize(("examples", "inside", "outside"), CASES.values(), ids=CASES)
def test_what_all_examples_have_is_a_condition(examples, inside, outside):
    domain = Domain(examples)
    assert [one for one in (*examples, *inside) if not domain.allows(one)] == []
    assert [one for one in outside if domain.allows(one)] == []


SAID = {
    "an empty list": ("If the list is empty, return None.", ([1],), ([],), ([[]],)),
    "negative numbers": ("Negative numbers count twice.", (3,), (-3,), (0,)),
    "zero": ("For non-negative n.", (3,), (0,), (-3,)),
}


@pytest.mark.parametrize(("statement", "example", "inside", "outside"), SAID.values(), ids=SAID)
def test_what_a_statement_speaks_of_is_allowed(statement, example, inside, outside):
    assert not Domain([example]).allows(inside)
    domain = Domain([example], statement)
    assert domain.allows(inside)
    assert not domain.allows(outside)


def test_a_statement_with_positive_numbers_has_no_zero():
    assert not Domain([(3,)], "For positive n; it returns zero if n is odd.").allows((0,))


BOUNDED = {
    "a number": ("Assume n > 1.", (5, [3]), [(2, [3])], [(1, [3]), (0, [3])]),
    "numbers on both sides": ("* -2 <= n < 10^1", (5, [3]), [(-2, [3]), (0, [3]), (9, [3])], [(-3, [3]), (10, [3])]),
    "the other way round": ("Given 3 >= n, 0 < n.", (2, [3]), [(1, [3]), (3, [3])], [(0, [3]), (4, [3])]),
    "in a formula": (r"$0 \leq n \le 7$", (5, [3]), [(0, [3]), (7, [3])], [(8, [3])]),
    "with signs and code": ("1 ≤ `n` ≤ 6", (5, [3]), [(6, [3])], [(7, [3])]),
    "lengths": ("0 <= len(values) <= 3", (5, [3]), [(5, []), (5, [1, 2, 3])], [(5, [1, 2, 3, 4])]),
    "lengths in other words": ("1 <= values.length <= 2", (5, [3, 4]), [(5, [3])], [(5, []), (5, [1, 2, 3])]),
    "floats": ("Assume 0.5 < n.", (0.75, [3]), [(0.5000001, [3])], [(0.5, [3]), (0.0, [3])]),
    "only of parameters": ("Assume m > 7, 7 < k.n and f(n) > 7.", (5, [3]), [(5, [3])], []),
    "cases are not bounds": ("If n > 3, return 1; otherwise 2.", (5, [3]), [(2, [3])], []),
    "what no example keeps": ("n > 100 is too slow.", (5, [3]), [(2, [3])], []),
    "parts of expressions": ("Here n > 4*k and n < 3.14x.", (5, [3]), [(2, [3])], []),
}


@pytest.mark.parametrize(("statement", "example", "inside", "outside"), BOUNDED.values(), ids=BOUNDED)
def test_bounds_that_a_statement_writes_hold(statement, example, inside, outside):
    domain = Domain([example], statement, ["n", "values"])
    assert [one for one in (example, *inside) if not domain.allows(one)] == []
    assert [one for one in outside if domain.allows(one)] == []
    assert [one for one in outside if domain.allows(one, of_any_size=True)] == []


def test_sizes_can_be_left_out():
    domain = Domain([([1, 2], "ab", 3), ([3], "b", 5)])
    assert domain.allows(([1] * 500, "ab", 3), of_any_size=True)
    assert domain.allows(([1], "ab", 3000), of_any_size=True)
    assert not domain.allows(([1] * 500, "ab", 3))
    assert not domain.allows(([-1] * 500, "ab", 3), of_any_size=True)
    assert not domain.allows(([], "ab", 3), of_any_size=True)
