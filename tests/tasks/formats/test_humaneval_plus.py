import math

import pytest

from code_env import judge
from code_env.errors import TaskError
from code_env.tasks.formats import format_of_row
from code_env.tasks.formats.humaneval_plus import FIELDS, LIMITS, task_from_row

ROW = {
    "task_id": "HumanEval/900",
    "prompt": "def fact(n: int) -> int:\n    '''n!'''\n",
    "canonical_solution": "    return 1 if n < 2 else n * fact(n - 1)\n",
    "entry_point": "fact",
    "contract": "    assert n >= 0\n",
    "base_input": [[3], [0]],
    "plus_input": [[10]],
    "atol": 0,
}


def row(prompt="def f(x):\n", solution="    return x\n", **fields):
    return {**ROW, "prompt": prompt, "canonical_solution": solution, "entry_point": "f", **fields}


def test_a_row_becomes_its_task():
    task = task_from_row(ROW)
    assert (task.id, task.prompt, task.prefix, task.entry_point) == (
        "HumanEval/900",
        ROW["prompt"],
        ROW["prompt"],
        "fact",
    )
    assert (task.reference, task.limits, task.judge) == (ROW["canonical_solution"], LIMITS, "blind")
    (test,) = task.tests
    assert test.code.splitlines() == [
        "assert is_close(candidate(3), reference(3))",
        "assert is_close(candidate(0), reference(0))",
        "assert is_close(candidate(10), reference(10))",
    ]
    assert (test.cases, test.hidden) == (3, True)


def test_the_format_is_known_by_its_inputs():
    assert format_of_row(ROW) == "humaneval+"
    assert format_of_row({**ROW, "test": ""}) == "humaneval+"
    assert format_of_row({**{k: v for k, v in ROW.items() if k != "base_input"}, "test": ""}) == "humaneval"


def test_arguments_are_literals():
    given = [[1, 2.5, "a'\"\n", None, True, {"k": [1]}, [], math.inf, -math.inf], [math.nan]]
    code = task_from_row(row(base_input=given, plus_input=None)).tests[0].code
    assert code.splitlines()[1].count('float("nan")') == 2
    seen = []
    namespace = {"is_close": lambda *values: True, "reference": lambda *a: None, "candidate": lambda *a: seen.append(a)}
    exec(code, namespace)
    assert list(seen[0]) == given[0]
    assert math.isnan(seen[1][0])


@pytest.mark.parametrize(
    ("actual", "expected", "atol", "same"),
    [
        (1, 1, 0, True),
        (1, 2, 0, False),
        (1.0 + 1e-9, 1.0, 0, True),
        (1.0 + 1e-5, 1.0, 0, False),
        (1 + 1e-9, 1, 0, False),
        (1.0, 1, 0, True),
        (1e9 + 50, 1e9, 0, True),
        (1e9 + 500, 1e9, 0, False),
        ([1.0 + 1e-9, 2.0], [1.0, 2.0], 0, True),
        ([1.0 + 1e-9, 2], [1.0, 2], 0, False),
        ([1.0, 2.0, 3.0], [1.0, 2.0], 0, False),
        ((1.0 + 1e-9,), (1.0,), 0, True),
        ([1.0 + 1e-9], (1.0,), 0, False),
        ([[1.004], {"a": (2.004,)}], [[1.0], {"a": (2.0,)}], 0.01, True),
        ([[1.004], {"a": (2.04,)}], [[1.0], {"a": (2.0,)}], 0.01, False),
        ({"a": 1.004, "b": 1}, {"a": 1.0}, 0.01, False),
        (["a", 1.004], ["a", 1.0], 0.01, True),
        ("a", 1.0, 0.01, False),
        (None, 1.0, 0, False),
        (math.nan, math.nan, 0, True),
        (math.inf, math.inf, 0, True),
        (math.inf, 1.0, 0, False),
    ],
)
def test_values_are_compared_as_evalplus_does(actual, expected, atol, same):
    namespace = {}
    exec(task_from_row(ROW).setup, namespace)
    assert namespace["is_close"](actual, expected, atol) is same


def test_atol_is_handed_to_the_comparison():
    assert (
        "assert is_close(candidate(1), reference(1), 0.01)"
        in task_from_row(row(base_input=[[1]], atol=0.01)).tests[0].code
    )


def test_a_reference_that_calls_itself_does_not_call_the_answer(executor):
    task = task_from_row(ROW)
    assert judge(task, task.reference, executor).fraction == 1.0
    assert judge(task, "    return 1 if n < 2 else n * fact(n - 1) + (n == 10)", executor).fraction == pytest.approx(
        2 / 3
    )


def test_an_answer_finds_neither_the_reference_nor_the_helpers(executor):
    task = task_from_row(ROW)
    for code in ("    return reference(n)", "    import __main__\n    return __main__.reference(n)"):
        assert judge(task, code, executor).fraction == 0.0
    cheat = "    return 0\n\ndef reference(n): return 0\n\ndef is_close(*values): return True\n"
    assert judge(task, cheat, executor).fraction == 0.0


def test_arguments_that_an_answer_changes_are_not_those_of_the_reference(executor):
    task = task_from_row(row(solution="    return sorted(x)\n", base_input=[[[2, 1]]], plus_input=[]))
    assert judge(task, "    x.clear()\n    return []", executor).fraction == 0.0
    assert judge(task, "    x.sort()\n    return x", executor).fraction == 1.0


ZERO = row(
    prompt="import math\n\ndef poly(xs: list, x: float):\n    return sum(c * x**i for i, c in enumerate(xs))\n\n"
    "def find_zero(xs: list):\n    '''One zero of the polynomial.'''\n",
    solution="    return 1.0\n",
    entry_point="find_zero",
    base_input=[[[-1, 0, 1]]],
    plus_input=[],
)


@pytest.mark.parametrize(("atol", "zero", "right"), [(0, "-1.0", 1.0), (0, "-1.001", 0.0), (0.01, "-1.001", 1.0)])
def test_any_zero_of_the_polynomial_is_right(executor, atol, zero, right):
    task = task_from_row({**ZERO, "atol": atol})
    assert task.tests[0].code == f"assert abs(poly([-1, 0, 1], candidate([-1, 0, 1]))) <= {atol or 1e-6}\n"
    cheat = "\n\ndef poly(xs, x): return 0\n"
    assert judge(task, f"    return {zero}{cheat}", executor).fraction == right


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"base_input": "[]"}, "base_input: a list of lists of arguments was expected; got str"),
        ({"plus_input": {}}, "plus_input: a list of lists of arguments was expected; got dict"),
        ({"base_input": [[1], 2]}, "base_input[1]: a list of arguments was expected; got int"),
        ({"base_input": [], "plus_input": []}, "base_input: at least one input was expected"),
        ({"atol": "0"}, "atol: a number of at least 0 was expected; got '0'"),
        ({"atol": -1}, "atol: a number of at least 0 was expected; got int"),
        ({"entry_point": "reference"}, "entry_point: 'reference' is the name of a helper"),
        ({"task_id": "Mbpp/2"}, "task_id: a row of HumanEval+ was expected; got one of MBPP+"),
        *(({name: 1}, f"{name}: text was expected; got int") for name in FIELDS[:4]),
    ],
)
def test_a_malformed_row_is_refused(fields, message):
    with pytest.raises(TaskError) as caught:
        task_from_row({**ROW, **fields})
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        ("    return x * 10.0\n", True),
        ("    return float('inf') if x > 0 else float('-inf')\n", True),
        ("    return 5.0\n", False),
        ("    return float('inf')\n", False),
        ("    return 1e308\n", False),
    ],
)
def test_only_infinity_is_near_infinity(answer, passes, executor):
    task = task_from_row(
        row(solution="    return x * 10.0\n", base_input=[[1e308]], plus_input=[[-1e308]], contract="")
    )
    assert judge(task, answer, executor).passed == passes
