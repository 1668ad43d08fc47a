import base64
import dataclasses
import decimal
import json
import math

import pytest

from code_env.errors import OutputError, TaskError
from code_env.executors.limits import Limits
from code_env.tasks import (
    AssertTest,
    CallTest,
    Comparison,
    OutputTest,
    StdinTest,
    Task,
    TaskSuite,
    load_suite,
    row_from_task,
    save_suite,
)
from code_env.tasks.formats.code_env import task_from_row
from support import files_of_at_most

OUTPUT = {"kind": "output", "expected": "1"}
CALL = {"kind": "call", "args": [1], "expected": 2}


def row(**fields):
    return json.loads(json.dumps({"id": "x", "prompt": "p", "entry_point": "f", "tests": [OUTPUT], **fields}))


def without(name, fields):
    return {key: value for key, value in fields.items() if key != name}


def test_a_row_with_every_field_becomes_its_task():
    fields = {
        "language": "python",
        "setup": "import math",
        "prefix": "def f(x):",
        "reference": "    return x",
        "judge": "objects",
        "files": {"a.txt": "text é", "b/c.bin": {"$bytes": base64.b64encode(b"\0\xff").decode()}},
        "limits": {"cpu_s": 1.5, "processes": 2},
        "metadata": {"difficulty": "easy", "tags": ["a"]},
        "tests": [
            {"kind": "stdin", "stdin": "1", "stdout": "2", "compare": "tokens", "hidden": False, "weight": 2},
            {"kind": "output", "expected": "3"},
            {
                "kind": "call",
                "args": [{"$tuple": [1]}],
                "kwargs": {"k": 1},
                "expected": {"$set": [1]},
                "compare": {"rule": "close", "rel": 0.1},
            },
            {"kind": "assert", "code": "assert f(1) == 1"},
        ],
    }
    assert task_from_row(row(**fields)) == Task(
        id="x",
        prompt="p",
        entry_point="f",
        language="python",
        setup="import math",
        prefix="def f(x):",
        reference="    return x",
        judge="objects",
        files={"a.txt": "text é".encode(), "b/c.bin": b"\0\xff"},
        limits=Limits(cpu_s=1.5, processes=2),
        metadata={"difficulty": "easy", "tags": ["a"]},
        tests=(
            StdinTest(stdin="1", stdout="2", compare="tokens", hidden=False, weight=2),
            OutputTest("3"),
            CallTest(((1,),), {"k": 1}, {1}, compare=Comparison("close", rel=0.1)),
            AssertTest("assert f(1) == 1"),
        ),
    )


def test_a_row_with_the_least_fields_has_the_defaults_of_a_task():
    made = task_from_row({"id": "x", "prompt": "p", "tests": [OUTPUT]})
    assert made == Task("x", "p", (OutputTest("1"),))


@pytest.mark.parametrize(
    ("form", "value"),
    [
        ({"$tuple": [1, [2]]}, (1, [2])),
        ({"$tuple": []}, ()),
        ({"$tuple": [{"$tuple": [1]}, {"$set": [2]}]}, ((1,), {2})),
        ({"$set": [1, 2, 2]}, {1, 2}),
        ({"$set": [{"$tuple": [1, 2]}]}, {(1, 2)}),
        ({"$frozenset": ["a"]}, frozenset({"a"})),
        ({"$dict": [[1, "a"], [{"$tuple": [2, 3]}, "b"]]}, {1: "a", (2, 3): "b"}),
        ({"$dict": []}, {}),
        ({"$dict": [["$tuple", 1]]}, {"$tuple": 1}),
        ({"$bytes": "AP8="}, b"\0\xff"),
        ({"$bytes": ""}, b""),
        ({"$float": "inf"}, math.inf),
        ({"$float": "-inf"}, -math.inf),
        ({"$float": 1}, 1.0),
        ({"$complex": [1, -2]}, 1 - 2j),
        ({"a": {"$tuple": [1]}}, {"a": (1,)}),
        ({"$tuple": [1], "b": 2}, {"$tuple": [1], "b": 2}),
        ({"tuple": [1]}, {"tuple": [1]}),
        ([{"$set": []}], [set()]),
        ({}, {}),
        (None, None),
        (10**30, 10**30),
        ("$tuple", "$tuple"),
    ],
    ids=lambda value: ascii(value)[:60],
)
def test_a_tag_stands_for_a_value_of_another_type(form, value):
    (test,) = task_from_row(row(tests=[{**CALL, "args": [form], "kwargs": {"k": form}, "expected": form}])).tests
    for got in (test.args[0], test.kwargs["k"], test.expected):
        assert (type(got), got) == (type(value), value)


def test_the_float_tag_gives_nan():
    (test,) = task_from_row(row(tests=[{**CALL, "expected": {"$float": "nan"}}])).tests
    assert math.isnan(test.expected)


def nested(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


def call(**fields):
    return row(tests=[{**CALL, **fields}])


MALFORMED = {
    "no id": (without("id", row()), "id: a row needs this field"),
    "no prompt": (without("prompt", row()), "prompt: a row needs this field"),
    "no tests": (without("tests", row()), "tests: a row needs this field"),
    "unknown field": (row(zzzzzz=1), "zzzzzz: a row has no such field"),
    "misspelt field": (row(entrypoint="f"), "entrypoint: a row has no such field; did you mean 'entry_point'?"),
    "misspelt required field": (
        {**without("prompt", row()), "promt": "p"},
        "promt: a row has no such field; did you mean 'prompt'?",
    ),
    "id no text": (row(id=1), "id must be text; got int"),
    "id empty": (row(id=""), "id must not be empty"),
    "prompt null": (row(prompt=None), "prompt must be text; got NoneType"),
    "prompt too long": (row(prompt="a" * 70_000), "prompt has 70000 characters"),
    "reference no text": (row(reference=1), "reference must be text or absent; got int"),
    "judge unknown": (row(judge="guess"), "judge must be one of"),
    "judge a list": (row(judge=["blind"]), "judge must be one of"),
    "tests an object": (row(tests={}), "tests must be a list; got dict"),
    "tests null": (row(tests=None), "tests must be a list; got NoneType"),
    "tests empty": (row(tests=[]), "tests must not be empty"),
    "test a text": (row(tests=[OUTPUT, "a"]), "tests[1]: an object was expected; got str"),
    "no kind": (row(tests=[{}]), "tests[0]: kind must be one of stdin, output, call, assert, checker, cell, "),
    "kind unknown": (row(tests=[OUTPUT, {"kind": "calls"}]), "tests[1]: kind must be one of"),
    "kind a list": (row(tests=[{"kind": ["call"]}]), "tests[0]: kind must be one of"),
    "kind an object": (row(tests=[{"kind": {}}]), "tests[0]: kind must be one of"),
    "test lacks a field": (row(tests=[without("args", CALL)]), "tests[0]: args: a call test needs this field"),
    "test field misspelt": (
        row(tests=[{"kind": "output", "expcted": "1"}]),
        "tests[0]: expcted: a output test has no such field; did you mean 'expected'?",
    ),
    "field of another kind": (
        row(tests=[{**OUTPUT, "kwargs": {}}]),
        "tests[0]: kwargs: a output test has no such field",
    ),
    "compare of an assert": (
        row(tests=[{"kind": "assert", "code": "", "compare": "equal"}]),
        "tests[0]: compare: a assert test has no such field",
    ),
    "stdout no text": (
        row(tests=[{"kind": "stdin", "stdin": "", "stdout": 5}]),
        "tests[0]: stdout must be text; got int",
    ),
    "hidden no bool": (call(hidden=1), "tests[0]: hidden must be true or false; got 1"),
    "weight zero": (call(weight=0), "tests[0]: weight must be a number above 0; got 0"),
    "weight nan": (call(weight=math.nan), "tests[0]: weight must be a finite number above 0; got nan"),
    "weight beyond every float": (call(weight=10**400), "tests[0]: weight must be a number"),
    "compare unknown": (call(compare="lines"), "tests[0]: compare must be one of exact, equal, close"),
    "compare null": (call(compare=None), "tests[0]: compare must be one of"),
    "tolerance negative": (call(compare={"rule": "close", "rel": -1}), "tests[0]: compare.rel must be a number"),
    "tolerance beyond every float": (
        call(compare={"rule": "close", "rel": 10**400}),
        "tests[0]: compare.rel must be a number",
    ),
    "compare with other fields": (
        call(compare={"rule": "close", "eps": 1}),
        "tests[0]: compare takes rule, rel and abs",
    ),
    "args an object": (call(args={"a": 1}), "tests[0]: args must be a list; got dict"),
    "args too deep": (call(args=[nested(250)]), "tests[0]: args must be plain data"),
    "args far too deep": (call(args=[nested(700)]), "tests[0]: args"),
    "expected far too deep": (call(expected=nested(700)), "tests[0]: expected"),
    "kwargs a list": (call(kwargs=[]), "tests[0]: kwargs must be an object with text keys"),
    "kwargs with other keys": (call(kwargs={"$dict": [[1, 2]]}), "tests[0]: kwargs must be an object with text keys"),
    "call without entry point": (
        without("entry_point", call()),
        "tests[0] calls the entry point, and entry_point is missing",
    ),
    "tag unknown": (call(args=[{"$list": []}]), "tests[0]: args: unknown tag '$list'; known are $tuple, $set"),
    "tag unknown in expected": (call(expected=[{"$x": 1}]), "tests[0]: expected: unknown tag '$x'"),
    "tuple of a number": (call(expected={"$tuple": 1}), "tests[0]: expected: $tuple: "),
    "tuple of text": (call(expected={"$tuple": "ab"}), "tests[0]: expected: $tuple: "),
    "set of text": (call(expected={"$set": "ab"}), "tests[0]: expected: $set: "),
    "set of lists": (call(expected={"$set": [[1]]}), "tests[0]: expected: $set: "),
    "dict of singles": (call(expected={"$dict": [[1]]}), "tests[0]: expected: $dict: "),
    "dict with a list as key": (call(expected={"$dict": [[[1], 2]]}), "tests[0]: expected: $dict: "),
    "bytes not base64": (call(expected={"$bytes": "a*"}), "tests[0]: expected: $bytes: "),
    "bytes a number": (call(expected={"$bytes": 1}), "tests[0]: expected: $bytes: "),
    "bytes beyond ascii": (call(expected={"$bytes": "é"}), "tests[0]: expected: $bytes: "),
    "float of text": (call(expected={"$float": "one"}), "tests[0]: expected: $float: "),
    "float of null": (call(expected={"$float": None}), "tests[0]: expected: $float: "),
    "float of an int beyond it": (call(expected={"$float": 10**400}), "tests[0]: expected: $float: "),
    "complex of three": (call(expected={"$complex": [1, 2, 3]}), "tests[0]: expected: $complex: "),
    "complex of an int beyond it": (call(expected={"$complex": [10**400, 0]}), "tests[0]: expected: $complex: "),
    "code no python": (row(tests=[{"kind": "assert", "code": "assert ("}]), "tests[0]: code must be Python: "),
    "files a list": (row(files=[]), "files: an object was expected; got list"),
    "file a number": (row(files={"a": 1}), 'files: a: text or {"$bytes": ...} was expected; got int'),
    "file not base64": (row(files={"a": {"$bytes": "*"}}), "files: "),
    "file of a lone surrogate": (row(files={"a": "\ud800"}), "files: a: "),
    "file outside the directory": (row(files={"../a": "x"}), "files"),
    "file with an absolute path": (row(files={"/a": "x"}), "files"),
    "limits a number": (row(limits=5), "limits: an object was expected; got int"),
    "limit unknown": (row(limits={"cpu": 1}), "limits: unknown limit 'cpu'; known are cpu_s"),
    "limit zero": (row(limits={"cpu_s": 0}), "limits: limits.cpu_s must be"),
    "limit no whole number": (row(limits={"memory_bytes": 1.5}), "limits: limits.memory_bytes must be"),
    "limit beyond every float": (row(limits={"cpu_s": 10**400}), "limits: limits.cpu_s must be"),
    "limit a text": (row(limits={"wall_s": "1"}), "limits: limits.wall_s must be"),
    "limit null": (row(limits={"processes": None}), "limits: limits.processes must be"),
    "metadata a list": (row(metadata=[]), "metadata: an object was expected; got list"),
}


@pytest.mark.parametrize(("malformed", "message"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_row_is_refused_with_its_field(malformed, message):
    with pytest.raises(TaskError) as caught:
        task_from_row(malformed)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("name", ["entry_point", "reference"])
def test_null_stands_for_an_absent_text(name):
    assert getattr(task_from_row(row(**{name: None})), name) is None


EVERY_VALUE = [
    None,
    True,
    0,
    -(10**30),
    1.5,
    -0.0,
    1e300,
    math.inf,
    -math.inf,
    "",
    "é\ud800\0\n",
    "$tuple",
    b"",
    b"\0\xff",
    1 - 2j,
    complex(math.inf, -0.0),
    [],
    [1, [2]],
    (),
    (1, [2, (3,)]),
    set(),
    {1, 2},
    {(1, 2), "a", None},
    frozenset({1}),
    {frozenset({1})},
    {},
    {"a": (1,), "b": {2}},
    {"$tuple": [1]},
    {"$tuple": [1], "b": 2},
    {"": {"$x": 1}},
    {1: "a", (2, 3): "b", None: 0},
    {"a": 1, 1: 2},
]


@pytest.mark.parametrize("value", EVERY_VALUE, ids=lambda value: type(value).__name__)
def test_every_kind_of_value_survives_a_round_trip(value):
    test = CallTest((value, [value]), {"k": value, "$tuple": value}, value)
    task = Task("x", "p", (test, CallTest((), {"$set": value}, [value])), entry_point="f")
    again = task_from_row(json.loads(json.dumps(row_from_task(task))))
    assert again == task
    assert repr(again.tests[0].expected) == repr(value) or isinstance(value, set | frozenset)
    assert type(again.tests[0].expected) is type(value)


def test_nan_survives_a_round_trip():
    task = Task("x", "p", (CallTest((math.nan, complex(math.nan, 1)), {}, [math.nan]),), entry_point="f")
    (test,) = task_from_row(json.loads(json.dumps(row_from_task(task)))).tests
    assert [math.isnan(test.args[0]), math.isnan(test.args[1].real), math.isnan(test.expected[0])] == [True] * 3


EVERY_TASK = {
    "least": Task("x", "p", (OutputTest("1"),)),
    "every field": Task(
        "x",
        "p",
        (
            StdinTest("1", "2", compare="tokens", hidden=False, weight=2),
            StdinTest("1", "2", compare=Comparison("numbers", rel=0, abs=1e-3)),
            OutputTest("3", compare=Comparison("lines", rel=0.5)),
            CallTest((1,), {"k": (1,)}, {1}, compare="unordered"),
            CallTest((), {}, None, compare=Comparison("close", rel=0.1), weight=0.5),
            CallTest((), {}, None, compare=Comparison("close", abs=0.5)),
            AssertTest("assert f(1) == 1", hidden=False),
        ),
        entry_point="f",
        language="python3",
        setup="import math",
        reference="    return x",
        files={"a.txt": "text é\ufeff".encode(), "b/c.bin": b"\0\xff", "empty": b""},
        limits=Limits(cpu_s=1.5, processes=2),
        judge="shared",
        metadata={"difficulty": "easy", "tags": ["a", {"b": None}], "$tuple": 1.5},
        prefix="def f(x):",
    ),
    "empty texts": Task("x", "", (AssertTest("assert f"),), entry_point="", reference="", language=""),
}


@pytest.mark.parametrize("task", EVERY_TASK.values(), ids=EVERY_TASK)
@pytest.mark.parametrize("name", ["suite.jsonl", "suite.jsonl.gz"])
def test_every_field_survives_a_round_trip(task, name, tmp_path):
    assert task_from_row(row_from_task(task)) == task
    other = dataclasses.replace(task, id="y")
    save_suite(TaskSuite("s", [task, other]), tmp_path / name)
    assert list(load_suite(tmp_path / name)) == [task, other]


def test_what_is_the_default_is_left_out():
    assert row_from_task(EVERY_TASK["least"]) == {"id": "x", "prompt": "p", "tests": [OUTPUT]}
    row = row_from_task(EVERY_TASK["every field"])
    assert row["limits"] == {"cpu_s": 1.5, "processes": 2}
    assert row["files"] == {"a.txt": "text é\ufeff", "b/c.bin": {"$bytes": "AP8="}, "empty": ""}
    assert row["tests"][1]["compare"] == {"rule": "numbers", "rel": 0, "abs": 1e-3}
    assert "compare" not in row["tests"][6]


def test_the_same_tasks_make_the_same_file(tmp_path):
    task = Task("x", "p", (CallTest(({"b", "a", "c", 1},), expected=1),), entry_point="f")
    files = [tmp_path / name for name in ("a.jsonl.gz", "b.jsonl.gz")]
    for file in files:
        save_suite([task], str(file))
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"tests": (CallTest((), {}, [decimal.Decimal(1)]),)},
            "tests[0]: expected: a value of a type that JSON lines have",
        ),
        ({"tests": (CallTest((bytearray(b"a"),), {}, 1),)}, "tests[0]: args: a value of a type that JSON lines have"),
        ({"tests": (CallTest((), {"k": range(3)}, 1),)}, "tests[0]: kwargs: a value of a type that JSON lines have"),
        ({"metadata": {"a": (1,)}}, "metadata: lists, objects with text keys, texts, numbers and null were expected"),
        ({"metadata": {"a": {1: 2}}}, "metadata: lists, objects with text keys, texts, numbers and null were expected"),
    ],
)
def test_a_value_without_a_form_is_refused_and_nothing_is_written(fields, message, tmp_path):
    task = Task(**{"id": "x", "prompt": "p", "tests": (OutputTest("1"),), "entry_point": "f", **fields})
    with pytest.raises(TaskError) as caught:
        row_from_task(task)
    assert str(caught.value).startswith(message)
    with pytest.raises(TaskError) as caught:
        save_suite([EVERY_TASK["least"], task], tmp_path / "suite.jsonl")
    assert str(caught.value).startswith(f"task 'x': {message}")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_costs_no_suite(tmp_path):
    path = tmp_path / "suite.jsonl"
    save_suite([EVERY_TASK["least"]], path)
    before = path.read_bytes()
    with files_of_at_most(10), pytest.raises(OutputError, match=r"cannot be written: .*File too large"):
        save_suite([EVERY_TASK["every field"]], path)
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (before, [path])


def test_an_integer_too_long_for_json_is_refused(tmp_path):
    task = Task("x", "p", (CallTest((10**5000,), {}, 1),), entry_point="f")
    with pytest.raises(TaskError, match=r"^task .x.: .*digits"):
        save_suite([task], tmp_path / "suite.jsonl")


def test_the_starter_suite_survives_a_round_trip(tmp_path):
    save_suite(load_suite("starter"), tmp_path / "starter.jsonl")
    assert load_suite(tmp_path / "starter.jsonl") == load_suite("starter")


def test_a_suite_in_another_format_can_be_saved(tmp_path, data):
    for path in ("humaneval/HumanEval.jsonl.gz", "stdin_stdout/coding-competitions-archive"):
        suite = load_suite(data / path)
        save_suite(suite, tmp_path / "suite.jsonl")
        assert list(load_suite(tmp_path / "suite.jsonl")) == list(suite)


def test_tests_of_an_unknown_language_are_refused_as_that():
    row = {"id": "a", "prompt": "p", "language": "typescript", "tests": [{"kind": "assert", "code": "assert(1===1)"}]}
    words = r"tests\[0\]: assert tests are for python, javascript, not for the task's language 'typescript'; taken as"
    with pytest.raises(TaskError, match=words):
        task_from_row(row)
