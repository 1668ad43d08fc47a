"""Which values pass for one another under each rule."""

import collections
import datetime
import decimal
import fractions
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_env.harness.judge.comparing import compare_values
from code_env.harness.wire.plain import MAX_DEPTH
from harness.wire.values import Point

Decimal, Fraction = decimal.Decimal, fractions.Fraction
Counter, OrderedDict, defaultdict, deque = (
    collections.Counter,
    collections.OrderedDict,
    collections.defaultdict,
    collections.deque,
)
NAN, INF = math.nan, math.inf


def decide(rule, expected, actual, rel=1e-6, abs_=1e-6):
    verdict = compare_values(expected, actual, rule, rel, abs_)
    assert type(verdict) is bool
    return verdict


EQUAL = [
    (1, 1, True),
    (1, 2, False),
    (1, 1.0, True),
    (1, True, True),
    (0, False, True),
    (0, None, False),
    (0, "", False),
    ("1", 1, False),
    ("a", b"a", False),
    (0.0, -0.0, True),
    (0.1 + 0.2, 0.3, False),
    (NAN, NAN, True),
    (NAN, float("nan"), True),
    (NAN, 0.0, False),
    (0.0, NAN, False),
    (INF, INF, True),
    (INF, -INF, False),
    (10**400, 10**400, True),
    (10**400, 10**400 + 1, False),
    (10**400, INF, False),
    (2**53 + 1, float(2**53), False),
    (1, 1 + 0j, True),
    ([1, 2], (1, 2), True),
    ((1, [2, (3,)]), [1, (2, [3])], True),
    ([1, 2], [2, 1], False),
    ([1], [1, 1], False),
    ([], (), True),
    ([], None, False),
    ([], {}, False),
    ([], "", False),
    ([1], {1}, False),
    ([NAN, [NAN]], (NAN, [float("nan")]), True),
    ({"a": NAN}, {"a": float("nan")}, True),
    ({"a": [1]}, {"a": (1,)}, True),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
    ({"a": 1}, {"a": 2}, False),
    ({"a": 1}, {"b": 1}, False),
    ({"a": None}, {}, False),
    ({}, {"a": None}, False),
    ({1: "a"}, {"1": "a"}, False),
    ({1: "a"}, {1.0: "a"}, True),
    ({(1, 2): 3}, {(1, 2): 3}, True),
    ({1, 2}, {2, 1}, True),
    ({1, 2}, {1}, False),
    (Point(1, 2), (1, 2), True),
    (Point(1, 2), Point(1, 3), False),
    (Counter("aab"), {"a": 2, "b": 1}, True),
    (defaultdict(list, a=[1]), {"a": (1,)}, True),
    (deque([1, 2]), deque([1, 2]), True),
    (deque([1, 2]), deque([2, 1]), False),
    (deque([1, 2]), [1, 2], False),
    (range(3), range(3), True),
    (range(3), [0, 1, 2], False),
    (Decimal("1.0"), Decimal("1.00"), True),
    (Decimal("1"), Decimal("2"), False),
    (Fraction(1, 2), Fraction(2, 4), True),
    (Fraction(1, 2), Fraction(1, 3), False),
    (datetime.date(2024, 1, 1), datetime.date(2024, 1, 1), True),
    (datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1), False),
    ("\ud800", "\ud800", True),
    ([1, 2], np.array([1, 2]), True),
    ([[1.5]], [np.array([1.5])], True),
    ([[1, 2], [3, 4]], np.array([[1, 2], [3, 4]]), True),
    ([1, 2], np.array([1, 3]), False),
    (3, np.int64(3), True),
    ({"a": 1}, {"a": np.float32(1)}, True),
    ({1: "a"}, {np.int64(1): "a"}, True),
]


@pytest.mark.parametrize(("expected", "actual", "verdict"), EQUAL, ids=repr)
def test_equal_values_pass_and_others_fail(expected, actual, verdict):
    assert decide("equal", expected, actual) is verdict


@pytest.mark.parametrize(("expected", "actual", "verdict"), EQUAL, ids=repr)
def test_equality_does_not_depend_on_the_side(expected, actual, verdict):
    assert decide("equal", actual, expected) is verdict


@pytest.mark.parametrize(("expected", "actual", "verdict"), EQUAL, ids=repr)
def test_a_multiset_of_one_item_is_judged_as_the_item(expected, actual, verdict):
    assert decide("multiset", [expected], [actual]) is verdict


@pytest.mark.parametrize(
    ("expected", "actual", "verdict"),
    [
        pytest.param(1, Decimal(1), True, id="int-and-decimal"),
        pytest.param(Decimal("0.5"), 0.5, True, id="decimal-and-float"),
        pytest.param(0.5, Fraction(1, 2), True, id="float-and-fraction"),
        pytest.param([2], [Fraction(2)], True, id="int-and-fraction-in-a-list"),
        pytest.param(Decimal("0.1"), 0.1, False, id="decimal-and-the-float-beside-it"),
        pytest.param({1}, frozenset({1}), True, id="set-and-frozenset"),
        pytest.param(b"a", bytearray(b"a"), True, id="bytes-and-bytearray"),
        pytest.param(Counter(), Counter(a=0), True, id="counters-that-differ-by-a-zero"),
        pytest.param(OrderedDict(a=1, b=2), {"b": 2, "a": 1}, True, id="ordered-dict-and-dict"),
        pytest.param(OrderedDict(a=1, b=2), OrderedDict(b=2, a=1), False, id="ordered-dicts-in-another-order"),
        pytest.param(Counter(a=2), Counter({"a": np.int64(2)}), True, id="counter-of-numpy-ints"),
        pytest.param({"a": 2}, defaultdict(int, a=np.int64(2)), True, id="defaultdict-of-numpy-ints"),
        pytest.param((1, 2), Point(np.int64(1), np.int64(2)), True, id="namedtuple-of-numpy-ints"),
        pytest.param([[1, 2]], [Point(np.int64(1), 2)], True, id="list-of-namedtuples-of-numpy-ints"),
    ],
)
def test_equal_is_python_s_own_equality(expected, actual, verdict):
    assert decide("equal", expected, actual) is verdict


@pytest.mark.parametrize(
    ("expected", "actual", "verdict"),
    [
        (Decimal("NaN"), Decimal("NaN"), True),
        (complex(NAN, 1), complex(NAN, 1), True),
        (complex(NAN, 1), complex(NAN, 2), False),
        (NAN, complex(NAN, 5), False),
        (deque([NAN]), deque([float("nan")]), True),
        ({NAN}, {float("nan")}, True),
        ({NAN: 1}, {float("nan"): 1}, True),
        ({NAN: 1}, {float("nan"): 2}, False),
    ],
    ids=repr,
)
def test_nan_equals_nan_in_every_type_that_has_one(expected, actual, verdict):
    assert decide("equal", expected, actual) is verdict


RULES = ("exact", "equal", "close", "unordered", "multiset")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        pytest.param(Decimal(1), Decimal("sNaN"), id="signaling-nan"),
        pytest.param([Decimal(1)], [Decimal("sNaN")], id="signaling-nan-in-a-list"),
        pytest.param({"a": Decimal(1)}, {"a": Decimal("sNaN")}, id="signaling-nan-in-a-dict"),
        pytest.param(deque([1]), deque([np.array([1, 2])]), id="array-in-a-deque"),
        pytest.param([deque([1])], [deque([np.array([1, 2])])], id="array-in-a-deque-in-a-list"),
        pytest.param([deque([[1]])], [deque([[2]])], id="list-in-a-deque-in-a-list"),
        pytest.param([1], [deque([{}])], id="dict-in-a-deque-in-a-list"),
        pytest.param([Counter(a=1)], [Counter({"a": np.array([1, 2])})], id="array-in-a-counter"),
        pytest.param([Point(1, 2)], [Point(np.array([1, 2]), 2)], id="array-in-a-namedtuple"),
        pytest.param([1], [complex(1e308, 1e308)], id="complex-beyond-float"),
        pytest.param(1 + 1j, 10**400, id="complex-and-huge-int"),
        pytest.param(Fraction(10**400, 3), 10**400, id="huge-fraction"),
        pytest.param(Decimal("1e999999"), 1.0, id="huge-decimal"),
        pytest.param(datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, 1, tzinfo=datetime.UTC), id="zones"),
        pytest.param([np.array([1])], [np.array([[2]])], id="arrays-of-other-shapes"),
        pytest.param(np.array([1, 2]), "a", id="array-and-text"),
        pytest.param([], np.zeros((10**9, 0)), id="array-of-a-thousand-million-nothings"),
        pytest.param({1: 1}, {Decimal("1e999999999"): 1}, id="huge-decimal-as-a-key"),
        pytest.param([1], [object], id="no-plain-data"),
        pytest.param(range(3), range(10**400), id="huge-range"),
        pytest.param(datetime.time(1), datetime.time(1, tzinfo=datetime.UTC), id="times-with-and-without-a-zone"),
    ],
)
def test_an_odd_value_fails_without_an_exception(rule, expected, actual):
    assert decide(rule, expected, actual) is False
    assert decide(rule, actual, expected) is False


@pytest.mark.parametrize(
    ("expected", "actual", "verdict"),
    [
        (1, 1, True),
        (1, 1.0, False),
        (1, True, False),
        (NAN, float("nan"), True),
        ([1, (2,)], [1, (2,)], True),
        ([1, 2], (1, 2), False),
        ([1, (2,)], [1, [2]], False),
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": 1.0}, False),
        ({"a": 1}, Counter(a=1), False),
        ({1: "a"}, {True: "a"}, False),
        ({1: "a"}, {1.0: "a"}, False),
        ({(1, 2): 0}, {(1, 2.0): 0}, False),
        ({1}, {1}, True),
        ({1}, {1.0}, False),
        ({1}, {True}, False),
        ({1}, frozenset({1}), False),
        (deque([1]), deque([1]), True),
        (deque([1]), deque([True]), False),
        (OrderedDict(a=1, b=2), OrderedDict(a=1, b=2), True),
        (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1), False),
        (Point(1, 2), Point(1, 2), True),
        (Point(1, 2), (1, 2), False),
        (b"a", bytearray(b"a"), False),
    ],
    ids=repr,
)
def test_exact_asks_for_the_same_types_throughout(expected, actual, verdict):
    assert decide("exact", expected, actual) is verdict


@pytest.mark.parametrize(
    ("expected", "actual", "verdict"),
    [
        (1.0, 1.0 + 1e-9, True),
        (1.0, 1.01, False),
        (0.0, 1e-9, True),
        (0, 1e-3, False),
        (1, 1.0000001, True),
        ([1.0, {"a": (2.0,)}], (1.0 + 1e-9, {"a": [2.0 + 1e-9]}), True),
        ([1.0], [1.0, 1.0], False),
        ({"a": 1.0}, {"a": 1.1}, False),
        (NAN, NAN, True),
        (NAN, 1.0, False),
        (INF, INF, True),
        (INF, 1e308, False),
        (INF, -INF, False),
        (1 + 1j, 1 + 1.0000001j, True),
        (1 + 1j, 1 + 2j, False),
        (10**400, 10**400, True),
        (10**400, 2 * 10**400, False),
        (10**400, -(10**400), False),
        (10**400, 1.0, False),
        (10**400, INF, False),
        (-(10**400), INF, False),
        (10**400, 10**400 + 1, True),
        (complex(1e308, 1e308), complex(1e308, 1e308), True),
        (complex(1e308, 1e308), complex(-1e308, 1e308), False),
        (1 + 1j, complex(INF, 1), False),
        (Decimal("0.1"), 0.1, True),
        (Fraction(1, 3), 1 / 3, True),
        (Decimal("1e400"), 10**400, True),
        (10**15, 10**15 + 1, True),
        ("1.0", "1.0000001", False),
        ("1.0", 1.0, False),
        ([1.0, 2.0], np.array([1.0, 2.0 + 1e-9]), True),
        (0.3, np.float64(0.1) + np.float64(0.2), True),
        (Decimal("0.3"), Decimal("0.3000000001"), True),
        (Decimal("0.3"), Decimal("0.4"), False),
        (Fraction(1, 3), Fraction(333333333, 1000000000), True),
        (0.5, Fraction(1, 2), True),
        (deque([1.0]), deque([1.0 + 1e-9]), True),
    ],
    ids=repr,
)
def test_close_allows_the_tolerance_and_no_more(expected, actual, verdict):
    assert decide("close", expected, actual) is verdict


@pytest.mark.parametrize(
    ("expected", "actual", "rel", "abs_", "verdict"),
    [
        (100.0, 101.0, 0.01, 0, True),
        (100.0, 102.1, 0.01, 0, False),
        (0.0, 0.5, 0, 0.5, True),
        (0.0, 0.6, 0, 0.5, False),
        (1.0, 1.0, 0, 0, True),
        (1.0, 1.0 + 1e-15, 0, 0, False),
        (2**53, 2**53 + 1, 0, 0, False),
        (2**53 + 1, float(2**53), 0, 0, False),
        (Decimal("0.1"), 0.1, 0, 0, False),
        (100, Decimal(101), 0.01, 0, True),
        (100, Fraction(1021, 10), 0.01, 0, False),
        (10, 11, 0, 1, True),
        (10, 12, 0, 1, False),
        (Decimal(0), Decimal("0.5"), 0, 0.5, True),
        (Decimal(0), Decimal("0.6"), 0, 0.5, False),
        (Fraction(1, 3), Fraction(5, 6), 0, 0.5, True),
        (Fraction(1, 3), Fraction(11, 12), 0, 0.5, False),
    ],
)
def test_the_tolerance_of_close_is_the_one_given(expected, actual, rel, abs_, verdict):
    assert decide("close", expected, actual, rel, abs_) is verdict


@pytest.mark.parametrize(
    ("expected", "actual", "verdict"),
    [
        ([1, 2, 3], [3, 1, 2], True),
        ([1, 2, 3], (3, 1, 2), True),
        ([1, 1, 2], [1, 2, 2], False),
        ([1, 1], [1], False),
        ([1], [1, 1], False),
        ([1, True, 1.0], [1.0, 1, 1], True),
        ([], [], True),
        ([], [1], False),
        ([[1, 2], [3]], [[3], [1, 2]], True),
        ([[1, 2]], [[2, 1]], False),
        ([[1, 2], [3]], [(3,), (1, 2)], True),
        ([{"a": 1}, {"b": [2]}], [{"b": (2,)}, {"a": 1}], True),
        ([{"a": 1}, {"a": 1}], [{"a": 1}, {"a": 2}], False),
        ([{1, 2}, {3}], [{3}, {2, 1}], True),
        ([NAN, 1, NAN], [1, float("nan"), float("nan")], True),
        ([NAN, 1], [NAN, NAN], False),
        ([None, "a", b"a"], ["a", b"a", None], True),
        (["1", 1], [1, "1"], True),
        (["1", "1"], ["1", 1], False),
        ([bytearray(b"a"), 1], [1, bytearray(b"a")], True),
        ([deque([1]), 1], [1, deque([1])], True),
        ([deque([[1]]), 1], [1, deque([[1]])], True),
        ([Decimal(1), Fraction(1, 2)], [Fraction(1, 2), Decimal("1.0")], True),
        ([10**400, 1], [1, 10**400], True),
        ([3, 1, 2], np.array([1, 2, 3]), True),
        ({"a": [1, 2]}, {"a": [2, 1]}, False),
        ({1, 2}, {2, 1}, True),
        ([1, 2], {1, 2}, False),
        (5, 5, True),
        ("ab", "ba", False),
    ],
    ids=repr,
)
def test_multiset_frees_the_order_of_the_outermost_list_only(expected, actual, verdict):
    assert decide("multiset", expected, actual) is verdict


@pytest.mark.parametrize(
    ("expected", "actual", "verdict"),
    [
        ([1, 2, 3], (3, 1, 2), True),
        ([1, 1, 2], [1, 2, 2], False),
        ([1], [1, 1], False),
        ([], (), True),
        ([[1, 2], [3]], [(3,), [2, 1]], True),
        ([[1, 2], [3, 4]], [[1, 3], [2, 4]], False),
        ([[1, 2], [1, 3]], [[3, 1], [2, 1]], True),
        ([[[1, 2]], [[3], []]], [[[], [3]], [[2, 1]]], True),
        ([[1], [1]], [[1, 1]], False),
        ([[1, [2]]], [[[1], 2]], False),
        ({"a": [1, 2], "b": ([3, 4],)}, {"b": [(4, 3)], "a": (2, 1)}, True),
        ({"a": [1, 2]}, {"a": [1, 3]}, False),
        ({"a": [1], "b": [2]}, {"a": [2], "b": [1]}, False),
        ({(1, 2)}, {(2, 1)}, True),
        ({(1, 2): 0, (2, 1): 1}, {(1, 2): 1, (2, 1): 0}, True),
        (deque([1, 2]), deque([2, 1]), False),
        (deque([[1, 2]]), deque([[2, 1]]), True),
        ([1, "1", None, b"1", 1.5, NAN, (), {}], [{}, [], NAN, 1.5, b"1", None, "1", True], True),
        ([0.5, 0.5], [Fraction(1, 2), Decimal("0.50")], True),
        ([[1, 2], [3, 4]], np.array([[4, 3], [2, 1]]), True),
        ("ab", "ba", False),
        ([1, 2], {1, 2}, False),
    ],
    ids=repr,
)
def test_unordered_frees_the_order_of_lists_at_every_depth(expected, actual, verdict):
    assert decide("unordered", expected, actual) is verdict
    assert decide("unordered", actual, expected) is verdict


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(width=16) | st.text("ab", max_size=1),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text("ab", max_size=1), inner)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_a_value_passes_against_itself_under_every_rule(value):
    assert [decide(rule, value, value) for rule in RULES] == [True] * len(RULES)


@given(VALUES, VALUES)
def test_what_is_exact_is_equal_and_what_is_equal_is_close(a, b):
    exact, equal, close = (decide(rule, a, b) for rule in ("exact", "equal", "close"))
    assert exact <= equal <= close


@given(st.lists(VALUES, max_size=4).flatmap(lambda items: st.tuples(st.just(items), st.permutations(items))))
def test_every_order_of_a_list_is_the_same_multiset(lists):
    assert decide("multiset", *lists)


def shuffled(value, random):
    if isinstance(value, dict):
        return {key: shuffled(item, random) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return random.sample(inner := [shuffled(item, random) for item in value], len(inner))
    return value


@given(VALUES, st.randoms())
def test_every_order_at_every_depth_passes_unordered(value, random):
    assert decide("unordered", value, shuffled(value, random))


@given(VALUES, VALUES)
def test_what_is_equal_is_a_multiset_and_what_is_a_multiset_is_unordered(a, b):
    equal, multiset, unordered = (decide(rule, a, b) for rule in ("equal", "multiset", "unordered"))
    assert equal <= multiset <= unordered


@given(st.lists(VALUES, max_size=3), st.lists(VALUES, max_size=3))
def test_a_multiset_is_equality_under_some_order(a, b):
    left = list(b)
    for item in a:
        left = next(
            (left[:i] + left[i + 1 :] for i, other in enumerate(left) if decide("equal", item, other)), [None, *left]
        )
    assert decide("multiset", a, b) is (len(a) == len(b) and not left)


@pytest.mark.parametrize("rule", RULES)
def test_values_as_deep_as_plain_data_may_be_are_compared(rule):
    def deep(innermost):
        for _ in range(MAX_DEPTH):
            innermost = [innermost]
        return innermost

    assert decide(rule, deep(1), deep(1))
    assert not decide(rule, deep(1), deep(2))
