"""The short form of a value, in which a difference names it."""

import collections
from collections import Counter, deque
from decimal import Decimal
from fractions import Fraction
from math import inf as INF
from math import nan as NAN

import numpy as np
import pytest

from code_env.harness.wire.shown import MAX_BRIEF, brief
from harness.wire.values import Point


def deep_list():
    value = []
    for _ in range(100_000):
        value = [value]
    return value


def deep_dict():
    value = {}
    for _ in range(900):
        value = {1: value}
    return value


def named(name):
    return collections.namedtuple(name, ["a"])(1)


BRIEF_VALUES = {
    "huge int": lambda: 10 ** (10**6),
    "huge negative int": lambda: -(10 ** (10**6)),
    "huge ints in a list": lambda: [10 ** (10**6)] * 100,
    "huge int in a dict": lambda: {10**6000: 10**6000},
    "huge int in a set": lambda: {10**6000, 1},
    "huge int in a counter": lambda: Counter({"a": 10**6000}),
    "huge int in a deque": lambda: deque([10**6000]),
    "huge int in a namedtuple": lambda: Point(10**6000, 1),
    "huge fraction": lambda: Fraction(10**6000, 7),
    "huge decimal": lambda: Decimal("1" * 10**6),
    "signaling nan": lambda: Decimal("sNaN"),
    "huge range": lambda: range(10**6000),
    "deep list": deep_list,
    "deep dict": deep_dict,
    "wide list": lambda: [[[[1] * 30] * 30] * 30] * 30,
    "long text": lambda: "a" * 10**7,
    "long bytes": lambda: b"\0" * 10**6,
    "lone surrogates": lambda: "\ud800" * 1000,
    "lone surrogates in a dict": lambda: {"\udfff": ["\ud800"]},
    "escapes": lambda: "\x1b[31m\n\r",
    "quotes": lambda: "'\"" * 1000,
    "array": lambda: np.zeros((1000, 1000)),
    "text of numpy": lambda: np.str_("\ud800"),
    "keys that cannot be sorted": lambda: {1: 1, "a": 2, None: 3, (1,): 4},
    "sets that cannot be sorted": lambda: {1, "a", None},
    "nan": lambda: [NAN, INF],
    **{
        f"namedtuple called {name}": lambda name=name: named(name)
        for name in ("int", "str", "dict", "list", "tuple", "set", "frozenset", "deque", "array", "instance", "object")
    },
}


@pytest.mark.parametrize("make", BRIEF_VALUES.values(), ids=BRIEF_VALUES)
def test_the_short_form_of_any_value_is_short_and_on_one_line(make):
    text = brief(make())
    assert 0 < len(text) <= MAX_BRIEF
    assert text.isprintable()
    text.encode()


@pytest.mark.parametrize("make", BRIEF_VALUES.values(), ids=BRIEF_VALUES)
def test_the_short_form_of_a_value_does_not_say_where_it_lies(make):
    assert "at 0x" not in brief(make())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        ("a", "'a'"),
        ([1, (2,), {"a": None}], "[1, (2,), {'a': None}]"),
        ("x" * 200, repr("x" * 200)),
        (list(range(20)), repr(list(range(20)))),
        (10**200, str(10**200)),
    ],
    ids=["int", "text", "nested", "longer-text", "longer-list", "long-int"],
)
def test_a_value_that_is_short_is_shown_in_full(value, text):
    assert brief(value) == text
