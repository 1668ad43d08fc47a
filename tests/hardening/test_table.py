"""A program on a table of inputs: each outcome is what the program did with that input alone."""

import pytest

from code_env import CallTest, OutputTest, StdinTest, Task
from code_env.hardening.table import run_tables

CALLS = Task("t", "", (CallTest((1,), expected=1),), entry_point="f")
READS = Task("t", "", (StdinTest("1", "1"),))
INPUTS = [f"(({n},), {{}})" for n in range(4)]


def outcomes(program, inputs, executor, task=CALLS):
    (table,) = run_tables(task, [program], inputs, executor)
    return [(one.kind, one.text) for one in table]


def test_calls_return_and_raise(executor):
    assert outcomes("def f(n): return [6 // n, 'é'] if n != 2 else print('told')", INPUTS, executor) == [
        ("raises", "ZeroDivisionError"),
        ("returns", "[6, 'é']"),
        ("changes", "[None, 2]"),
        ("returns", "[2, 'é']"),
    ]


def test_what_a_call_changes_is_an_outcome_and_reaches_no_other(executor):
    program = "def f(a, b=0): a.append(b)"
    assert outcomes(program, ["(([],), {})", "(([],), {'b': 3})"], executor) == [
        ("changes", "[None, [0]]"),
        ("changes", "[None, [3]]"),
    ]


def test_one_input_that_takes_too_long_does_not_cost_the_others(executor):
    program = "def f(n):\n    while n == 1: pass\n    return n"
    assert [kind for kind, _ in outcomes(program, INPUTS, executor)] == ["returns", "slow", "returns", "returns"]


@pytest.mark.parametrize("end", ["__import__('os')._exit(0)", "__import__('os').abort()", "f(n)"])
def test_who_ends_the_process_dies_from_there_on(end, executor):
    program = f"import sys\nsys.setrecursionlimit(10**9)\ndef f(n):\n    if n == 2: {end}\n    return n"
    assert [kind for kind, _ in outcomes(program, INPUTS, executor)] == ["returns", "returns", "dies", "dies"]


def test_a_program_that_does_not_load_has_no_outcome(executor):
    assert outcomes("def f(:", INPUTS[:1], executor) == [("dies", "")]


def test_programs_read_their_input_anew_each_time(executor):
    program = "import sys\nn = int(input())\nprint(n + len(sys.stdin.read()))\nif n > 1: sys.exit(3)\nprint('more ')"
    assert outcomes(program, ["1\nab", "2\n"], executor, READS) == [("prints", "3\nmore"), ("prints", "2")]
    assert outcomes("import sys\nprint(sys.stdin.buffer.read())", ["é"], executor, READS) == [
        ("prints", repr("é".encode()))
    ]


@pytest.mark.parametrize(
    ("test", "left", "right", "same"),
    [
        (CallTest((1,), expected=[1]), "[1, 2]", "[2, 1]", False),
        (CallTest((1,), expected=[1], compare="unordered"), "[1, 2]", "[2, 1]", True),
        (CallTest((1,), expected=[1], compare="unordered"), "[1, 2]", "[2, 2]", False),
        (CallTest((1,), expected=1), "0.1 + 0.2", "0.3", True),
        (CallTest((1,), expected=1), "(1, 2)", "[1, 2]", False),
        (CallTest((1,), expected=1), "{1: 2, 3: 4}", "{3: 4, 1: 2}", True),
        (CallTest((1,), expected=1), "{'b', 'a', 'c'}", "{'c', 'b', 'a'}", True),
        (CallTest((1,), expected=1), "[True, 2.0]", "[1, 2]", True),
        (CallTest((1,), expected=1), "'1'", "1", False),
        (OutputTest("1 2", compare="tokens"), "print('1  2')", "print('1\\n2')", True),
        (OutputTest("1 2"), "print('1  2')", "print('1 2')", False),
        (OutputTest("1\n2", compare="unordered"), "print('1\\n2')", "print('2\\n1')", True),
    ],
)
def test_outcomes_are_equal_where_tests_take_them_for_equal(test, left, right, same, executor):
    is_call = isinstance(test, CallTest)
    task = Task("t", "", (test,), entry_point="f" if is_call else None)
    programs = [f"def f(n): return {code}" if is_call else code for code in (left, right)]
    one, other = run_tables(task, programs, INPUTS[:1] if is_call else [""], executor)
    assert (one == other) is same
