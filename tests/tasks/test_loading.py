import gzip
import json
from pathlib import Path

import pytest

from code_env.errors import SuiteNotFound, TaskError
from code_env.tasks import load_suite
from code_env.tasks.formats import FORMATS
from code_env.tasks.loading import read_rows

ROW = {"id": "a", "prompt": "Print 1.", "tests": [{"kind": "output", "expected": "1"}]}
HUMANEVAL = {
    "task_id": "H/0",
    "prompt": "def f(x):\n",
    "canonical_solution": "    return x\n",
    "test": "def check(candidate):\n    assert candidate(1) == 1\n",
    "entry_point": "f",
}


def lines(*rows):
    return b"".join((row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows)


@pytest.fixture
def write(tmp_path):
    def write(content, name="my.tasks.jsonl"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.mark.parametrize("as_path", [str, lambda path: path], ids=["text", "path"])
def test_a_suite_is_read_from_a_file(write, as_path):
    suite = load_suite(as_path(write(lines(ROW, {**ROW, "id": "b"}))))
    assert (suite.name, [task.id for task in suite]) == ("my", ["a", "b"])


def test_a_gzipped_file_reads_like_a_plain_one(write):
    content = lines(ROW, {**ROW, "id": "b"})
    assert load_suite(write(gzip.compress(content), "my.jsonl.gz")) == load_suite(write(content))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(lines(ROW).rstrip(b"\n"), id="no-last-newline"),
        pytest.param(b"\n  \n" + lines(ROW) + b"\n\n", id="blank-lines"),
        pytest.param(lines(ROW).replace(b"\n", b"\r\n"), id="CRLF"),
        pytest.param(b"\xef\xbb\xbf" + lines(ROW), id="byte-order-mark"),
    ],
)
def test_a_file_may_be_laid_out_loosely(write, content):
    assert [task.id for task in load_suite(write(content))] == ["a"]


@pytest.mark.parametrize("name", ["my.json", "my.json.gz"])
def test_a_json_file_may_be_one_array(write, name):
    rows = [ROW, {**ROW, "id": "b"}]
    array = json.dumps(rows, indent=1).encode()
    for content in (array, b"\n " + array, b"\xef\xbb\xbf" + array, lines(*rows)):
        path = write(gzip.compress(content) if name.endswith(".gz") else content, name)
        assert [task.id for task in load_suite(path)] == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (json.dumps([ROW, 1]).encode(), ":2: an object was expected; got int"),
        (json.dumps([ROW, {**ROW, "id": 1}]).encode(), ":2: id must be text; got int"),
        (b"[", ":1: "),
        (b"[]", ": there are no tasks in it"),
    ],
    ids=["no-object", "malformed-row", "no-json", "empty"],
)
def test_a_malformed_array_is_refused_with_file_and_number(write, content, problem):
    path = write(content, "my.json")
    with pytest.raises(TaskError) as caught:
        load_suite(path)
    assert str(caught.value).startswith(f"{path}{problem}")


def test_rows_are_read_with_their_line_numbers(write):
    assert list(read_rows(write(b'\n{"a": 1}\n\n{"b": 2}'))) == [(2, {"a": 1}), (4, {"b": 2})]


def test_only_a_regular_file_has_rows(tmp_path):
    for path, told in ((tmp_path, "and this is a directory"), (Path("/dev/null"), "and this is no regular file")):
        with pytest.raises(TaskError, match=rf"^{path}: a file of JSON lines was expected, {told}$"):
            list(read_rows(path))


@pytest.mark.parametrize(("row", "format"), [(ROW, "code_env"), (HUMANEVAL, "humaneval")])
def test_the_format_is_found_out_from_the_first_row(write, row, format):
    assert load_suite(write(lines(row))) == load_suite(write(lines(row)), format=format)


@pytest.mark.parametrize("format", ["jsonl", "", "HumanEval"])
def test_an_unknown_format_is_refused(write, format):
    with pytest.raises(TaskError) as caught:
        load_suite(write(lines(ROW)), format=format)
    assert str(caught.value).startswith(f"format must be one of {', '.join(FORMATS)}; got {format!r}")


MALFORMED = {
    "no json": (b"{", ""),
    "text": (b'"a"', "an object was expected; got str"),
    "list": (b"[1]", "an object was expected; got list"),
    "null": (b"null", "an object was expected; got NoneType"),
    "two objects": (b"{} {}", ""),
    "not utf-8": (b'{"id": "\xff"}', ""),
    "too deep": (b'{"id": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", ""),
    "int of many digits": (b'{"id": ' + b"9" * 5_000 + b"}", ""),
    "missing field": (lines({"id": "b"}).strip(), "prompt: "),
    "misspelt field": (
        lines({**ROW, "refrence": ""}).strip(),
        "refrence: a row has no such field; did you mean 'reference'",
    ),
    "malformed field": (lines({**ROW, "id": 1}).strip(), "id must be text; got int"),
    "malformed test": (
        lines({**ROW, "tests": [*ROW["tests"], {"kind": "output", "expected": 1}]}).strip(),
        "tests[1]: expected must be text; got int",
    ),
    "malformed kind": (lines({**ROW, "tests": [{"kind": []}]}).strip(), "tests[0]: kind must be one of"),
    "value too deep": (
        b'{"id": "b", "prompt": "p", "entry_point": "f", "tests": [{"kind": "call", "expected": 1, "args": '
        + b"[" * 700
        + b"]" * 700
        + b"}]}",
        "tests[0]: args",
    ),
}


@pytest.mark.parametrize(("line", "problem"), MALFORMED.values(), ids=MALFORMED)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzipped"])
def test_a_malformed_row_is_refused_with_file_line_and_field(write, line, problem, packed):
    content = lines(ROW) + b"\n" + line + b"\n" + lines({**ROW, "id": "c"})
    path = write(gzip.compress(content), "bad.jsonl.gz") if packed else write(content)
    with pytest.raises(TaskError) as caught:
        load_suite(path)
    assert str(caught.value).startswith(f"{path}:3: {problem}")


def test_a_malformed_row_of_humaneval_is_refused_with_file_line_and_field(write):
    path = write(lines(HUMANEVAL, {**HUMANEVAL, "test": 5}))
    with pytest.raises(TaskError) as caught:
        load_suite(path)
    assert str(caught.value) == f"{path}:2: test: text was expected; got int"


def test_a_row_of_another_format_is_refused_where_it_stands(write):
    path = write(lines(HUMANEVAL, ROW))
    with pytest.raises(TaskError) as caught:
        load_suite(path)
    assert str(caught.value).startswith(f"{path}:2: task_id: ")


def test_two_rows_with_one_id_are_refused(write):
    with pytest.raises(TaskError, match=":2: id: 'a' is the id of line 1"):
        load_suite(write(lines(ROW, ROW)))


@pytest.mark.parametrize("content", [b"", b"\n \n"], ids=["empty", "blank"])
def test_a_file_without_rows_is_refused(write, content):
    with pytest.raises(TaskError, match="there are no tasks in it"):
        load_suite(write(content))


PACKED = gzip.compress(lines(*({**ROW, "id": str(i)} for i in range(500))))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(lines(ROW), id="not-gzipped"),
        pytest.param(PACKED[: len(PACKED) // 2], id="cut-short"),
        pytest.param(PACKED[:-8], id="no-checksum"),
        pytest.param(PACKED[:-8] + bytes(8), id="wrong-checksum"),
        pytest.param(PACKED[:100] + b"\xff" * 200 + PACKED[300:], id="damaged"),
    ],
)
def test_a_damaged_gzip_file_is_refused_by_name(write, content):
    path = write(content, "bad.jsonl.gz")
    with pytest.raises(TaskError) as caught:
        load_suite(path)
    assert str(caught.value).startswith(f"{path}:")


@pytest.mark.parametrize(
    "name",
    ["no-such-suite", "no/such/file.jsonl", "", "a\0b", "x" * 5_000],
    ids=["name", "path", "empty", "nul", "long"],
)
def test_an_unknown_suite_is_an_error_that_lists_the_known_ones(name):
    with pytest.raises(SuiteNotFound, match=r"known suites are .*starter"):
        load_suite(name)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("HumanEval", "did you mean 'humaneval'?"),
        ("stater", "did you mean 'starter'?"),
        ("openai/mbpp-x", "load_suite(datasets.load_dataset('openai/mbpp-x', split=...))"),
        ("some/rows.jsonl", "a path leads to a file of JSON lines"),
    ],
)
def test_an_unknown_suite_is_an_error_that_says_what_may_be_meant(name, hint):
    with pytest.raises(SuiteNotFound) as refused:
        load_suite(name)
    assert str(refused.value).endswith(hint)


def test_a_directory_without_problem_packages_is_no_suite(tmp_path):
    with pytest.raises(SuiteNotFound, match=r"is a directory without env.toml, .*; known suites are .*starter"):
        load_suite(tmp_path)


def test_a_directory_cannot_be_read_in_a_format_of_files(tmp_path):
    with pytest.raises(TaskError) as caught:
        load_suite(tmp_path, format="apps")
    assert str(caught.value) == f"{tmp_path}: a file of JSON lines was expected for format 'apps'; got a directory"


def test_a_file_cannot_be_read_in_a_format_of_directories(write):
    path = write(lines(ROW))
    with pytest.raises(TaskError) as caught:
        load_suite(path, format="kattis")
    assert str(caught.value) == f"{path}:1: a directory was expected for format 'kattis'; got a file"


def test_a_row_of_no_known_format_is_refused_with_its_fields(write):
    path = write(lines({"question": "q", "answer": "a"}))
    with pytest.raises(TaskError) as caught:
        load_suite(path)
    assert str(caught.value).startswith(f"{path}:1: fields of one of the formats humaneval+, ")
    assert "; got question, answer; docs/formats.md lists" in str(caught.value)
    assert str(caught.value).endswith("; code_env's own rows have id, prompt and tests")


def test_the_starter_suite_has_tasks_with_references():
    suite = load_suite("starter")
    assert suite.name == "starter"
    assert all(task.reference for task in suite)


class TestRows:
    def test_rows_and_tasks_may_come_without_a_file(self):
        tasks = load_suite([ROW, {**ROW, "id": "b"}])
        assert (tasks.name, [task.id for task in tasks]) == ("rows", ["a", "b"])
        assert (
            load_suite(list(tasks)) == load_suite(task for task in tasks) == load_suite([tasks[0], {**ROW, "id": "b"}])
        )
        assert load_suite(tasks) is tasks

    def test_a_format_may_be_named(self):
        assert load_suite([HUMANEVAL], format="humaneval")[0].id == "H/0"
        with pytest.raises(TaskError, match=r"^rows:1: "):
            load_suite([ROW], format="humaneval")

    def test_a_dataset_is_taken_as_it_is(self):
        datasets = pytest.importorskip("datasets")
        rows = [{"prompt": f"Print {n}.", "expected_output": str(n)} for n in range(3)]
        dataset = datasets.Dataset.from_list(rows)
        assert [task.prompt for task in load_suite(dataset)] == [row["prompt"] for row in rows]
        with pytest.raises(TaskError, match="got a mapping of train; name one"):
            load_suite(datasets.DatasetDict({"train": dataset}))

    @pytest.mark.parametrize(
        ("rows", "words"),
        [
            ([], "has no tasks"),
            ([3], "rows:1: a task or a row was expected; got int"),
            ([ROW, ROW], "rows:2: id: 'a' is the id of line 1, too"),
            ([{"a": 1}], "rows:1: fields of one of the formats"),
            (ROW, "a list of tasks or rows was expected; got a mapping of id, prompt, tests"),
            (3, "a name, a path, or a list of tasks or rows was expected; got int"),
        ],
    )
    def test_what_is_none_is_refused(self, rows, words):
        with pytest.raises(TaskError, match=words):
            load_suite(rows)
