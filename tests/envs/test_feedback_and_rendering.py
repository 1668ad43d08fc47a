"""What an environment shows: the policy its feedback, a person its rendering."""

import json
from unittest import mock

import gymnasium as gym
import pytest
from gymnasium import spaces
from gymnasium.wrappers import FlattenObservation

import code_env
from code_env import AssertTest, CallTest, CodeExecEnv, StdinTest, Task, TaskSuite
from envs.small_suite import ADD, HALF, SUITE

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


def test_feedback_on_drawn_tests_shows_the_public_ones_that_were_drawn(executor):
    """The verdict numbers the drawn tests, and not all tests of the task."""
    hidden = [CallTest((100 + n,), expected=-n) for n in range(4)]
    public = [CallTest((n,), expected=-n, hidden=False) for n in range(4)]
    suite = TaskSuite("drawn", [Task("t", "p", (*hidden, *public), entry_point="f")])
    with CodeExecEnv(suite, executor, max_turns=9, tests_per_step=3) as env:
        env.reset(seed=0)
        told = [env.step("def f(n): return 'no'")[4]["messages"][-1]["content"] for _ in range(8)]
    assert not any(f"f(10{n})" in text for text in told for n in range(4)), told
    assert any("Public test not passed: f(" in text for text in told), told


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


def test_rendering_in_a_notebook_returns_the_same_text(executor):
    with CodeExecEnv(SUITE, executor, render_mode="ansi") as env:
        env.reset(seed=0, options={"task_id": "add"})
        env.step(HALF)
        drawn = env.render()
        with mock.patch("rich.console._is_jupyter", return_value=True):
            assert env.render() == drawn != ""


def test_rendering_without_a_mode_warns_and_gives_nothing(env):
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


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
