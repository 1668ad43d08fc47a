"""What `validate` finds: a task for each defect, beside tasks that have none."""

import dataclasses
import json

import pytest

from code_env import (
    AssertTest,
    CallTest,
    FindingKind,
    Limits,
    OutputTest,
    StdinTest,
    Task,
    TaskSuite,
    load_suite,
    make_executor,
    row_from_task,
    validate,
)
from code_env.tasks.formats.code_env import task_from_row

DOUBLE = (CallTest((2,), expected=4), CallTest((5,), expected=10))
SOUND = Task("sound", "Write f(x), twice x.", DOUBLE, entry_point="f", reference="def f(x): return 2 * x")


def changed(name, **fields):
    return dataclasses.replace(SOUND, id=name, **fields)


def proven(*tasks, executor, **kwargs):
    return validate(TaskSuite("s", tasks), executor, **kwargs)


def only(validation, kind, level):
    """The one finding there shall be."""
    assert [(finding.kind, finding.level) for finding in validation.findings] == [(kind, level)], validation.findings
    assert validation.sound is (level == "warning")
    return validation.findings[0].problem


def test_what_is_no_suite_is_refused(executor):
    with pytest.raises(TypeError, match="suite must be a TaskSuite; got list; load_suite makes one"):
        validate([], executor)


def test_a_sound_task_has_no_findings(executor):
    validation = proven(SOUND, executor=executor)
    assert validation.findings == ()
    assert validation.sound
    assert list(validation.suite) == [SOUND]
    assert (validation.suite.name, validation.sound_tasks) == ("s", 1)


def test_findings_name_their_task_and_come_in_its_order(executor):
    wrong = changed("wrong", reference="def f(x): return 4")
    none = changed("none", reference=None)
    validation = proven(wrong, SOUND, none, executor=executor)
    assert [(f.task_id, f.kind) for f in validation.findings] == [
        ("wrong", FindingKind.REFERENCE_FAILS),
        ("none", FindingKind.NO_REFERENCE),
    ]
    assert validation.sound_tasks == 1
    assert validation.findings[0].problem == "its reference does not pass: test 1: expected 10, got 4"
    assert list(validation.suite) == [wrong, SOUND, none]


def test_many_tasks_are_proven_in_batches(executor):
    done = []
    tasks = [changed(str(number)) for number in range(18)]
    tasks[17] = changed("17", reference="def f(x): return 4")
    validation = proven(*tasks, executor=executor, repetitions=1, progress=done.append)
    assert done == [16, 18]
    assert [finding.task_id for finding in validation.findings] == ["17"]
    assert list(validation.suite) == tasks


@pytest.mark.parametrize("repetitions", [0, -1, 1.5])
def test_a_reference_is_judged_at_least_once(executor, repetitions):
    with pytest.raises(ValueError, match=f"at least 1; got {repetitions}"):
        proven(SOUND, executor=executor, repetitions=repetitions)


FLAKY = {
    "urandom": "import os\nprint('coin', os.urandom(1)[0] % 2)",
    "random": "import random\nprint('coin', random.randrange(2))",
    "time": "import time\nprint('coin', time.perf_counter_ns() // 1000 % 2)",
}


@pytest.mark.parametrize("code", FLAKY.values(), ids=FLAKY)
def test_a_reference_with_different_verdicts_is_flaky(executor, code):
    """That a coin falls alike forty times is as good as impossible."""
    task = Task("t", "p", (StdinTest("", "coin 0"), StdinTest("1", "coin 0", hidden=False)), reference=code)
    problem = only(proven(task, executor=executor, repetitions=40), FindingKind.FLAKY, "error")
    assert " of 40 times; test 0" in problem
    assert "changed: test 0: line 1: expected 'coin 0', got 'coin 1'" in problem


def test_a_flaky_reference_names_the_cases_that_changed(executor):
    code = "import os\ndef f(x):\n    return 1\ndef g():\n    return int.from_bytes(os.urandom(4)) % 2"
    tests = AssertTest("assert f(0) == 1\n" + "assert g() == 0\n" * 30)
    validation = proven(Task("t", "p", (tests,), entry_point="f", reference=code), executor=executor)
    flaky = next(finding for finding in validation.findings if finding.kind == "flaky")
    named = flaky.problem.partition("; ")[2].partition(" changed")[0]
    assert named.startswith("test 0 cases ")
    assert " 0," not in named


def test_a_single_repetition_cannot_tell(executor):
    task = Task("t", "p", (StdinTest("", "coin 0"),), reference=FLAKY["urandom"])
    validation = proven(task, executor=executor, repetitions=1)
    assert "flaky" not in {finding.kind for finding in validation.findings}


def burning(cpu_s):
    """A reference that takes that much CPU time, whatever the machine."""
    return f"import time\ndef f(x):\n    while time.process_time() < {cpu_s}: pass\n    return 2 * x"


def test_a_reference_near_its_cpu_limit_is_slow(executor):
    task = changed("t", reference=burning(0.7), limits=Limits(cpu_s=1.0, wall_s=60))
    problem = only(proven(task, executor=executor, repetitions=1), FindingKind.SLOW, "warning")
    assert "its reference takes 0.7" in problem
    assert "these are 1 s and 60 s" in problem


def test_a_suite_of_asserts_is_slow_as_a_whole(executor):
    tests = AssertTest("assert f(1) == 2\nassert f(2) == 4")
    task = changed("t", tests=(tests,), reference=burning(0.7), limits=Limits(cpu_s=1.0, wall_s=60))
    only(proven(task, executor=executor, repetitions=1), FindingKind.SLOW, "warning")


def test_many_tests_are_slow_together(executor):
    """Each takes little of its limit; all together may take ten times as much."""
    tests = tuple(CallTest((x,), expected=2 * x) for x in range(10, 22))
    task = changed("t", tests=tests, reference=burning(0.22), limits=Limits(cpu_s=0.5, wall_s=60))
    only(proven(task, executor=executor, repetitions=1), FindingKind.SLOW, "warning")


def test_a_reference_that_waits_is_slow(executor):
    task = changed(
        "t", reference="import time\ndef f(x):\n    time.sleep(3)\n    return 2 * x", limits=Limits(wall_s=5)
    )
    only(proven(task, executor=executor, repetitions=1), FindingKind.SLOW, "warning")


@pytest.mark.parametrize(
    ("task", "what"),
    [
        (changed("t", tests=(CallTest((0,), expected=0),)), "returns its first argument or returns 0 or returns False"),
        (Task("t", "Do nothing.", (OutputTest(""),), reference="pass"), "does nothing or echoes its input or exits"),
        (changed("t", tests=(AssertTest("f(2)"),)), "returns its first argument or returns 0"),
        (changed("t", tests=(AssertTest("assert f(2)"),)), "returns its first argument or returns True"),
        (changed("t", tests=(CallTest((0,), expected=0, hidden=False),)), "returns 0"),
        (
            changed(
                "t",
                entry_point="A.f",
                tests=(CallTest((0,), expected=0),),
                reference="class A:\n    def f(self, x): return 2 * x",
            ),
            "returns its first argument or returns 0",
        ),
    ],
)
def test_an_answer_that_solves_nothing_and_passes_is_an_error(executor, task, what):
    problem = only(proven(task, executor=executor, repetitions=1), FindingKind.TRIVIAL_PASSES, "error")
    assert problem.startswith("an answer passes that ")
    assert what in problem


def test_an_answer_that_solves_nothing_and_scores_is_a_warning(executor):
    tests = (CallTest((0,), expected=0), *DOUBLE, AssertTest("assert f(1) == 2\nassert f(0) == 0\nassert f(0) == 0"))
    problem = only(
        proven(changed("t", tests=tests), executor=executor, repetitions=1), FindingKind.TRIVIAL_SCORES, "warning"
    )
    same = "test 0, test 3 cases 1, 2"
    assert problem == f"an answer scores 0.42 ({same}) if it returns its first argument or returns 0 or returns False"


def test_of_public_cases_only_the_share_is_told(executor):
    public = [dataclasses.replace(test, hidden=False) for test in (CallTest((0,), expected=0), *DOUBLE)]
    task = changed("t", tests=(*public, *DOUBLE))
    problem = only(proven(task, executor=executor, repetitions=1), FindingKind.TRIVIAL_SCORES, "warning")
    assert "0.20 (1 of 3 public cases)" in problem


def test_further_solutions_that_fail_are_told(executor):
    good, bad = "def f(x): return x + x", "def f(x): return x * x"
    task = changed("t", metadata={"solutions": [SOUND.reference, good, bad, bad + "\n", 7]})
    problem = only(proven(task, executor=executor, repetitions=1), FindingKind.SOLUTION_FAILS, "warning")
    assert problem == "of 3 further solutions 2 do not pass: test 1: expected 10, got 25"


@pytest.mark.parametrize("solutions", [None, "text", [], [SOUND.reference], ["def f(x): return x + x"], {"a": 1}])
def test_further_solutions_that_pass_are_not(executor, solutions):
    task = changed("t", metadata={"solutions": solutions})
    assert proven(task, executor=executor, repetitions=1).findings == ()


def test_a_statement_that_allows_several_answers_is_told(executor):
    say = "If there are several numbers, return them in any order."
    task = Task("t", say, (CallTest((), expected=[1, 2]),), entry_point="f", reference="def f(): return [1, 2]")
    problem = only(proven(task, executor=executor, repetitions=1), FindingKind.SEVERAL_ANSWERS, "warning")
    assert problem == ('the statement says "return them in any order", which allows any order; one is right in test 0')
    granted = dataclasses.replace(task, tests=(CallTest((), expected=[2, 1], compare="unordered"),))
    assert proven(granted, executor=executor, repetitions=1).findings == ()


POINT = """class Point:
    def __init__(self, x, y): self.x, self.y = x, y
    def __eq__(self, other): return (self.x, self.y) == (other.x, other.y)
"""
POINTS = Task(
    "t",
    "Write the class Point.",
    (AssertTest("assert Point(1, 2) == Point(1, 2)\nassert Point(1, 3).y == 3"),),
    entry_point="Point",
    reference=POINT,
)


def test_a_reference_that_needs_its_objects_gets_that_mode(executor):
    validation = proven(POINTS, executor=executor)
    problems = {finding.kind: finding for finding in validation.findings}
    assert problems[FindingKind.JUDGE_MODE].level == "warning"
    assert problems[FindingKind.JUDGE_MODE].problem.startswith("its reference passes as 'objects', not as 'blind': ")
    assert validation.sound
    assert validation.suite[0] == dataclasses.replace(POINTS, judge="objects")
    again = validate(validation.suite, executor)
    assert FindingKind.JUDGE_MODE not in {finding.kind for finding in again.findings}
    assert again.suite == validation.suite


def test_the_mode_is_never_taken_from_an_answer(executor):
    """The reference passes in no mode; a further solution would in one."""
    wrong = POINT.replace("self.x, self.y = x, y", "self.x, self.y = y, x")
    task = dataclasses.replace(POINTS, reference=wrong, metadata={"solutions": [POINT]})
    validation = proven(task, executor=executor)
    assert FindingKind.REFERENCE_FAILS in {finding.kind for finding in validation.findings}
    assert validation.suite[0].judge == "blind"


def test_a_stated_mode_is_kept(executor):
    task = changed("t", tests=(AssertTest("assert f(2) == 4\nassert f(3) == 6"),), judge="objects")
    assert proven(task, executor=executor).suite[0] is task


def test_tests_that_cannot_run_are_no_verdict(executor):
    task = changed("t", tests=(AssertTest("assert f(2) == 4"),), setup="import no_such_module")
    problem = only(proven(task, executor=executor), FindingKind.NO_VERDICT, "error")
    assert problem.startswith("there is no verdict on its reference")


def test_calibration_sets_the_least_for_quick_references(executor):
    tasks = [SOUND, changed("strict", limits=Limits(cpu_s=0.5, wall_s=4)), changed("none", reference=None)]
    first, second = (proven(*tasks, executor=executor, calibrate=True).suite for _ in range(2))
    assert first == second
    assert [(task.limits.cpu_s, task.limits.wall_s) for task in first] == [(1.0, 3.0), (0.5, 4.0), (5.0, 15.0)]


def test_calibration_follows_the_reference(executor):
    tasks = [
        changed(str(cpu_s), reference=burning(cpu_s), limits=Limits(cpu_s=100, wall_s=300)) for cpu_s in (0.1, 0.3)
    ]
    validation = proven(*tasks, executor=executor, calibrate=True, repetitions=1)
    assert validation.findings == ()
    limits = [task.limits for task in validation.suite]
    assert [least <= limit.cpu_s < 100 for least, limit in zip((1, 3), limits, strict=True)] == [True] * 2
    assert all(limit.wall_s >= 3 * limit.cpu_s for limit in limits)
    assert [limit.memory_bytes for limit in limits] == [Limits().memory_bytes] * 2


def test_a_reference_that_needs_more_than_stated_gets_it_by_calibration_only(executor):
    task = changed("t", reference=burning(0.3), limits=Limits(cpu_s=0.15, wall_s=60), tests=DOUBLE[1:])
    problem = only(proven(task, executor=executor), FindingKind.REFERENCE_FAILS, "error")
    assert problem.endswith("calibration finds the time it needs")
    validation = proven(task, executor=executor, calibrate=True)
    assert "the limits are 0.15 s and 60 s" in only(validation, FindingKind.LIMITS, "warning")
    assert validation.suite[0].limits.cpu_s >= 3.0
    assert proven(*validation.suite, executor=executor).findings == ()


def test_an_endless_reference_stays_wrong(executor):
    task = changed("t", reference="def f(x):\n    while True: pass", limits=Limits(cpu_s=0.1, wall_s=5))
    validation = proven(task, executor=executor, calibrate=True, repetitions=1)
    only(validation, FindingKind.REFERENCE_FAILS, "error")
    assert validation.suite[0] is task


def test_the_suite_as_proven_survives_saving(executor):
    suite = proven(POINTS, executor=executor, calibrate=True).suite
    assert [task_from_row(row_from_task(task)) for task in suite] == list(suite)


@pytest.mark.shared_data
def test_humaneval_is_sound(data, executor):
    """Every fourth task; that all references pass, the benchmarks' own test shows."""
    suite = load_suite(data / "humaneval" / "HumanEval.jsonl.gz")[::4]
    validation = validate(suite, executor, repetitions=1)
    assert validation.errors == ()
    assert {finding.kind for finding in validation.warnings} == {FindingKind.TRIVIAL_SCORES}
    assert validation.suite == suite


def test_solutions_and_statements_of_a_published_format(executor, tmp_path):
    row = {
        "problem_id": 1,
        "question": "Read n and print any number below n.",
        "input_output": json.dumps({"inputs": ["5\n", "9\n"], "outputs": ["4\n", "8\n"]}),
        "solutions": json.dumps(["print(int(input()) - 1)", "print(int(input()) - 2)", "print(-1 + int(input()))"]),
        "difficulty": "introductory",
        "url": "",
        "starter_code": "",
    }
    path = tmp_path / "apps.jsonl"
    path.write_text(json.dumps(row) + "\n")
    validation = validate(load_suite(path), executor, repetitions=1)
    assert [finding.kind for finding in validation.findings] == ["solution_fails", "several_answers"]
    assert validation.findings[0].problem.startswith("of 2 further solutions 1 do not pass: test 0: ")
    assert 'the statement says "print any"' in validation.findings[1].problem


def test_another_executor_proves_the_same():
    wrong = changed("wrong", reference="def f(x): return 4")
    with make_executor("subprocess", workers=2) as runner:
        validation = proven(SOUND, wrong, executor=runner, repetitions=1, calibrate=True)
    assert [(finding.task_id, finding.kind) for finding in validation.findings] == [("wrong", "reference_fails")]
    assert [task.limits.cpu_s for task in validation.suite] == [1.0, 5.0]
