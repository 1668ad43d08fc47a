"""Tests that share a process give the verdict that each would have in a process of its own, and cost one run.

Calls do, and so does an `assert` suite with calls after it, as `harden` makes them.
"""

import contextlib
import dataclasses
import functools

import pytest

from code_env import AssertTest, CallTest, Executor, Limits, Status, Task, judge, judge_many
from code_env.judging import job, pending
from support import somewhere
from tiers import sample


class Counting(Executor):
    """An executor that counts the programs that it is given."""

    def __init__(self, executor):
        self._executor, self.count = executor, 0

    def submit(self, program):
        self.count += 1
        return self._executor.submit(program)

    def describe(self):
        return self._executor.describe()

    def close(self):
        pass


@pytest.fixture(scope="module")
def opened():
    """Opens an executor by its name, each once: pytest does not keep the tests of one together when it names them."""
    with contextlib.ExitStack() as stack:
        yield functools.cache(lambda where: stack.enter_context(somewhere(where)))


@pytest.fixture(params=["full", "subprocess"])
def executor(request, opened):
    return opened(request.param)


def on_both(names):
    """Where each runs: all on the best executor, and a part on the other one, where the judge is the same."""
    return [("full", name) for name in names] + [("subprocess", name) for name in sample(names, 3)]


@pytest.fixture
def long_first_run(monkeypatch):
    """On a slow machine the start of Python takes longer than the first run of all tests together may take."""
    monkeypatch.setattr(job, "_TOGETHER_S", 1.0)
    monkeypatch.setattr(job, "_TOGETHER_WALL_S", 100.0)


def task(*expected, hidden=(), **fields):
    tests = tuple(CallTest((n,), expected=value, hidden=n in hidden) for n, value in enumerate(expected))
    return Task("t", "", tests, entry_point="f", **{"limits": Limits(cpu_s=2, wall_s=200), **fields})


def after_a_suite(task, hidden=False):
    """The same task with a suite before its calls, for which right answers double their argument."""
    suite = AssertTest("assert f(0) == 0\nassert f(1) == 2\nassert f(3) == 6", hidden=hidden)
    return dataclasses.replace(task, tests=(suite, *task.tests))


def judged(task, code, executor):
    """The verdict, and after how many runs it was there."""
    counting = Counting(executor)
    return judge(task, code, counting), counting.count


SHARES = {
    "a right one": ("def f(x): return 2 * x", [True] * 4),
    "a wrong one": ("def f(x): return 2 * x if x < 2 else 0", [True, True, False, False]),
    "one that raises": ("def f(x): return [0, 2, 4][x]", [True, True, True, False]),
    "one that recurses too deep": (
        "def g(x): return g(x)\ndef f(x): return 2 * x if x else g(x)",
        [False, *[True] * 3],
    ),
    "no plain data": ("def f(x): return 2 * x if x else f", [False, True, True, True]),
    "a method": ("class Solution:\n    def f(self, x): return 2 * x", [True] * 4),
    "its top level fails": ("1 / 0\ndef f(x): return 2 * x", [False] * 4),
    "no such function": ("def g(x): return 2 * x", [False] * 4),
    "it does not compile": ("def f(x) return 2 * x", [False] * 4),
    "changes its argument": ("def f(x, seen=None): return 2 * x", [True] * 4),
}


@pytest.mark.usefixtures("long_first_run")
@pytest.mark.parametrize(("executor", "name"), on_both(SHARES), indirect=["executor"])
def test_one_run_is_enough(name, executor):
    code, passed = SHARES[name]
    verdict, runs = judged(task(0, 2, 4, 6, hidden=(1, 3)), code, executor)
    assert ([case.passed for case in verdict.cases], runs) == (passed, 1), verdict


@pytest.mark.usefixtures("long_first_run")
@pytest.mark.parametrize(("executor", "name"), on_both(SHARES), indirect=["executor"])
def test_one_run_is_enough_for_a_suite_and_calls(name, executor, monkeypatch):
    code, _ = SHARES[name]
    mixed = after_a_suite(task(0, 2, 4, 6, hidden=(1, 3)))
    together, runs = judged(mixed, code, executor)
    monkeypatch.setattr(pending, "may_be_together", lambda task: False)
    alone, _ = judged(mixed, code, executor)
    assert dataclasses.replace(together, execution=None) == dataclasses.replace(alone, execution=None)
    assert (runs, together.execution.status) == (1, alone.execution.status)


def test_a_hidden_suite_does_not_run_before_a_public_call(executor):
    some_public, all_hidden = (after_a_suite(task(0, 2, hidden=hidden), hidden=True) for hidden in ((1,), (0, 1)))
    assert (pending.may_be_together(some_public), pending.may_be_together(all_hidden)) == (False, True)
    for mixed in (some_public, all_hidden):
        assert judged(mixed, "def f(x): return 2 * x", executor)[0].passed


COUNTS = {
    "a global": "n = 0\ndef f(x):\n    global n\n    n += 1\n    return n",
    "a list": "seen = []\ndef f(x):\n    seen.append(x)\n    return len(seen)",
    "a default value": "def f(x, seen=[]):\n    seen.append(x)\n    return len(seen)",
    "a cached list": "from functools import cache\n@cache\ndef seen(): return []\n"
    "def f(x):\n    seen().append(x)\n    return len(seen())",
    "an attribute": "def f(x):\n    f.n = getattr(f, 'n', 0) + 1\n    return f.n",
    "a class": "class Solution:\n    n = []\n    def f(self, x):\n        self.n.append(x)\n        return len(self.n)",
    "an iterator": "import itertools\nnumbers = itertools.count(1)\ndef f(x): return next(numbers)",
    "a module": "import math\ndef f(x):\n    math.n = getattr(math, 'n', 0) + 1\n    return math.n",
    "a file": "import os\ndef f(x):\n    open('n', 'a').write('1')\n    return os.stat('n').st_size",
    "the environment": "import os\ndef f(x):\n    os.environ['N'] = os.environ.get('N', '') + '1'\n"
    "    return len(os.environ['N'])",
    "a thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(9,)).start()\nseen = []\n"
    "def f(x):\n    seen.append(x)\n    return len(seen)",
    "a builtin": "import builtins\ndef f(x):\n    builtins.n = getattr(builtins, 'n', 0) + 1\n    return n",
    "a coroutine": "seen = []\nasync def f(x):\n    seen.append(x)\n    return len(seen)",
}


@pytest.mark.parametrize(("executor", "name"), on_both(COUNTS), indirect=["executor"])
def test_no_call_sees_what_another_left(name, executor):
    code = COUNTS[name]
    verdict, _ = judged(task(1, 1, 1, hidden=(2,)), code, executor)
    assert verdict.passed, verdict
    # Nor does it help to answer by turns.
    verdict, _ = judged(task(1, 2, 3, hidden=(2,)), code, executor)
    assert [case.passed for case in verdict.cases] == [True, False, False], verdict


@pytest.mark.parametrize(("executor", "name"), on_both(COUNTS), indirect=["executor"])
def test_no_call_sees_what_a_suite_left(name, executor):
    verdict, _ = judged(after_a_suite(task(1, 1, 4, hidden=(2,))), COUNTS[name], executor)
    assert [case.passed for case in verdict.cases[3:]] == [True, True, False], verdict


ENDS = {
    "loops": ("def f(x):\n    while x == 1: pass\n    return x", Status.TIMEOUT),
    "exits": ("def f(x):\n    if x == 1: raise SystemExit(3)\n    return x", Status.ERROR),
    "takes all memory": ("def f(x):\n    if x == 1: return len(bytearray(1 << 40))\n    return x", Status.MEMORY),
    "takes all memory by and by": (
        "def f(x):\n    many = []\n    while x == 1: many.append(bytearray(1 << 24))\n    return x",
        Status.MEMORY,
    ),
    "dies": ("import os\ndef f(x):\n    if x == 1: os.kill(os.getpid(), 9)\n    return x", Status.SIGNAL),
}


@pytest.mark.usefixtures("long_first_run")
@pytest.mark.parametrize(("code", "status"), ENDS.values(), ids=ENDS)
def test_one_that_ends_its_process_costs_the_others_nothing(code, status, executor):
    limits = Limits(cpu_s=0.5, wall_s=200, memory_bytes=128 << 20)
    verdict, runs = judged(task(0, 1, 2, limits=limits), code, executor)
    assert [case.passed for case in verdict.cases] == [True, False, True], verdict
    assert verdict.cases[1].status in (status, Status.ERROR), verdict
    assert runs <= 2
    verdict, runs = judged(after_a_suite(task(0, 1, 2, limits=limits)), code, executor)
    # After two tests that reached the limit no other is run.
    last = status is not Status.TIMEOUT
    assert [case.passed for case in verdict.cases] == [True, False, False, True, False, last], verdict
    assert verdict.cases[4].status in (status, Status.ERROR), verdict
    assert runs <= 2


def test_calls_that_take_long_have_their_time(executor):
    loop = "    while process_time() < start + 0.2: pass"
    code = f"from time import process_time\ndef f(x):\n    start = process_time()\n{loop}\n    return x"
    verdict, runs = judged(task(0, 1, 2), code, executor)
    assert (verdict.passed, runs) == (True, 2), verdict
    assert all(case.cpu_s > 0.15 for case in verdict.cases)


@pytest.mark.usefixtures("long_first_run")
def test_an_argument_is_its_calls_own(executor):
    tests = tuple(CallTest(([1, 2],), expected=2) for _ in range(3))
    verdict, runs = judged(Task("t", "", tests, entry_point="f"), "def f(x):\n    return x.pop()", executor)
    assert (verdict.passed, runs) == (True, 1)


def test_after_the_first_that_fails_none_needs_to_be_judged(executor):
    waiting = pending.PendingVerdict(task(0, 2, 4), "def f(x): return x", "", until_failure=True)
    waiting.start(executor)
    verdict = waiting.wait()
    assert [case.message for case in verdict.cases] == ["", "expected 2, got 1", "not run: a test before it failed"]


def test_it_is_the_same_as_alone(executor, monkeypatch):
    answers = [(task(0, 2, 4, 6, hidden=(1, 3)), code) for code, _ in SHARES.values()]
    together = judge_many(answers, executor)
    monkeypatch.setattr(pending, "may_be_together", lambda task: False)
    for one, other in zip(together, judge_many(answers, executor), strict=True):
        assert dataclasses.replace(one, execution=None) == dataclasses.replace(other, execution=None)


@pytest.mark.parametrize(
    "answer",
    [
        "import random\nrandom.seed(1)\ndef f(): return int(random.random() * 1000)",
        "from random import *\nseed(1)\ndef f(): return int(random() * 1000)",
        "import random\nown = random.Random(1)\ndef f(): return int(own.random() * 1000)",
        "import random\nrandom.getstate = None\ndef f(): return 134",
    ],
)
def test_a_seed_of_the_answers_top_level_holds_in_each_call(answer, executor):
    """Python's `random` seeds itself anew in each fork; 134 is what a first call gives in plain Python."""
    task = Task("t", "", (CallTest((), expected=134), CallTest((), expected=134)), entry_point="f")
    assert judge(task, answer, executor).passed
