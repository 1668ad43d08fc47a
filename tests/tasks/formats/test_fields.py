import datetime

import numpy as np
import pytest

from code_env.errors import TaskError
from code_env.tasks.formats import fields


@pytest.mark.parametrize(
    ("read", "row", "message"),
    [
        (fields.text, {}, "a: text was expected; got nothing"),
        (fields.text, {"a": None}, "a: text was expected; got NoneType"),
        (fields.optional_text, {"a": 1}, "a: text was expected; got int"),
        (fields.texts, {"a": "x"}, "a: a list of texts was expected; got 'x'"),
        (fields.texts, {"a": ["x", 1]}, "a: a list of texts was expected; got a list of str, int"),
        (fields.json_object, {}, "a: an object, or JSON text of one, was expected; got nothing"),
        (fields.json_object, {"a": "[]"}, "a: an object, or JSON text of one, was expected; got a list of nothing"),
        (fields.json_object, {"a": "{"}, "a: JSON text was expected; got '{': "),
        (fields.json_object, {"a": "[" * 100_000}, "a: JSON text was expected; got '[[["),
        (fields.json_list, {"a": {}}, "a: a list, or JSON text of one, was expected; got dict"),
    ],
)
def test_a_malformed_field_is_refused_by_name(read, row, message):
    with pytest.raises(TaskError) as caught:
        read(row, "a")
    assert str(caught.value).startswith(message)


def test_fields_may_be_json_or_text_of_it():
    assert fields.json_object({"a": '{"b": 1}'}, "a") == fields.json_object({"a": {"b": 1}}, "a") == {"b": 1}
    assert fields.json_list({"a": "[1]"}, "a") == fields.json_list({"a": [1]}, "a") == [1]


@pytest.mark.parametrize("value", [None, [], [{"role": "user"}], [{"content": "a"}, "b"], [{"content": 1}], {}])
def test_a_prompt_that_is_no_text_and_no_chat_is_refused(value):
    with pytest.raises(TaskError, match=r"^prompt: text or a list of chat messages was expected; got "):
        fields.chat_text(value, "prompt")


def test_a_row_without_an_id_has_a_digest_that_depends_on_it_alone():
    one, other = fields.row_id({"a": 1, "b": [2]}), fields.row_id({"b": [2], "a": 1})
    assert one == other != fields.row_id({"a": 1, "b": [3]})
    assert fields.row_id({"id": "", "b": 0}, "id", "b") == "0"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("class Solution:\n    def f(self): ...", "Solution.f"),
        ("# x\n  class Solution(object):", "Solution.f"),
        ("class Solutions:", "f"),
        ("def f(): ...", "f"),
        ("", "f"),
    ],
)
def test_a_class_solution_makes_the_function_a_method(code, expected):
    assert fields.entry_point("f", code) == expected


def test_equal_and_blank_solutions_count_once_and_never():
    assert fields.references(["a", "a", " "]) == {"reference": "a", "metadata": {}}
    assert fields.references(["a", "b"]) == {"reference": "a", "metadata": {"solutions": ["a", "b"]}}
    assert fields.references([]) == {"reference": None, "metadata": {}}


def test_an_id_is_a_number_of_any_kind():
    ids = [7, 7.0, np.int64(7), np.float64(7.0), "7"]
    assert [fields.row_id({"id": value}, "id") for value in ids] == ["7"] * 5
    digests = {fields.row_id({"id": value, "when": datetime.date(2024, 1, 1)}, "id") for value in (7.5, True, None, "")}
    assert {len(digest) for digest in digests} == {16}
    assert len(digests) == 4
