"""Sets what the program has set on functions and exceptions of the tests, when they come back.

A decorator marks the function that it gets, `f.route = "/"`, and a handler adds a note to an exception. The program's
stand-in has the attribute then, and the tests' own object gets it if it is plain data under a name that is new. What
the tests have set themselves, or what the function itself uses, such as the number of its calls, only they change.
"""

from __future__ import annotations

import types
from typing import Any

from ..wire.plain import Decoder, NotPlain
from .handles import Refusals

TRUSTED_CODE = ("<tests>", "<setup>", "<prefix>")
"""The file names under which the code of a task is compiled."""


class ChangesByProgram:
    """The attributes that one answer has set."""

    def __init__(self) -> None:
        self._set: dict[tuple[int, str], Any] = {}

    def set(self, value: Any, attributes: Any) -> None:
        """Set attributes, given as forms; report those that are refused, so that the case fails.

        Raises:
            NotPlain: If the attributes are malformed.
        """
        if type(attributes) is not dict:
            raise NotPlain("malformed attributes")
        for name, form in attributes.items():
            if not self._is_set(value, str(name), form):
                what = f"{str(name)[:100]!r} of the tests' {type(value).__name__}"
                Refusals.tell(f'the program set {what}, which only judge="shared" allows')

    def _is_set(self, value: Any, name: str, form: Any) -> bool:
        try:
            given = Decoder().decode(form)
        except NotPlain:
            return False
        if name == "__notes__" and isinstance(value, Exception):
            return _add_notes(value, given)
        if type(value) is types.FunctionType:
            allowed = value.__code__.co_filename in TRUSTED_CODE and name not in value.__code__.co_names
        else:
            allowed = isinstance(value, Exception)
        if not allowed or not name.isidentifier() or name.startswith(("__", "_code_env")):
            return False
        key = id(value), name  # The objects that the tests have handed over are kept.
        try:
            if hasattr(value, name) and (key not in self._set or getattr(value, name) is not self._set[key]):
                return False
            setattr(value, name, given)
        except Exception:
            return False
        self._set[key] = given
        return True


def _add_notes(error: Exception, notes: Any) -> bool:
    known = getattr(error, "__notes__", [])
    if type(notes) is not list or notes[: len(known)] != known or not all(type(note) is str for note in notes):
        return False
    for note in notes[len(known) :]:
        error.add_note(note)
    return True
