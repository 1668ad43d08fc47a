"""What is not plain data, or nested too deep, is not encoded."""

import collections
import datetime
import decimal
import enum
import fractions
import sys

import numpy as np
import pytest

from code_env.harness.wire.plain import MAX_DEPTH, NotPlain, decode, encode, type_name
from harness.wire.values import Pair, Point, nested


class Word(str):
    __slots__ = ()


class Colour(enum.IntEnum):
    RED = 1


class Disguising(type):
    @property
    def __name__(cls):
        return "list"


class Unhashable(type):
    def __hash__(cls):
        raise ZeroDivisionError


class DisguisedFloat(np.float64):
    def __eq__(self, other):
        return True

    __hash__ = None


DisguisedFloat.__module__ = "numpy"


def subclassed(base, *args):
    return type(f"My{base.__name__}", (base,), {})(*args)


NOT_PLAIN = [
    *(
        pytest.param(subclassed(base, *args), id=f"subclass-of-{base.__name__}")
        for base, args in [
            (int, (1,)),
            (float, (1.0,)),
            (str, ("a",)),
            (complex, (1,)),
            (bytes, (b"a",)),
            (bytearray, (b"a",)),
            (list, ([1],)),
            (tuple, ((1,),)),
            (dict, ({},)),
            (set, ({1},)),
            (frozenset, ({1},)),
            (collections.Counter, ("a",)),
            (collections.OrderedDict, ({},)),
            (collections.defaultdict, (int,)),
            (collections.deque, ([1],)),
            (decimal.Decimal, (1,)),
            (fractions.Fraction, (1, 2)),
            (datetime.date, (2024, 1, 1)),
            (datetime.time, (1,)),
            (datetime.datetime, (2024, 1, 1)),
            (datetime.timedelta, (1,)),
            (Point, (1, 2)),
            (np.ndarray, ((2,),)),
            (np.float64, (1.0,)),
        ]
    ),
    pytest.param(Word("a"), id="str-with-slots"),
    pytest.param(Colour.RED, id="enum"),
    pytest.param(object(), id="object"),
    pytest.param(print, id="function"),
    pytest.param(type, id="class"),
    pytest.param(lambda: 1, id="lambda"),
    pytest.param(iter([]), id="iterator"),
    pytest.param(range(10**9), id="range-that-takes-long-to-go-through"),
    pytest.param(memoryview(b"a"), id="memoryview"),
    pytest.param(np.array([object()]), id="array-of-objects"),
    pytest.param(np.zeros(1, [("a", "i4")]), id="structured-array"),
    pytest.param(np.zeros(1, [("a", "i4")])[0], id="structured-scalar"),
    pytest.param(np.ma.array([1]), id="masked-array"),
    pytest.param(
        datetime.datetime(2024, 1, 1, tzinfo=type("Zone", (datetime.tzinfo,), {})()), id="time-zone-of-the-program"
    ),
    pytest.param(DisguisedFloat(1), id="numpy-subclass-that-names-numpy-as-its-module"),
    pytest.param(Disguising("Odd", (), {})(), id="class-that-calls-itself-list"),
    pytest.param(Unhashable("Odd", (), {})(), id="class-whose-hash-raises"),
]


@pytest.mark.parametrize("value", NOT_PLAIN)
def test_what_is_not_plain_is_refused(value):
    with pytest.raises(NotPlain):
        encode(value)


@pytest.mark.parametrize("value", NOT_PLAIN)
def test_what_is_not_plain_goes_to_other_wherever_it_lies(value):
    given_to_other = []

    def other(what, why):
        given_to_other.append((what, why))
        return {"h": len(given_to_other)}

    assert encode([(value,), 5, {1: value}], other) == [{"t": [{"h": 1}]}, 5, {"d": [[1, {"h": 2}]]}]
    assert all(what is value and isinstance(why, str) and why for what, why in given_to_other)


def test_the_refusal_names_the_type():
    with pytest.raises(NotPlain, match=r"^Word$"):
        encode([Word("a")])


def test_the_name_of_a_type_is_read_past_its_metaclass():
    assert type_name(Disguising("Odd", (), {})()) == "Odd"


def list_in_itself():
    value = [1]
    value.append(value)
    return value


def dict_in_itself():
    value = {}
    value["me"] = (value,)
    return value


def deque_in_itself():
    value = collections.deque()
    value.append([value])
    return value


@pytest.mark.parametrize("make", [list_in_itself, dict_in_itself, deque_in_itself])
def test_a_value_that_contains_itself_is_refused(make):
    with pytest.raises(NotPlain, match="contains itself"):
        encode(make())


def test_a_list_that_occurs_twice_does_not_contain_itself():
    inner = [1]
    assert encode([inner, inner, (inner,)]) == [[1], [1], {"t": [[1]]}]


WRAPS = {
    "list": lambda inner: [inner],
    "tuple": lambda inner: (inner,),
    "dict": lambda inner: {"a": inner},
    "deque": lambda inner: collections.deque([inner]),
    "defaultdict": lambda inner: collections.defaultdict(list, a=inner),
    "OrderedDict": lambda inner: collections.OrderedDict(a=inner),
    "Counter": lambda inner: collections.Counter({"a": inner}),
    "frozenset": lambda inner: frozenset([inner]),
    "namedtuple": lambda inner: Pair(inner, 1),
}


def depth_of(value):
    depth = 0
    while type(value) is not int:
        value = value["a"] if isinstance(value, dict) else next(iter(value))
        depth += 1
    return depth


@pytest.fixture
def deep_calls():
    """Lets calls nest as deep as the judge and the program's side do where they encode and decode."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(4_000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("deep_calls")
@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
@pytest.mark.parametrize("levels", [50, 150, MAX_DEPTH])
def test_what_may_be_encoded_may_be_decoded_however_deep(wrap, levels):
    form = encode(nested(wrap, levels))
    assert depth_of(decode(form)) == levels


@pytest.mark.usefixtures("deep_calls")
@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 5_000])
def test_what_is_nested_too_deep_is_refused(wrap, levels):
    if wrap is WRAPS["frozenset"]:
        levels = MAX_DEPTH + 1  # Python itself cannot hash a deeper one.
    with pytest.raises(NotPlain, match="deep"):
        encode(nested(wrap, levels))


def test_shared_references_that_double_sixty_times_are_refused():
    with pytest.raises(NotPlain, match="more than"):
        encode(nested(lambda a: [a, a], 60, [0]))


def test_shared_references_that_double_are_refused_though_there_is_another_way_out():
    with pytest.raises(NotPlain, match="more than"):
        encode(nested(lambda a: [a, a], 60, [object()]), lambda value, why: None)
