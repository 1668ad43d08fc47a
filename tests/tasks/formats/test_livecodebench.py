import base64
import json
import pickle
import zlib

import pytest

from code_env.errors import TaskError
from code_env.tasks import CallTest, StdinTest
from code_env.tasks.formats import format_of_row, livecodebench
from code_env.tasks.formats.livecodebench import task_from_row

STDIN = {"input": "1 2\n", "output": "3\n", "testtype": "stdin"}
CALL = {"input": '[1, 2]\n"x"', "output": "[3]", "testtype": "functional"}
ROW = {
    "question_title": "A. Sum",
    "question_content": "Print the sum.",
    "platform": "atcoder",
    "question_id": "abc300_a",
    "contest_id": "abc300",
    "contest_date": "2023-04-29T00:00:00",
    "starter_code": "",
    "difficulty": "easy",
    "public_test_cases": json.dumps([STDIN]),
    "private_test_cases": json.dumps([STDIN, {**STDIN, "input": "3 4\n", "output": "7\n"}]),
    "metadata": "{}",
}
STARTER = "class Solution:\n    def add(self, xs: List[int], s: str) -> List[int]:\n        "
CALLED = {
    **ROW,
    "starter_code": STARTER,
    "public_test_cases": json.dumps([CALL]),
    "private_test_cases": "[]",
    "metadata": json.dumps({"func_name": "add"}),
}


def packed(value, protocol=4):
    return base64.b64encode(zlib.compress(pickle.dumps(value, protocol))).decode()


def test_a_row_becomes_its_task():
    task = task_from_row(ROW)
    assert (task.id, task.prompt, task.entry_point) == ("abc300_a", "Print the sum.", None)
    assert task.tests == (
        StdinTest("1 2\n", "3\n", hidden=False),
        StdinTest("1 2\n", "3\n"),
        StdinTest("3 4\n", "7\n"),
    )
    assert task.metadata["difficulty"] == "easy"


def test_functional_tests_call_a_method_of_solution():
    task = task_from_row(CALLED)
    assert task.tests == (CallTest(([1, 2], "x"), expected=[3], hidden=False),)
    assert task.entry_point == "Solution.add"
    assert STARTER.strip() in task.prompt


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize(
    "padding", ["", "é" * 10, "x" * 300, "x" * 100_000], ids=["plain", "accents", "long", "longer"]
)
def test_packed_private_tests_read_like_plain_ones(protocol, padding):
    tests = [{**STDIN, "input": padding}]
    expected = task_from_row({**ROW, "private_test_cases": json.dumps(tests)})
    assert task_from_row({**ROW, "private_test_cases": packed(json.dumps(tests), protocol)}) == expected


def test_private_tests_that_are_compressed_only_are_read():
    value = base64.b64encode(zlib.compress(ROW["private_test_cases"].encode())).decode()
    assert task_from_row({**ROW, "private_test_cases": value}) == task_from_row(ROW)


class Runs:
    def __reduce__(self):
        return (print, ("this must not run",))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Runs(), "a pickle of one text was expected; got one with "),
        ([1], "a pickle of one text was expected; got one with EMPTY_LIST"),
        (["a", "b"], "a pickle of one text was expected; got one with EMPTY_LIST"),
        (b"[]", "a pickle of one text was expected; got one with SHORT_BINBYTES"),
        (None, "a pickle of one text was expected; got one with NONE"),
    ],
    ids=["call", "list", "texts", "bytes", "none"],
)
def test_a_pickle_of_anything_but_a_text_is_refused_and_not_run(value, message, capsys):
    with pytest.raises(TaskError) as caught:
        task_from_row({**ROW, "private_test_cases": packed(value)})
    assert str(caught.value).startswith(f"private_test_cases: {message}")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "pickled",
    [
        b"\x80\x04.",
        b"\x80\x04\x8c\x01a\x8c\x01b.",
        b"\x80\x04\x8c\x05a",
        b"\x80\x04X\xff\xff\xff\x7fa.",
        b"\x80\x04r\xff\xff\xff\x7f.",
    ],
    ids=["nothing", "two-texts", "cut-short", "forged-length", "memo-only"],
)
def test_a_forged_pickle_is_refused(pickled):
    value = base64.b64encode(zlib.compress(pickled)).decode()
    with pytest.raises(TaskError, match=r"^private_test_cases: a pickle of one text was expected; got "):
        task_from_row({**ROW, "private_test_cases": value})


def test_packed_tests_do_not_grow_without_bound(monkeypatch):
    monkeypatch.setattr(livecodebench, "MAX_PRIVATE_BYTES", 1000)
    with pytest.raises(TaskError, match="compressed data of at most 1000 bytes was expected"):
        task_from_row({**ROW, "private_test_cases": packed("x" * 10_000)})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"question_content": 1}, "question_content: text was expected; got int"),
        ({"public_test_cases": "{}"}, "public_test_cases: a list, or JSON text of one, was expected; got dict"),
        ({"public_test_cases": "[1]"}, "public_test_cases[0]: an object was expected; got int"),
        (
            {"public_test_cases": [{**STDIN, "testtype": "file"}]},
            "public_test_cases[0]: testtype: stdin or functional was",
        ),
        ({"public_test_cases": [{**STDIN, "output": 1}]}, "public_test_cases[0]: output: text was expected; got int"),
        (
            {"public_test_cases": [{**CALL, "input": "a"}]},
            "public_test_cases[0]: input: JSON text was expected; got 'a'",
        ),
        (
            {"public_test_cases": [{"input": "1", "testtype": "functional"}]},
            "public_test_cases[0]: output: a value was",
        ),
        ({"public_test_cases": [CALL]}, "metadata: func_name was expected, for there are functional tests; got none"),
        ({"public_test_cases": "[]", "private_test_cases": "[]"}, "public_test_cases: at least one test was expected"),
        (
            {"private_test_cases": "*"},
            "private_test_cases: JSON text, or base64 of compressed data, was expected; got '*'",
        ),
        ({"private_test_cases": "AAAA"}, "private_test_cases: JSON text, or base64 of compressed data, was expected"),
        ({"private_test_cases": packed("{")}, "private_test_cases: JSON text was expected; got '{'"),
        ({"private_test_cases": 5}, "private_test_cases: JSON text, packed text or a list was expected; got int"),
        ({"metadata": "["}, "metadata: JSON text was expected"),
        ({"metadata": {"func_name": 1}}, "metadata: func_name: text was expected; got int"),
    ],
)
def test_a_malformed_row_is_refused(fields, message):
    with pytest.raises(TaskError) as caught:
        task_from_row({**ROW, **fields})
    assert str(caught.value).startswith(message)


def test_a_row_is_known_by_its_fields():
    assert format_of_row(ROW) == "livecodebench"
