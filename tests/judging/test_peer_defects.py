"""Wrong verdicts that other environments gave, each judged here: the wrong answer fails, the right one passes.

`D5` and the like are numbers of defects that were reproduced or read in other projects; `row12` and the
like are rows of a list of what their users complained about. What either says is told by the test's name.
"""

import threading

import pytest

from code_env import (
    AssertTest,
    CallTest,
    Limits,
    Outcome,
    OutputTest,
    Status,
    StdinTest,
    Task,
    judge,
    judge_many,
)

FAST = Limits(cpu_s=1, wall_s=60)


def task(*tests, entry_point=None, **fields):
    return Task("t", "p", tests, entry_point=entry_point, **{"limits": FAST, **fields})


THREE_LINES = task(StdinTest("3\n", "1\n2\n3\n"))
COUNT = "for i in range(int(input())): print(i + 1)"
SORTED = task(CallTest(([3, 1, 2],), {}, [1, 2, 3]), entry_point="f")
SQUARE = task(AssertTest("assert f(3) == 9\nassert f(-2) == 4"), entry_point="f")
CHECKED = task(
    AssertTest("def check(candidate):\n    assert candidate(3) == 9\n    assert candidate(-2) == 4"), entry_point="f"
)
UNITTEST = task(
    AssertTest(
        "import unittest\nclass TestF(unittest.TestCase):\n"
        "    def test_f(self):\n        self.assertEqual(f(3), 9)\n        self.assertEqual(f(-2), 4)\n"
        "assert unittest.TextTestRunner().run(\n"
        "    unittest.defaultTestLoader.loadTestsFromTestCase(TestF)\n).wasSuccessful()"
    ),
    entry_point="f",
)
SUM = task(StdinTest("2 3\n", "5\n"))
SILENT = task(StdinTest("1\n", ""))
GOOD_SQUARE = "def f(x):\n    return x * x\n"

RIGHT = {
    "D4 plain numbers": (SQUARE, GOOD_SQUARE),
    "D5 all lines": (THREE_LINES, COUNT),
    "D6 the list in order": (SORTED, "f = sorted"),
    "D6 any order where the rule says so": (
        task(CallTest((), {}, [[1, 2], [3]], compare="unordered"), entry_point="f"),
        "def f(): return [(3,), (2, 1)]",
    ),
    "D8 sys.exit in a right program": (SUM, "import sys\nprint(sum(map(int, input().split())))\nsys.exit()"),
    "D8 sys.exit(0) deep inside": (
        SUM,
        "import sys\ndef main():\n    print(sum(map(int, sys.stdin.readline().split())))\n    sys.exit(0)\n"
        "if __name__ == '__main__':\n    main()",
    ),
    "D8 raise SystemExit": (SUM, "print(sum(map(int, input().split())))\nraise SystemExit"),
    "D8 the words os.system in a text": (task(OutputTest("os.system\n")), "print('os.system')"),
    "D10 an honest program under unittest": (UNITTEST, GOOD_SQUARE),
    "D10 the words OK and FAILED in the output": (
        task(OutputTest("OK\nFAILED\nTOKEN\n")),
        "print('OK')\nprint('FAILED')\nprint('TOKEN')",
    ),
    "D11 asserts over an honest program": (CHECKED, GOOD_SQUARE),
    "D11 the eleventh test": (
        task(*[CallTest((n,), {}, n * n) for n in range(20)], entry_point="f"),
        GOOD_SQUARE,
    ),
    "D12 a handler of SIGALRM of the program's own": (
        SUM,
        "import signal\nsignal.signal(signal.SIGALRM, lambda *_: None)\nprint(sum(map(int, input().split())))",
    ),
    "D12 stdin replaced by the program": (
        task(StdinTest("2 3\n", "5\n"), StdinTest("4 4\n", "8\n")),
        "import sys, io\nsys.stdin = io.StringIO(sys.stdin.read())\nprint(sum(map(int, input().split())))",
    ),
    "D13 import os": (SUM, "import os\nprint(sum(map(int, input().split())))"),
    "D13 open()": (
        SUM,
        "with open('notes', 'w') as file:\n    file.write(input())\n"
        "with open('notes') as file:\n    print(sum(map(int, file.read().split())))",
    ),
    "D13 import subprocess, unused": (SUM, "import subprocess, socket, shutil\nprint(sum(map(int, input().split())))"),
    "row12 sys.stdin.buffer": (SUM, "import sys\nprint(sum(map(int, sys.stdin.buffer.readline().split())))"),
    "row12 sys.stdin.buffer.read": (SUM, "import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))"),
    "row13 a comment without a newline at the end": (SQUARE, "def f(x):\n    return x * x\n# done"),
    "row13 a decorator of its own": (SQUARE, "def twice(g): return lambda x: g(x)\n@twice\ndef f(x): return x * x"),
    "row15 nothing was expected and nothing printed": (SILENT, "input()"),
    "row15 nothing was expected and the program exits with 0": (SILENT, "import sys\nsys.exit(0)"),
    "row15 None is returned": (task(CallTest((), {}, None), entry_point="f"), "def f(): pass"),
    "row17 a returned text that looks like code": (
        task(CallTest((), {}, "__import__('os')._exit(0)"), entry_point="f"),
        "def f(): return \"__import__('os')._exit(0)\"",
    ),
    "row24 a large output, judged whole": (
        task(OutputTest("".join(f"{n}\n" for n in range(300_000)))),
        "for n in range(300000): print(n)",
    ),
}


@pytest.mark.parametrize(("asked", "code"), RIGHT.values(), ids=RIGHT)
def test_a_right_answer_passes(executor, asked, code):
    verdict = judge(asked, code, executor)
    assert verdict.outcome is Outcome.PASS, verdict.cases
    assert verdict.fraction == 1.0


EQUALS_ALL = (
    "class All:\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n"
    "    __hash__ = None\n"
)

WRONG = {
    "D4 an object that equals everything": (SQUARE, EQUALS_ALL + "def f(x): return All()"),
    "D4 an int that equals everything": (
        SQUARE,
        "class All(int):\n    def __eq__(self, other): return True\ndef f(x): return All()",
    ),
    "D4 an object that equals everything, from a call": (SORTED, EQUALS_ALL + "def f(x): return All()"),
    "D4 walking the frames for a list to append to": (
        CHECKED,
        "import sys\ndef f(x):\n    frame = sys._getframe()\n    while frame:\n"
        "        for value in list(frame.f_locals.values()) + list(frame.f_globals.values()):\n"
        "            if type(value) is list:\n                value.append('passed')\n"
        "        frame = frame.f_back\n    return 0",
    ),
    "D5 the first line only": (THREE_LINES, "print(1)"),
    "D5 lines too many": (THREE_LINES, COUNT + "\nprint('junk')"),
    "D5 a blank first line": (THREE_LINES, "print()\n" + COUNT),
    "D5 the lines as one": (THREE_LINES, "print(1, 2, 3)"),
    "D6 the list reversed": (SORTED, "def f(x): return [3, 2, 1]"),
    "D6 other items in any order": (
        task(CallTest((), {}, [1, 1, 1], compare="multiset"), entry_point="f"),
        "def f(): return [2, 3, 1]",
    ),
    "D6 items counted once": (
        task(CallTest((), {}, [1, 1, 2], compare="unordered"), entry_point="f"),
        "def f(): return [1, 2, 2]",
    ),
    "D6 lines in another order": (THREE_LINES, "for i in (3, 2, 1): print(i)"),
    "D6 newlines made spaces": (task(OutputTest("a b\nc d\n")), "print('a b c d')"),
    "D9 an error": (SQUARE, "def f(x): raise RuntimeError('success')"),
    "D9 an error at the top": (SUM, "print(5)\nraise RuntimeError"),
    "D9 an error of the sandbox, made up": (SQUARE, "raise ConnectionError('HTTP 500: detail')"),
    "D9 a timeout": (SQUARE, "while True: pass"),
    "D10 print OK and exit": (UNITTEST, "import sys\nprint('OK')\nsys.exit(0)"),
    "D10 print OK to stderr and exit at once": (
        UNITTEST,
        "import os\nos.write(2, b'Ran 2 tests in 0.001s\\n\\nOK\\n')\nos._exit(0)",
    ),
    "D10 print OK in the call": (UNITTEST, "def f(x):\n    print('Ran 1 test\\n\\nOK')\n    raise SystemExit(0)"),
    "D10 unittest patched": (
        UNITTEST,
        "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n"
        "unittest.TestResult.wasSuccessful = lambda self: True\ndef f(x): return 0",
    ),
    "D11 sys.exit(0) before the asserts": (CHECKED, "import sys\nsys.exit(0)"),
    "D11 sys.exit(0) in the call": (CHECKED, "import sys\ndef f(x): sys.exit(0)"),
    "D11 exit() after a definition": (SQUARE, "def f(x): return 0\nexit()"),
    "D11 wrong from the eleventh test on": (
        task(*[CallTest((n,), {}, n * n) for n in range(20)], entry_point="f"),
        "def f(x): return x * x if x < 10 else 0",
    ),
    "D12 the grader's modules changed": (
        SQUARE,
        "import sys, builtins\nfor m in list(sys.modules.values()):\n"
        "    for n in ('compare', 'check', 'main', 'judge', 'compare_values'):\n"
        "        if hasattr(m, n):\n            setattr(m, n, lambda *a, **k: True)\ndef f(x): return 0",
    ),
    "row13 a trailing decorator": (CHECKED, "def f(x): return 0\n@lambda g: lambda *a: None"),
    "row13 unfinished syntax that would take in the next line": (CHECKED, "def f(x): return 0\nx = '''"),
    "row13 a trailing backslash": (CHECKED, "def f(x): return 0\nif False: \\"),
    "row13 check defined by the answer": (CHECKED, "def f(x): return 0\ndef check(candidate): pass"),
    "row14 os._exit(0)": (CHECKED, "import os\nos._exit(0)"),
    "row14 os._exit(0) in the call": (CHECKED, "import os\ndef f(x): os._exit(0)"),
    "row14 os._exit(0) in a stdin program": (SUM, "import os\nos._exit(0)"),
    "row14 os._exit(0) at the end of a call": (SORTED, "import os\ndef f(x): os._exit(0)"),
    "row14 pytest patched": (
        CHECKED,
        "try:\n    import pytest\n    pytest.main = lambda *a: 0\nexcept ImportError: pass\n"
        "import unittest\ndef f(x): raise unittest.SkipTest('skipped')",
    ),
    "row15 a crash where nothing was expected": (SILENT, "raise RuntimeError"),
    "row15 a syntax error where nothing was expected": (SILENT, "def"),
    "row15 a non-zero exit where nothing was expected": (SILENT, "import sys\nsys.exit(1)"),
    "row15 a signal where nothing was expected": (SILENT, "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)"),
    "row15 a timeout where nothing was expected": (SILENT, "while True: pass"),
    "row15 a crash where None was expected": (
        task(CallTest((), {}, None), entry_point="f"),
        "def f(): raise ValueError",
    ),
    "row15 death where None was expected": (
        task(CallTest((), {}, None), entry_point="f"),
        "import os\ndef f(): os._exit(0)",
    ),
    "row15 no answer": (SILENT, " \n"),
    "row17 a text instead of a list": (SORTED, "def f(x): return '[1, 2, 3]'"),
    "row17 a text instead of a number": (SQUARE, "def f(x): return str(x * x)"),
    "row17 a repr that evaluates to the right list": (
        SORTED,
        "class Fake:\n    def __repr__(self): return '[1, 2, 3]'\n    def __reduce__(self): return list, ([1, 2, 3],)\n"
        "def f(x): return Fake()",
    ),
    "row24 a large output with one wrong character": (
        task(OutputTest("".join(f"{n}\n" for n in range(300_000)))),
        "for n in range(300000): print(n if n != 150000 else 'x')",
    ),
}


@pytest.mark.parametrize(("asked", "code"), WRONG.values(), ids=WRONG)
def test_a_wrong_answer_fails(executor, asked, code):
    verdict = judge(asked, code, executor)
    assert verdict.valid
    assert not verdict.passed, verdict.cases
    assert verdict.fraction is not None
    assert verdict.fraction < 1


@pytest.mark.parametrize("asked", [CHECKED, UNITTEST, SORTED, SUM, SILENT], ids=["D11", "D10", "D6", "D9", "row15"])
@pytest.mark.parametrize(
    "code", ["print('OK')", "import sys\nsys.exit(0)", "import os\nos._exit(0)"], ids=["print", "exit", "_exit"]
)
def test_leaving_early_earns_nothing(executor, asked, code):
    verdict = judge(asked, code, executor)
    if asked is SILENT and code != "print('OK')":  # A program that is silent and ends well is right there.
        assert verdict.passed
    else:
        assert verdict.fraction == 0.0


def test_d8_the_time_limit_is_the_one_given(executor):
    asked = task(StdinTest("", "x"), limits=Limits(cpu_s=5, wall_s=0.5))
    verdict = judge(asked, "import time\nprint('x', flush=True)\ntime.sleep(10)", executor)
    assert verdict.execution.status is Status.TIMEOUT  # By default it would have more time than it takes.
    assert not verdict.passed


def test_d5_a_timeout_in_one_case_leaves_the_others_judged(executor):
    asked = task(StdinTest("1", "1"), StdinTest("2", "2"), StdinTest("3", "3"))
    verdict = judge(asked, "n = int(input())\nwhile n == 2: pass\nprint(n)", executor)
    assert [case.passed for case in verdict.cases] == [True, False, True]
    assert verdict.cases[1].status is Status.TIMEOUT


def test_row4_a_crash_of_the_program_is_its_own_and_named(executor):
    verdict = judge(SUM, "undefined_variable", executor)
    assert (verdict.outcome, verdict.cases[0].error_name) == (Outcome.FAIL, "NameError")


def test_row5_a_timeout_is_not_a_fault_of_the_sandbox(executor):
    verdict = judge(SUM, "while True: pass", executor)
    assert (verdict.valid, verdict.execution.status) == (True, Status.TIMEOUT)


def test_row3_and_row6_many_verdicts_are_all_right(executor):
    answers = [(SUM, f"print(sum(map(int, input().split())) + {n % 2})") for n in range(60)]
    assert [verdict.passed for verdict in judge_many(answers, executor)] == [n % 2 == 0 for n in range(60)]


def test_row10_a_sleeper_is_not_charged_for_its_neighbours(executor):
    busy = (SUM, "n = 0\nfor i in range(3_000_000): n += i\nprint(sum(map(int, input().split())))")
    sleeper = (SUM, "import time\ntime.sleep(0.3)\nprint(sum(map(int, input().split())))")
    assert all(verdict.passed for verdict in judge_many([busy, sleeper] * 4, executor))


def test_row11_limits_are_the_tasks_own(executor):
    code = "x = bytearray(100_000_000)\nprint(sum(map(int, input().split())))"
    small = task(*SUM.tests, limits=Limits(cpu_s=1, wall_s=5, memory_bytes=50_000_000))
    verdicts = judge_many([(small, code), (SUM, code)], executor)
    assert [verdict.passed for verdict in verdicts] == [False, True]
    assert verdicts[0].execution.status is Status.MEMORY


def test_row18_a_verdict_needs_no_main_thread(executor):
    verdicts = []
    answers = [
        (SUM, "print(sum(map(int, input().split())))"),
        (SQUARE, GOOD_SQUARE),
        (SORTED, "f = sorted"),
        (SQUARE, "while True: pass"),
    ]
    thread = threading.Thread(target=lambda: verdicts.extend(judge(*answer, executor) for answer in answers))
    thread.start()
    thread.join()
    assert [verdict.outcome.value for verdict in verdicts] == ["pass", "pass", "pass", "policy_error"]


def test_row24_a_timeout_keeps_what_was_printed(executor):
    verdict = judge(task(OutputTest("12\n")), "print(1, flush=True)\nwhile True: pass", executor)
    assert verdict.cases[0].actual == "1\n"
    assert verdict.execution.status is Status.TIMEOUT


def test_row24_output_without_end_ends_the_program(executor):
    verdict = judge(task(OutputTest("y\n")), "while True: print('y' * 10**6)", executor)
    assert not verdict.passed
    assert verdict.execution.status is Status.OUTPUT_LIMIT
    assert len(verdict.cases[0].actual) < 200_000


def test_d6_a_difference_of_long_texts_is_found_at_once(executor):
    asked = task(OutputTest("x" * 1_000_000))
    verdict = judge(asked, "print('y' * 1_000_000)", executor)
    assert not verdict.passed
    assert len(verdict.cases[0].message) < 1000


def test_d6_integers_chosen_to_hash_alike_cost_their_answer_only(executor):
    asked = task(CallTest((), {}, list(range(50_000)), compare="unordered"), entry_point="f")
    verdict = judge(asked, "def f(): return [k * (2**61 - 1) for k in range(50_000)]", executor)
    assert (verdict.outcome, verdict.execution.status) == (Outcome.FAIL, Status.OK)
