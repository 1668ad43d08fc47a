"""Whoever knows the task finds the same answer in a response."""

import asyncio
from operator import itemgetter

import gymnasium as gym
import pytest

from code_env import CallTest, Task, TaskSuite
from code_env.evaluation import Sample, judge_samples
from code_env.integrations import agentfly, openrlhf, rewardkit, trl, verl

ADD = Task("add", "Write add(a, b).", (CallTest((1, 2), {}, 3), CallTest((4, 5), {}, 9)), entry_point="add")
SUITE = TaskSuite("adding", [ADD])
USAGE = "\n```python\nprint(add(1, 2), undefined)\n```\n"
RIGHT = f"Here:\n```python\ndef add(a, b):\n    return a + b\n```{USAGE}"
WRONG = f"Here:\n```python\ndef add(a, b):\n    return a - b\n```{USAGE}"
NONE = "Use a sum.\n```bash\npython add.py\n```"
EXPECTED = [1.0, 0.0, 0.0]


def by_env(executor):
    with gym.make("code_env:CodeExec-v0", suite=SUITE, executor=executor) as env:
        for response in (RIGHT, WRONG, NONE):
            env.reset()
            yield env.step(response)[1]


def by_vector_env(executor):
    env = gym.make_vec("code_env:CodeExec-v0", num_envs=3, suite=SUITE, executor=executor)
    env.reset()
    yield from env.step((RIGHT, WRONG, NONE))[1].tolist()
    env.close()


def by_evaluation(executor):
    samples = [Sample("add", response) for response in (RIGHT, WRONG, NONE)]
    yield from (verdict.fraction for _, verdict in sorted(judge_samples(SUITE, samples, executor), key=itemgetter(0)))


def by_trl(executor):
    task = SUITE.to_rows("trl")[0]["task"]
    yield from trl.reward_function(executor=executor)(completions=[RIGHT, WRONG, NONE], task=[task] * 3)


def by_trl_environment(executor):
    for response in (RIGHT, WRONG, NONE):
        environment = trl.environment_factory(executor=executor, suite=SUITE)()
        environment.reset()
        environment.submit_solution(response)
        yield environment.get_reward()


def by_verl(executor):
    truth = SUITE.to_rows("verl")[0]["reward_model"]["ground_truth"]
    for response in (RIGHT, WRONG, NONE):
        result = verl.compute_score("adding", response, truth, executor=executor)
        assert result["no_code"] == (response is NONE)
        yield result["score"]


def by_openrlhf(executor):
    row = SUITE.to_rows("openrlhf")[0]
    queries = [row["input"] + response for response in (RIGHT, WRONG, NONE)]
    found = openrlhf.reward_func(queries, [row["input"]] * 3, [row["label"]] * 3, executor=executor)
    assert found["extra_logs"]["no_code"] == [0.0, 0.0, 1.0]
    yield from found["rewards"]


def by_rewardkit(executor):
    cases = [{"input": "1 2", "expected_output": "3"}, {"input": "4 5", "expected_output": "9"}]
    for response in (RIGHT, WRONG, NONE):
        yield rewardkit.fractional_code_reward(response, cases, function_to_call="add", executor=executor).score


@pytest.mark.parametrize(
    "way",
    [by_env, by_vector_env, by_evaluation, by_trl, by_trl_environment, by_verl, by_openrlhf, by_rewardkit],
    ids=lambda way: way.__name__.removeprefix("by_"),
)
def test_the_function_that_the_task_asks_for_is_judged(way, executor):
    assert list(way(executor)) == EXPECTED


@pytest.mark.parametrize("response", ["I cannot do that.", "42", "'42'", "```bash\necho 42\n```", "None", "..."])
def test_without_an_expected_output_an_answer_without_code_earns_nothing(response, executor):
    messages = [{"role": "user", "content": "Do it."}, {"role": "assistant", "content": response}]
    found = rewardkit.local_code_execution_reward(messages, executor=executor)
    assert (found.score, found.metrics["extracted_code"].reason) == (0.0, "There is no code in the answer.")
    reward = asyncio.run(agentfly.code_reward_test(response, executor=executor))
    assert reward == {"reward": 0.0, "output": "NoProgram: the answer holds no code"}


@pytest.mark.parametrize("response", ["print(42)", "```python\n42\n```", "x = 42"])
def test_without_an_expected_output_code_earns_that_it_runs(response, executor):
    messages = [{"role": "user", "content": "Do it."}, {"role": "assistant", "content": response}]
    assert rewardkit.local_code_execution_reward(messages, executor=executor).score == 1.0
    assert asyncio.run(agentfly.code_reward_test(response, executor=executor))["reward"] == 1.0
