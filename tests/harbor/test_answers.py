"""A folder as a task: a shell script does the work in one go, and its verdict is what the verifier says."""

import contextlib
import dataclasses
import os
import shutil
import signal
from itertools import cycle
from pathlib import Path

import gymnasium as gym
import pytest

from code_env import (
    HarborTest,
    ImageNotPrepared,
    Limits,
    Program,
    Task,
    TaskError,
    TaskSuite,
    UnsupportedProgram,
    judge,
    judge_many,
    load_suite,
    make_executor,
    row_from_task,
    validate,
)
from code_env.images import prepare_images
from support import local, wait_until

HERE = Path(__file__).parent
CHEATS = sorted((HERE / "agents").iterdir())


@pytest.fixture(scope="module")
def tasks(base, tmp_path_factory):
    """Some folders, beside the image that they build on."""
    place = tmp_path_factory.mktemp("tasks")
    for name in ("fill-in-parts", "fix-a-bug", "several-steps", "write-a-script"):
        shutil.copytree(HERE / "tasks" / name, place / "tasks" / name)
    (place / "tasks/base.tar").symlink_to(base)
    return place / "tasks"


@pytest.fixture(scope="module")
def suite(tasks):
    suite = load_suite(f"harbor:{tasks}")
    prepare_images(task.image for task in suite)
    return suite


@pytest.fixture
def named(suite):
    return {task.id: task for task in suite}


@pytest.fixture(scope="module")
def executor():
    with local("full") as executor:
        yield executor


def folder_of(named):
    return named["code_env/fix-a-bug"].tests[0].folder


SLEEP = "sleep 98765"
"""What a script runs that does not end by itself."""


def boxes():
    """The processes of this one that serve a box in which a script sleeps."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (path / "cmdline").read_bytes().replace(b"\0", b" ").strip() == SLEEP.encode():
                above = [int(path.name)]
                while above[-1] not in (1, os.getpid()):
                    above.append(int(Path(f"/proc/{above[-1]}/stat").read_text().rpartition(")")[2].split()[1]))
                found |= {above[-2]} if above[-1] == os.getpid() else set()
    return found


def test_references_pass_and_trivial_scripts_do_not(suite, named, executor):
    some = TaskSuite("some", [named[f"code_env/{name}"] for name in ("several-steps", "write-a-script")])
    found = validate(some, executor, repetitions=1, calibrate=True)
    assert found.sound, found.findings
    assert list(found.suite) == list(some)  # A folder says itself how long its agent may take.
    rest = [(task, script) for task in suite if task not in some for script in (task.reference, "true")]
    assert [verdict.outcome for verdict in judge_many(rest, executor)] == ["pass", "fail"] * 2


def test_no_cheat_passes(suite, executor):
    """Each is tried on each task in test_trial.py, by the same verifier."""
    verdicts = judge_many([(task, cheat.read_text()) for task, cheat in zip(cycle(suite), CHEATS)], executor)
    assert [(verdict.outcome, verdict.fraction) for verdict in verdicts] == [("fail", 0.0)] * len(verdicts)


def test_a_part_of_the_work_earns_a_share(named, executor):
    verdict = judge(named["code_env/fill-in-parts"], "echo 'def square(a): return a * a' > shapes.py", executor)
    assert (verdict.outcome, verdict.passed, verdict.fraction) == ("fail", False, pytest.approx(1 / 3))
    (case,) = verdict.cases
    assert case.hidden
    assert case.message.startswith("reward 0.333333: scored: ")
    assert "test_circle" in case.message


def test_what_the_script_left_counts_also_if_it_failed_or_came_to_its_limit(named, executor):
    task = named["code_env/several-steps"]
    assert judge(task, task.reference + "\nexit 3", executor).passed
    hasty = dataclasses.replace(task, limits=task.limits.with_values({"wall_s": 15}))
    assert judge(hasty, f"{task.reference}\n{SLEEP}", executor).passed


def test_the_result_of_the_script_itself(named, executor):
    program = Program("pwd; exit 3", "bash", image=named["code_env/fix-a-bug"].image, trial=folder_of(named))
    result = executor.run(program)
    assert (result.status, result.exit_code, result.stdout) == ("error", 3, "/app\n")
    result = executor.run(dataclasses.replace(program, code=SLEEP, limits=Limits(wall_s=1)))
    assert (result.status, result.exit_code) == ("timeout", None)
    large = "python3 -c 'x = b\"x\" * 300_000_000; input()'"
    result = executor.run(dataclasses.replace(program, code=large, limits=Limits(memory_bytes=100 << 20)))
    assert (result.status, result.exit_code) == ("memory", None)


def test_a_script_whose_box_dies_twice_is_to_blame(named):
    program = Program(SLEEP, "bash", image=named["code_env/fix-a-bug"].image, trial=folder_of(named))
    with local("full", workers=1) as executor:
        pending = executor.submit(program)
        killed = set()
        for _ in range(2):
            wait_until(lambda: boxes() - killed)
            (box,) = boxes() - killed
            killed.add(box)
            os.kill(box, signal.SIGKILL)
        result = pending.result()
    assert (result.status, result.error.name, result.peer.error.name) == ("error", "SandboxKilled", "SandboxKilled")


def test_a_verifier_without_a_reward_is_no_verdict(tasks, executor, tmp_path):
    folder = shutil.copytree(tasks / "write-a-script", tmp_path / "task")
    (tmp_path / "base.tar").symlink_to(tasks / "base.tar")
    (folder / "tests/test.sh").write_text("echo no reward\n")
    (task,) = load_suite(folder)
    prepare_images([task.image])
    verdict = judge(task, "true", executor)
    assert (verdict.outcome, verdict.fraction) == ("no_verdict", None)
    assert "the verifier wrote neither /logs/verifier/reward.json" in verdict.execution.error.message


def test_a_script_that_nobody_waits_for_ends(named):
    program = Program(SLEEP, "bash", image=named["code_env/fix-a-bug"].image, trial=folder_of(named))
    with local("full", workers=1) as executor:
        pending = executor.submit(program)
        wait_until(boxes)
        assert pending.cancel()
        assert executor.run(dataclasses.replace(program, code="echo next")).stdout == "next\n"
        executor.submit(program)
        wait_until(boxes)
    wait_until(lambda: not boxes())


def test_an_environment_of_scripts(tasks, suite):
    with gym.make("CodeExec-v0", suite=f"harbor:{tasks}", rewards={"tests": 1.0}) as env:
        observation, info = env.reset(seed=0, options={"task_id": "code_env/write-a-script"})
        assert "Answer with one shell script" in observation
        answer = f"```bash\n{suite.task('code_env/write-a-script').reference}\n```"
        _, reward, terminated, truncated, info = env.step(answer)
        assert (reward, terminated, truncated, info["passed"]) == (1.0, True, False, True)


def test_rows_hold_it(suite):
    assert list(load_suite([row_from_task(task) for task in suite])) == list(suite)


def test_an_image_that_is_not_prepared(named, executor, monkeypatch, tmp_path):
    monkeypatch.setenv("CODE_ENV_CACHE", str(tmp_path))
    with local("full") as other, pytest.raises(ImageNotPrepared, match="code-env prepare"):
        judge(named["code_env/fix-a-bug"], "true", other)


@pytest.mark.parametrize(
    ("name", "told"), [("subprocess", "runs no programs in images"), ("restricted", "runs python, .* not 'bash'")]
)
def test_other_executors_refuse_it(name, told, named):
    with make_executor(name) as other, pytest.raises(UnsupportedProgram, match=told):
        judge(named["code_env/fix-a-bug"], "true", other)


def test_it_needs_level_full(named):
    with local("contained") as other, pytest.raises(UnsupportedProgram, match="an image needs isolation level full"):
        judge(named["code_env/fix-a-bug"], "true", other)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"tests": (HarborTest("a"), HarborTest("b"))}, "must be the only one of its task"),
        ({"language": "python"}, "is for answers in bash"),
        ({"image": ""}, "whose task needs the folder's image"),
        ({"files": {"a": b""}}, "has neither files nor setup nor prefix"),
    ],
)
def test_what_a_task_must_be(fields, told):
    with pytest.raises(TaskError, match=told):
        Task(**{"id": "t", "prompt": "", "tests": (HarborTest("a"),), "language": "bash", "image": "i"} | fields)
