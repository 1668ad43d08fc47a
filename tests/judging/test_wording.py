"""The message of a case says at which line of the answer the program raised."""

import dataclasses

import pytest

from code_env import AssertTest, CallTest, Limits, StdinTest, Task, judge_many, load_suite

CODE = "def g(n):\n    return [][n]\ndef f(n):\n    return g(n) if n == 2 else n\n"
CALL = (CallTest((2,), expected=2),)
ASSERTS = (AssertTest("assert f(1) == 1\nassert f(2) == 2\nassert f(3) == 3"),)
RAISED = "IndexError: list index out of range (line 2 of the program)"


@pytest.mark.parametrize(
    ("tests", "messages"),
    [
        (CALL, [RAISED]),
        (ASSERTS, [f"assert f(2) == 2: {RAISED}", f"not reached: the tests ended early: {RAISED}"]),
    ],
)
@pytest.mark.parametrize("prefix", ["", "# one\n# two\n", "import math"])
def test_the_line_is_that_of_the_answer(tests, messages, prefix, executor):
    task = Task("t", "", tests, entry_point="f", prefix=prefix)
    (verdict,) = judge_many([(task, CODE)], executor)
    assert [case.message for case in verdict.cases if not case.passed] == messages


@pytest.mark.parametrize(
    ("language", "code", "message"),
    [
        ("python", "f = lambda n: exec('1 / 0')", "ZeroDivisionError: division by zero (line 1 of the program)"),
        ("python", "import json\ndef f(n):\n    return json.loads('')", "(char 0) (line 3 of the program)"),
        ("python", "def f(n):\n    return n.a.b", "has no attribute 'a' (line 2 of the program)"),
        ("python", "def f(n):\n\n    raise StopIteration", "StopIteration (line 3 of the program)"),
        ("python", "def f(n):\n    raise ValueError('a\\nb')", "ValueError: a\nb (line 2 of the program)"),
        ("javascript", "function f(n) {\n  return [].a.b;\n}", "(reading 'b') (line 2 of the program)"),
    ],
)
def test_the_innermost_frame_of_the_program_counts(language, code, message, executor):
    task = Task("t", "", CALL, entry_point="f", language=language)
    (verdict,) = judge_many([(task, code)], executor)
    assert verdict.cases[0].message.endswith(message)


def test_a_line_of_the_prefix_is_not_told(executor):
    task = Task("t", "", CALL, entry_point="f", prefix="def g(n):\n    return [][n]\n")
    (verdict,) = judge_many([(task, "def f(n): return max(map(g, [n]), default=0)\n")], executor)
    assert verdict.cases[0].message == "IndexError: list index out of range"


def test_a_program_that_prints_tells_its_line_too(executor):
    task = Task("t", "", (StdinTest("2", "2"),))
    (verdict,) = judge_many([(task, f"{CODE}print(f(int(input())))")], executor)
    assert verdict.cases[0].message == f"{RAISED}; line 1: expected '2', got ''"


def test_a_bash_program_that_waits_for_processes_is_told(executor):
    limits, tests = Limits(wall_s=1), (StdinTest("", "1\n"),)
    task = Task("t", "", tests, language="bash", limits=limits)
    answer = "x=$(echo 1); echo $x"
    (verdict,) = judge_many([(task, answer)], executor)
    assert "bash waits if it may not start a process" in verdict.cases[0].message
    more = dataclasses.replace(task, limits=dataclasses.replace(limits, wall_s=60, processes=16))
    assert judge_many([(more, answer)], executor)[0].passed


def test_the_line_does_not_count_imports_that_are_lent(executor):
    (task,) = load_suite([{"question": "q", "input_output": '{"inputs": ["1"], "outputs": ["1"]}'}])
    (verdict,) = judge_many([(task, "x = deque()\nprint(gcd(1, 1) / 0)")], executor)
    assert "ZeroDivisionError: division by zero (line 2 of the program)" in verdict.cases[0].message
