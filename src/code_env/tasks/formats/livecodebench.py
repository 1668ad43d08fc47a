"""LiveCodeBench's code generation: contest problems with public and private tests.

See https://github.com/LiveCodeBench/LiveCodeBench. A row has `question_id`, `question_content`,
`starter_code`, `public_test_cases`, `private_test_cases` and `metadata` (JSON with `func_name`). A test is `{"input",
"output", "testtype"}`. With the type `stdin` the program reads its standard input; with `functional` the test calls a
method of the starter code's class `Solution`, and its input has one JSON value per line. Public tests are public here
too.

Private tests are JSON, or JSON text that was pickled, compressed and encoded as base64. The pickle is never executed:
only the single text in it is read, and anything else in the pickle is an error.
"""

from __future__ import annotations

import base64
import binascii
import pickletools
import zlib
from collections.abc import Mapping
from functools import partial
from typing import Any

from code_env.errors import TaskError

from ..kinds import AnyTest, CallTest, StdinTest
from ..task import Task
from ..usual_imports import USUAL_IMPORTS
from .contest import arguments, function_name
from .fields import (
    entry_point,
    in_each,
    in_field,
    json_list,
    json_object,
    json_value,
    metadata,
    optional_text,
    row_id,
    shape,
    text,
    value_of,
    with_starter,
)
from .tolerance import text_rule, value_rule

MAX_PRIVATE_BYTES = 1 << 30
"""The largest size of one problem's private tests after decompression, in bytes."""

_TEXT_OPCODES = ("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8")
_FRAME_OPCODES = ("PROTO", "FRAME", "MEMOIZE", "BINPUT", "LONG_BINPUT", "STOP")
"""The opcodes that pickling a text writes in addition to the text."""


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether a row has the fields of this format."""
    return {"question_content", "public_test_cases"} <= set(row)


def task_from_row(row: Mapping[str, Any]) -> Task:
    """The task that a row of LiveCodeBench describes.

    Raises:
        TaskError: If a field is missing or malformed.
    """
    statement, starter = text(row, "question_content"), optional_text(row, "starter_code")
    about = json_object(row, "metadata") if row.get("metadata") else {}
    function = in_field("metadata", lambda: function_name(about, "func_name"))
    tests = case_tests(json_list(row, "public_test_cases"), "public_test_cases", statement, hidden=False)
    if row.get("private_test_cases"):
        tests += case_tests(private_cases(row), "private_test_cases", statement)
    if not tests:
        raise TaskError("public_test_cases: at least one test was expected, here or in private_test_cases; got none")
    calls = any(isinstance(test, CallTest) for test in tests)
    if calls and function is None:
        raise TaskError("metadata: func_name was expected, for there are functional tests; got none")
    return Task(
        id=row_id(row, "question_id"),
        prompt=with_starter(statement, starter),
        tests=tuple(tests),
        entry_point=entry_point(function, starter) if calls and function else None,
        prefix=USUAL_IMPORTS,
        metadata=metadata(row, "question_title", "platform", "contest_id", "contest_date", "difficulty"),
    )


def private_cases(row: Mapping[str, Any]) -> list[Any]:
    """The private tests, read from JSON or from the packed form.

    Raises:
        TaskError: If they have neither form.
    """
    value: Any = value_of(row, "private_test_cases", (str, list), "JSON text, packed text or a list")
    if isinstance(value, list) or value.lstrip().startswith("["):
        return json_list(row, "private_test_cases")
    unpacked = in_field("private_test_cases", lambda: _unpack(value))
    return json_list({"private_test_cases": unpacked}, "private_test_cases")


def _unpack(packed: str) -> str:
    try:
        inflate = zlib.decompressobj()
        pickled = inflate.decompress(base64.b64decode(packed, validate=True), MAX_PRIVATE_BYTES)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise TaskError(
            f"JSON text, or base64 of compressed data, was expected; got {shape(packed)}: {error}"
        ) from None
    if not inflate.eof:
        raise TaskError(f"compressed data of at most {MAX_PRIVATE_BYTES} bytes was expected; got more, or a part of it")
    if pickled[:1] != b"\x80":
        return _decoded(pickled)
    return _text_in_pickle(pickled)


def _text_in_pickle(pickled: bytes) -> str:
    """The text in a pickle that holds a single text, read without executing the pickle."""
    found: list[str] = []
    try:
        for opcode, argument, _ in pickletools.genops(pickled):
            if opcode.name in _TEXT_OPCODES:
                found.append(str(argument))
            elif opcode.name not in _FRAME_OPCODES:
                raise TaskError(f"a pickle of one text was expected; got one with {opcode.name}")
    except TaskError:
        raise
    except ValueError as error:  # The pickle ends too early, or is not a pickle.
        raise TaskError(f"a pickle of one text was expected; got {error}") from None
    if len(found) != 1:
        raise TaskError(f"a pickle of one text was expected; got one of {len(found)}")
    return found[0]


def _decoded(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise TaskError(f"text in UTF-8 was expected; got {error}") from None


def case_tests(cases: list[Any], name: str, statement: str, hidden: bool = True) -> list[AnyTest]:
    """The tests that a list of LiveCodeBench's test cases describes.

    Args:
        cases: The list.
        name: The field that contains the list, for messages.
        statement: The problem's text, which may grant a tolerance.
        hidden: Whether the tests are hidden from the policy.

    Raises:
        TaskError: If a test case is malformed.
    """
    return in_each(name, cases, partial(_test, statement=statement, hidden=hidden))


def _test(case: Any, statement: str, hidden: bool) -> AnyTest:
    if not isinstance(case, dict):
        raise TaskError(f"an object was expected; got {shape(case)}")
    kind = case.get("testtype", case.get("type"))
    if kind in ("stdin", "stdin_stdout"):
        given, expected = text(case, "input"), text(case, "output")
        return StdinTest(given, expected, compare=text_rule(statement, "lines"), hidden=hidden)
    if kind == "functional":
        args = in_field("input", lambda: arguments(case.get("input")))
        output = value_of(case, "output", object, "a value")
        value = in_field("output", lambda: json_value(output))
        return CallTest(tuple(args), {}, value, compare=value_rule(statement), hidden=hidden)
    raise TaskError(f"testtype: stdin or functional was expected; got {shape(kind)}")
