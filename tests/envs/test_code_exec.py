"""The environment as Gymnasium and its users see it."""

import json
import traceback
import warnings
from unittest import mock

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv
from gymnasium.wrappers import FlattenObservation

import code_env
from code_env import (
    AssertTest,
    CallTest,
    CodeEnvError,
    CodeExecEnv,
    CodeExecVectorEnv,
    ExecutionResult,
    Executor,
    ExecutorError,
    OutputTest,
    Status,
    StdinTest,
    SuiteNotFound,
    Task,
    TaskError,
    TaskSuite,
    make_executor,
)

ADD = Task(
    "add",
    "Write add(a, b).",
    (
        CallTest((1, 2), {}, 3, hidden=False),
        CallTest((5, 7), {}, 12),
        CallTest((-1, 1), {}, 0),
        CallTest((10, 10), {}, 20),
    ),
    entry_point="add",
    reference="def add(a, b):\n    return a + b\n",
)
HELLO = Task("hello", "Print hello.", (OutputTest("hello"),), reference="print('hello')")
SUITE = TaskSuite("small", [ADD, HELLO])
GOOD = ADD.reference
HALF = "def add(a, b):\n    return 3 if a == 1 else 12 if a == 5 else None\n"


@pytest.fixture
def env(executor):
    with CodeExecEnv(SUITE, executor, max_turns=3) as made:
        made.reset(seed=0, options={"task_id": "add"})
        yield made


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


def test_the_checker_passes_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make("CodeExec-v0").unwrapped)


def test_the_checker_passes_on_the_wrapped_env():
    rewards = {"tests": 1.0, "execution": 0.1, "similarity": 0.5}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(gym.make("CodeExec-v0", rewards=rewards))
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
    with pytest.raises(ValueError, match="shared_memory=False"):
        AsyncVectorEnv([lambda: gym.make("code_env:CodeExec-v0")] * 2)


def test_make_vec_works():
    env = gym.make_vec("CodeExec-v0", num_envs=2)
    try:
        prompts, _ = env.reset(seed=1)
        assert len(prompts) == 2
    finally:
        env.close()


def test_the_same_seed_gives_the_same_episode():
    def episode(seed):
        with gym.make("CodeExec-v0", max_turns=2) as env:
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


# What the policy is shown


def test_the_first_observation_is_the_prompt(env):
    observation, info = env.reset(options={"task_id": "add"})
    assert observation == ADD.prompt
    assert info["messages"] == [{"role": "user", "content": ADD.prompt}]
    assert (info["turn"], info["turns_left"]) == (0, 3)


def test_feedback_shows_public_tests_and_hides_the_others(env):
    observation, *_, info = env.step("def add(a, b):\n    print('saw', a, b)\n    raise KeyError((a, b))")
    feedback = info["messages"][-1]["content"]
    assert "Public test not passed: add(1, 2): KeyError: (1, 2)" in feedback
    assert "Hidden tests not passed: 3 (error)." in feedback
    assert feedback in observation
    for hidden in ("5", "7", "12", "10", "20"):
        assert hidden not in feedback
    assert observation in env.observation_space


def test_feedback_names_no_exception_class_that_the_program_made(env):
    code = "def add(a, b):\n    raise type(f'Saw_{a}_{b}', (Exception,), {})()"
    *_, info = env.step(code)
    assert "Saw_5_7" not in info["messages"][-1]["content"]
    assert "Hidden tests not passed: 3 (error)." in info["messages"][-1]["content"]


def test_feedback_on_a_syntax_error_shows_the_line(env):
    *_, info = env.step("def add(a, b)\n    return a")
    assert "expected ':'" in info["messages"][-1]["content"]


def test_control_characters_of_a_program_reach_neither_policy_nor_terminal(executor):
    with CodeExecEnv(SUITE, executor, max_turns=2, render_mode="ansi") as env:
        env.reset(options={"task_id": "add"})
        observation, *_ = env.step("def add(a, b): return chr(27) + '[2J' + chr(0xD800)")
        observation.encode()
        assert "\x1b[2J" not in observation
        assert "\x1b[2J" not in env.render()
        env.render().encode()
        env.reset(options={"task_id": "add"})
        observation, *_ = env.step("#\x1b[2J\ud800\ndef add(a, b: pass")
        observation.encode()  # The policy's own words come back to it, as far as they are text.
        assert "\x1b[2J" not in env.render()


def test_a_long_transcript_loses_the_middle_of_its_oldest_turns_first(executor):
    with CodeExecEnv(SUITE, executor, max_turns=4) as env:
        env.reset(options={"task_id": "add"})
        for number in range(3):
            observation, *_ = env.step(f"# first{number}\n" + "x" * 40_000 + f"\n# last{number}")
        assert len(observation) <= 65_536
        assert "characters left out" in observation
        assert "# first2" in observation
        assert "# last2" in observation
        assert observation.count("x" * 40_000) == 1


def test_a_policy_that_copies_all_it_was_shown_earns_the_public_tests_only(executor):
    suite = code_env.load_suite("starter").filter(lambda task: task.tests[0].kind in ("call", "stdin"))
    with CodeExecEnv(suite, executor, max_turns=3, order="sequential") as env:
        env.reset(seed=0)
        for task in suite:
            shown, _ = env.reset(options={"task_id": task.id})
            over = False
            while not over:
                answer = copying_answer(task, shown)
                shown, _, terminated, truncated, info = env.step(answer)
                over = terminated or truncated
            allowed = {i for i, test in enumerate(task.tests) if worth_of_copying(task, test)}
            earned = {case.test for case in info["verdicts"][0].cases if case.passed}
            assert earned <= allowed, task.id


def copying_answer(task, shown):
    """A program that answers with anything it was shown that could be the expected value."""
    if task.entry_point is None:
        return (
            f"shown = {shown!r}\ngiven = open(0).read()\n"
            "head, _, rest = shown.partition(given.strip() or '?')\nprint(rest)"
        )
    return (
        "import ast, re\n"
        f"shown = {shown!r}\n"
        f"def {task.entry_point}(*args, **kwargs):\n"
        "    call = ', '.join([*map(repr, args), *[f'{k}={v!r}' for k, v in kwargs.items()]])\n"
        "    for line in shown.splitlines():\n"
        "        for part in line.split(call)[1:]:\n"
        "            for value in re.findall(r'(?:expected|returns) `?([^`;]+?)`?(?:, got|;|$|\\.)', part)[:1]:\n"
        "                return ast.literal_eval(value)\n"
        "    return shown\n"
    )


def worth_of_copying(task, test):
    """Public tests; and hidden ones that expect no output at all, which nobody needs to be shown."""
    return not test.hidden or (test.kind == "stdin" and not test.stdout.strip())


def test_the_copying_policy_does_earn_public_tests(executor):
    """The attack works where it may: without that, the test above would show nothing."""
    with CodeExecEnv(SUITE, executor, max_turns=3) as env:
        shown, _ = env.reset(options={"task_id": "add"})
        for _ in range(2):
            shown, *_, info = env.step(copying_answer(ADD, shown))
        assert [case.passed for case in info["verdicts"][0].cases] == [True, False, False, False]


# Rendering


def test_rendering_shows_prompt_program_result_and_ledger(executor):
    env = gym.make(
        "CodeExec-v0",
        suite=SUITE,
        executor=executor,
        rewards={"tests": 2.0, "execution": 0.1},
        render_mode="ansi",
        disable_env_checker=True,
    )
    env.reset(options={"task_id": "add"})
    assert "Write add(a, b)." in env.render()
    env.step(HALF)
    drawn = env.render()
    for piece in ("Write add(a, b).", "return 3 if a == 1", "expected 20, got None", "tests", "1.000", "1.100"):
        assert piece in drawn


def test_human_rendering_prints_each_reset_and_step(executor, capsys):
    env = gym.make("CodeExec-v0", suite=SUITE, executor=executor, render_mode="human")
    env.reset(options={"task_id": "add"})
    assert "Write add(a, b)." in capsys.readouterr().out
    env.step(HALF)
    assert "expected 20, got None" in capsys.readouterr().out
    assert env.render() is None
    assert "0.500" in capsys.readouterr().out  # The ledger, which wrappers write behind the step.


def test_a_notebook_shows_a_rendering_as_it_is(executor):
    env = CodeExecEnv(SUITE, executor, render_mode="ansi")
    env.reset(options={"task_id": "add"})
    drawn, printer = env.render(), mock.Mock()
    drawn._repr_pretty_(printer, False)
    printer.text.assert_called_once_with(str(drawn))
    assert isinstance(drawn, str)


def test_prompts_can_be_flattened(executor):
    env = FlattenObservation(CodeExecEnv(SUITE, executor))
    flat, _ = env.reset(options={"task_id": "add"})
    assert flat in env.observation_space
    assert spaces.unflatten(env.unwrapped.observation_space, flat) == env.unwrapped.suite.task("add").prompt


def test_rendering_without_a_mode_warns_and_gives_nothing(env):
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


# Misuse


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({"suite": "startre"}, SuiteNotFound, "known suites are data_analysis, files, "),
        ({"suite": "/"}, SuiteNotFound, "a directory"),
        ({"executor": "lokal"}, code_env.ExecutorNotFound, "known are"),
        ({"executor_kwargs": {"workers": 0}}, code_env.ExecutorError, "at least 1"),
        ({"max_turns": 0}, TaskError, "max_turns"),
        ({"max_turns": 1.0}, TaskError, "max_turns"),
        ({"samples_per_step": True}, TaskError, "samples_per_step"),
        ({"samples_per_step": 2, "max_turns": 2}, TaskError, "samples_per_step"),
        ({"order": "sorted"}, TaskError, "shuffle"),
        ({"extract": "json"}, TaskError, "fence"),
        pytest.param(
            {"render_mode": "rgb_array"},
            TaskError,
            "None or 'human' or 'ansi'",
            marks=pytest.mark.filterwarnings("ignore:.*not in the possible render_modes"),
        ),
        ({"format": "csv"}, TaskError, "humaneval"),
        ({"rewards": {"test": 1.0}}, code_env.RewardError, "known are"),
        ({"rewards": {"tests": "1"}}, code_env.RewardError, "number"),
        ({"rewards": {"tests": float("nan")}}, code_env.RewardError, "number"),
        ({"rewards": {"tests": {"wieght": 1.0}}}, code_env.RewardError, "wieght"),
        ({"rewards": ["tests"]}, code_env.RewardError, "mapping"),
        ({"executer": "subprocess"}, TypeError, "executer"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
@pytest.mark.filterwarnings("ignore:.*render_mode='human'.*")
def test_a_wrong_argument_gets_a_clear_error(kwargs, error, words):
    with pytest.raises(error, match=words):
        gym.make("CodeExec-v0", **kwargs)


@pytest.mark.parametrize("action", [None, 3, b"print()", ["print()"], np.zeros(3), {"code": "x"}])
def test_an_action_that_is_no_text_is_our_users_mistake_and_costs_no_turn(env, action):
    with pytest.raises(TypeError, match="text"):
        env.step(action)
    assert env.step(GOOD)[4]["passed"]


@pytest.mark.parametrize("action", ["x", ("a",), ("a", "b", 3), [None, None, None]])
def test_a_group_action_of_the_wrong_shape_is_refused(executor, action):
    with CodeExecEnv(SUITE, executor, samples_per_step=3) as env:
        env.reset(options={"task_id": "add"})
        with pytest.raises(TypeError, match="tuple of 3 texts"):
            env.step(action)


@pytest.mark.parametrize(
    ("action", "outcome"),
    [
        ("", "policy_error"),
        ("   \n\t", "policy_error"),
        ("def add(a, b): return a + b\0", "policy_error"),
        ("def add(a, b): return a + b #\ud800", "policy_error"),
        ("#" + "x" * 10_000_000, "policy_error"),
        ("<think>" + "x" * 10_000_000 + "</think>\n" + GOOD, "pass"),
        (np.str_(GOOD), "pass"),
        ("\ufeff" + GOOD, "pass"),
        (GOOD.replace("\n", "\r\n"), "pass"),
        ("```python\n" + GOOD, "pass"),
    ],
    ids=["empty", "blank", "NUL", "surrogate", "10 MB", "10 MB of thought", "np.str_", "BOM", "CRLF", "open fence"],
)
def test_an_odd_action_gets_an_ordinary_verdict(env, action, outcome):
    _, _, _, truncated, info = env.step(action)
    assert (info["outcome"], truncated) == (outcome, False)


@pytest.mark.parametrize(
    ("options", "words"), [({"task": "add"}, "did you mean 'task_id'"), ({"task_id": "ad"}, "did you mean 'add'")]
)
def test_an_unknown_option_or_task_is_refused_and_the_episode_goes_on(env, options, words):
    with pytest.raises(CodeEnvError, match=words):
        env.reset(options=options)
    assert env.step(GOOD)[4]["passed"]


def test_an_env_closes_only_what_it_made(executor):
    CodeExecEnv(SUITE, executor).close()
    assert executor.run(code_env.Program("print(1)")).stdout == "1\n"
    own = CodeExecEnv(SUITE, "subprocess")
    own.close()
    own.close()
    with pytest.raises(code_env.ExecutorClosed):
        own.executor.submit(code_env.Program("print(1)"))


def test_stdin_and_assert_tests_show_their_public_cases(executor):
    task = Task(
        "both",
        "Write double(x); run, it reads x and prints 2 x.",
        (
            StdinTest("4", "8", hidden=False),
            StdinTest("77", "154"),
            AssertTest("assert double(1) == 2", hidden=False),
            AssertTest("assert double(33) == 66"),
        ),
        entry_point="double",
    )
    with CodeExecEnv(TaskSuite("s", [task]), executor, max_turns=2) as env:
        env.reset()
        code = "def double(x): return x\nif __name__ == '__main__': print(double(input()))"
        feedback = env.step(code)[4]["messages"][-1]["content"]
    assert "Input '4', output '4\\n': line 1: expected '8', got '4'" in feedback
    assert "assert double(1) == 2: left is 1, right is 2" in feedback
    assert "Hidden tests not passed: 2 (wrong result)." in feedback
    for hidden in ("77", "154", "33", "66"):
        assert hidden not in feedback
    json.dumps(feedback)


class TestKeys:
    """E2B's key is in nothing that an environment is logged by."""

    KEY = "e2b_SECRET"

    @pytest.mark.parametrize("more", [{}, {"render_mode": "none"}, {"no_such_argument": 1}, {"suite": "no such"}])
    @pytest.mark.parametrize("make", [gym.make, gym.make_vec])
    @pytest.mark.filterwarnings("ignore:.*is not in the possible render_modes")
    def test_one_among_the_arguments_of_an_executor_is_refused(self, make, more):
        with pytest.raises(ExecutorError, match="environment variable E2B_API_KEY") as refused:
            make("CodeExec-v0", executor="e2b", executor_kwargs={"api_key": self.KEY}, **more)
        assert self.KEY not in "".join(traceback.format_exception(refused.value))

    @pytest.mark.parametrize("make", [CodeExecEnv, CodeExecVectorEnv])
    def test_so_it_is_by_the_classes(self, make):
        with pytest.raises(ExecutorError, match="environment variable E2B_API_KEY"):
            make(executor="e2b", executor_kwargs={"api_key": self.KEY})

    def test_an_executor_made_with_one_is_taken_and_does_not_show_it(self, cloud):
        with make_executor("e2b", api_key=cloud.api_key) as executor:
            env = gym.make("CodeExec-v0", suite="starter", executor=executor, rewards={})
            with env, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # With such an executor there is no spec of the wrapped env.
                texts = [repr(env), repr(env.spec), repr(env.unwrapped.spec), repr(executor)]
            assert not [text for text in texts if cloud.api_key in text]
