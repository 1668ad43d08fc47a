"""Digests of tasks: whether a file of results was made with the same tests."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

from code_env.errors import TaskError

from .formats.code_env import row_from_task
from .task import Task

_SET_TAGS = ("s", "fs")
_MOST_KNOWN = 10_000

_known: dict[int, tuple[Task, str]] = {}
"""Digests by the ids of their tasks, which are kept so that no other object gets the id."""


def task_digest(task: Task) -> str:
    """Return a digest of all that decides a verdict: the same in every process, and another for other tests.

    The reference and `metadata` do not count.

    Example:
        >>> from code_env import OutputTest
        >>> one, other = (Task("x", "Print 1.", (OutputTest(text),)) for text in "12")
        >>> task_digest(one) == task_digest(dataclasses.replace(one, metadata={"a": 1}))
        True
        >>> task_digest(one) == task_digest(other)
        False
    """
    known = _known.get(id(task))
    if known is not None:
        return known[1]
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    digest = hashlib.sha256(_text_of(task).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    _known[id(task)] = task, digest
    return digest


def _text_of(task: Task) -> str:
    try:
        row = row_from_task(dataclasses.replace(task, metadata={}, reference=None))
        return json.dumps(_ordered(row), sort_keys=True)
    except (TaskError, ValueError):  # It has values that no file can hold, and it is the same only as far as this goes.
        return json.dumps([task.id, task.prompt, len(task.tests)])


def _ordered(form: Any) -> Any:
    """Return a form of JSON with the members of sets in an order that does not depend on the process."""
    if isinstance(form, dict):
        ordered = {key: _ordered(value) for key, value in form.items()}
        if len(ordered) == 1 and next(iter(ordered)) in _SET_TAGS:
            return {tag: sorted(members, key=json.dumps) for tag, members in ordered.items()}
        return ordered
    return list(map(_ordered, form)) if isinstance(form, list) else form
