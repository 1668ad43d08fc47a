"""Tests that call the program from several threads."""

import pytest

from code_env import AssertTest, Task
from code_env.judging import judge_many

COUNTS = """
import threading
counter = Counter()
def work():
    for _ in range(100):
        counter.inc()
threads = [threading.Thread(target=work) for _ in range(4)]
for one in threads:
    one.start()
for one in threads:
    one.join()
assert counter.value == 400
"""
MAPS = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool:
    results = list(pool.map(f, range(50)))
assert results == [x * x for x in range(50)]
"""
CALLS_BACK = """
from concurrent.futures import ThreadPoolExecutor
def twice(x):
    return g(g(x))
with ThreadPoolExecutor(4) as pool:
    results = list(pool.map(lambda x: f(twice, x), range(20)))
assert results == [x + 2 for x in range(20)]
"""
APPLIES = "def f(h, x): return h(x)\n"
COUNTER = """
import threading
class Counter:
    def __init__(self):
        self.value, self.lock = 0, threading.Lock()
    def inc(self):
        with self.lock:
            self.value += {step}
"""


@pytest.mark.parametrize("mode", ["blind", "objects"])
@pytest.mark.parametrize(
    ("code", "entry_point", "right", "wrong"),
    [
        (COUNTS, "Counter", COUNTER.format(step=1), COUNTER.format(step=2)),
        (MAPS, "f", "def f(x): return x * x", "def f(x): return x"),
        (CALLS_BACK, "f", f"{APPLIES}def g(x): return x + 1", f"{APPLIES}def g(x): return x"),
    ],
    ids=["a counter", "a map", "functions of the tests"],
)
def test_threads_take_turns(code, entry_point, right, wrong, mode, executor):
    task = Task("t", "", (AssertTest(code),), entry_point=entry_point, judge=mode)
    verdicts = judge_many([(task, right)] * 5 + [(task, wrong)] * 2, executor)
    assert [verdict.passed for verdict in verdicts] == [True] * 5 + [False] * 2, verdicts[0].cases
