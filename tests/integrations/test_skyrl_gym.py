"""SkyRL-Gym: its own registry makes the environments, as SkyRL's generator does."""

import pytest

from code_env import CallTest, NoVerdict, RewardError, Task, TaskError, TaskSuite, load_suite
from support import ImportedLate, examples_hold

skyrl_gym = ImportedLate("skyrl_gym")
base_text_env = ImportedLate("skyrl_gym.envs.base_text_env")
omegaconf = ImportedLate("omegaconf")
ours = ImportedLate("code_env.integrations.skyrl_gym")

TASK = Task("twice", "Write f(n), twice n.", (CallTest((1,), {}, 2), CallTest((2,), {}, 4)), entry_point="f")
ROW = TaskSuite("numbers", [TASK]).to_rows("skyrl")[0]
LCB_ROW = {
    "prompt": [{"role": "user", "content": "Double the number."}],
    "reward_spec": {"ground_truth": '[{"input": "2", "output": "4", "testtype": "stdin", "metadata": {}}]'},
}


@pytest.fixture(scope="module", autouse=True)
def registered():
    skyrl_gym.register(id="code_env", entry_point="code_env.integrations.skyrl_gym:CodeEnv")
    yield
    skyrl_gym.registry.pop("code_env")


def made(row=ROW, settings=None, **extras):
    """What `SkyRLGymGenerator.agent_loop` does with a row; all but the prompt and the class are extras."""
    rest = {name: value for name, value in row.items() if name not in ("prompt", "env_class")}
    config = omegaconf.OmegaConf.create(settings or {})
    return skyrl_gym.make("code_env", env_config=config, extras=rest | {"max_turns": 1} | extras)


@pytest.mark.parametrize(
    ("answer", "reward"),
    [("def f(n): return 2 * n", 1.0), ("def f(n): return 2", 0.5), ("def f(n): return 0", 0.0), ("", 0.0)],
)
def test_an_answer_is_scored(answer, reward):
    env = made()
    assert isinstance(env, base_text_env.BaseTextEnv)
    prompt, about = env.init(ROW["prompt"])
    assert (prompt, about) == (ROW["prompt"], {"task_id": "twice"})
    step = env.step(answer)
    assert (step["reward"], step["done"], step["observations"]) == (reward, True, [])
    assert step["metadata"] == {"passed": reward == 1.0, "reward_terms": {"tests": reward}}
    assert env.get_metrics() == {"passed": float(reward == 1.0), "tests_passed": reward, "no_code": float(not answer)}


def test_turns_go_on_with_feedback_until_an_answer_passes():
    env = made(max_turns=3)
    env.init(ROW["prompt"])
    assert env.get_metrics() == {}
    step = env.step("def f(n): return 2")
    assert not step["done"]
    (told,) = step["observations"]
    assert told["role"] == "user"
    assert "1 of 2" in told["content"]
    assert "4" not in told["content"]  # The test is hidden.
    step = env.step("def f(n): return n + n")
    assert (step["reward"], step["done"], step["observations"]) == (1.0, True, [])


def test_the_last_turn_ends_the_episode():
    env = made(max_turns=2)
    env.init(ROW["prompt"])
    assert [env.step("def f(n): return 2")["done"] for _ in range(2)] == [False, True]


def test_rows_of_skyrl_itself():
    env = made(LCB_ROW)
    env.init(LCB_ROW["prompt"])
    assert env.step("```python\nprint(2 * int(input()))\n```")["reward"] == 1.0


def test_rows_are_a_suite():
    suite = load_suite("starter")
    assert list(load_suite(suite.to_rows("skyrl"))) == list(suite)


def test_settings_of_the_configuration():
    env = made(settings={"rewards": {"tests": 0.5, "pass@1": 2.0}, "executor": "local", "limits": {"cpu_s": 1}})
    env.init(ROW["prompt"])
    assert env.step("def f(n): return 2")["metadata"]["reward_terms"] == {"tests": 0.25, "pass@1": 0.0}


def test_wrong_settings_are_named():
    with pytest.raises(
        TypeError,
        match="env_config has no setting 'reward'; known are rewards, executor, limits; did you mean 'rewards'",
    ):
        made(settings={"reward": {}})
    with pytest.raises(RewardError, match="SkyRL scores each sample alone"):
        made(settings={"rewards": {"group_pass@2": 1.0}})
    with pytest.raises(TaskError, match="max_turns"):
        made(max_turns=0)
    with pytest.raises(TaskError, match="reward_spec"):
        ours.CodeEnv().init(ROW["prompt"])
    with pytest.raises(TaskError, match="call init before step"):
        made().step("x = 1")


def test_a_broken_sandbox_is_no_wrong_answer():
    env = made(settings={"executor": "support:BrokenExecutor"})
    env.init(ROW["prompt"])
    with pytest.raises(NoVerdict):
        env.step("def f(n): return 2 * n")
    assert env.get_metrics() == {}


def test_its_examples_hold():
    assert examples_hold("code_env.integrations.skyrl_gym")
