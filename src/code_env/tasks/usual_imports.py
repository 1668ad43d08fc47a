"""The imports that contest sites put before every answer, and so do the runners of the data sets made from them.

`class Solution` with `nums: List[int]` is a right answer on LeetCode, where nobody writes `from typing import List`.
LiveCodeBench and APPS run answers after a block of imports (`lcb_runner/evaluation/testing_util.py`, and
`testing_util.py` of https://github.com/hendrycks/apps). An answer gets only those that it might need: all of them would
cost more than a small answer.
"""

from __future__ import annotations

import ast
import functools
import re

USUAL_IMPORTS = """\
from typing import Any, Callable, Deque, DefaultDict, Dict, FrozenSet, Generator, Iterable, Iterator, List, Mapping
from typing import NamedTuple, Optional, Sequence, Set, Tuple, Type, TypeVar, Union
from bisect import bisect_left, bisect_right, insort, insort_left, insort_right
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque, namedtuple
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache, cached_property, cmp_to_key, lru_cache, partial, reduce
from heapq import heapify, heappop, heappush, heappushpop, heapreplace, merge, nlargest, nsmallest
from io import BytesIO, StringIO
from itertools import accumulate, chain, combinations, combinations_with_replacement, compress, cycle, dropwhile
from itertools import groupby, islice, pairwise, permutations, product, repeat, starmap, takewhile, zip_longest
from math import ceil, comb, dist, factorial, floor, gcd, hypot, inf, isqrt, lcm, log, log2, log10, perm, pi, prod, sqrt
from operator import itemgetter, mul, xor
from string import ascii_lowercase, ascii_uppercase, digits
import bisect
import collections
import copy
import datetime
import decimal
import fractions
import functools
import heapq
import io
import itertools
import json
import math
import operator
import os
import random
import re
import statistics
import string
import sys
import time
"""
"""A task whose `prefix` is this text lends its answers these imports."""

_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")  # Not those of attributes.


@functools.cache
def _lines() -> list[tuple[str, frozenset[str]]]:
    statements = [(line, ast.parse(line).body[0]) for line in USUAL_IMPORTS.splitlines()]
    return [
        (line, frozenset(alias.name for alias in statement.names))
        for line, statement in statements
        if isinstance(statement, ast.Import | ast.ImportFrom)
    ]


def imports_for(answer: str) -> str:
    """The usual imports of names that an answer has, on one line.

    >>> imports_for("def f(a, b): return operator.xor(deepcopy(a), b)")
    'from copy import deepcopy; import operator\\n'
    >>> imports_for("print([1].copy())")
    ''
    """
    names = set(_NAME.findall(answer))
    needed = "; ".join(line for line, bound in _lines() if not names.isdisjoint(bound))
    return f"{needed}\n" if needed else ""
