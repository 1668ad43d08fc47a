"""Environments as TRL uses them: the tools that a model may call, and the reward in the end."""

import typing

import pytest

from code_env import (
    ExecutorClosed,
    ExecutorNotFound,
    OutputTest,
    RewardError,
    Task,
    TaskError,
    TaskSuite,
    UnsupportedProgram,
    make_executor,
)
from code_env.integrations.trl import environment_factory
from integrations.trl.tasks import RIGHT, ROWS
from support import WHEN, unstartable


@pytest.fixture
def environment(executor):
    made = environment_factory(executor=executor, max_submissions=2, max_runs=6)()
    assert made.reset(**ROWS["double"]) is None
    return made


def test_only_what_trl_may_see_is_public(environment):
    public = [name for name in dir(environment) if not name.startswith("_")]
    assert public == ["get_reward", "reset", "run_code", "submit_solution"]
    for name in ("run_code", "submit_solution"):
        tool = getattr(environment, name)
        hints = typing.get_type_hints(tool)
        assert set(hints.values()) == {str}
        assert "Args:" in tool.__doc__
        assert all(f"{argument}:" in tool.__doc__ for argument in set(hints) - {"return"})


def test_run_code_shows_what_a_program_prints(environment):
    assert environment.run_code("print(input() * 2)", "ab") == "It ran without a fault.\nOutput:\nabab"
    assert environment.run_code("```python\nprint(open('given.txt').read())\n```").endswith("given")
    assert environment.run_code("I cannot do that.") == "There is no program in python in it."
    assert environment.run_code("import sys\nsys.stderr.write('why')\n1 / 0").splitlines()[0] == (
        "It failed: ZeroDivisionError: division by zero."
    )
    assert "the time limit was reached" in environment.run_code("while True: pass")
    assert len(environment.run_code("print('x' * 10**6)")) < 3000
    assert environment.get_reward() == 0.0


def test_run_code_knows_no_test(environment):
    looks = (
        "import os, sys\nprint(os.listdir(), sys.argv, [str(v) for v in globals().values()])\nprint(sys.stdin.read())"
    )
    shown = environment.run_code(looks)
    assert "given.txt" in shown
    assert "77" not in shown
    assert "154" not in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((5,), "must be text"),
        (("print(1)", None), "must be text"),
        (("print('\ud800')",), "lone surrogates"),
        (("x", "\ud800"), "lone surrogates"),
        (("",), ""),
        (("def (",), "SyntaxError"),
        (("import os; os.kill(os.getpid(), 9)",), "killed by signal 9"),
        (("print('\x1b[31m')",), "\\x1b[31m"),
        (("\x00",), "null bytes"),
    ],
)
def test_whatever_a_tool_is_called_with_it_answers_in_words(arguments, words, environment):
    assert words in environment.run_code(*arguments)
    told = environment.submit_solution(arguments[0])
    assert isinstance(told, str)
    assert environment.get_reward() == 0.0


def test_feedback_shows_public_tests_only(environment):
    told = environment.submit_solution("print(5)")
    assert "0 of 3 tests passed." in told
    assert "Public test not passed: Input '0'" in told
    assert "Hidden tests not passed: 2 (wrong result)." in told
    assert "77" not in told
    assert "154" not in told
    assert told.endswith("Solutions that may still be handed in: 1.")


def test_the_last_solution_counts(environment):
    assert environment.get_reward() == 0.0
    environment.submit_solution("print(int(input()) * 2 if True else 0) if open('given.txt') and 1 else 0")
    assert environment.get_reward() == 1.0
    assert environment.submit_solution("print(0)") == "The task is solved already."
    assert environment.get_reward() == 1.0


def test_solutions_and_runs_are_bounded(environment):
    environment.submit_solution("print(0)")
    assert environment.get_reward() == pytest.approx(1 / 3)
    environment.submit_solution("x")
    assert environment.submit_solution(RIGHT) == "Nothing more can be handed in."
    assert environment.get_reward() == 0.0
    assert ["No runs" in environment.run_code("print(1)") for _ in range(7)] == [False] * 6 + [True]
    environment.reset(**ROWS["one"])
    assert environment.get_reward() == 0.0
    assert "All 1 tests passed." in environment.submit_solution("print(1)")


@pytest.mark.parametrize("when", WHEN)
def test_an_environment_without_a_server_has_no_reward(when, tmp_path):
    with unstartable(tmp_path, when) as executor:
        environment = environment_factory(executor=executor)()
        environment.reset(**ROWS["double"])
        assert "the sandbox failed" in environment.run_code("print(1)")
        for _ in range(5):  # What is not judged is not counted.
            assert "the sandbox failed" in environment.submit_solution(RIGHT)
        assert environment.get_reward() is None


def test_without_a_data_set_a_group_has_one_task(executor):
    suite = TaskSuite("many", [Task(str(n), f"Print {n}.", (OutputTest(str(n)),)) for n in range(30)])

    def prompts(seed):
        factory = environment_factory(executor=executor, suite=suite, group_size=3, seed=seed)
        pool = [factory() for _ in range(6)]
        batches = [[one.reset(prompt=[]) for one in pool] for _ in range(4)]
        batches.append([one.reset() for one in pool[:3]])  # A smaller one, as for evaluation.
        batches.append([one.reset() for one in pool])
        return batches

    batches = prompts(1)
    for batch in batches:
        for first in range(0, len(batch), 3):
            assert len(set(batch[first : first + 3])) == 1
    assert len({group for batch in batches for group in batch}) == 11  # Each of its own, as long as there are any.
    assert prompts(1) == batches != prompts(2)


def test_misuse_of_an_environment(executor):
    with pytest.raises(TaskError, match=r"no column 'task'.*or train without a data set"):
        environment_factory(executor=executor)().reset(prompt="x")
    with pytest.raises(TaskError, match="group_size must be a whole number of at least 1; got 0"):
        environment_factory(suite="starter", group_size=0)
    with pytest.raises(TaskError, match="seed must be a whole number of at least 0; got 'a'"):
        environment_factory(suite="starter", seed="a")
    for rewards in ({"test": 1.0}, {"pass@2": 1.0}, {"tests": "1"}, "starter", {"group_pass@1": {"group_size": 1}}):
        with pytest.raises(RewardError):
            environment_factory(rewards, executor)
    with pytest.raises(ExecutorNotFound):
        environment_factory(executor="locl")
    environment = environment_factory(executor=executor)()
    assert environment.run_code("x") == environment.submit_solution("x") == "There is no task yet."
    assert environment.reset(task=ROWS["one"]["task"]) == "Print 1."  # A row without a prompt.


def test_what_a_tool_raises_reaches_who_trains():
    """TRL shows it to the model and goes on, so the reward says it again."""
    closed = make_executor("local", workers=1)
    environment = environment_factory(executor=closed)()
    environment.reset(**ROWS["one"])
    closed.close()
    for tool in (environment.run_code, environment.submit_solution):
        with pytest.raises(ExecutorClosed):
            tool("print(1)")
        with pytest.raises(ExecutorClosed):
            environment.get_reward()


@pytest.fixture
def stateful(executor):
    made = environment_factory(executor=executor, stateful=True, max_runs=8, limits={"cpu_s": 0.3})()
    assert made.reset(**ROWS["double"]) is None
    return made


def test_cells_keep_their_state(stateful):
    public = [name for name in dir(stateful) if not name.startswith("_")]
    assert public == ["get_reward", "reset", "run_cell", "submit_solution"]
    assert stateful.run_cell("x = open('given.txt').read()") == "It ran without a fault."
    assert stateful.run_cell("```python\nprint('seen')\nx * 2\n```") == (
        "It ran without a fault.\nOutput:\nseen\nValue:\n'givengiven'"
    )
    assert stateful.run_cell("y = 1\n1 / 0").startswith("It failed: ZeroDivisionError: division by zero.\nTraceback:\n")
    assert stateful.run_cell("y") == "It ran without a fault.\nValue:\n1"
    assert stateful.run_cell("while True: pass") == (
        "It failed: the time limit was reached.\nThe interpreter is as it was before the cell."
    )
    assert stateful.run_cell("y, x").endswith("(1, 'given')")


def test_a_solution_is_judged_apart_from_the_session(stateful):
    stateful.run_cell("double = lambda n: 2 * n\nimport builtins\nbuiltins.print = lambda *_: None")
    assert "0 of 3 tests passed" in stateful.submit_solution("print(double(int(input())))")
    stateful.submit_solution(RIGHT)
    assert stateful.get_reward() == 1.0


def test_each_episode_has_a_session_of_its_own(executor):
    one, other = (environment_factory(executor=executor, stateful=True)() for _ in range(2))
    for environment in (one, other):
        environment.reset(**ROWS["one"])
    one.run_cell("x = 1")
    assert "NameError" in other.run_cell("x")
    assert one.get_reward() == 0.0
    assert "NameError" in one.run_cell("x")
    one.run_cell("x = 1")
    one.reset(**ROWS["one"])
    assert "NameError" in one.run_cell("x")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (5, "must be text"),
        ("'\ud800'", "lone surrogates"),
        ("", "without a fault"),
        ("def (", "SyntaxError"),
        ("import os; os.kill(os.getpid(), 9)", "a signal ended its interpreter.\nThe interpreter is as it was before"),
        ("import os; os._exit(0)", "the cell ended its interpreter; the session is as before it"),
        ("raise SystemExit", "SystemExit"),
        ("print('\x1b[31m')", "\\x1b[31m"),
        ("print('x' * 10**6)", "characters"),
    ],
)
def test_whatever_a_cell_is_it_is_answered_in_words(code, words, stateful):
    told = stateful.run_cell(code)
    assert words in told
    assert len(told) < 6000
    assert stateful.run_cell("6 * 7").endswith("\n42")


def test_cells_are_bounded(executor):
    environment = environment_factory(executor=executor, stateful=True, max_runs=3, limits={"total_cpu_s": 0.2})()
    assert environment.run_cell("1") == "There is no task yet."
    environment.reset(**ROWS["one"])
    assert "the time limit was reached" in environment.run_cell("while True: pass")
    assert environment.run_cell("1").startswith("The interpreter takes no more cells: its cells have used the 0.2 s")
    assert "No runs" not in environment.run_cell("1")
    assert environment.run_cell("1") == "No runs are left. Hand in a solution."


def test_misuse_of_a_session(executor):
    with make_executor("restricted", workers=1) as none, pytest.raises(UnsupportedProgram, match="has no sessions"):
        environment_factory(executor=none, stateful=True)
    environment = environment_factory(executor=executor, stateful=True)()
    script = Task("script", "Print 1.", (OutputTest("1"),), language="javascript")
    environment.reset(**TaskSuite("s", [script]).to_rows("trl")[0])
    for call in (lambda: environment.run_cell("1"), environment.get_reward):
        with pytest.raises(TaskError, match="cells are Python, and the task 'script' wants javascript"):
            call()
