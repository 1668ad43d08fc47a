"""The mutation score of suites whose tests are known to be strong, weak or empty."""

import pytest

from code_env import AssertTest, CallTest, CheckerTest, Task, TaskSuite, load_suite
from code_env.hardening import harden, impossible_suite, look_at_answers, mutation_score

CLAMP = (
    "def clamp(n, low, high):\n    if n < low:\n        return low\n    if n > high:\n        return high\n    return n"
)
CALLS = [(5, 1, 9), (0, 1, 9), (10, 1, 9), (-3, -5, 2)]


def clamp(name, calls, **more):
    tests = tuple(CallTest(one, expected=max(one[1], min(one[0], one[2]))) for one in calls)
    return Task(name, "", tests, entry_point="clamp", reference=CLAMP, **more)


def scores(executor, *tasks, **more):
    return mutation_score(TaskSuite("s", tasks), executor, **more)


def test_strong_tests_kill_all_and_weak_ones_do_not(executor):
    strong, weak = scores(executor, clamp("strong", CALLS), clamp("weak", CALLS[:1] + CALLS[:1]), count=50).tasks
    assert (strong.survivors, strong.share) == ((), 1.0)
    assert strong.alike == 2  # `<=` and `>=` give the same.
    assert weak.share < 0.8
    survivor = next(one for one in weak.survivors if "if False:" in one.diff and "n < low" in one.diff)
    assert [line for line in survivor.diff.splitlines() if line[0] in "+-"] == ["-    if n < low:", "+    if False:"]
    assert survivor.input.startswith("clamp(")
    assert survivor.reference != survivor.mutant


def test_an_empty_suite_kills_nothing(executor):
    task = Task("t", "", (AssertTest("clamp(0, 1, 9)\nassert True"),), entry_point="clamp", reference=CLAMP)
    (score,) = scores(executor, task, count=50).tasks
    assert score.killed == 0
    assert score.mutants > 5


def test_who_loops_for_ever_is_killed(executor):
    reference = "def f(n):\n    while n > 0:\n        n -= 1\n    return n"
    task = Task("t", "", (CallTest((3,), expected=0),), entry_point="f", reference=reference)
    (score,) = scores(executor, task, count=50).tasks
    assert score.killed >= 6
    assert [one.diff for one in score.survivors] == []


def test_a_prefix_is_not_changed(executor):
    task = Task(
        "t",
        "",
        (CallTest((2,), expected=5),),
        entry_point="f",
        prefix="def helper(n):\n    return n * 2\n\ndef f(n):\n",
        reference="    return helper(n) + 1\n",
    )
    (score,) = scores(executor, task, count=50).tasks
    assert score.mutants == score.killed == 6


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (Task("t", "", (CallTest((1,), expected=1),), entry_point="f"), "it has no reference"),
        (clamp("t", [(1, 2, 3)], language="javascript"), "answers are in javascript"),
        (Task("t", "", (CallTest((1,), expected=1),), "f", reference="def f(:"), "cannot be parsed by this Python"),
        (Task("t", "", (CallTest((1,), expected=1),), "f", reference="def f(n): return 2"), "does not pass"),
        (
            Task("t", "", (CheckerTest("", "def check(stdin, stdout, answer): return True"),), reference="print(1)"),
            "its checker accepts several answers",
        ),
    ],
)
def test_a_task_without_a_score_says_why(task, reason, executor):
    score = scores(executor, task)
    assert reason in score.tasks[0].left_out
    assert (score.mutants, score.share, score.standard_error) == (0, None, None)


def test_the_same_seed_gives_the_same_score(executor):
    suite = load_suite("starter")[:6]
    done = []
    one = mutation_score(suite, executor, count=4, seed=3, progress=done.append)
    assert one == mutation_score(suite, executor, count=4, seed=3)
    assert one.mutants == 24 - sum(task.alike for task in one.tasks)
    assert done == [6]


def test_a_wrong_count_is_refused(executor):
    with pytest.raises(ValueError, match="count must be"):
        scores(executor, clamp("t", CALLS), count=0)


@pytest.mark.parametrize("seed", ["a", -1, 1.0, True, None], ids=repr)
def test_a_wrong_seed_is_refused_by_all(executor, seed):
    suite = TaskSuite("s", [clamp("t", CALLS)])
    for call in (
        lambda: mutation_score(suite, executor, seed=seed),
        lambda: harden(suite, executor, seed=seed),
        lambda: impossible_suite(suite, executor, seed=seed),
        lambda: look_at_answers(suite, {}, executor, seed=seed),
    ):
        with pytest.raises(ValueError, match="seed must be a whole number of at least 0; got"):
            call()
