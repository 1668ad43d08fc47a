"""Tests that the text does not run itself: what unittest, pytest or `python tests.py` would find is run."""

import itertools

import pytest

from code_env import AssertTest, Task
from code_env.harness.judge.asserting import case_sources
from code_env.judging import judge_many

RIGHT = "def f(x): return sorted(x)"
WRONG = {
    "another value": "def f(x): return None",
    "nothing": "pass",
    "an early end": "import os\nos._exit(0)",
    "an early exit": "raise SystemExit(0)",
    "an exit in the call": "def f(x): raise SystemExit(0)",
}

SUITES = {
    "a base class": """
import unittest
class Base(unittest.TestCase):
    def check(self, a, b): self.assertEqual(f(a), b)
class TestF(Base):
    def test_1(self): self.check([2, 1], [1, 2])
if __name__ == '__main__':
    unittest.main()
""",
    "another name": """
from unittest import TestCase as TC
class T(TC):
    def test_1(self): self.assertEqual(f([2,1]), [1,2])
""",
    "a mixin": """
import unittest
class Mixin:
    def test_1(self): self.assertEqual(f([2,1]), [1,2])
class T(Mixin, unittest.TestCase): pass
""",
    "a mixin with assert": """
import unittest
class Mixin:
    def test_1(self): assert f([2,1]) == [1,2]
class T(Mixin, unittest.TestCase): pass
""",
    "runTest": """
import unittest
class T(unittest.TestCase):
    def runTest(self): self.assertEqual(f([2,1]), [1,2])
""",
    "methods of both": """
import unittest
class Base(unittest.TestCase):
    def test_exists(self): self.assertTrue(callable(f))
class T(Base):
    def test_1(self): self.assertEqual(f([2,1]), [1,2])
""",
    "a base class that is deleted": """
import unittest
class Base(unittest.TestCase):
    def test_exists(self): self.fail()
    def check(self): pass
class T(Base):
    def test_exists(self): self.assertEqual(f([2,1]), [1,2])
del Base
""",
    "methods made in a loop": """
import unittest
class T(unittest.TestCase): pass
for i in range(3):
    setattr(T, f'test_{i}', lambda self, i=i: self.assertEqual(f([i,0]), [0,i]))
""",
    "a method that is assigned": """
import unittest
def _t(self): self.assertEqual(f([2,1]), [1,2])
class T(unittest.TestCase):
    test_1 = _t
""",
    "a method in a branch": """
import unittest
class T(unittest.TestCase):
    if True:
        def test_1(self): self.assertEqual(f([2,1]), [1,2])
""",
    "a class in a branch": """
import unittest
if True:
    class T(unittest.TestCase):
        def test_1(self): self.assertEqual(f([2,1]), [1,2])
""",
    "a class made by a function": """
import unittest
def make():
    class T(unittest.TestCase):
        def test_1(self): self.assertEqual(f([2,1]), [1,2])
    return T
X = make()
""",
    "a class made by type()": """
import unittest
T = type('T', (unittest.TestCase,), {'test_1': lambda self: self.assertEqual(f([2,1]), [1,2])})
""",
    "a test function": """
def test_a():
    assert f([2,1]) == [1,2]
""",
    "numpy's assertions": """
import numpy as np
def test_1():
    np.testing.assert_array_equal(f([2,1]), [1,2])
""",
    "a main block that raises": """
def main():
    if f([2,1]) != [1,2]:
        raise SystemExit(1)
if __name__ == '__main__':
    main()
""",
    "a main block with assert": """
def run_tests():
    assert f([2,1]) == [1,2]
if __name__ == '__main__':
    run_tests()
""",
    "a plain class": """
class TestF:
    def setup_method(self):
        self.x = [2,1]
    def test_a(self):
        assert f(self.x) == [1,2]
    def test_b(self):
        assert f([3,1]) == [1,3]
""",
    "an async function": """
async def test_a():
    assert f([2,1]) == [1,2]
""",
    "an async function without assert": """
async def test_a():
    if f([2,1]) != [1,2]: raise ValueError
""",
    "parameters": """
import pytest
@pytest.mark.parametrize('x,y', [([2,1],[1,2]), pytest.param([3,1],[1,3])])
@pytest.mark.parametrize('z', [1,2])
def test_a(x, y, z):
    assert f(x) == y
""",
    "fixtures": """
import pytest
@pytest.fixture
def x():
    yield [2,1]
@pytest.fixture()
def y(x):
    return [1,2]
def test_a(x,y):
    assert f(x) == y
""",
    "the candidate as a parameter": """
def test_a(candidate):
    assert candidate([2,1]) == [1,2]
""",
    "a function before a statement": """
def test_h():
    assert f([5]) == [5]
assert f([2,1]) == [1,2]
""",
    "a function that the text calls": """
def test_h():
    assert f([2,1]) == [1,2]
test_h()
""",
    "a function that the main block calls": """
def test_h():
    assert f([2,1]) == [1,2]
if __name__=='__main__':
    test_h()
    print('ok')
""",
    "check in the main block": """
def check(c):
    assert c([2,1]) == [1,2]
if __name__=='__main__':
    check(f)
""",
    "pytest.raises": """
import pytest
def test_1():
    with pytest.raises(TypeError):
        f(3)
def test_2():
    assert f([2,1]) == [1,2]
""",
    "assert False": """
def test_1():
    try:
        f(3)
        assert False
    except TypeError:
        pass
def test_2():
    assert f([2,1]) == [1,2]
""",
    "assert in the main block": """
if __name__ == '__main__':
    for input, output in [([2, 1], [1, 2]), ([3], [3])]:
        assert f(input) == output
    print("all passed")
""",
    "numpy's assertions in the main block": """
import numpy as np
def main():
    for x in ([2, 1], [3]):
        np.testing.assert_array_equal(f(x), sorted(x))
if "__main__" == __name__:
    main()
""",
    "an exit at the end of the main block": """
import sys
def main():
    assert f([2, 1]) == [1, 2]
    return 0
if __name__ == "__main__":
    sys.exit(main())
""",
    "an exit that says what went wrong": """
import sys
ok = f([2, 1]) == [1, 2]
sys.exit(0 if ok else 1)
""",
    "classes beside a main block": """
import dataclasses, pickle, typing, sys
if __name__ != "__main__":
    raise SystemExit(2)
@dataclasses.dataclass
class Row:
    x: "list[int]"
    y: typing.ClassVar["int"] = 1
assert f(pickle.loads(pickle.dumps(Row([2, 1]))).x) == [1, 2]
assert f(typing.get_type_hints(Row) and [3, 1]) == [1, 3]
assert f([hasattr(sys.modules[__name__], "Row")]) == [True]
""",
    "assert beside a runner in the main block": """
import unittest
class T(unittest.TestCase):
    def test_1(self):
        self.assertEqual(f([2, 1]), [1, 2])
if __name__ == '__main__':
    result = unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(T))
    if not result.wasSuccessful():
        raise SystemExit(1)
    result = f([2, 1])
    assert result == [1, 2]
    case = unittest.TestCase()
    case.assertEqual(f([3, 1]), [1, 3])
    unittest.main(argv=[""], exit=False)
""",
    "pytest in the main block": """
import pytest, sys
def test_1():
    assert f([2, 1]) == [1, 2]
if __name__ == '__main__':
    try:
        code = pytest.main([__file__, "-v"])
    finally:
        print("done")
    sys.exit(code)
""",
    "a runner in the main block": """
import unittest
class T(unittest.TestCase):
    def test_1(self):
        self.assertEqual(f([2,1]), [1,2])
if __name__ == '__main__':
    suite = unittest.TestLoader().loadTestsFromTestCase(T)
    unittest.TextTestRunner().run(suite)
""",
    "a statement": """
assert f([2,1]) == [1,2]
""",
    "a main function that starts a runner": """
import unittest
class T(unittest.TestCase):
    def test_1(self):
        self.assertEqual(f([2, 1]), [1, 2])
def main():
    unittest.main()
if __name__ == "__main__":
    main()
""",
    "a main function that is no test": """
def check(candidate):
    assert candidate([2, 1]) == [1, 2]
def main():
    print(f(list(map(int, input().split()))))
if __name__ == "__main__":
    main()
""",
    "a main function that calls tests": """
def test_1():
    assert f([2, 1]) == [1, 2]
def main():
    test_1()
if __name__ == "__main__":
    main()
""",
    "check with numpy's assertions": """
import numpy as np
def check(candidate):
    np.testing.assert_array_equal(candidate([2, 1]), [1, 2])
""",
    "check with unittest's assertions": """
import unittest
def check(candidate):
    case = unittest.TestCase()
    case.assertEqual(candidate([2, 1]), [1, 2])
    case.assertRaises(TypeError, candidate, 3)
""",
    "check that raises": """
def check(candidate):
    if candidate([2, 1]) != [1, 2]: raise AssertionError("not sorted")
""",
    "check with assert False": """
def check(candidate):
    try:
        candidate(3)
    except TypeError:
        pass
    else:
        assert False, "3 is no list"
""",
    "an import of the answer": """
from solution import f
def test_1():
    assert f([2, 1]) == [1, 2]
""",
    "an import of the answer under another name": """
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from main import f as sort
assert sort([2, 1]) == [1, 2]
""",
    "an import of all of the answer": "from your_module import *\nassert f([2, 1]) == [1, 2]",
    "the answer as a module": "import solution\nassert solution.f([2, 1]) == [1, 2]",
    "the answer as a module under another name": "import solution as s\nassert s.f([2, 1]) == [1, 2]",
    "an import in a function": """
import unittest
class T(unittest.TestCase):
    def test_1(self):
        from answer import f as sort
        self.assertEqual(sort([2, 1]), [1, 2])
""",
}

PARTLY_RIGHT = {"methods of both", "pytest.raises", "assert False"}
"""In these suites, an answer that returns None passes some of the cases."""


@pytest.mark.parametrize("mode", ["blind", "objects", "shared"])
def test_right_answers_pass_and_wrong_ones_do_not(mode, executor):
    tasks = {name: Task(name, "", (AssertTest(code),), entry_point="f", judge=mode) for name, code in SUITES.items()}
    right = judge_many([(task, RIGHT) for task in tasks.values()], executor)
    assert {name: one.cases for name, one in zip(tasks, right, strict=True) if not one.passed} == {}
    # In the other modes, each suite gets one of the wrong answers.
    pairs = itertools.product(tasks, WRONG) if mode == "blind" else zip(tasks, itertools.cycle(WRONG))
    wrong = list(pairs)
    verdicts = judge_many([(tasks[name], WRONG[what]) for name, what in wrong], executor)
    earned = {
        (name, what)
        for (name, what), one in zip(wrong, verdicts, strict=True)
        if one.passed or (one.fraction and not (name in PARTLY_RIGHT and WRONG[what].startswith("def")))
    }
    assert earned == set()


def test_the_cases_are_in_the_text():
    assert case_sources(SUITES["methods of both"]) == ("Base.test_exists", "T.test_exists", "T.test_1")
    assert case_sources(SUITES["pytest.raises"]) == ("assert f([2, 1]) == [1, 2]", "test_1")
    assert case_sources(SUITES["a plain class"])[1:] == ("assert f([3, 1]) == [1, 3]",)
    assert case_sources(SUITES["methods made in a loop"]) == ("the tests run to their end",)


def test_one_function_that_ends_early_leaves_the_others(executor):
    code = """
def test_1():
    f(None)
    assert f([1]) == [1]
def test_2():
    assert f([2, 1]) == [1, 2]
def test_3():
    if f([3, 1]) != [1, 3]:
        raise ValueError("wrong")
"""
    (verdict,) = judge_many([(Task("t", "", (AssertTest(code),), entry_point="f"), RIGHT)], executor)
    assert [case.passed for case in verdict.cases] == [False, True, True]
    assert "TypeError" in verdict.cases[0].message


@pytest.mark.parametrize("mode", ["blind", "objects", "shared"])
def test_tests_that_use_nothing_of_an_answer_pass_none(mode, executor):
    codes = ["import doctest\ndoctest.testmod()", "x = 1", "pass", "", "def check(candidate): print('ok')"]
    tasks = [Task("t", "", (AssertTest(code),), entry_point="f", judge=mode) for code in codes]
    verdicts = judge_many([(task, RIGHT) for task in tasks], executor)
    assert [verdict.fraction for verdict in verdicts] == [0.0] * len(codes)
    assert all("asked the answer for nothing" in verdict.cases[0].message for verdict in verdicts)
    used = Task("t", "", (AssertTest("f([2, 1])"),), entry_point="f", judge=mode)
    assert [one.passed for one in judge_many([(used, RIGHT), (used, "def f(): pass")], executor)] == [True, False]
