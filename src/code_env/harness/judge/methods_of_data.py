"""Knows the methods of plain data: what a test can call on a result that it expects to be data."""

from __future__ import annotations

import datetime
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Generator
from decimal import Decimal
from fractions import Fraction
from re import Match
from typing import Any

_TYPES: tuple[type[Any], ...] = (
    *(str, bytes, bytearray, int, float, complex, range, slice, list, tuple, dict, set, frozenset, BaseException),
    *(Counter, OrderedDict, defaultdict, deque, Decimal, Fraction, Match, Generator),
    *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone),
)


def is_method_of_data(name: str) -> bool:
    """Return whether some type of data has an attribute of this name.

    >>> is_method_of_data("startswith"), is_method_of_data("error_type")
    (True, False)
    """
    numpy = sys.modules.get("numpy")
    arrays = () if numpy is None else (numpy.ndarray, numpy.generic)
    return any(hasattr(kind, name) for kind in (*_TYPES, *arrays))
