"""What `judge="objects"` forwards to objects and classes of the program: honest and wrong twins."""

import pytest

from code_env import AssertTest, Task
from code_env.judging import judge_many

ASYNC_WITH = """
import asyncio
async def main():
    async with Conn() as conn:
        assert conn.open
        assert await conn.query("x") == ["x"]
    assert not conn.open
    async with Conn() as other:
        raise ValueError("lost")
asyncio.run(main())
"""
CONN = """
class Conn:
    async def __aenter__(self):
        self.open = {opened}
        return self
    async def __aexit__(self, kind, error, trace):
        self.open = False
        return {silent}
    async def query(self, text): return [text]
"""
ASYNC_FOR = """
import asyncio
async def main(): return [x async for x in Ticker(3)]
assert asyncio.run(main()) == [1, 2, 3]
"""
TICKER = """
class Ticker:
    def __init__(self, n): self.n, self.i = n, 0
    def __aiter__(self): return self
    async def __anext__(self):
        if self.i >= self.n: raise StopAsyncIteration
        self.i += {step}
        return self.i
"""
IN_PLACE = """
a = b = N(7)
a //= 2
a |= 4
a <<= N(1)
a ^= 1
a **= 2
a %= 100
a @= 2
assert a.v == (25, 2) and a is b
"""
N = """
class N:
    def __init__(self, v): self.v = v
    def _of(self, other): return other.v if isinstance(other, N) else other
    def __ifloordiv__(self, o): self.v //= self._of(o); return self
    def __ior__(self, o): self.v |= self._of(o); return self
    def __ilshift__(self, o): self.v <<= self._of(o); return self
    def __ixor__(self, o): self.v ^= self._of(o); return self
    def __ipow__(self, o): self.v **= self._of(o); return self
    def __imod__(self, o): self.v %= self._of(o); return self
    def __imatmul__(self, o): self.v = (self.v, self._of(o)); return {given}
"""
CLASSES = """
assert len(Color) == 2 and [c.value for c in Color] == ["r", "g"]
assert Color["RED"] is Color.RED and Color("g") is Color.GREEN
assert Color.RED in Color and list(Color)[1] is Color.GREEN
assert list(Color.__members__) == ["RED", "GREEN"]
assert Box[int](5).value == 5
try:
    Color["BLUE"]
    outcome = "found"
except KeyError:
    outcome = "missing"
assert outcome == "missing"
"""
COLOR = """
from enum import Enum
from typing import Generic, TypeVar
T = TypeVar("T")
class Color(Enum):
    RED, GREEN = "r", {green}
class Box(Generic[T]):
    def __init__(self, value): self.value = {value}
"""
TESTS = {
    "async with": (ASYNC_WITH, "Conn", CONN, {"opened": True, "silent": True}),
    "async with, open": (ASYNC_WITH, "Conn", CONN, {"opened": False, "silent": True}),
    "async with, silent": (ASYNC_WITH, "Conn", CONN, {"opened": True, "silent": False}),
    "async for": (ASYNC_FOR, "Ticker", TICKER, {"step": 1}),
    "async for, steps": (ASYNC_FOR, "Ticker", TICKER, {"step": 2}),
    "in place": (IN_PLACE, "N", N, {"given": "self"}),
    "in place, another object": (IN_PLACE, "N", N, {"given": "N(self.v)"}),
    "in place, data": (IN_PLACE, "N", N, {"given": "self.v"}),
    "classes": (CLASSES, "Color", COLOR, {"green": "'g'", "value": "value"}),
    "classes, another member": (CLASSES, "Color", COLOR, {"green": "'r'", "value": "value"}),
    "classes, another value": (CLASSES, "Color", COLOR, {"green": "'g'", "value": "str(value)"}),
}
RIGHT = ["async with", "async for", "in place", "classes"]


def fractions(names, mode, executor):
    tests = [TESTS[name] for name in names]
    answers = [
        (Task("t", "", (AssertTest(code),), entry_point=entry_point, judge=mode), text.format(**fields))
        for code, entry_point, text, fields in tests
    ]
    return {name: v.fraction for name, v in zip(names, judge_many(answers, executor), strict=True)}


@pytest.mark.parametrize("mode", ["objects", "shared"])
def test_right_answers_pass_and_wrong_ones_do_not(mode, executor):
    found = fractions(list(TESTS), mode, executor)
    assert [name for name, fraction in found.items() if fraction == 1.0] == RIGHT, found


def test_blind_refuses_them_and_names_the_mode(executor):
    refused = [TESTS[name] for name in RIGHT if name != "async for"]
    tasks = [Task("t", "", (AssertTest(code),), entry_point=entry) for code, entry, *_ in refused]
    codes = [text.format(**fields) for _, _, text, fields in refused]
    for verdict in judge_many(list(zip(tasks, codes, strict=True)), executor):
        assert not verdict.passed
        assert any('judge="objects" allows it' in case.message for case in verdict.cases), verdict.cases


ALWAYS = """
class Yes: pass
class Number:
    def __init__(self, value): pass
    def __eq__(self, other): return Yes()
    __ne__ = __lt__ = __gt__ = __eq__
    def __iadd__(self, other): return 7
"""


def test_an_object_that_a_comparison_gives_is_not_true(executor):
    texts = ["assert Number(1) == 1", "assert Number(1) < 2", "n = Number(5)\nn += 2\nassert n == 7"]
    tasks = [Task("t", "", (AssertTest(text),), entry_point="Number", judge="objects") for text in texts]
    assert [v.fraction for v in judge_many([(task, ALWAYS) for task in tasks], executor)] == [0.0] * 3


MONEY = """
class Money:
    def __init__(self, a): self.a = a
    def __eq__(self, other): return self.a == other.a if isinstance(other, Money) else {other}
    def __divmod__(self, other): return divmod(self.a, other)
"""
UNEQUAL = "assert Money(1) == Money(1) and Money(1) != Money(2)\nassert Money(1) != 1 and not (Money(1) == '1')"


@pytest.mark.parametrize(
    ("code", "other", "passes"),
    [
        (UNEQUAL, "NotImplemented", True),
        (UNEQUAL, "False", True),
        (UNEQUAL, "True", False),
        ("assert Money(1) == 1", "self.a == other", False),
        ("assert divmod(Money(7), 2) == (3, 1)", "False", False),
    ],
)
def test_an_object_may_only_say_that_it_is_not_equal_to_data(code, other, passes, executor):
    tasks = [Task("t", "", (AssertTest(code),), entry_point="Money", judge=mode) for mode in ("objects", "shared")]
    found, shared = judge_many([(task, MONEY.format(other=other)) for task in tasks], executor)
    assert found.passed is passes
    if not passes and shared.passed:
        assert any('judge="shared" allows it' in case.message for case in found.cases), found.cases
