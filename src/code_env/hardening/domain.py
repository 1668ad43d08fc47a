"""Learns from the inputs of a suite's tests which other inputs its statement allows, as far as examples tell.

A statement says "n > 1" or "a string of brackets" in words. The tests' inputs show it: a property that all of them have
is taken for a condition, if there are enough of them. Three words of the statement count against that: "empty",
"negative" and "zero". Bounds that it writes as comparisons, such as `1 <= n <= 100`, hold if all examples keep them.
A domain that is too narrow costs inputs; one that is too wide asks programs about inputs for which nothing is stated.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .bounds import Bounds, stated_bounds

_LEAST_FOR_LENGTH = 4
"""From so many values on, a length that all have is a condition, and so is the order of two arguments."""

_LEAST_FOR_LENGTHS = 3
"""From so many examples on, and from two different lengths on, two lengths that differ by as much in all are one."""

_LEAST_SORTED = 3
"""From so many sequences on, of at least so many elements each, an order that all have is a condition."""

_CLOSED_ALPHABET = 8
"""An alphabet of at most so many characters is closed, if each was seen four times on average."""

_EMPTY = re.compile(r"\bempty\b", re.IGNORECASE)
_NEGATIVE = re.compile(r"(?<!non-)(?<!non )\bnegative", re.IGNORECASE)
_ZERO = re.compile(r"\bnon-?\s?negative|\bzeros?\b", re.IGNORECASE)
_POSITIVE = re.compile(r"\bpositive\b", re.IGNORECASE)

_NO_BOUNDS = Bounds()

_BRACKETS = {")": "(", "]": "[", "}": "{"}


class Domain:
    """What inputs may be, learnt from examples.

    Args:
        examples: The arguments of some calls, as tuples.
        statement: What the task says. Where it speaks of empty arguments, of negative numbers or of zero, these are
            allowed, although no example has them.
        names: What the statement calls the arguments, as far as that is known.

    Example:
        >>> domain = Domain([([1, 2], "ab"), ([3], "b"), ([4, 4, 7], "aab")])
        >>> domain.allows(([2, 9], "ba")), domain.allows(([], "ba")), domain.allows(([-1], "b"))
        (True, False, False)
    """

    def __init__(self, examples: Sequence[tuple[Any, ...]], statement: str = "", names: Sequence[str] = ()) -> None:
        self._counts = {len(example) for example in examples}
        bounds = [stated_bounds(statement, name) for name in names]
        self._places = _by_position(examples, _Said.of(statement), bounds)
        self._lengths, self._ordered = _relations(examples)

    def allows(self, arguments: tuple[Any, ...], *, of_any_size: bool = False) -> bool:
        """Whether all arguments have what all examples have.

        Args:
            arguments: The arguments of a call.
            of_any_size: Whether numbers and lengths, also in lists, may be larger than those of the examples.
        """
        return (
            len(arguments) in self._counts
            and all(place.allows(value, of_any_size) for place, value in zip(self._places, arguments, strict=False))
            and all(
                _length(arguments[one]) - _length(arguments[other]) == by
                for one, other, by in self._lengths
                if max(one, other) < len(arguments)
            )
            and all(
                _at_most(arguments[one], arguments[other])
                for one, other in self._ordered
                if max(one, other) < len(arguments)
            )
        )


class _Said(NamedTuple):
    """Which values a statement speaks of."""

    empty: bool
    negative: bool
    zero: bool

    @classmethod
    def of(cls, statement: str) -> _Said:
        zero = _ZERO.search(statement) is not None and _POSITIVE.search(statement) is None
        return cls(_EMPTY.search(statement) is not None, _NEGATIVE.search(statement) is not None, zero)


class _Place:
    """The values that were seen at one place: an argument, or the elements of one."""

    def __init__(self, values: Sequence[Any], said: _Said, bounds: Bounds = _NO_BOUNDS) -> None:
        # What not even the examples keep is said of something else.
        self._bounds = bounds = bounds if all(map(bounds.allow, values)) else _NO_BOUNDS
        self._types = {type(value) for value in values}
        numbers = [value for value in values if _is_number(value)]
        self._negative = said.negative or any(number < 0 for number in numbers) or -math.inf < bounds.low < 0
        self._zero = said.zero or any(number == 0 for number in numbers) or -math.inf < bounds.low <= 0
        self._most = 2 * max(map(abs, numbers), default=0) + 10
        sized = [value for value in values if isinstance(value, str | list | tuple | set | dict)]
        lengths = [len(value) for value in sized]
        self._shortest = 0 if said.empty else min(lengths, default=0)
        if bounds.shortest > -math.inf:
            self._shortest = min(self._shortest, math.ceil(bounds.shortest))
        self._longest = 2 * max(lengths, default=0) + 5
        self._fixed = len(lengths) >= _LEAST_FOR_LENGTH and len(set(lengths)) == 1
        lists = [value for value in values if isinstance(value, list)]
        self._sorted = len([one for one in lists if len(one) > 2]) >= _LEAST_SORTED and all(map(_is_sorted, lists))
        self._distinct = len([one for one in lists if len(one) > 2]) >= _LEAST_SORTED and all(map(_is_distinct, lists))
        said = said._replace(empty=False)  # It is the argument that may be empty, not what is in it.
        self._inside = _Place([one for value in lists for one in value], said) if any(lists) else None
        sets = [value for value in values if isinstance(value, set)]
        self._members = _Place([one for value in sets for one in value], said) if any(sets) else None
        self._positions = _by_position([value for value in values if isinstance(value, tuple)], said)
        maps = [value for value in values if isinstance(value, dict)]
        self._keys = _Place([key for value in maps for key in value], said) if any(maps) else None
        self._items = _Place([item for value in maps for item in value.values()], said) if any(maps) else None
        self._text = _Text([value for value in values if isinstance(value, str)])

    def allows(self, value: Any, of_any_size: bool = False) -> bool:
        """Whether a value has what all that were seen have."""
        if type(value) not in self._types or not self._bounds.allow(value):
            return False
        if isinstance(value, bool) or value is None:
            return True
        if isinstance(value, int | float):
            small = of_any_size or abs(value) <= self._most
            return small and (value >= 0 or self._negative) and (value != 0 or self._zero)
        if not isinstance(value, str | list | tuple | set | dict):
            return True
        if len(value) < self._shortest or (len(value) > self._longest and not of_any_size):
            return False
        if self._fixed and len(value) != self._shortest:
            return False
        match value:
            case str():
                return self._text.allows(value)
            case list():
                wrong = (self._sorted and not _is_sorted(value)) or (self._distinct and not _is_distinct(value))
                return not wrong and _all_allowed(self._inside, value, of_any_size)
            case tuple():
                return all(place.allows(one) for place, one in zip(self._positions, value, strict=False))
            case set():
                return _all_allowed(self._members, value)
        return _all_allowed(self._keys, value) and _all_allowed(self._items, value.values())


class _Text:
    """What texts have in common."""

    def __init__(self, texts: Sequence[str]) -> None:
        counted = Counter(character for text in texts for character in text)
        closed = len(counted) <= _CLOSED_ALPHABET and sum(counted.values()) >= 4 * len(counted)
        self._classes = set(counted) if closed else {_class_of(character) for character in counted}
        self._class_of = str if closed else _class_of
        words = Counter(word for text in texts for word in text.split(" "))
        # A text of a few words that come again and again, such as the names of numbers.
        closed_words = len(words) > 1 and sum(words.values()) >= 2 * len(words) and any(" " in text for text in texts)
        self._words = set(words) if closed_words else None
        shapes = {_shape(text) for text in texts}
        self._shapes = shapes if len(texts) >= 3 * len(shapes) and not shapes <= {"a", "A", "0", ""} else None
        self._single_spaces = not any("  " in text or text != text.strip() for text in texts)
        self._balanced = any(set(text) & set("()[]{}") for text in texts) and all(map(_is_balanced, texts))

    def allows(self, text: str) -> bool:
        """Whether a text has what all that were seen have."""
        return (
            all(self._class_of(character) in self._classes for character in text)
            and (self._words is None or set(text.split(" ")) <= self._words)
            and (self._shapes is None or _shape(text) in self._shapes)
            and not (self._single_spaces and ("  " in text or text != text.strip()))
            and (not self._balanced or _is_balanced(text))
        )


def _by_position(values: Sequence[tuple[Any, ...]], said: _Said, bounds: Sequence[Bounds] = ()) -> list[_Place]:
    longest = max(map(len, values), default=0)
    stated = [*bounds, *[_NO_BOUNDS] * longest]
    return [
        _Place([value[number] for value in values if number < len(value)], said, stated[number])
        for number in range(longest)
    ]


def _relations(examples: Sequence[tuple[Any, ...]]) -> tuple[list[tuple[int, int, int]], list[tuple[int, int]]]:
    """Pairs of arguments whose lengths differ by a constant, and pairs where one is at most the other or its length."""
    same: list[tuple[int, int, int]] = []
    ordered: list[tuple[int, int]] = []
    count = min(map(len, examples)) if len(examples) >= _LEAST_FOR_LENGTHS else 0
    for one, other in ((one, other) for one in range(count) for other in range(count) if one != other):
        pairs = [(example[one], example[other]) for example in examples]
        if all(isinstance(value, str | list | tuple) for pair in pairs for value in pair):
            apart = {len(left) - len(right) for left, right in pairs}
            if len(apart) == 1 and one < other and len({len(left) for left, _ in pairs}) > 1:
                same.append((one, other, apart.pop()))
        elif len(examples) >= _LEAST_FOR_LENGTH and all(_at_most(left, right) for left, right in pairs):
            ordered.append((one, other))
    return same, ordered


def _all_allowed(place: _Place | None, values: Iterable[Any], of_any_size: bool = False) -> bool:
    return all(place is not None and place.allows(value, of_any_size) for value in values)


def _at_most(number: Any, other: Any) -> bool:
    """Whether a number is not larger than another, or than the length of a text or a list."""
    most = len(other) if isinstance(other, str | list | tuple) else other
    return _is_number(number) and _is_number(most) and bool(number <= most)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | list | tuple) else -1


def _is_sorted(values: Sequence[Any]) -> bool:
    try:
        return all(left <= right for left, right in itertools.pairwise(values))
    except TypeError:
        return False


def _is_distinct(values: Sequence[Any]) -> bool:
    return len({repr(value) for value in values}) == len(values)


def _class_of(character: str) -> str:
    if character.isdigit():
        return "0"
    if character.isalpha():
        return "a" if character.islower() else "A"
    return character


def _shape(text: str) -> str:
    """The text with its runs of letters and digits replaced: what it looks like as a form.

    Example:
        >>> _shape("5 apples and 16 oranges"), _shape("2024-01-31")
        ('0 a a 0 a', '0-0-0')
    """
    classes = "".join(_class_of(character) for character in text)
    return re.sub(r"a+|A+|0+", lambda run: run[0][0], classes)


def _is_balanced(text: str) -> bool:
    open_now: list[str] = []
    for character in text:
        if character in "([{":
            open_now.append(character)
        elif character in ")]}" and (not open_now or open_now.pop() != _BRACKETS[character]):
            return False
    return not open_now
