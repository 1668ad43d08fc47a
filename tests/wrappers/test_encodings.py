"""Encodings around environments, single and many: the same episodes, spaces that hold, specs that can be rebuilt."""

import threading
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from code_env import (
    CandidateActions,
    CodeExecEnv,
    EncodedObservation,
    EncodingError,
    TaskNotFound,
    TemplateActions,
    TokenActions,
)
from code_env.encodings import Grammar
from code_env.wrappers import vector

TEMPLATE = ("def f(a, b):\n    return a $op $x", {"op": ["+", "-", "*"], "x": ["a", "b", "1"]})
CANDIDATES = ["def f(a, b): return a", "def f(a, b): return max(a, b)", "def f(a, b):"]


ENCODED = {
    "tokens": lambda env, of: of.TokenActions(env, "functions", max_tokens=22, observe_prompt=False),
    "tokens and bytes": lambda env, of: of.TokenActions(of.EncodedObservation(env, 300), "functions", max_tokens=22),
    "tokens and text": lambda env, of: of.TokenActions(env, "functions", max_tokens=22),
    "template": lambda env, of: of.TemplateActions(of.EncodedObservation(env, 300), *TEMPLATE),
    "candidates": lambda env, of: of.CandidateActions(of.EncodedObservation(env, 300), CANDIDATES),
    "bytes": lambda env, of: of.EncodedObservation(env, 300),
}


class single:  # The wrappers of single environments, as `vector` is the module of the others.
    CandidateActions, EncodedObservation = CandidateActions, EncodedObservation
    TemplateActions, TokenActions = TemplateActions, TokenActions


@pytest.fixture(params=ENCODED)
def name(request):
    return request.param


@pytest.fixture
def one(name):
    with gym.make("code_env/Functions-v0") as env:
        yield ENCODED[name](env, single)


def test_it_passes_gymnasiums_check(name, executor):
    one = ENCODED[name](gym.make("code_env/Functions-v0", executor=executor), single)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is different from the unwrapped version.*")
        check_env(one)


def test_a_spec_rebuilds_it(one, name, tmp_path):
    again = gym.make(EnvSpec.from_json(one.spec.to_json()))
    assert again.action_space == one.action_space
    assert again.observation_space == one.observation_space
    again.close()


def test_what_an_episode_looks_like(executor):
    env = TokenActions(gym.make("code_env/Functions-v0", executor=executor), "functions", max_tokens=22)
    observation, info = env.reset(seed=0, options={"task_id": "functions/larger"})
    assert observation["prompt"].startswith("Write a function")
    assert "pending" in info
    names = ["def f(a, b):", "NEWLINE", "INDENT", "return", "b", "NEWLINE", "DEDENT"]
    number = {token: index for index, token in enumerate(env._encoding.grammar.tokens)}
    written = [number[token] + 1 for token in names]
    assert observation["tokens"].tolist() == written[:3] + [0] * 19
    for action, count in (("return", 4), ("b", 5)):
        observation, reward, terminated, truncated, info = env.step(number[action])
        assert observation["tokens"].tolist() == written[:count] + [0] * (22 - count)
        assert (reward, terminated, truncated, info["pending"]) == (0.0, False, False, True)
        assert info["reward_terms"] == info["reward_raw"] == {"tests": 0.0}
        assert info["task_id"] == "functions/larger"
    observation, reward, terminated, truncated, info = env.step(number["NEWLINE"])
    assert observation["tokens"].tolist() == written + [0] * 15
    assert (reward, terminated, truncated, info["pending"]) == (pytest.approx(0.5), True, False, False)
    assert info["reward_terms"] == {"tests": pytest.approx(0.5)}
    assert info["verdicts"][0].code == "def f(a, b):\n    return b\n"
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(0)
    env.close()


def test_a_token_that_is_not_allowed_ends_the_program_and_it_is_judged(executor):
    env = TokenActions(gym.make("code_env/Functions-v0", executor=executor), "functions", max_tokens=22)
    env.reset(seed=0)
    number = {token: index for index, token in enumerate(env._encoding.grammar.tokens)}
    env.step(number["return"])
    _, reward, terminated, _, info = env.step(number["+"])
    assert (reward, terminated, info["outcome"]) == (0.0, True, "fail")
    assert info["verdicts"][0].code == "def f(a, b):\n    return"
    env.close()


def test_each_turn_is_a_program_of_its_own(executor):
    env = TokenActions(gym.make("code_env/Functions-v0", executor=executor, max_turns=2), "functions", max_tokens=22)
    env.reset(seed=0, options={"task_id": "functions/larger"})
    number = {token: index for index, token in enumerate(env._encoding.grammar.tokens)}
    for turn in (1, 2):
        for token in ("return", "b", "NEWLINE"):
            observation, reward, terminated, _, info = env.step(number[token])
        assert (info["turn"], terminated, reward > 0) == (turn, turn == 2, True)
        assert "passed" in observation["prompt"].lower()
        assert np.count_nonzero(observation["tokens"]) == (3 if turn == 1 else 7)
    env.close()


def test_template_and_candidates_write_a_program_at_once(executor):
    with gym.make("code_env/Functions-v0", executor=executor) as inner:
        env = TemplateActions(inner, *TEMPLATE)
        env.reset(seed=0, options={"task_id": "functions/larger"})
        _, _, terminated, _, info = env.step(np.array([0, 1]))
        assert info["verdicts"][0].code == "def f(a, b):\n    return a + b"
        assert terminated
        env = CandidateActions(inner, {task.id: [task.reference, "no"] for task in env.unwrapped.suite})
        rewards = []
        for action in (0, 1):
            env.reset(seed=0, options={"task_id": "functions/larger"})
            rewards.append(env.step(action)[1])
        assert rewards == [1.0, 0.0]


@pytest.mark.parametrize("samples", [2, 3])
def test_several_programs_in_an_action_are_refused(samples):
    with gym.make("CodeExec-v0", samples_per_step=samples) as env, pytest.raises(EncodingError, match="samples_per_st"):
        TokenActions(env, "functions")


def test_encodings_in_the_wrong_order_are_refused():
    with gym.make("CodeExec-v0") as env:
        for wrong in (
            lambda: EncodedObservation(EncodedObservation(env)),
            lambda: EncodedObservation(TokenActions(env, "functions")),
            lambda: TokenActions(TokenActions(env, "functions"), "functions"),
        ):
            with pytest.raises(EncodingError, match="text is encoded, and the"):
                wrong()


def test_what_is_no_action_changes_nothing():
    env = gym.make_vec("code_env/Functions-v0", num_envs=2)
    env = vector.TokenActions(env, "functions", max_tokens=22, observe_prompt=False)
    tokens, _ = env.reset(seed=0)
    for actions in ([0, 99], [4], 4, None, "ab", [0, None], [0.5, 1.0]):
        with pytest.raises(EncodingError):
            env.step(actions)
    assert (env._observations(None) == tokens).all()
    with pytest.raises(TaskNotFound):
        env.reset(options={"task_id": "none"})
    env.close()


def plain(value):
    """Observations and infos as values that can be compared."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray | tuple | list):
        return [plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value


def random_action(space, masks, draw):
    return int(draw.choice(np.flatnonzero(masks))) if masks is not None else draw.integers(np.asarray(limits(space)))


def limits(space):
    return space.n if isinstance(space, gym.spaces.Discrete) else space.nvec


@pytest.mark.parametrize("name", ["tokens", "tokens and bytes", "tokens and text", "template", "candidates"])
@pytest.mark.parametrize("max_turns", [1, 2])
def test_many_are_the_same_as_single_ones(name, max_turns, executor):
    count = 5
    kwargs = {"executor": executor, "cache_size": 1000, "max_turns": max_turns}
    many = ENCODED[name](gym.make_vec("code_env/Functions-v0", num_envs=count, **kwargs), vector)
    ones = SyncVectorEnv(
        [lambda: ENCODED[name](gym.make("code_env/Functions-v0", **kwargs), single)] * count,
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    assert many.single_observation_space == ones.single_observation_space
    assert many.observation_space == ones.observation_space
    first, expected = many.reset(seed=3), ones.reset(seed=3)
    assert plain(first[0]) == plain(expected[0])
    draw = np.random.default_rng(0)
    episodes = 0
    for _ in range(60 if "tokens" in name else 6):
        masks = many.action_masks() if "tokens" in name else [None] * count
        actions = [random_action(many.single_action_space, mask, draw) for mask in masks]
        got, wanted = many.step(np.array(actions)), ones.step(np.array(actions))
        for mine, theirs in zip(got[:4], wanted[:4], strict=True):
            assert plain(mine) == plain(theirs)
        assert many.observation_space.contains(got[0])
        ended = got[2] | got[3]
        episodes += int(ended.sum())
        for index in np.flatnonzero(ended):
            assert plain(got[4]["final_obs"][index]) == plain(wanted[4]["final_obs"][index])
        for key in ("pending", "task_id", "turn", "reward_terms", "reward_raw"):
            assert plain(got[4].get(key)) == plain(wanted[4].get(key))
    assert episodes > 10
    many.close()
    ones.close()


def test_a_slow_program_keeps_its_place():
    """With a deadline, who waits for a verdict ignores what is sent; the others go on."""
    grammar = Grammar("program: 'import time;' 'time.sleep(' seconds ')' END\nseconds: '0' | '0.5'")
    env = gym.make_vec("CodeExec-v0", num_envs=2, deadline_s=0.15, suite="starter")
    env = vector.TokenActions(env, grammar, max_tokens=5, observe_prompt=False)
    number = {token: index for index, token in enumerate(grammar.tokens)}
    env.reset(seed=0)
    ended = np.zeros(2, dtype=int)
    _, _, terminated, _, info = env.step([number["0.5"], number["0"]])
    ended += terminated
    assert env.action_masks()[0].all()  # What is sent there is ignored.
    while not ended[0]:
        _, _, terminated, _, info = env.step([number["0"], number["0"]])
        ended += terminated
        if terminated[0]:
            assert "0.5" in info["final_info"]["verdicts"][0][0].code
    assert ended[0] == 1
    assert ended[1] > 1
    env.close()


def test_some_of_many_are_reset(executor):
    env = gym.make_vec("code_env/Functions-v0", executor=executor, num_envs=2)
    env = RecordEpisodeStatistics(vector.TokenActions(env, "functions", max_tokens=22, observe_prompt=False))
    number = {token: index for index, token in enumerate(env.env._encodings[0].grammar.tokens)}
    before, _ = env.reset(seed=0)
    after, *_ = env.step(np.array([number["return"], number["return"]]))
    again, _ = env.reset(options={"reset_mask": np.array([True, False])})
    assert again.tolist() == [before[0].tolist(), after[1].tolist()]
    for token in ("b", "NEWLINE"):
        _, _, terminated, _, info = env.step(np.array([number["return"], number[token]]))
    assert terminated[1]
    assert info["final_info"]["verdicts"][1][0].code == "def f(a, b):\n    return b\n"
    assert info["episode"]["l"][1] == 3
    env.close()


def test_masks_of_many_are_rows():
    env = gym.make_vec("code_env/Functions-v0", num_envs=3)
    env = vector.TokenActions(env, "functions", max_tokens=22, observe_prompt=False)
    env.reset(seed=0)
    masks = env.action_masks()
    assert masks.shape == (3, env.single_action_space.n)
    assert masks.dtype == np.bool_
    with pytest.raises(EncodingError, match="allows every action"):
        vector.CandidateActions(gym.make_vec("CodeExec-v0", num_envs=1), CANDIDATES)._encodings[0].mask()
    env.close()


def test_candidates_for_each_task_are_asked_for_at_once():
    candidates = {"functions/larger": ["x", "y"]}
    with gym.make("code_env/Functions-v0") as env, pytest.raises(EncodingError, match="no candidates for 'functions/"):
        CandidateActions(env, candidates)
    env = gym.make_vec("code_env/Functions-v0", num_envs=2)
    with pytest.raises(EncodingError, match="no candidates for 'functions/"):
        vector.CandidateActions(env, candidates)
    env.close()


def test_a_tokenizer_that_cannot_be_copied_is_taken():
    class Tokenizer:
        def __init__(self):
            self.lock = threading.Lock()

        def encode(self, text):
            return [len(text) % 10]

    with gym.make("code_env/Functions-v0") as env:
        assert EncodedObservation(env, 4, Tokenizer().encode, 10).reset(seed=0)[0].shape == (4,)


def test_the_wrong_twin_is_refused():
    with gym.make("code_env/Functions-v0") as env:
        for wrap in (lambda: vector.TokenActions(env, "functions"), lambda: vector.EncodedObservation(env)):
            with pytest.raises(EncodingError, match="wraps a vector environment"):
                wrap()


def test_a_bare_env_is_wrapped_too(executor):
    env = CandidateActions(CodeExecEnv("functions", executor), CANDIDATES)
    env.reset(seed=0)
    assert env.step(0)[1] == 0.0
