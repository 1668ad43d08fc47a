"""What is refused to the tests fails them, also where they expect an exception; what can cross is not refused."""

import pytest

from code_env import AssertTest, Task
from code_env.judging import judge_many

CARELESS = """
class S:
    def __init__(self): self.x = 2
    def __iter__(self): return iter([1])
def f(x): return x
"""
CAREFUL = """
class S:
    def __init__(self): object.__setattr__(self, "x", 2)
    def __delattr__(self, name): raise AttributeError(name)
    def __iter__(self): raise RuntimeError
    __hash__ = None
def f(x):
    if not isinstance(x, int):
        raise TypeError
    return x
"""
FORMS = {
    "unittest": """
import unittest
class C: pass
class T(unittest.TestCase):
    def test_1(self):
        with self.assertRaises({error}):
            {use}
""",
    "try": """
class C: pass
raised = False
try:
    {use}
except {error}:
    raised = True
assert raised
""",
    "pytest": """
import pytest
class C: pass
def test_1():
    with pytest.raises({error}):
        {use}
""",
}
CROSS = [
    ("f(object())", "TypeError"),
    ("f('a')", "TypeError"),
    ("f(slice(1, 2))", "TypeError"),
    ("del S().x", "AttributeError"),
]
REFUSED = [("f(C())", "TypeError"), ("f(__import__('pathlib').Path('x'))", "TypeError")]
REFUSED_IN_BLIND = [("list(S())", "Exception"), ("hash(S())", "Exception")]


def fractions(uses, answer, executor, mode):
    tasks = {
        f"{form}: {use}": Task(
            "t",
            "",
            (AssertTest(text.format(use=use, error=error)),),
            entry_point="S" if "S()" in use else "f",
            judge=mode,
        )
        for use, error in uses
        for form, text in FORMS.items()
    }
    verdicts = judge_many([(task, answer) for task in tasks.values()], executor)
    return {name: verdict.fraction for name, verdict in zip(tasks, verdicts, strict=True)}


@pytest.mark.parametrize("mode", ["blind", "objects"])
def test_what_is_refused_is_no_exception_that_a_test_expects(mode, executor):
    uses = REFUSED + (REFUSED_IN_BLIND if mode == "blind" else [])
    assert {name for name, fraction in fractions(CROSS + uses, CARELESS, executor, mode).items() if fraction} == set()


@pytest.mark.parametrize("mode", ["blind", "objects"])
def test_what_can_cross_is_not_refused(mode, executor):
    assert {name for name, fraction in fractions(CROSS, CAREFUL, executor, mode).items() if fraction != 1.0} == set()


V = """
class V:
    def __init__(self, *a): self.a, self.seen = a, None
    def __getitem__(self, i): return self.a[i]
    def __enter__(self): return self
    def __exit__(self, kind, error, trace):
        self.seen = [str(error), kind and kind.__name__]
        return True
"""


@pytest.mark.parametrize(
    ("code", "passes"),
    [
        ("assert V(1, 2, 3)[0:2] == (1, 2)", True),
        ("assert V(1, 2, 3)[::-1] == (3, 2, 1)", True),
        ("assert V(1, 2, 3)[0:2] == (1, 3)", False),
        ("v = V(1)\nwith v:\n    raise ValueError('x')\nassert v.seen == ['x', 'ValueError']", True),
        ("v = V(1)\nwith v:\n    pass\nassert v.seen == ['None', None]", True),
    ],
)
def test_slices_and_exceptions_reach_objects(code, passes, executor):
    (verdict,) = judge_many([(Task("t", "", (AssertTest(code),), entry_point="V", judge="objects"), V)], executor)
    assert verdict.passed == passes, verdict.cases


AT_ONCE = """
import asyncio
async def main():
    log, config = [], {"by": [1]}
    await asyncio.gather(add(config, 1, CHANGED), add(config, 2, OTHER))
    assert len(log) == 2
asyncio.run(main())
"""
ADD = "import asyncio\nasync def add(config, x, log):\n    await asyncio.sleep(0)\n    log.append(x)"


@pytest.mark.parametrize("mode", ["blind", "objects"])
def test_a_list_that_two_coroutines_change_at_once_is_refused_and_the_mode_is_named(mode, executor):
    one = AT_ONCE.replace("CHANGED", "log").replace("OTHER", "log")
    (verdict,) = judge_many([(Task("t", "", (AssertTest(one),), judge=mode), ADD)], executor)
    assert not verdict.passed
    assert 'judge="shared" lets them share it' in verdict.cases[0].message


def test_what_two_coroutines_only_read_is_not_refused(executor):
    code = AT_ONCE.replace("CHANGED", "log").replace("OTHER", "(other := [])").replace("len(log)", "len(log + other)")
    (verdict,) = judge_many([(Task("t", "", (AssertTest(code),)), ADD)], executor)
    assert verdict.passed, verdict.cases
