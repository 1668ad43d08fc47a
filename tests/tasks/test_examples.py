"""Public tests at the end of prompts; hidden ones never."""

import gymnasium as gym
import pytest

from code_env import (
    AssertTest,
    CallTest,
    CellTest,
    CheckerTest,
    FileTest,
    InsightTest,
    OutputTest,
    StdinTest,
    Task,
    TaskError,
    TaskSuite,
    load_suite,
)


def prompt_of(*tests, most=3, **fields):
    return TaskSuite("s", [Task("t", "Do it.\n", tests, **fields)]).with_examples(most)[0].prompt


def test_hidden_tests_are_not_shown():
    tests = (
        CallTest((1,), expected=2, hidden=False),
        CallTest((77,), expected=78),
        CallTest((3,), {}, 4, hidden=False),
    )
    prompt = prompt_of(*tests, entry_point="f")
    assert prompt == "Do it.\n\nExamples:\nf(1) gives 2\nf(3) gives 4\n"


def test_a_task_without_public_tests_stays_as_it_is():
    assert prompt_of(CallTest((77,), expected=78), entry_point="f") == "Do it.\n"


def test_the_first_ones_are_shown():
    hidden = [CallTest((n,), expected=n) for n in (77, 78)]
    tests = [*hidden, *(CallTest((n,), {"k": "v"}, expected=n, hidden=False) for n in range(5))]
    assert prompt_of(*tests, most=1, entry_point="f") == "Do it.\n\nExample:\nf(0, k='v') gives 0\n"


KINDS = {
    "stdin": (StdinTest("1 2\n", "3\n", hidden=False), "Input:\n1 2\nOutput:\n3\n"),
    "output": (OutputTest("hello\n", hidden=False), "Output:\nhello\n"),
    "assert": (AssertTest("assert f(1) == 2\n", hidden=False), "assert f(1) == 2\n"),
    "checker": (
        CheckerTest("3\n", "def check(stdin, output, answer): return True", "1 2\n", hidden=False),
        "Input:\n3\n",
    ),
    "cell": (CellTest("x + 1", "2", hidden=False), "x + 1 gives 2\n"),
    "file": (FileTest("out.txt", "a,b\n", hidden=False), "It writes out.txt:\na,b\n"),
    "insight": (InsightTest("42 rows", hidden=False), "It finds: 42 rows\n"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_test(kind):
    test, shown = KINDS[kind]
    assert prompt_of(test, entry_point="f") == f"Do it.\n\nExample:\n{shown}"


def test_examples_of_several_lines_are_set_apart():
    prompt = prompt_of(StdinTest("1", "2", hidden=False), StdinTest("3", "4", hidden=False))
    assert prompt == "Do it.\n\nExamples:\nInput:\n1\nOutput:\n2\n\nInput:\n3\nOutput:\n4\n"


def test_a_long_example_loses_its_middle():
    assert len(prompt_of(OutputTest("x" * 100_000, hidden=False))) < 3000


@pytest.mark.parametrize("most", [-1, True, 1.5, "3"])
def test_a_wrong_number_is_an_error(most):
    with pytest.raises(TaskError, match="at least 0"):
        load_suite("starter").with_examples(most)


@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
def test_an_environment_shows_them(make):
    prompts = []
    for examples in (0, 2):
        env = make("CodeExec-v0", suite="starter", order="sequential", examples=examples)
        prompts += [env.reset(seed=0)[0]]
        env.close()
    before, after = (prompt if isinstance(prompt, str) else prompt[0] for prompt in prompts)
    public = [test for test in load_suite("starter")[0].tests if not test.hidden]
    assert public
    assert after.startswith(before.rstrip())
    assert "\nExample" in after.removeprefix(before.rstrip())
