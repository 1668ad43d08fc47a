"""Functions that all formats use to read a row's fields; each error message begins with the field's name.

Rows of data sets are read as JSON; they are never evaluated and never unpickled.
"""

from __future__ import annotations

import ast
import hashlib
import json
import numbers
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from code_env.errors import TaskError
from code_env.harness.judge.nodes import parse

_T = TypeVar("_T")
_V = TypeVar("_V")

_MISSING = object()


def in_field(name: str, make: Callable[[], _T]) -> _T:
    """Return what `make` returns; if it fails, the error message begins with the field's name.

    Raises:
        TaskError: If `make` raises it, or the value that it reads is nested too deeply.
    """
    try:
        return make()
    except TaskError as error:
        raise TaskError(f"{name}: {error}") from None
    except RecursionError:
        raise TaskError(f"{name}: nested too deep") from None


def in_each(name: str, values: Iterable[_V], make: Callable[[_V], _T]) -> list[_T]:
    """Return what `make` returns for each value; an error message begins with the field's name and the index.

    Example:
        >>> in_each("outputs", ["1", "2"], int)
        [1, 2]

    Raises:
        TaskError: If `make` raises it.
    """
    return [in_field(f"{name}[{index}]", partial(make, value)) for index, value in enumerate(values)]


def value_of(row: Mapping[str, Any], name: str, kind: type[_T] | tuple[type, ...], what: str) -> _T:
    """The value of a required field, which must have the type `kind`.

    Raises:
        TaskError: If it is missing or of another type.
    """
    value = row.get(name, _MISSING)
    if value is _MISSING or not isinstance(value, kind):
        got = "nothing" if value is _MISSING else type(value).__name__
        raise TaskError(f"{name}: {what} was expected; got {got}")
    return value  # type: ignore[return-value]


def text(row: Mapping[str, Any], name: str) -> str:
    """The value of a required field, which must be text.

    Raises:
        TaskError: If it is not.
    """
    return value_of(row, name, str, "text")


def optional_text(row: Mapping[str, Any], name: str) -> str:
    """The value of an optional field; empty text if the field is missing or null.

    Raises:
        TaskError: If the field exists and is not text.
    """
    return "" if row.get(name) is None else text(row, name)


def texts(row: Mapping[str, Any], name: str) -> list[str]:
    """The value of a field that must be a list of texts; an empty list if the field is missing or null.

    Raises:
        TaskError: If it is anything else.
    """
    value = row.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TaskError(f"{name}: a list of texts was expected; got {shape(value)}")
    return value


def json_value(value: Any) -> Any:
    """The value that JSON text stands for; a value that is not text is returned unchanged.

    Raises:
        TaskError: If it is text that is not JSON.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise TaskError(f"JSON text was expected; got {shape(value)}: {error}") from None


def from_json(value: Any, name: str) -> Any:
    """As `json_value`, for the value of the field `name`.

    Raises:
        TaskError: If it is text that is not JSON; the message begins with the name.
    """
    return in_field(name, lambda: json_value(value))


def json_object(row: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The value of a field that must be an object, or the JSON text of an object.

    Raises:
        TaskError: If it is not.
    """
    value = from_json(row.get(name, _MISSING), name)
    if not isinstance(value, dict):
        raise TaskError(f"{name}: an object, or JSON text of one, was expected; got {shape(value)}")
    return value


def json_list(row: Mapping[str, Any], name: str) -> list[Any]:
    """The value of a field that must be a list, or the JSON text of a list.

    Raises:
        TaskError: If it is not.
    """
    value = from_json(row.get(name, _MISSING), name)
    if not isinstance(value, list):
        raise TaskError(f"{name}: a list, or JSON text of one, was expected; got {shape(value)}")
    return value


def parse_python(code: str, name: str) -> ast.Module:
    """The syntax tree of trusted code: tests, a reference, a prompt; never of an answer.

    Raises:
        TaskError: If it is not Python.
    """
    try:
        return parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise TaskError(f"{name}: Python was expected; got {error or type(error).__name__}") from None


def shape(value: Any) -> str:
    """A short description of a value's type, for a message.

    Example:
        >>> shape(["a", 1])
        'a list of str, int'
    """
    if value is _MISSING:
        return "nothing"
    if isinstance(value, list):
        return f"a list of {', '.join(dict.fromkeys(type(item).__name__ for item in value)) or 'nothing'}"
    if isinstance(value, str):
        return repr(value) if len(value) <= 60 else f"{value[:60]!r}..."
    return type(value).__name__


def row_id(row: Mapping[str, Any], *names: str) -> str:
    """The row's id: the first of these fields that is text or a number; if there is none, a digest of the row.

    With a digest, the id does not depend on the row's position in the file.

    Example:
        >>> row_id({"problem_id": 7}, "problem_id"), row_id({"problem_id": 7.0}, "problem_id")
        ('7', '7')
    """
    for name in names:
        value = row.get(name)
        # Of NumPy or pandas; pandas writes a column of whole numbers with gaps as floats.
        if isinstance(value, bool):
            continue
        if isinstance(value, numbers.Integral) or (isinstance(value, float) and value.is_integer()):
            value = str(int(value))
        if isinstance(value, str) and value:
            return value
    return hashlib.sha256(json.dumps(row, sort_keys=True, default=str).encode()).hexdigest()[:16]


def metadata(row: Mapping[str, Any], *names: str, **more: Any) -> dict[str, Any]:
    """The named fields of the row and the values in `more`, without empty ones."""
    kept = {name: row.get(name) for name in names} | more
    return {name: value for name, value in kept.items() if value not in (None, "", [], {})}


def chat_text(value: Any, name: str) -> str:
    """A prompt as text: the contents of a list of chat messages, or the text itself.

    Example:
        >>> chat_text([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Add."}], "prompt")
        'Be brief.\\n\\nAdd.'

    Raises:
        TaskError: If it is neither.
    """
    if isinstance(value, str):
        return value
    messages = value if isinstance(value, list) else []
    found = [message.get("content") for message in messages if isinstance(message, dict)]
    contents = [content for content in found if isinstance(content, str)]
    if not contents or len(contents) != len(messages):
        raise TaskError(f"{name}: text or a list of chat messages was expected; got {shape(value)}")
    return "\n\n".join(contents)


def with_starter(prompt: str, starter_code: str) -> str:
    """The prompt, followed by the starter code of an answer, if there is any."""
    if not starter_code.strip():
        return prompt
    return f"{prompt.rstrip()}\n\nStart from this code:\n\n```python\n{starter_code.strip()}\n```\n"


_SOLUTION_CLASS = re.compile(r"^[ \t]*class[ \t]+Solution\b", re.MULTILINE)


def entry_point(function: str, *codes: str) -> str:
    """The name by which tests call the function; it is a method if one of the `codes` has a class `Solution`.

    Example:
        >>> entry_point("twoSum", "class Solution:\\n    def twoSum(self, nums): ...")
        'Solution.twoSum'
    """
    return f"Solution.{function}" if any(map(_SOLUTION_CLASS.search, codes)) else function


def references(solutions: Iterable[str]) -> dict[str, Any]:
    """The fields of a task that hold correct solutions; the first solution is the task's reference."""
    known = [solution for solution in dict.fromkeys(solutions) if solution.strip()]
    if not known:
        return {"reference": None, "metadata": {}}
    return {"reference": known[0], "metadata": {"solutions": known} if len(known) > 1 else {}}
