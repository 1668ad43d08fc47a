"""A file of numbered lines: none is lost, none is there twice, and nothing else is replaced."""

import json
import os
import stat

import pytest

from code_env.errors import OutputError
from code_env.numbered_lines import NumberedLines
from support import files_of_at_most

ROWS = [{"sample": number, "text": f"{number} " + "x" * 100 * number + "\ud800"} for number in range(4)]


def is_ours(row):
    return row == ROWS[row["sample"]]


def opened(path, wanted=4, **options):
    return NumberedLines.opened(path, is_ours, wanted, differs="text", **options)


def write(path, *rows, then=None, **options):
    """Write lines to a file, and perhaps raise an exception after them."""
    with opened(path, **options) as file:
        for row in rows:
            file.write(row)
        if then is not None:
            raise then


def test_lines_are_put_in_the_order_of_their_numbers(tmp_path):
    path = tmp_path / "results.jsonl"
    with opened(path) as file:
        for row in reversed(ROWS):
            file.write(row)
        assert [row["sample"] for row in file.rows()] == [0, 1, 2, 3]
        assert not path.exists()
    assert [json.loads(line) for line in path.read_text().splitlines()] == ROWS
    assert os.listdir(tmp_path) == ["results.jsonl"]


def test_what_was_interrupted_goes_on_where_it_was(tmp_path):
    path, partial = tmp_path / "results.jsonl", tmp_path / "results.jsonl.partial"
    with pytest.raises(KeyboardInterrupt):
        write(path, ROWS[2], ROWS[0], then=KeyboardInterrupt)
    with partial.open("a") as torn:
        torn.write(json.dumps(ROWS[1])[:-9])
    with pytest.raises(OutputError, match="go on with --resume, or remove the file"):
        write(path)
    with opened(path, resume=True) as file:
        assert file.numbers == {0, 2}
        file.write(ROWS[1])
        file.write(ROWS[3])
    assert [json.loads(line) for line in path.read_text().splitlines()] == ROWS


def test_a_command_that_fails_before_its_first_line_leaves_no_file(tmp_path):
    path = tmp_path / "results.jsonl"
    with pytest.raises(KeyboardInterrupt):
        write(path, then=KeyboardInterrupt)
    assert os.listdir(tmp_path) == []
    write(path, *ROWS)
    assert [json.loads(line) for line in path.read_text().splitlines()] == ROWS


def test_a_finished_file_is_replaced_only_where_it_may_be(tmp_path):
    path = tmp_path / "results.jsonl"
    path.touch()  # Nothing is lost with an empty file.
    write(path, *ROWS, replace=False)
    with pytest.raises(OutputError, match="is there already: go on with --resume, or give another --output"):
        write(path, ROWS[0], replace=False)
    assert len(path.read_text().splitlines()) == 4
    write(path, ROWS[0])
    assert len(path.read_text().splitlines()) == 1


def test_a_finished_file_is_gone_on_with_and_one_that_has_all_lines_is_not_touched(tmp_path):
    path = tmp_path / "results.jsonl"
    write(path, *ROWS[:2], wanted=2)
    with pytest.raises(KeyboardInterrupt):
        write(path, ROWS[3], resume=True, replace=False, then=KeyboardInterrupt)
    assert len(path.read_text().splitlines()) == 2, "what was finished is there until more is"
    write(path, ROWS[2], resume=True, replace=False)
    assert [json.loads(line) for line in path.read_text().splitlines()] == ROWS
    assert os.listdir(tmp_path) == ["results.jsonl"]
    before = path.stat()
    with opened(path, wanted=3, resume=True) as file:
        assert [row["sample"] for row in file.rows()] == [0, 1, 2, 3]
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_finished_file_of_other_work_is_replaced_only_where_it_may_be(tmp_path):
    path, partial = tmp_path / "results.jsonl", tmp_path / "results.jsonl.partial"
    path.write_text("of before\n")
    refusal = r"results.jsonl is of other work \(another text\): give another --output, or remove the file"
    with pytest.raises(OutputError, match=refusal):
        write(path, resume=True, replace=False)
    partial.write_text(json.dumps(ROWS[0]) + "\n")
    with pytest.raises(OutputError, match=refusal):
        write(path, resume=True, replace=False)
    write(path, *ROWS[1:], resume=True)
    assert [json.loads(line) for line in path.read_text().splitlines()] == ROWS
    path.write_text("of before\n")
    write(path, *ROWS, resume=True)
    assert [json.loads(line) for line in path.read_text().splitlines()] == ROWS


@pytest.mark.parametrize(
    "line",
    [
        {"sample": 0, "text": "another"},
        {"sample": 4, "text": ""},
        {"sample": -4, "text": ROWS[0]["text"]},
        {"sample": True, "text": ROWS[1]["text"]},
        {"text": ROWS[0]["text"]},
        [],
        "text",
    ],
)
def test_other_work_is_not_continued(tmp_path, line):
    path, partial = tmp_path / "results.jsonl", tmp_path / "results.jsonl.partial"
    partial.write_text(json.dumps(line) + "\n")
    with pytest.raises(OutputError, match="is of other work"):
        write(path, resume=True)
    assert json.loads(partial.read_text()) == line


def test_only_a_regular_file_is_replaced(tmp_path):
    pipe, target, link = tmp_path / "pipe", tmp_path / "target", tmp_path / "link"
    os.mkfifo(pipe)
    with pytest.raises(OutputError, match="is no regular file"):
        write(pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    link.symlink_to(target)
    with opened(link) as file:
        file.write(ROWS[0])
    assert link.is_symlink()
    assert json.loads(target.read_text()) == ROWS[0]


def test_a_full_disk_is_one_sentence_and_what_was_written_is_kept(tmp_path):
    path = tmp_path / "results.jsonl"
    room_for_one = len(json.dumps(ROWS[3])) + 10
    with (
        files_of_at_most(room_for_one),
        pytest.raises(OutputError, match=r"cannot be written: .*File too large; go on with --resume when they can"),
    ):
        write(path, ROWS[3], ROWS[0])
    write(path, ROWS[0], ROWS[2], ROWS[1], resume=True)
    assert [json.loads(line) for line in path.read_text().splitlines()] == ROWS


@pytest.mark.parametrize("resume", [False, True])
def test_two_commands_do_not_write_to_one_file(tmp_path, resume):
    path = tmp_path / "results.jsonl"
    with opened(path) as first:
        with (
            pytest.raises(OutputError, match="another command is writing to it; wait for its end"),
            opened(path, resume=resume),
        ):
            raise AssertionError("it was opened")
        for row in ROWS:
            first.write(row)
        with pytest.raises(OutputError, match="another command is writing to it"), opened(path, resume=resume):
            raise AssertionError("it was opened")
        assert (tmp_path / "results.jsonl.partial").stat().st_size > 0
    assert [json.loads(line) for line in path.read_text().splitlines()] == ROWS
    with opened(path, resume=True) as again:
        assert again.numbers == {0, 1, 2, 3}
