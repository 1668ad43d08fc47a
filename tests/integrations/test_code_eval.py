import gzip
import json
import os
import subprocess
import sys
import textwrap
from collections import defaultdict
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from code_env import TaskError
from code_env.integrations._common import shared_executor
from code_env.integrations.code_eval import compute, metric_path
from support import PATIENCE_S, BrokenExecutor

ADD = "def add(a, b): return a + b"
MULTIPLY = "def add(a, b): return a * b"
TEST = "assert add(2,3)==5"

EXAMPLES = {
    "full match": ([[ADD]], [1], {"pass@1": 1.0}),
    "no match": ([[MULTIPLY]], [1], {"pass@1": 0.0}),
    "partial match": ([[ADD, MULTIPLY]], [1, 2], {"pass@1": 0.5, "pass@2": 1.0}),
}
"""Those of evaluate's card."""


@pytest.mark.parametrize(("predictions", "k", "expected"), EXAMPLES.values(), ids=EXAMPLES)
def test_the_examples_of_the_card(executor, predictions, k, expected):
    pass_at_k, results = compute(references=[TEST], predictions=predictions, k=k, executor=executor)
    assert pass_at_k == expected
    assert {type(value) for value in pass_at_k.values()} == {float}
    assert type(results) is defaultdict
    assert list(results) == [0]
    assert [number for number, _ in results[0]] == list(range(len(predictions[0])))
    for number, result in results[0]:
        assert set(result) == {"task_id", "passed", "result", "completion_id"}
        assert (result["task_id"], result["completion_id"]) == (0, number)
        assert result["passed"] == (result["result"] == "passed") == (predictions[0][number] == ADD)


LOAD = """
import json, sys
import evaluate
from code_env.integrations._common import shared_executor
from code_env.integrations.code_eval import compute, metric_path

metric = evaluate.load(metric_path())
found = []
for predictions, k in json.load(sys.stdin):
    by_metric = metric.compute(references=["assert add(2,3)==5"], predictions=predictions, k=k)
    assert by_metric == compute(predictions, ["assert add(2,3)==5"], k)
    found.append(by_metric[0])
_, results = metric.compute(references=["assert add(2,3)==5"], predictions=[["import os"]], use_safe_builtins=True)
found.append(results[0][0][1]["result"])
try:
    metric.compute(references=["assert add(2,3)==5"], predictions=[["x"]], num_worker=2)
except TypeError as error:
    found.append(str(error))
print(json.dumps(found))
"""


def test_evaluate_loads_the_metric_folder_offline(tmp_path):
    environment = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1"}
    environment.pop("HF_ALLOW_CODE_EVAL", None)
    asked = json.dumps([[predictions, k] for predictions, k, _ in EXAMPLES.values()])
    command = [sys.executable, "-c", LOAD]
    done = subprocess.run(
        command, input=asked, capture_output=True, text=True, timeout=PATIENCE_S, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    *figures, restricted, misspelt = json.loads(done.stdout)
    assert figures == [expected for *_, expected in EXAMPLES.values()]
    assert "PolicyViolation" in restricted
    assert "num_worker" in misspelt


def test_the_folder_is_in_the_package():
    assert {path.name for path in Path(metric_path()).iterdir()} >= {"code_eval.py", "README.md"}


HUMANEVAL = textwrap.dedent("""
    METADATA = {"author": "x"}

    def check(candidate):
        for x in range(4):
            assert candidate(x) == square(x)

    check(f)
""")

PASSING = {
    "a check that calls the candidate, and a helper of its own": (HUMANEVAL, "def square(x): return x * x\nf = square"),
    "unittest": (
        "import unittest\nclass T(unittest.TestCase):\n    def test_f(self):\n        self.assertEqual(f(2), 4)\n"
        "unittest.main()",
        "def f(x): return x * x",
    ),
    "a fence within a text": ("assert f() == '```'", "def f():\n    '''\n    ```\n    '''\n    return '```'"),
    "sys.exit at the end": (TEST, ADD + "\nif __name__ == '__main__':\n    import sys\n    sys.exit(0)"),
}


@pytest.mark.parametrize(("reference", "candidate"), PASSING.values(), ids=PASSING)
def test_a_right_candidate_passes(executor, reference, candidate):
    _, results = compute([[candidate]], [reference], executor=executor)
    assert results[0][0][1]["result"] == "passed"


@pytest.mark.shared_data
def test_humaneval_s_own_answers_pass_and_stubs_do_not(data, executor):
    with gzip.open(data / "humaneval" / "HumanEval.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    references = [f"{row['test']}\ncheck({row['entry_point']})" for row in rows]
    candidates = [[row["prompt"] + row["canonical_solution"], row["prompt"] + "    pass\n"] for row in rows]
    pass_at_k, results = compute(candidates, references, k=[1, 2], timeout=10, executor=executor)
    assert pass_at_k == {"pass@1": 0.5, "pass@2": 1.0}
    assert {tuple(result["passed"] for _, result in found) for found in results.values()} == {(True, False)}


D4 = {
    "equal to everything": "class A:\n    def __eq__(self, other): return True\ndef add(a, b): return A()",
    "an int equal to everything": "class A(int):\n    def __eq__(self, other): return True\ndef add(a, b): return A()",
    "appends to lists up the frames": (
        "import sys\nframe = sys._getframe()\nwhile frame:\n"
        "    for value in list(frame.f_locals.values()) + list(frame.f_globals.values()):\n"
        "        if type(value) is list: value.append('passed')\n    frame = frame.f_back\ndef add(a, b): return 0"
    ),
    "exits before the tests": "import sys\nsys.exit(0)",
    "leaves at once": "import os\nos._exit(0)",
    "exits in the call": "def add(a, b): raise SystemExit(0)",
    "a trailing decorator": "def add(a, b): return 0\n@lambda g: lambda *a: None",
    "prints passed": "print('passed')",
    "nothing": "",
}


@pytest.mark.parametrize("candidate", D4.values(), ids=D4)
def test_d4_a_candidate_that_does_not_solve_it_does_not_pass(executor, candidate):
    pass_at_k, results = compute([[candidate]], [TEST], k=[1], executor=executor)
    assert pass_at_k == {"pass@1": 0.0}
    assert results[0][0][1]["result"].startswith("failed: ")


def test_a_candidate_that_takes_too_long_timed_out(executor):
    _, results = compute([["while True: pass"]], [TEST], timeout=0.5, executor=executor)
    assert results[0][0][1] == {"task_id": 0, "passed": False, "result": "timed out", "completion_id": 0}


def test_a_k_that_a_task_has_too_few_candidates_for_is_left_out(executor):
    pass_at_k, _ = compute([[ADD, ADD], [ADD]], [TEST, TEST], executor=executor)
    assert pass_at_k == {"pass@1": 1.0}


def test_what_has_no_verdict_is_left_out_and_says_so(executor):
    flaky = BrokenExecutor(executor, failures=3)
    pass_at_k, results = compute([[MULTIPLY, ADD]], [TEST], k=[1, 2], num_workers=1, executor=flaky)
    assert pass_at_k == {"pass@1": 1.0}
    assert [result["passed"] for _, result in results[0]] == [None, True]
    assert results[0][0][1]["result"] == "no verdict: SandboxError: no luck"
    assert compute([[ADD]], [TEST], executor=BrokenExecutor())[0] == {}


@pytest.mark.parametrize(
    "options",
    [
        {"use_safe_builtins": True},
        {"use_safe_builtins": False},
        {"use_limited_builtins": True},
        {"use_utility_builtins": False},
        {"additional_globals": {}},
        {"additional_locals": {"x": 1}},
        {"allowed_imports": ["math"]},
        {"allow_str_format": False},
        {"allow_underscore_variable_names": True},
        {"return_output": True},
    ],
    ids=str,
)
def test_any_option_asks_for_restricted_python(options):
    unrestricted = ADD + "\nadd.__doc__"
    pass_at_k, results = compute([[ADD, unrestricted]], [TEST], k=[1], **options)
    assert pass_at_k == {"pass@1": 0.5}
    assert results[0][1][1]["result"].startswith("failed: PolicyViolation: Line 2: ")


def test_options_act():
    asked = {
        "import math\ndef add(a, b): return math.floor(a + b)": {"allowed_imports": ["math"]},
        "def add(a, b): return int('{}'.format(a + b))": {"allow_str_format": True},
        "def add(_a, b): return _a + b": {"allow_underscore_variable_names": True},
        "def add(a, b): return a + b + zero": {"additional_globals": {"zero": 0}},
        "def add(a, b): return a + b + none": {"additional_locals": {"none": 0}},
        "def add(a, b): return a + b + 0 * len(range(5000))": {"use_limited_builtins": False},
    }
    for code, options in asked.items():
        assert compute([[code]], [TEST], k=[1], use_safe_builtins=True)[0] == {"pass@1": 0.0}, code
        assert compute([[code]], [TEST], k=[1], **options)[0] == {"pass@1": 1.0}, code


def test_the_output_of_candidates_comes_back():
    codes = [ADD + "\noutput = {'a': [1, (2, 3)]}", ADD, ADD + "\noutput = {1, 2}", "output = 1 / 0"]
    _, results = compute([codes], [TEST], k=[1], return_output=True)
    assert [result["output"] for _, result in results[0]] == [{"a": [1, [2, 3]]}, None, "{1, 2}", None]
    _, results = compute([[ADD + "\nx = 2"]], [TEST], k=[1], return_output=True, output_variable="x")
    assert results[0][0][1]["output"] == 2


def test_restricted_python_and_another_executor_exclude_one_another(executor):
    with pytest.raises(ValueError, match="use_safe_builtins are options of the executor 'restricted'"):
        compute([[ADD]], [TEST], use_safe_builtins=True, executor=executor)


def test_that_no_output_is_wanted_asks_for_nothing(executor):
    assert compute([[ADD]], [TEST], return_output=False, output_variable="x", executor=executor)[0] == {"pass@1": 1.0}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[ADD]], []), ValueError, "got 1 tasks and 0"),
        (([ADD], [TEST]), TypeError, r"predictions\[0\] must be a list of programs"),
        (([[ADD]], ["assert ("]), TaskError, r"references\[0\]: code must be Python"),
        (([[ADD]], ["def check(candidate):\n    assert candidate(2, 3) == 5"]), TaskError, r"never calls it.*check\("),
        (([[ADD]] * 3, "abc"), TypeError, r"references must be a list of tests as text, .*; got 'abc'"),
        (([[ADD]], {TEST: TEST}), TypeError, r"references must be a list"),
        (([[ADD]], iter([TEST])), TypeError, r"references must be a list"),
        ((iter([[ADD]]), [TEST]), TypeError, r"predictions must be a list of lists of programs"),
        (([iter([ADD])], [TEST]), TypeError, r"predictions\[0\] must be a list of programs"),
        (([3], [TEST]), TypeError, r"predictions\[0\] must be a list of programs as text; got 3"),
        (([[3]], [TEST]), TypeError, r"predictions\[0\] must be a list of programs as text; got \[3\]"),
        (([[ADD]], [TEST], 1), TypeError, "k must be a list of whole numbers; got 1"),
        (([[ADD]], [TEST], "1"), TypeError, "k must be a list of whole numbers; got '1'"),
        (([[ADD]], [TEST], [0]), ValueError, "k: whole numbers of at least 1"),
        (([[ADD]], [TEST], [True]), ValueError, "k: whole numbers of at least 1"),
        (([[ADD]], [TEST], [1], 0), ValueError, "num_workers: whole numbers"),
        (([[ADD]], [TEST], [1], 1, 0), TaskError, "limits.cpu_s"),
    ],
)
def test_misuse_is_an_error(arguments, error, message):
    with pytest.raises(error, match=message):
        compute(*arguments)


@pytest.mark.parametrize("sequence", [tuple, np.array], ids=["tuple", "array"])
def test_what_is_like_a_list_is_taken_for_one(executor, sequence):
    estimates, _ = compute(sequence([[ADD, MULTIPLY]]), sequence([TEST]), k=(1,), executor=executor)
    assert estimates == {"pass@1": 0.5}


@pytest.mark.parametrize("reference", ["", "pass", "x = 1", "print(1)", "# nothing", "assert True", "import math"])
def test_a_reference_that_tests_nothing_is_an_error(reference):
    with pytest.raises(TaskError, match=r"references\[0\].*nothing is tested"):
        compute([["def f(x): return 5"]], [reference], k=[1])


def test_a_reference_may_test_without_asserts():
    references = ["if f(1) != 5: raise ValueError"] * 2
    candidates = [["def f(x): return 5"], ["def f(x): return 6"]]
    _, results = compute(candidates, references, k=[1])
    assert [results[task][0][1]["passed"] for task in (0, 1)] == [True, False]


POLICY = """
from code_env_harness.restricted.transformer import ProgramTransformer
class Own(ProgramTransformer):
    def visit_{node}(self, node):
        self.error(node, "{node} is not allowed.")
        return node
"""


def test_an_executor_is_kept_by_its_options_and_by_the_text_of_a_policy(tmp_path):
    pytest.importorskip("RestrictedPython")
    with mock.patch.object(shared_executor, "make_executor", wraps=shared_executor.make_executor) as made:
        for _ in range(3):
            compute([[ADD]], [TEST], k=[1], allowed_imports=["math"], num_workers=1)
        assert made.call_count == 1
        policy = tmp_path / "policy.py"
        policy.write_text(POLICY.format(node="While"))
        answers = [[ADD, "while False: pass\n" + ADD]]
        assert compute(answers, [TEST], k=[1], policy=f"{policy}:Own", num_workers=1)[0] == {"pass@1": 0.5}
        policy.write_text(POLICY.format(node="Pass"))
        again = [[ADD, "while False: ...\n" + ADD, "while False: pass\n" + ADD]]
        _, results = compute(again, [TEST], k=[1], policy=f"{policy}:Own", num_workers=1)
        assert [result["passed"] for _, result in results[0]] == [True, True, False]
        assert made.call_count == 3
