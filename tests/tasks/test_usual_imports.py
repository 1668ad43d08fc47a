"""Answers to contest problems may use what contest sites import for them."""

import json

import pytest

from code_env import judge_many, load_suite
from code_env.tasks.usual_imports import USUAL_IMPORTS, imports_for

FUNCTION = {"fn_name": "total", "inputs": [[[1, 2]]], "outputs": [3]}
STARTER = "class Solution:\n    def total(self, nums: List[int]) -> int:\n        "
APPS = {"question": "Sum.", "starter_code": STARTER, "input_output": json.dumps(FUNCTION)}
STDIN = {"question": "Sum.", "input_output": json.dumps({"inputs": ["1 2"], "outputs": ["3"]})}
LIVE = {
    "question_content": "Sum.",
    "starter_code": STARTER,
    "public_test_cases": json.dumps([{"input": "[1, 2]", "output": "3", "testtype": "functional"}]),
    "private_test_cases": "",
    "metadata": json.dumps({"func_name": "total"}),
}
GEM = {"problem": "Sum.", "starter_code": STARTER, "tests": json.dumps(FUNCTION), "id": 1}
SKYRL = {
    "prompt": [{"role": "user", "content": STARTER}],
    "reward_spec": {
        "ground_truth": json.dumps(
            [{"input": "[1, 2]", "output": "3", "testtype": "functional", "metadata": {"func_name": "total"}}]
        )
    },
    "data_source": "x",
    "env_class": "lcb",
}
VERL = {
    "data_source": "apps",
    "prompt": [{"role": "user", "content": STARTER}],
    "reward_model": {"ground_truth": json.dumps(FUNCTION)},
    "extra_info": {"split": "train", "index": 0},
}
RIGHT = {
    "starter code": STARTER + "return sum(nums)",
    "after an import of the future": "from __future__ import annotations\n" + STARTER + "return sum(nums)",
    "modules and names": STARTER + "return math.floor(reduce(operator.add, deque(nums)))",
    "names of its own": "def gcd(nums): return sum(nums)\n" + STARTER + "return gcd(nums)",
}


@pytest.mark.parametrize("row", [APPS, LIVE, GEM, SKYRL, VERL], ids=["apps", "livecodebench", "gem", "skyrl", "verl"])
def test_a_function_finds_what_contest_sites_import(row, executor):
    (task,) = load_suite([row])
    assert task.prefix == USUAL_IMPORTS
    verdicts = judge_many([(task, answer) for answer in RIGHT.values()], executor)
    assert {name: one.cases for name, one in zip(RIGHT, verdicts, strict=True) if not one.passed} == {}
    wrong = [STARTER + "return 0", STARTER + "return sum(numbers)", "from solution import *"]
    assert not any(one.passed for one in judge_many([(task, answer) for answer in wrong], executor))


def test_a_program_does_too(executor):
    (task,) = load_suite([STDIN])
    answers = {
        "print(reduce(operator.add, map(int, sys.stdin.read().split())))": True,
        "def gcd(a, b): return a + b\nprint(gcd(1, 2))": True,
        "print(a)": False,
        "print(gcd(1, 2))": False,
    }
    assert [one.passed for one in judge_many([(task, answer) for answer in answers], executor)] == list(
        answers.values()
    )


def test_an_answer_gets_only_what_it_might_need():
    assert imports_for("def add(a, b): return a + b") == ""
    assert imports_for("import math\nprint(math.pi)") == "import math\n"
    assert imports_for("words.copy().count(lists.floor)") == ""
    (task,) = load_suite([STDIN])
    assert task.program("print(1 / 0)") == "print(1 / 0)"
