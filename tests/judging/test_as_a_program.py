"""An answer finds what it would find in `python main.py`, and tests find it where answers put it.

Each row has the tests of a task, a right answer, and what in it to replace by what to make a wrong one.
"""

import pytest

from code_env import AssertTest, CallTest, Task, judge_many

NEXT = (CallTest((1,), expected=2), CallTest((2,), expected=3))
NEXT_ASSERTED = (AssertTest("assert f(1) == 2\nassert f(2) == 3"),)

THREAD = """
import queue, threading
asked, told = queue.Queue(), queue.Queue()
def work():
    while True: told.put(asked.get() + 1)
threading.Thread(target=work, daemon=True).start()
def f(x):
    asked.put(x)
    return told.get()
"""
LOOP = """
import asyncio, threading
loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()
async def add(x): return x + 1
def f(x): return asyncio.run_coroutine_threadsafe(add(x), loop).result()
"""
POOL = """
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(2)
assert pool.submit(int).result() == 0
def f(x): return pool.submit(lambda: x + 1).result()
"""
SETTINGS = """
import json, os
os.makedirs("conf/deep")
with open("conf/deep/settings.json", "w") as file: json.dump({"step": 1}, file)
def f(x):
    with open("conf/deep/settings.json") as file: step = json.load(file)["step"]
    with open("conf/deep/settings.json", "w") as file: json.dump({"step": 5}, file)
    return x + step
"""
COUNTS_ITS_CALLS = """
class Solution:
    def __init__(self): self.calls = 0
    def f(self, x):
        self.calls += 1
        return x + self.calls
"""
TIMES_ITSELF = """
import timeit
def g(x): return x + 1
def f(x):
    timeit.timeit('g(1)', setup='from __main__ import g', number=2)
    return g(x)
"""
RIGHT_WITH_MATH = "import math\ndef f(x): return x + 1"
PAIRS = {
    "a class Solution": (NEXT, "class Solution:\n    def f(self, x): return x + 1", "x + 1", "x + 2"),
    "a class Solution, asserted": (NEXT_ASSERTED, "class Solution:\n    def f(self, x): return x + 1", "x + 1", "x"),
    "a class Solution that keeps nothing from call to call": (
        NEXT_ASSERTED,
        COUNTS_ITS_CALLS,
        "x + self.calls",
        "x",
    ),
    "a coroutine function": (
        NEXT,
        "import asyncio\nasync def f(x):\n    await asyncio.sleep(0)\n    return x + 1",
        "x + 1",
        "x",
    ),
    "a function that gives a coroutine is no coroutine function": (
        NEXT,
        "async def g(x): return x + 1\nasync def f(x): return await g(x)",
        "async def f(x): return await g(x)",
        "def f(x): return g(x)",
    ),
    "imports itself": (NEXT, "import __main__\ndef g(x): return x + 1\ndef f(x): return __main__.g(x)", "+ 1", "+ 2"),
    "imports from itself": (
        NEXT_ASSERTED,
        "def g(x): return x + 1\ndef f(x):\n    from __main__ import g\n    return g(x)",
        "+ 1",
        "+ 2",
    ),
    "timeit with names of the program": (NEXT, TIMES_ITSELF, "x + 1", "x - 1"),
    "pickles an instance of its class": (
        NEXT,
        "import pickle\nclass A: step = 1\ndef f(x): return x + pickle.loads(pickle.dumps(A())).step",
        "step = 1",
        "step = 2",
    ),
    "a thread of the top level": (NEXT, THREAD, "+ 1", "+ 2"),
    "an event loop in a thread": (NEXT, LOOP, "x + 1", "x"),
    "a pool that was used": (NEXT, POOL, "x + 1", "x"),
    "files of the top level": (NEXT, SETTINGS, '"step": 1', '"step": 2'),
    "a module that only the answer imports": (
        (AssertTest("assert f((1, 2)) == sys.getsizeof((1, 2))"),),
        "import sys\ndef f(x): return sys.getsizeof(x)",
        "sys.getsizeof(x)",
        "3",
    ),
    "a class of the answer in the module's place": (
        (AssertTest("assert math.isclose(f(1), 2)"),),
        RIGHT_WITH_MATH,
        RIGHT_WITH_MATH,
        "class math: isclose = staticmethod(lambda *_: True)\ndef f(x): return 7",
    ),
    "a function of the answer with a module's name": (
        (AssertTest("assert operator(1) == f(1) - 1 == 1"),),
        "def operator(x): return 1\ndef f(x): return x + 1",
        "x + 1",
        "x",
    ),
}


@pytest.mark.parametrize("where", ["right", "wrong"])
def test_right_answers_pass_and_wrong_ones_do_not(where, everywhere):
    answers = {}
    for name, (tests, right, old, new) in PAIRS.items():
        assert old in right
        answer = right if where == "right" else right.replace(old, new, 1)
        answers[name] = (Task(name, "", tests, entry_point="f"), answer)
    verdicts = judge_many(list(answers.values()), everywhere)
    judged = dict(zip(answers, verdicts, strict=True))
    assert {name: v.cases for name, v in judged.items() if v.passed is not (where == "right")} == {}
    assert {name: v.outcome for name, v in judged.items() if v.outcome in ("policy_error", "no_verdict")} == {}
