"""The environment as Gymnasium sees it, and the course of an episode."""

import copy
import warnings

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv

import code_env
from code_env import CodeExecEnv, ExecutionResult, Executor, Status
from envs.small_suite import GOOD, HALF, SUITE


class BrokenExecutor(Executor):
    """A sandbox that fails, as one without a server does."""

    def __init__(self):
        self.submitted = 0

    def submit(self, program):
        from concurrent.futures import Future

        self.submitted += 1
        future = Future()
        future.set_result(ExecutionResult(Status.SANDBOX_ERROR))
        return future

    def describe(self):
        return code_env.Isolation(level="none", peer="same_machine")

    def close(self):
        pass


# Gymnasium's own view


def test_the_checker_passes_without_a_warning(executor):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make("CodeExec-v0", executor=executor).unwrapped)


def test_the_checker_passes_on_the_wrapped_env(executor):
    rewards = {"tests": 1.0, "execution": 0.1, "similarity": 0.5}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(gym.make("CodeExec-v0", executor=executor, rewards=rewards))
    # The checker warns of every wrapped env that it is one; it may warn of nothing else.
    assert [w for w in caught if "is different from the unwrapped version" not in str(w.message)] == []


def test_a_spec_survives_json_with_its_wrappers_once_each():
    rewards = {"tests": 1.0, "similarity": {"weight": 0.5, "measure": "lines"}}
    with gym.make("CodeExec-v0", rewards=rewards, max_turns=2) as env:
        text = env.spec.to_json()
    with gym.make(EnvSpec.from_json(text)) as again:
        assert again.spec.to_json() == text
        names = [wrapper.name for wrapper in again.spec.additional_wrappers]
        assert names == ["PassFractionReward", "OutputSimilarityReward"]
        again.reset(seed=0, options={"task_id": "starter/print-sixes"})
        *_, info = again.step("print(1)")
        assert list(info["reward_terms"]) == ["tests", "similarity"]


def test_every_environment_folder_is_registered():
    with gym.make("code_env/Starter-v0") as env:
        assert env.get_wrapper_attr("suite").name == "starter"
        assert env.spec.additional_wrappers[0].name == "PassFractionReward"


def test_async_vector_envs_work_without_shared_memory():
    env = AsyncVectorEnv([lambda: gym.make("code_env:CodeExec-v0")] * 2, shared_memory=False)
    try:
        prompts, infos = env.reset(seed=[5, 5])
        assert prompts[0] == prompts[1] != ""
        task = code_env.load_suite("starter").task(infos["task_id"][0])
        _, rewards, terminated, truncated, _ = env.step((task.reference, "print('no')"))
        assert rewards[0] == 1.0 > rewards[1]
        assert terminated.all()
        assert not truncated.any()
    finally:
        env.close()


def test_async_vector_envs_with_shared_memory_are_refused_with_the_remedy():
    with pytest.raises(ValueError, match="shared_memory=False") as refused:
        AsyncVectorEnv([lambda: gym.make("code_env:CodeExec-v0")] * 2)
    assert "gym.make_vec with vector_kwargs={'shared_memory': False}" in str(refused.value.__cause__)


def test_make_vec_works():
    env = gym.make_vec("CodeExec-v0", num_envs=2)
    try:
        prompts, _ = env.reset(seed=1)
        assert len(prompts) == 2
    finally:
        env.close()


def test_the_same_seed_gives_the_same_episode(executor):
    def episode(seed):
        with gym.make("CodeExec-v0", executor=executor, max_turns=2) as env:
            first = env.reset(seed=seed)
            steps = [env.step("def f(: pass"), env.step("import this")]
            following = env.reset()
            return first, steps, following

    assert episode(3) == episode(3)
    assert episode(3)[0] != episode(4)[0]


def test_an_epoch_shows_each_task_once():
    with CodeExecEnv("starter") as env:
        seen = [env.reset(seed=9)[1]["task_id"]] + [env.reset()[1]["task_id"] for _ in range(39)]
    assert sorted(seen) == sorted(task.id for task in code_env.load_suite("starter"))


# Episodes


def test_a_solution_ends_the_episode(env):
    _, reward, terminated, truncated, info = env.step(GOOD)
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert type(terminated) is type(truncated) is bool
    assert info["passed"]
    assert (info["outcome"], info["status"], info["tests_passed"], info["score"]) == ("pass", "ok", 4, 1.0)


def test_turns_used_up_end_the_episode(env):
    ends = [env.step("def add(a, b): return None")[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (True, False)]


def test_a_step_after_the_end_or_before_the_beginning_needs_a_reset(env, executor):
    env.step(GOOD)
    with pytest.raises(ResetNeeded, match="reset"):
        env.step(GOOD)
    with pytest.raises(ResetNeeded, match="reset"):
        CodeExecEnv(SUITE, executor).step(GOOD)


def test_a_failing_sandbox_truncates_and_is_no_wrong_answer():
    broken = BrokenExecutor()
    env = gym.make("CodeExec-v0", suite=SUITE, executor=broken, disable_env_checker=True)
    env.reset(seed=0, options={"task_id": "add"})
    _, reward, terminated, truncated, info = env.step(GOOD)
    assert (reward, terminated, truncated, info["valid"]) == (0.0, False, True, False)
    assert info["outcome"] == "no_verdict"
    assert info["verdicts"][0].fraction is None
    assert info["reward_terms"] == {"tests": 0.0}
    assert broken.submitted == 3


def test_infos_have_the_same_keys_and_types_in_every_step(env):
    infos = [env.step("def add(a, b): return None")[4], env.step("")[4], env.step(GOOD)[4]]
    shapes = [{key: type(value) for key, value in info.items()} for info in infos]
    assert shapes[0] == shapes[1] == shapes[2]


def test_an_answer_that_cannot_be_tested_is_a_policy_error(env):
    info = env.step("def add(a, b: return a")[4]
    assert (info["outcome"], info["status"], info["valid"], info["score"]) == ("policy_error", "error", True, 0.0)


def test_samples_are_judged_together(executor):
    env = gym.make("CodeExec-v0", suite=SUITE, executor=executor, samples_per_step=3, disable_env_checker=True)
    env.reset(seed=0, options={"task_id": "add"})
    _, reward, terminated, _, info = env.step((GOOD, HALF, ""))
    assert [v.fraction for v in info["verdicts"]] == [1.0, 0.5, 0.0]
    assert reward == info["score"] == 0.5
    assert terminated
    assert env.action_space.contains((GOOD, HALF, ""))


def test_an_env_closes_only_what_it_made(executor):
    CodeExecEnv(SUITE, executor).close()
    assert executor.run(code_env.Program("print(1)")).stdout == "1\n"
    own = CodeExecEnv(SUITE, "subprocess")
    own.close()
    own.close()
    with pytest.raises(code_env.ExecutorClosed):
        own.executor.submit(code_env.Program("print(1)"))


def test_a_copy_of_an_env_leaves_its_executor_open():
    with CodeExecEnv(SUITE, "local", executor_kwargs={"workers": 1}) as env:
        env.reset(seed=0)
        copied = copy.deepcopy(env)
        assert copied.step(GOOD)[4]["verdicts"][0].passed
        copied.close()
        assert env.step(GOOD)[4]["verdicts"][0].passed


def test_an_env_that_was_closed_says_so_at_once(executor):
    own = gym.make("CodeExec-v0", suite=SUITE, executor="subprocess")
    own.reset(seed=0)
    own.close()
    for call in (lambda: own.step("x"), own.reset):
        with pytest.raises(code_env.ExecutorClosed, match=r"this environment was closed.* make a new one by gym.make"):
            call()
    shared = CodeExecEnv(SUITE, executor)
    shared.close()
    assert shared.reset(seed=0)[0]


def test_an_env_shows_its_suite_and_its_executor(executor):
    env = gym.make("CodeExec-v0", suite=SUITE, executor=executor)
    own = f"suite={SUITE.name!r}, executor={type(executor).__name__}"
    assert repr(env.unwrapped) == f"<CodeExecEnv<CodeExec-v0, {own}>>"
    assert repr(env.unwrapped) in repr(env)
    assert str(CodeExecEnv(SUITE, executor)) == f"<CodeExecEnv<{own}>>"
