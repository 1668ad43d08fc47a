"""`limits` replaces the limits of tasks wherever a response is judged; what is no limit is refused with a hint."""

import asyncio
import json
from functools import partial

import gymnasium as gym
import pytest
from typer.testing import CliRunner

import code_env
from code_env import StdinTest, Task, TaskError, TaskSuite
from code_env.cli import app
from code_env.integrations import agentfly, code_eval, eval_framework, openrlhf, rewardkit, trl, verl
from code_env.integrations.rewardkit import notebook_rewards

SLOW = "import time\nwhile time.process_time() < 0.8: pass\nprint(input())"
TASK = Task("echo", "Print the line.", (StdinTest("a\n", "a\n"),))
SUITE = TaskSuite("one", [TASK])
ROWS = {name: SUITE.to_rows(name)[0] for name in ("trl", "verl", "openrlhf")}


def environment(**limits):
    env = gym.make("CodeExec-v0", suite=SUITE, **limits)
    env.reset(seed=0)
    try:
        return env.step(SLOW)[1]
    finally:
        env.close()


def environments(**limits):
    envs = gym.make_vec("CodeExec-v0", num_envs=2, suite=SUITE, **limits)
    envs.reset(seed=0)
    try:
        return envs.step((SLOW,) * 2)[1][0]
    finally:
        envs.close()


def with_trl(**limits):
    return trl.reward_function(**limits)(completions=[SLOW], task=[ROWS["trl"]["task"]])[0]


def with_trl_s_environment(**limits):
    environment = trl.environment_factory(suite=SUITE, **limits)()
    environment.reset()
    environment.submit_solution(SLOW)
    return environment.get_reward()


def with_verl(**limits):
    return verl.compute_score("", SLOW, ROWS["verl"]["reward_model"]["ground_truth"], **limits)["score"]


def with_openrlhf(**limits):
    row = ROWS["openrlhf"]
    return openrlhf.reward_func([row["input"] + SLOW], [row["input"]], [row["label"]], **limits)["rewards"][0]


def with_code_eval(**limits):
    code = f"{SLOW.replace('print(input())', '')}\ndef f(): return 1"
    return code_eval.compute([[code]], ["assert f() == 1"], k=[1], timeout=30, **limits)[0]["pass@1"]


def with_rewardkit(**limits):
    return rewardkit.local_code_execution_reward(SLOW.replace("input()", "1"), "1", **limits)


def with_rewardkit_s_cases(**limits):
    return rewardkit.fractional_code_reward(SLOW, [{"input": "2", "expected_output": "2"}], **limits).score


def with_a_notebook(**limits):
    code = SLOW.replace("print(input())", "x = 1")
    return notebook_rewards.advanced_code_evaluation(code, [{"code": "x", "expected": "1"}], **limits)


def with_eval_framework(**limits):
    code = f"{SLOW.replace('print(input())', '')}\ndef f(): return 1"
    context = eval_framework.CodeExecutionPassAtOneContext(
        code_prompt="", test_code="assert f() == 1", package_downloads={}
    )
    metric = eval_framework.CodeExecutionPassAtOne(**limits)
    return metric.calculate(eval_framework.Completion(completion=code, context=context))[0].value


def with_agentfly(**limits):
    return asyncio.run(agentfly.code_reward_test(SLOW.replace("input()", "1"), **limits))["reward"]


WAYS = [
    *(environment, environments, with_trl, with_trl_s_environment, with_verl, with_openrlhf, with_code_eval),
    *(with_rewardkit, with_rewardkit_s_cases, with_a_notebook, with_eval_framework, with_agentfly),
]


@pytest.mark.parametrize("way", WAYS)
def test_limits_replace_those_of_the_task(way):
    assert way() == 1.0
    assert way(limits={"cpu_s": 0.3}) == 0.0
    with pytest.raises(TaskError, match="did you mean 'cpu_s'"):
        way(limits={"cpus_s": 0.3})


def test_a_spec_with_limits_survives_json():
    env = gym.make("CodeExec-v0", suite="starter", limits={"cpu_s": 1})
    try:
        again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
        assert {task.limits.cpu_s for task in again.unwrapped.suite} == {1.0}
        again.close()
    finally:
        env.close()


def test_commands_take_a_timeout(tmp_path):
    code_env.save_suite(SUITE, tmp_path / "suite.jsonl")
    (tmp_path / "samples.jsonl").write_text(json.dumps({"task_id": "echo", "completion": SLOW}))
    files = [str(tmp_path / "samples.jsonl"), "--suite", str(tmp_path / "suite.jsonl"), "-o", str(tmp_path / "out")]
    run = partial(CliRunner().invoke, app)
    for options, status in (([], "ok"), (["--timeout", "0.3"], "timeout")):
        assert run(["eval", *files, *options]).exit_code == 0
        assert json.loads((tmp_path / "out").read_text())["status"] == status
    played = run(["run", str(tmp_path / "suite.jsonl"), "-s", files[0], "--timeout", "0.3"])
    assert (played.exit_code, "fail" in played.output) == (0, True), played.output
