"""A completion scored by a term gets one number, whoever asks: environments, drop-in functions, metrics."""

import asyncio
import json

import gymnasium as gym
import pytest

import code_env  # noqa: F401  (registers the environments)
from code_env.integrations.agentfly import code_reward_test
from code_env.integrations.code_eval import compute
from code_env.integrations.eval_framework import (
    CodeExecutionPassAtOne,
    CodeExecutionPassAtOneContext,
    Completion,
    execute_python_code_with_tests,
)
from code_env.integrations.rewardkit import (
    advanced_code_evaluation,
    data_analysis_reward,
    file_based_code_reward,
    fractional_code_reward,
    local_code_execution_reward,
)

EXPECTED = "1 2 3 4"
TESTS = "assert f(1) == 1\nassert f(2) == 4"
CASES = [{"input": "1", "expected_output": "1"}, {"input": "2", "expected_output": "4"}]

CELLS = [{"code": "result = f(1)", "expected": "1"}, {"code": "f(2)", "expected": "4"}]
FILES = [{"path": "a.txt", "content": "a"}, {"path": "b.txt", "type": "exists"}]
INSIGHTS = ["two rows", "mean is 3"]

TASKS = {
    "output": {"kind": "output", "expected": EXPECTED},
    "asserts": {"kind": "assert", "code": TESTS},
    "stdin": [{"kind": "stdin", "stdin": case["input"], "stdout": case["expected_output"]} for case in CASES],
    "cells": [{"kind": "cell", **case} for case in CELLS],
    "files": [{"kind": "file", "path": "a.txt", "content": "a"}, {"kind": "file", "path": "b.txt"}],
    "insights": [{"kind": "insight", "insight": insight} for insight in INSIGHTS],
}

COMPLETIONS = {
    "output": ["print('1 2 3 4')", "print('1 2 3 5')", "print('x')", "```python\nprint('1 2')\n```", "def (", ""],
    "asserts": ["def f(x): return x * x", "def f(x): return x", "f = 3", "import sys\nsys.exit(0)", "def (", ""],
    "stdin": ["print(int(input()) ** 2)", "print(input())", "1 / 0", "def (", ""],
    "cells": ["def f(x): return x * x", "def f(x): return x", "print(1)", "1 / 0", "def (", ""],
    "files": [
        "open('a.txt', 'w').write('a')",
        "open('a.txt', 'w')\nopen('b.txt', 'w')",
        "open('b.txt', 'w')\n1 / 0",
        "",
    ],
    "insights": [
        "print('Two rows; the mean is 3.')",
        "print('Two rows.')",
        "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()\nprint('Two rows.')",
        "print('Two rows.')\n1 / 0",
        "",
    ],
}


@pytest.fixture(scope="module")
def suites(tmp_path_factory):
    directory = tmp_path_factory.mktemp("suites")
    for name, tests in TASKS.items():
        row = {"id": name, "prompt": "p", "tests": tests if isinstance(tests, list) else [tests]}
        (directory / f"{name}.jsonl").write_text(json.dumps(row))
    return directory


def from_environments(suites, name, term, executor):
    """The reward of each completion from a single environment, and from a vector environment."""
    arguments = {"suite": str(suites / f"{name}.jsonl"), "rewards": {term: 1.0}, "executor": executor}
    completions = COMPLETIONS[name]
    single = []
    env = gym.make("CodeExec-v0", **arguments)
    for completion in completions:
        env.reset(seed=0)
        single.append(float(env.step(completion)[1]))
    env.close()
    vector = gym.make_vec("CodeExec-v0", num_envs=len(completions), **arguments)
    vector.reset(seed=0)
    rewards = vector.step(completions)[1]
    vector.close()
    assert rewards.tolist() == pytest.approx(single)
    return single


def test_similarity(suites, executor):
    rewards = from_environments(suites, "output", "similarity", executor)
    assert rewards == pytest.approx([1.0, 0.75, 0.0, 2 / 3, 0.0, 0.0])
    functions = [local_code_execution_reward(one, EXPECTED, executor=executor) for one in COMPLETIONS["output"]]
    assert functions == pytest.approx(rewards)


def test_execution(suites, executor):
    async def all_of_them():
        return await asyncio.gather(*[code_reward_test(one, executor=executor) for one in COMPLETIONS["output"]])

    rewards = from_environments(suites, "output", "execution", executor)
    assert [found["reward"] for found in asyncio.run(all_of_them())] == rewards == [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]


def test_pass_at_1(suites, executor):
    rewards = from_environments(suites, "asserts", "pass@1", executor)
    assert rewards == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    completions = COMPLETIONS["asserts"]
    _, results = compute([completions], [TESTS], executor=executor)
    assert [float(result["passed"]) for _, result in results[0]] == rewards
    context = CodeExecutionPassAtOneContext(code_prompt="p", test_code=TESTS, package_downloads={})
    metric = CodeExecutionPassAtOne(executor)
    found = [metric.calculate(Completion(completion=one, context=context))[0].value for one in completions]
    assert found == rewards


def test_pass_fraction(suites, executor):
    rewards = from_environments(suites, "stdin", "tests", executor)
    assert rewards == [1.0, 0.5, 0.0, 0.0, 0.0]
    found = [fractional_code_reward(one, CASES, executor=executor).score for one in COMPLETIONS["stdin"]]
    assert found == rewards


def test_cells(suites, executor):
    rewards = from_environments(suites, "cells", "tests", executor)
    assert rewards == [1.0, 0.5, 0.0, 0.0, 0.0, 0.0]
    assert [advanced_code_evaluation(one, CELLS, executor=executor) for one in COMPLETIONS["cells"]] == rewards


def test_files(suites, executor):
    rewards = from_environments(suites, "files", "files", executor)
    assert rewards == [0.5, 0.5, 0.0, 0.0]
    assert [file_based_code_reward(one, FILES, executor=executor) for one in COMPLETIONS["files"]] == rewards


def test_insights(suites, executor, tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("x\n")
    rewards = from_environments(suites, "insights", "insights", executor)
    assert rewards == [1.0, 0.5, 0.75, 0.0, 0.0]
    found = [data_analysis_reward(one, data, INSIGHTS, executor=executor) for one in COMPLETIONS["insights"]]
    assert found == rewards


@pytest.mark.parametrize("name", ["local", "subprocess"])
def test_over_any_executor(name):
    assert local_code_execution_reward("print('1 2')", "1 3", executor=name) == 0.5
    assert advanced_code_evaluation("x = 2", [{"code": "x + 1", "expected": "3"}], executor=name) == 1.0
    assert asyncio.run(code_reward_test("1 / 0", executor=name))["reward"] == 0.0
    assert compute([["def f(x): return x * x"]], [TESTS], executor=name)[0] == {"pass@1": 1.0}
    assert execute_python_code_with_tests("def f(x): return x", TESTS, {}, executor=name).success is False
