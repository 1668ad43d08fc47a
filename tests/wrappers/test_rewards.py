import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec

from code_env import (
    CallTest,
    CodeExecEnv,
    DuplicateRewardTerm,
    ExecutionReward,
    OutputSimilarityReward,
    OutputTest,
    PassFractionReward,
    RewardError,
    Task,
    TaskSuite,
    TermReward,
)
from code_env.wrappers import vector
from code_env.wrappers.reward_names import apply_rewards

ADD = Task("add", "Write add.", (CallTest((1, 2), {}, 3), CallTest((5, 7), {}, 12)), entry_point="add")
COUNT = Task("count", "Print 1 2 3 4.", (OutputTest("1 2 3 4"),))
SUITE = TaskSuite("small", [ADD, COUNT])


def shortness(task, verdict):
    """A term of a user's own."""
    return 1.0 if len(verdict.code) < 40 else 0.0


class CountingExecutor(type(CodeExecEnv("starter").executor)):
    runs = 0

    def submit(self, program):
        type(self).runs += 1
        return super().submit(program)


@pytest.fixture
def bare(executor):
    return CodeExecEnv(SUITE, executor)


def step(env, task_id, code):
    env.reset(seed=0, options={"task_id": task_id})
    _, reward, *_, info = env.step(code)
    return reward, info


def test_each_wrapper_adds_its_term_and_the_ledger_adds_up(bare):
    env = TermReward(PassFractionReward(ExecutionReward(bare, weight=0.1), weight=2.0), shortness, weight=-0.25)
    reward, info = step(env, "add", "def add(a, b): return 3")
    assert info["reward_raw"] == {"execution": 1.0, "tests": 0.5, "shortness": 1.0}
    assert info["reward_terms"] == {"execution": 0.1, "tests": 1.0, "shortness": -0.25}
    assert reward == pytest.approx(sum(info["reward_terms"].values()))
    assert all(type(value) is float for value in [reward, *info["reward_terms"].values()])


def test_the_bare_env_gives_no_reward(bare):
    reward, info = step(bare, "add", "def add(a, b): return a + b")
    assert (reward, info["reward_terms"], info["reward_raw"]) == (0.0, {}, {})


def test_sugar_and_wrappers_are_the_same(executor, bare):
    rewards = {"tests": 1.0, "execution": 0.1, "similarity": {"weight": 0.5, "measure": "lines"}}
    sugar = gym.make("CodeExec-v0", suite=SUITE, executor=executor, rewards=rewards, disable_env_checker=True)
    wrapped = OutputSimilarityReward(ExecutionReward(PassFractionReward(bare), weight=0.1), 0.5, measure="lines")
    for task_id, code in (("add", "def add(a, b): return 3"), ("count", "print('1 2 3 5')")):
        assert step(sugar, task_id, code)[0] == step(wrapped, task_id, code)[0]


def test_a_program_runs_once_however_many_wrappers_look_at_it():
    with CountingExecutor(workers=1) as counting:
        env = ExecutionReward(PassFractionReward(OutputSimilarityReward(CodeExecEnv(SUITE, counting))))
        before = CountingExecutor.runs
        step(env, "count", "print(1)")
        assert CountingExecutor.runs == before + 1


def test_a_name_that_is_there_already_is_refused_with_both_ways_out(bare):
    env = ExecutionReward(PassFractionReward(bare))
    with pytest.raises(DuplicateRewardTerm, match=r"rewards=\{\}.*name=\"tests_2\""):
        PassFractionReward(env)
    _, info = step(PassFractionReward(env, weight=0.5, name="tests_2"), "count", "print(1, 2, 3, 4)")
    assert info["reward_terms"] == {"tests": 1.0, "execution": 1.0, "tests_2": 0.5}


def test_similarity_is_refused_where_nothing_expects_an_output(executor):
    with pytest.raises(RewardError, match="no test of suite 'only-add' expects an output"):
        OutputSimilarityReward(CodeExecEnv(TaskSuite("only-add", [ADD]), executor))


@pytest.mark.parametrize(
    ("printed", "raw"),
    [
        ("1 2 3 4", 1.0),
        ("1 2 3 5", 0.75),
        ("4 3 2 1", 0.25),
        ("", 0.0),
        ("1 2 3 4 " * 50, 2 * 4 / 204),
        (" ".join(map(str, range(1000))), 2 * 4 / 1004),
    ],
    ids=["right", "one wrong", "reversed", "nothing", "repeated", "every number"],
)
def test_printing_more_or_in_another_order_is_worth_less(bare, printed, raw):
    reward, _ = step(OutputSimilarityReward(bare), "count", f"print({printed!r})")
    assert reward == pytest.approx(raw)


@pytest.mark.parametrize(
    ("code", "raw"),
    [
        ("def add(a, b): return None", 1.0),
        ("def add(a, b): return 1 / 0", 0.0),
        ("def add(a, b: pass", 0.0),
        ("x = 1", 0.0),
        ("", 0.0),
        ("import os; os._exit(0)", 0.0),
        ("def add(a, b):\n    import os; os._exit(0)", 0.0),
    ],
    ids=["wrong", "raises", "syntax", "no function", "empty", "early exit", "exit in the call"],
)
def test_execution_pays_for_running_without_a_fault(bare, code, raw):
    assert step(ExecutionReward(bare), "add", code)[0] == raw


def test_a_term_given_by_path_survives_json(executor):
    env = TermReward(gym.make("CodeExec-v0", rewards={}), "code_env.rewards.terms:execution", weight=0.5)
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    _, info = step(again, "starter/print-sixes", "print(1)")
    assert info["reward_terms"] == {"execution": 0.5}
    env.close()
    again.close()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda env: TermReward(env, "nowhere:f"), "package.module:function"),
        (lambda env: TermReward(env, 3), "function of a task and a verdict"),
        (lambda env: PassFractionReward(env, weight="1"), "must be a number"),
        (lambda env: PassFractionReward(env, name=""), "must be text"),
        (lambda env: OutputSimilarityReward(env, measure="word"), "tokens"),
        (
            lambda env: PassFractionReward(gym.make("CartPole-v1")),
            r"wraps a CodeExecEnv; got <.*CartPole.*; gym.make\('CodeExec-v0', rewards=\{\}\) makes one",
        ),
        (
            lambda env: vector.PassFractionReward(gym.make_vec("CartPole-v1", num_envs=1)),
            r"wraps a CodeExecVectorEnv; got .*; gym.make_vec\('CodeExec-v0', rewards=\{\}\)",
        ),
        (lambda env: vector.PassFractionReward(env), "; which code_env.wrappers.PassFractionReward wraps$"),
    ],
    ids=["path", "no function", "weight", "name", "measure", "another env", "another vector env", "single env"],
)
def test_a_wrong_argument_gets_a_clear_error(bare, make, words):
    with pytest.raises((RewardError, AttributeError), match=words):
        make(bare).reset()


@pytest.mark.parametrize(
    ("rewards", "message"),
    [
        ({"format": {"parts": ["fences"]}}, "parts must be"),
        ({"format": {"parts": "fence"}}, "parts must be"),
        ({"format": {"parts": []}}, "parts must be"),
        ({"length": {"free": 3.0}}, "0 < free < most"),
        ({"length": 1.0}, "has a reference"),
    ],
)
def test_arguments_of_format_and_length_are_checked(bare, rewards, message):
    with pytest.raises(RewardError, match=message):
        apply_rewards(bare, rewards)


def test_format_and_length_go_through_sugar_and_json():
    rewards = {"format": {"weight": 0.3, "parts": ["fence", "defines"]}, "length": {"weight": 0.1, "most": 2.0}}
    with gym.make("CodeExec-v0", rewards=rewards) as env:
        text = env.spec.to_json()
    with gym.make(EnvSpec.from_json(text)) as again:
        again.reset(seed=0, options={"task_id": "starter/xor-seal"})
        reference = again.get_wrapper_attr("suite").task("starter/xor-seal").reference
        _, reward, _, _, info = again.step(f"```python\n{reference}```")
        assert info["reward_raw"] == {"format": 1.0, "length": 1.0}
        assert reward == pytest.approx(0.4)


@pytest.mark.parametrize("wrapper", [TermReward, ExecutionReward, vector.TermReward, vector.GroupPassAtKReward])
def test_a_misspelt_argument_gets_the_known_ones_and_the_nearest(bare, wrapper):
    known = rf"^{wrapper.__name__}\(\) has no argument 'weigth'; known are env, .*; did you mean 'weight'\?$"
    with pytest.raises(TypeError, match=known):
        wrapper(bare, weigth=1.0)
