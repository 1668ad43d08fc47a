"""The results file: its lines say enough, none is lost, and nothing else is replaced."""

import contextlib
import json
import os
import resource
import stat

import pytest

from code_env import StdinTest, Task, TaskSuite
from code_env.errors import EvaluationError
from code_env.evaluation import ResultsFile, Sample, judge_samples, sample_row

SUITE = TaskSuite("prints", [Task(name, "", (StdinTest("", name),)) for name in "ab"])
SAMPLES = [Sample("a", "print('a')"), Sample("a", "print('b')"), Sample("b", ""), Sample("b", "\ud800")]
ABOUT = {"executor": "local", "level": "full", "version": "0"}


@pytest.fixture(scope="module")
def rows(executor):
    judged = dict(judge_samples(SUITE, SAMPLES, executor))
    return [sample_row(number, sample, judged[number], ABOUT) for number, sample in enumerate(SAMPLES)]


def write(path, *rows, resume=False, then=None):
    """Write lines to a results file, and perhaps raise an exception after them."""
    with ResultsFile.opened(path, SAMPLES, resume=resume) as file:
        for row in rows:
            file.write(row)
        if then is not None:
            raise then


def test_a_line_says_why_each_case_failed(rows):
    right, wrong, empty, surrogate = rows
    assert (right["passed"], right["failed_cases"], right["code"]) == (True, [], "print('a')")
    case = wrong["failed_cases"][0]
    assert (case["expected"], case["actual"], case["status"], case["hidden"]) == ("'a'", "b\n", "ok", True)
    assert case["message"] == wrong["message"] != ""
    assert (empty["stage"], empty["message"]) == ("nothing", "NoProgram: the answer holds no code")
    assert surrogate["outcome"] == "policy_error"
    assert {*ABOUT.items()} <= {(name, right[name]) for name in ABOUT}
    assert right["timing"]["run_s"] > 0


def test_lines_are_put_in_the_order_of_the_samples(tmp_path, rows):
    path = tmp_path / "results.jsonl"
    with ResultsFile.opened(path, SAMPLES) as file:
        for row in reversed(rows):
            file.write(row)
        assert [row["sample"] for row in file.rows()] == [0, 1, 2, 3]
        assert not path.exists()
    assert [json.loads(line) for line in path.read_text().splitlines()] == rows
    assert os.listdir(tmp_path) == ["results.jsonl"]


def test_an_interrupted_evaluation_goes_on_where_it_was(tmp_path, rows):
    path, partial = tmp_path / "results.jsonl", tmp_path / "results.jsonl.partial"
    with pytest.raises(KeyboardInterrupt):
        write(path, rows[2], rows[0], then=KeyboardInterrupt)
    with partial.open("a") as torn:
        torn.write(json.dumps(rows[1])[:-9])
    with (
        pytest.raises(EvaluationError, match="go on with --resume, or remove the file"),
        ResultsFile.opened(path, SAMPLES),
    ):
        pass
    with ResultsFile.opened(path, SAMPLES, resume=True) as file:
        assert file.judged == {0, 2}
        file.write(rows[1])
        file.write(rows[3])
    assert [json.loads(line) for line in path.read_text().splitlines()] == rows


@pytest.mark.parametrize(
    "line",
    [
        {"sample": 0, "task_id": "a", "completion": "another", "passed": True},
        {"sample": 4, "task_id": "a", "completion": "print('a')", "passed": True},
        {"sample": -4, "task_id": "a", "completion": "print('a')", "passed": True},
        {"task_id": "a"},
        "text",
    ],
)
def test_an_evaluation_of_other_samples_is_not_continued(tmp_path, line):
    path, partial = tmp_path / "results.jsonl", tmp_path / "results.jsonl.partial"
    partial.write_text(json.dumps(line) + "\n")
    with pytest.raises(EvaluationError, match="this is no evaluation of these samples"):
        write(path, resume=True)
    assert json.loads(partial.read_text()) == line


def test_only_a_regular_file_is_replaced(tmp_path, rows):
    pipe, target, link = tmp_path / "pipe", tmp_path / "target", tmp_path / "link"
    os.mkfifo(pipe)
    with pytest.raises(EvaluationError, match="is no regular file"):
        write(pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    link.symlink_to(target)
    with ResultsFile.opened(link, SAMPLES[:1]) as file:
        file.write(rows[0])
    assert link.is_symlink()
    assert json.loads(target.read_text()) == rows[0]


@contextlib.contextmanager
def files_of_at_most(size):
    """Files of this process can have only so many bytes, as on a disk that is nearly full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_one_sentence_and_what_was_written_is_kept(tmp_path, rows):
    path = tmp_path / "results.jsonl"
    room_for_one = len(json.dumps(rows[1])) + 100
    with (
        files_of_at_most(room_for_one),
        pytest.raises(EvaluationError, match=r"cannot be written: .*File too large; go on with --resume when they can"),
    ):
        write(path, rows[1], rows[0])
    write(path, rows[0], rows[2], rows[3], resume=True)
    assert [json.loads(line) for line in path.read_text().splitlines()] == rows
