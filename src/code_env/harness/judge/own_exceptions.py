"""The exceptions of one answer: the classes with which its tests catch and make them.

Tests name exception classes of an answer in `except` or `pytest.raises`, or call them to make an exception. A class of
the program does not cross. In its place the tests get a class that is made here from the program's description of it,
and what the program raises is rebuilt as an exception of this class, see `exceptions.py`. If the tests make an
exception, the program makes one with the same arguments, because only its constructor knows the text and the
attributes; the description of that exception fills the one of the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..wire.plain import Decoder
from .exceptions import MAY_BE_EXPECTED, OwnException, classes_to_make, own_exception, rebuilt
from .handing import Handed
from .handles import Handle, HandleMisuse
from .origin import Origin


class OwnExceptions:
    """The exceptions of one answer.

    Args:
        handed: The objects that the program has been handed.
        ask: Sends a request to the program, and returns the reply.
        outcome: Returns the value in a reply, or raises the exception that the reply reports.
        kept: Returns the handle of an exception of the program from its form.
    """

    def __init__(
        self,
        handed: Handed,
        ask: Callable[..., dict[str, Any]],
        outcome: Callable[[dict[str, Any], Origin], Any],
        kept: Callable[[Any], Any],
    ) -> None:
        self._handed, self._ask, self._outcome, self._kept = handed, ask, outcome, kept
        self._classes: dict[str, type[OwnException]] = {}
        self.expected: frozenset[str] = frozenset()
        """Names that the tests use, without those of exceptions that must not end the tests or their loops."""

    def make_classes(self, names: Sequence[str], described: Mapping[str, Any]) -> None:
        """Make the classes of the program's exceptions among these names, which the program has described."""
        for name, bases, builtin_bases, operators in classes_to_make(names, described):
            own = own_exception(name, bases, builtin_bases, operators, self._classes, self._make(name))
            if own is not None:
                self._classes[name] = own

    def named(self, name: str, handle: Handle) -> type[OwnException] | Handle:
        """Return the class with which the tests catch the program's exceptions called `name`; else the handle.

        What is not here of the class is read from its handle.
        """
        kind = self._classes.get(name)
        if kind is None:
            return handle
        kind._code_env_class = handle
        return kind

    def rebuilt(self, raised: dict[str, Any], decoder: Decoder, *, ends_loops: bool = True) -> BaseException:
        """Return an exception that the program raised; without `ends_loops`, never one that ends a loop or the tests.

        Raises:
            NotPlain: If the description is malformed.
        """
        expected = self.expected if ends_loops else self.expected - MAY_BE_EXPECTED
        return rebuilt(raised, decoder, self._classes, self._handed, expected, self._kept)

    def _make(self, name: str) -> Callable[..., dict[str, Any]]:
        """Return a function that has the program make an exception of its class `name`, and returns a description."""

        def make(*args: Any, **kwargs: Any) -> dict[str, Any]:
            form = self._handed.argument
            forms = {"args": [form(arg) for arg in args], "kwargs": {key: form(arg) for key, arg in kwargs.items()}}
            reply = self._ask("make", target=name, **forms)
            made = reply.get("made")
            if isinstance(made, dict):
                return {**made, "object": self._kept(made.get("object"))}
            self._outcome(reply, Origin.RESULT)
            raise HandleMisuse(f"the program's {name} makes no exception")

        return make
