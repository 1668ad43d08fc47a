"""Answers that pass vote: against a wrong reference, and for an author to see what the tests leave open."""

import json

import pytest

from code_env import AssertTest, CallTest, FindingKind, StdinTest, Task, TaskSuite, judge_many, load_suite
from code_env.hardening import look_at_answers

PRIME = "def is_prime(n):\n    return {}all(n % d for d in range(2, n))"
TESTS = tuple(CallTest((n,), expected=n in (2, 3, 5, 7)) for n in (2, 3, 4, 5, 7, 9))
TASK = Task("prime", "Is n prime?", TESTS, "is_prime", reference=PRIME.format(""))
RIGHT = PRIME.format("n > 1 and ")


def found(answers, executor, task=TASK, **more):
    findings = look_at_answers(TaskSuite("s", [task]), {task.id: answers}, executor, **more)
    return [(finding.kind, finding.problem) for finding in findings]


def test_a_reference_that_answers_contradict_is_suspect(executor):
    ((kind, problem),) = found([RIGHT, f"# in other words\n{RIGHT}"], executor)
    assert kind is FindingKind.REFERENCE_SUSPECT
    assert problem == ("for is_prime(1) the reference gives True, and 1 of 1 distinct answers that pass gives False")


def test_a_few_of_many_show_that_tests_are_weak(executor):
    same = [PRIME.format(f"{n} != n and ") for n in (13, 11, 12)]  # The last says the same: 12 is no prime.
    ((kind, problem),) = found([TASK.reference, *same, PRIME.format("n != 14 and n != 17 and ")], executor)
    assert kind is FindingKind.WEAK_TESTS
    assert "the reference gives True, and 1 of 4 distinct answers that pass gives False" in problem


def test_answers_that_agree_on_nothing_have_several_answers(executor):
    tests = (CallTest(([1, 2],), expected=1), CallTest(([4, 4, 9],), expected=4))
    task = Task("any", "Return a member.", tests, "member", reference="def member(a): return a[0]")
    ways = ("min(a)", "sorted(a)[len(a) // 3]", "a[0] if len(a) < 4 else a[1]", "a[0] if len(a) < 4 else a[2]")
    kinds = [kind for kind, _ in found([f"def member(a): return {way}" for way in ways], executor, task)]
    assert FindingKind.SEVERAL_ANSWERS in kinds


@pytest.mark.parametrize(
    "answers",
    [
        [],
        [TASK.reference],
        [PRIME.format("print(n) or ")],
        [f"{RIGHT}\nimport os\nos._exit(0)"],
        ["def is_prime(n):\n    if n == 1: raise ValueError\n    return all(n % d for d in range(2, n))"],
    ],
    ids=["none", "the same", "who prints", "who ends", "who raises"],
)
def test_who_gives_no_other_value_says_nothing(answers, executor):
    assert found(answers, executor) == []


def test_outcomes_that_an_answer_makes_up_are_shown_as_they_are_and_do_no_harm(executor):
    write = "    try: os.write(fd, b'[[[[\\n[1,2]\\n' * 9)\n    except OSError: pass"
    forging = f"{RIGHT}\nimport os\nfor fd in range(3, 30):\n{write}"
    assert found([forging], executor) in ([], found([RIGHT], executor))


def test_programs_vote_on_what_they_print(executor):
    tests = (StdinTest("3\n", "6"), StdinTest("5\n", "15"), StdinTest("8\n", "36"))
    task = Task("sum", "Print 1 + ... + n.", tests, reference="n = int(input())\nprint(n * (n + 1) // 2)")
    answer = "n = int(input())\nprint(sum(range(1, n + 1)) if n < 15 else 'many')"
    ((kind, problem),) = found([answer], executor, task)
    assert kind is FindingKind.REFERENCE_SUSPECT
    assert problem.endswith("gives many")


@pytest.mark.parametrize(
    "task",
    [
        Task("t", "", (AssertTest("assert.strictEqual(f(), 1)", language="javascript"),), "f", "javascript"),
        Task("t", "", TESTS, "is_prime"),
    ],
    ids=["javascript", "no reference"],
)
def test_a_task_that_cannot_be_compared_is_passed_over(task, executor):
    assert found([RIGHT], executor, task) == []


@pytest.mark.shared_data
def test_known_errors_of_humaneval_are_named(data, executor):
    """By the answers of four models; by all tasks it takes minutes, see docs/validate.md."""
    suite = load_suite(data / "humaneval" / "HumanEval.jsonl.gz")
    wrong = [f"HumanEval/{number}" for number in (49, 94, 97, 122)]
    some = TaskSuite("some", [suite.task(name) for name in (*wrong, "HumanEval/0", "HumanEval/2", "HumanEval/53")])
    files = [path for path in (data / "llm_completions").glob("*.jsonl") if "evalplus" not in path.name]
    rows = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    answers = [(some.task(row["task_id"]), row["completion"]) for row in rows if row["task_id"] in {t.id for t in some}]
    passing = {}
    for (task, _), verdict in zip(answers, judge_many(answers, executor), strict=True):
        if verdict.passed:
            passing.setdefault(task.id, []).append(verdict.code)
    findings = look_at_answers(some, passing, executor)
    assert {finding.task_id for finding in findings if finding.kind is FindingKind.REFERENCE_SUSPECT} == set(wrong)
