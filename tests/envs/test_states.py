"""States of an episode: kept, gone on from any number of times, and released."""

import dataclasses
import gc

import gymnasium as gym
import pytest
from gymnasium.error import ResetNeeded

from code_env import CodeReplEnv, SessionDied, Task, TaskError, TaskNotFound, TaskSuite
from envs.small_suite import ADD, GOOD, HALF, SUITE


def fence(code):
    return f"```answer\n{code}\n```"


@pytest.fixture
def env(executor):
    with CodeReplEnv(SUITE, executor, max_turns=6) as made:
        made.reset(seed=0, options={"task_id": "add"})
        yield made


def gives(env, cell):
    return env.step(f"```python\n{cell}\n```")[4]["cells"][0].text


def test_any_number_of_branches_go_on_from_a_state(env):
    env.step("x = [1]\nopen('f', 'w').write('first')")
    state = env.clone_state()
    assert gives(env, "x.append(2)\nopen('f', 'w').write('second')\nx") == "[1, 2]"
    for number in range(2):
        observation, info = env.restore_state(state)
        assert (info["turn"], info["turns_left"]) == (1, 5)
        assert info["branch"] == {"id": number + 1, "parent": 0, "depth": 1}
        assert "Your cell 1" in observation
        assert "Your cell 2" not in observation
        assert gives(env, f"x.append({number})\nx, open('f').read()") == f"([1, {number}], 'first')"
    inner = env.clone_state()
    assert env.step(fence(HALF))[4]["score"] == 0.5
    assert env.restore_state(inner)[1]["branch"] == {"id": 3, "parent": 2, "depth": 2}
    assert gives(env, "x") == "[1, 1]"
    assert env.restore_state(state)[1]["branch"] == {"id": 4, "parent": 0, "depth": 1}
    assert env.step(fence(GOOD))[4]["passed"]
    assert env.reset()[1]["branch"] == {"id": 0, "parent": -1, "depth": 0}


def test_a_state_before_the_first_cell(env):
    state = env.clone_state()
    drawn = gives(env, "import random\nrandom.random()")
    observation, info = env.restore_state(state)
    assert (info["turn"], info["task_id"]) == (0, "add")
    assert observation.startswith(ADD.prompt)
    assert gives(env, "import random\nrandom.random()") == drawn
    env.restore_state(state, seed=7)
    assert gives(env, "import random\nrandom.random()") != drawn


def test_branches_draw_the_same_numbers_unless_they_are_reseeded(env):
    env.step("import random")
    state = env.clone_state()

    def draws(**options):
        env.reset(seed=1, options={"from_state": state, **options})
        return gives(env, "random.random()")

    def drawn(**kwargs):
        env.restore_state(state, **kwargs)
        return gives(env, "random.random()")

    same = draws()
    assert drawn() == draws() == same
    assert draws(reseed=True) == draws(reseed=True) != same
    assert drawn(seed=1) == drawn(seed=1) != drawn(seed=2)


def test_a_reset_from_a_state_tells_the_wrappers(executor):
    with gym.make("CodeRepl-v0", suite=SUITE, executor=executor, rewards={"tests": 0.5}) as env:
        env.reset(seed=0, options={"task_id": "add"})
        env.step("x = 1")
        state = env.unwrapped.clone_state()
        for answer, reward in ((GOOD, 0.5), (HALF, 0.25)):
            _, info = env.reset(options={"from_state": state})
            assert info["turn"] == 1
            assert env.step(fence(answer))[1] == reward


def test_a_state_is_for_any_env_with_the_same_tasks(env, executor):
    env.step("x = 1")
    state = env.clone_state()
    with CodeReplEnv(TaskSuite("again", [dataclasses.replace(ADD)]), executor) as other:
        other.reset(options={"from_state": state})
        assert gives(other, "x") == "1"
    changed = TaskSuite("changed", [dataclasses.replace(ADD, prompt="Another.")])
    for suite, options, error, words in (
        (changed, {}, TaskError, "task 'add' of the state is not the same"),
        (TaskSuite("none", [Task("x", "X", ADD.tests, "add")]), {}, TaskNotFound, "add"),
        (SUITE, {"max_turns": 1}, TaskError, "1 turns behind it; here an episode has max_turns=1"),
    ):
        with CodeReplEnv(suite, executor, **options) as other, pytest.raises(error, match=words):
            other.reset(options={"from_state": state})


def test_an_episode_that_is_over_has_no_state(env):
    env.step(fence(HALF))
    with pytest.raises(ResetNeeded, match="over"):
        env.clone_state()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"from_state": "x"}, "what clone_state.. returned; got str"),
        ({"from_sate": None}, "no option 'from_sate'.*mean 'from_state'"),
        ({"reseed": True}, "give from_state too"),
        ({"from_state": ..., "reseed": 1}, "reseed must be True or False"),
        ({"from_state": ..., "task_id": "add"}, "task_id chooses a task"),
    ],
)
def test_wrong_options_are_refused(env, options, words):
    if options.get("from_state") is ...:
        options = options | {"from_state": env.clone_state()}
    with pytest.raises(TaskError, match=words):
        env.reset(options=options)
    env.step("x = 1")


def test_a_state_that_was_released_is_gone_and_its_branches_are_not(env):
    env.step("x = 1")
    state, other = env.clone_state(), env.clone_state()
    env.restore_state(state)
    state.release()
    state.release()
    assert gives(env, "x") == "1"
    for again in (lambda: env.restore_state(state), lambda: env.reset(options={"from_state": state})):
        with pytest.raises(SessionDied, match="released"):
            again()
    assert gives(env, "x") == "1"
    env.restore_state(other)
    assert gives(env, "x") == "1"


def test_what_nothing_refers_to_is_released(env):
    env.step("x = 1")
    state = env.clone_state()
    checkpoint = state.session._checkpoint
    del state
    gc.collect()
    env.step("x = 2")
    with pytest.raises(SessionDied):
        checkpoint.restore()


def test_closing_releases_all_states(executor):
    env = CodeReplEnv(SUITE, executor)
    env.reset(seed=0)
    env.step("x = 1")
    state = env.clone_state()
    checkpoint = state.session._checkpoint
    env.close()
    with pytest.raises(SessionDied):
        checkpoint.restore()
    with pytest.raises(SessionDied, match="its environment was closed"):
        env.restore_state(state)


def test_a_session_that_takes_no_more_cells_is_so_in_its_branches(executor):
    with CodeReplEnv(SUITE, executor, limits={"cpu_s": 0.2, "total_cpu_s": 0.2}) as env:
        env.reset(seed=0, options={"task_id": "add"})
        env.step("while True: pass")
        env.restore_state(env.clone_state())
        assert "no more cells" in env.step("x = 1")[0]
        env.restore_state(env.clone_state())
        assert env.step(fence(GOOD))[4]["passed"]
