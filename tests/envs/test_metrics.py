"""What a tracker is shown of a step: of one environment, of many, and of steps without a verdict."""

import dataclasses
import math
import threading
from concurrent.futures import Future

import gymnasium as gym
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from code_env import CodeExecEnv, ExecutionResult, Executor, Outcome, Status, StepTiming, metrics
from code_env.envs.metrics import MetricsMean
from code_env.registration import make_code_exec, make_code_exec_vec
from code_env.wrappers import TokenActions
from envs.small_suite import GOOD, HALF, SUITE
from support import PATIENCE_S, BrokenExecutor

ADD = {"task_id": "add"}
REWARDS = {"tests": 1.0, "execution": 0.5}
PROSE = "I cannot do that."
FIXED = {
    *("reward", "passed", "score", "tests_passed", "tests_total", "no_code", "valid", "turn"),
    *(f"outcome/{one}" for one in Outcome),
    *(f"status/{one}" for one in Status),
    *(f"time/{field.name}" for field in dataclasses.fields(StepTiming)),
}
KEYS = FIXED | {f"{kind}/{name}" for kind in ("reward", "reward_raw") for name in REWARDS}
OF_VERDICTS = ("reward", "reward/tests", "passed", "score", "tests_passed", "tests_total", "no_code")


class FailsSome(Executor):
    """Its sandbox fails for programs that hold a word; another executor runs all others."""

    def __init__(self, executor, word="lost"):
        self._executor, self._word = executor, word

    def submit(self, program):
        if self._word not in program.code:
            return self._executor.submit(program)
        future = Future()
        future.set_result(ExecutionResult(Status.SANDBOX_ERROR))
        return future

    def describe(self):
        return self._executor.describe()

    def close(self):
        pass


class Held(FailsSome):
    """It runs programs that hold a word only after the event is set."""

    def __init__(self, executor, word="late"):
        super().__init__(executor, word)
        self.event = threading.Event()

    def submit(self, program):
        if self._word in program.code:
            future = Future()
            threading.Thread(target=self._later, args=(program, future)).start()
            return future
        return self._executor.submit(program)

    def _later(self, program, future):
        self.event.wait()
        if future.set_running_or_notify_cancel():
            future.set_result(self._executor.run(program))


def of_step(env, action, options=ADD):
    env.reset(seed=0, options=options)
    return metrics(env.step(action)[4])


def of_many(executor, answers, **kwargs):
    env = make_code_exec_vec(len(answers), SUITE, executor, REWARDS, **kwargs)
    env.reset(seed=0, options=ADD)
    _, rewards, _, _, info = env.step(answers)
    env.close()
    return metrics(info), rewards


def untimed(found):
    return {key: value for key, value in found.items() if not key.startswith("time/")}


# One environment


def test_one_answer(executor):
    env = make_code_exec(SUITE, executor, REWARDS)
    found = of_step(env, HALF)
    assert set(found) == KEYS
    assert all(type(value) is float for value in found.values())
    known = {key: found[key] for key in ("score", "passed", "valid", "tests_passed", "tests_total", "turn", "no_code")}
    assert known == {
        "score": 0.5,
        "passed": 0,
        "valid": 1,
        "tests_passed": 2,
        "tests_total": 4,
        "turn": 1,
        "no_code": 0,
    }
    assert (found["reward/tests"], found["reward/execution"], found["reward"]) == (0.5, 0.5, 1.0)
    assert (found["reward_raw/tests"], found["reward_raw/execution"]) == (0.5, 1.0)
    assert (found["outcome/fail"], found["status/ok"], found["outcome/pass"]) == (1, 1, 0)
    assert found["time/run_s"] > 0


@pytest.mark.parametrize(
    ("answer", "status", "outcome", "no_code"),
    [
        (GOOD, "ok", "pass", 0),
        (PROSE, "error", "policy_error", 1),
        ("def add(a, b):\n    1 / 0", "error", "fail", 0),
    ],
)
def test_how_an_answer_ended(executor, answer, status, outcome, no_code):
    found = of_step(make_code_exec(SUITE, executor, REWARDS), answer)
    assert {key: found[f"status/{key}"] for key in Status} == {key: float(key == status) for key in Status}
    assert {key: found[f"outcome/{key}"] for key in Outcome} == {key: float(key == outcome) for key in Outcome}
    assert found["no_code"] == no_code


def test_a_step_without_a_verdict_is_no_zero():
    found = of_step(make_code_exec(SUITE, BrokenExecutor(), REWARDS), GOOD)
    assert set(found) == KEYS
    assert all(math.isnan(found[key]) for key in OF_VERDICTS)
    assert (found["valid"], found["outcome/no_verdict"], found["status/sandbox_error"], found["turn"]) == (0, 1, 1, 1)


def test_samples_count_one_by_one_and_lost_ones_not_at_all(executor):
    env = make_code_exec(SUITE, FailsSome(executor), REWARDS, samples_per_step=4)
    found = of_step(env, (GOOD, HALF, f"{GOOD}# lost", PROSE))
    assert (found["valid"], found["outcome/no_verdict"]) == (0.75, 0.25)
    assert found["passed"] == found["no_code"] == pytest.approx(1 / 3)
    assert found["score"] == found["reward/tests"] == 0.5
    assert (found["tests_passed"], found["tests_total"]) == (2, 4)  # A mean over answers, not their sum.


def test_later_turns(executor):
    env = CodeExecEnv(SUITE, executor, max_turns=3)
    env.reset(seed=0, options=ADD)
    env.step(HALF)
    found = metrics(env.step(GOOD)[4])
    assert set(found) == FIXED
    assert (found["turn"], found["passed"], found["reward"]) == (2, 1, 0)


def test_an_answer_that_is_still_written_is_left_out(executor):
    env = make_code_exec("functions", executor, REWARDS)
    env = TokenActions(env, "functions", observe_prompt=False)
    _, info = env.reset(seed=0)
    assert all(map(math.isnan, metrics(info).values()))
    terminated, found = False, []
    while not terminated:
        _, _, terminated, _, info = env.step(int(env.action_masks().argmax()))
        found.append(metrics(info))
    assert [set(one) == KEYS for one in found] == [True] * len(found)
    assert [math.isnan(one["valid"]) for one in found] == [True] * (len(found) - 1) + [False]


# Many environments


@pytest.mark.parametrize("mode", ["SameStep", "Disabled"])
def test_many_give_the_mean_over_those_that_ended_and_those_that_go_on(executor, mode):
    answers = (GOOD, HALF, PROSE, HALF)
    found, rewards = of_many(executor, answers, max_turns=2, autoreset_mode=mode)
    assert set(found) == KEYS
    assert all(type(value) is float for value in found.values())
    assert (found["passed"], found["score"], found["no_code"], found["turn"]) == (0.25, 0.5, 0.25, 1)
    assert found["reward"] == pytest.approx(rewards.mean())
    assert (found["outcome/pass"], found["outcome/fail"], found["outcome/policy_error"]) == (0.25, 0.5, 0.25)
    singles = [of_step(make_code_exec(SUITE, executor, REWARDS, max_turns=2), answer) for answer in answers]
    for key, value in untimed(found).items():
        assert value == pytest.approx(math.fsum(one[key] for one in singles) / 4)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("samples", [1, 2])
def test_the_same_from_gymnasiums_own_vector_environment(executor, mode, samples):
    kwargs = {"suite": SUITE, "executor": executor, "rewards": REWARDS, "samples_per_step": samples}
    sync = SyncVectorEnv([lambda: make_code_exec(**kwargs)] * 3, autoreset_mode=mode)
    sync.reset(seed=0, options=ADD)
    answers = (GOOD, HALF, PROSE)
    actions = answers if samples == 1 else (answers, (HALF, HALF, GOOD))
    native = make_code_exec_vec(3, **kwargs)
    native.reset(seed=0, options=ADD)
    assert untimed(metrics(sync.step(actions)[4])) == untimed(metrics(native.step(actions)[4]))


def test_the_lost_ones_of_many_are_no_zeros(executor):
    found, _ = of_many(FailsSome(executor), (GOOD, f"{GOOD}# lost", HALF, f"{HALF}# lost"))
    assert (found["passed"], found["score"], found["reward/tests"], found["valid"]) == (0.5, 0.75, 0.75, 0.5)
    nothing, _ = of_many(BrokenExecutor(), (GOOD, HALF))
    assert set(nothing) == set(found) == KEYS
    assert all(math.isnan(nothing[key]) for key in OF_VERDICTS)


def test_a_verdict_counts_in_the_step_in_which_it_comes(executor):
    held = Held(executor)
    env = make_code_exec_vec(2, SUITE, held, REWARDS)
    env.reset(seed=0, options=ADD)

    def step(answers, deadline_s):
        env.step_async(answers)
        return metrics(env.step_wait(deadline_s)[4])

    found = [step((f"{GOOD}# late", None), 0.01), step((None, HALF), PATIENCE_S)]  # The second does not wait for it.
    held.event.set()
    found += [step((None, None), None), step((None, None), None)]
    env.close()
    assert [set(one) == KEYS for one in found] == [True] * 4
    assert [one["score"] for one in found[1:3]] == [one["reward/tests"] for one in found[1:3]] == [0.5, 1]
    assert all(math.isnan(value) for one in (found[0], found[3]) for value in one.values())


# Several steps


def test_over_several_steps_each_answer_counts_the_same(executor):
    env = make_code_exec_vec(2, SUITE, executor, REWARDS)
    mean = MetricsMean()
    for answers in ((GOOD, GOOD), (GOOD, None)):
        env.reset(seed=0, options=ADD)
        mean.add(env.step(answers)[4])
    env.reset(seed=0, options=ADD)
    mean.add(env.step((HALF, None))[4])
    env.close()
    assert mean.answers == 4
    assert (mean.values()["passed"], mean.values()["score"]) == (0.75, 0.875)


@pytest.mark.parametrize("info", [{}, {"episode": 1}, [{"pending": False}], None])
def test_another_info_is_refused(info):
    with pytest.raises(TypeError, match=r"the info of a step of CodeExec-v0.* is expected.*'pending'; got"):
        metrics(info)


def test_an_info_of_another_environment_is_refused():
    env = gym.make("CartPole-v1")
    env.reset(seed=0)
    with pytest.raises(TypeError, match="got an empty dict"):
        metrics(env.step(0)[4])
    env.close()
