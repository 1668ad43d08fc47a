"""Rebuilds exceptions of the program for the tests, from the description that its process sends; see `raising.py`.

The description is data, and the program's process is not trusted. The description selects a class that is here already:
a builtin class, a class of the standard library that the tests have imported, a class that the tests handed over, or
the class made here for an exception class of the program that the tests name. For any other class of the program, a
subclass of its builtin bases is made; it shows the text that the program's class gave, and nothing else of that class
is here. Only constructors of builtin classes and of the tests' own classes run.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..process.limits import MAX_TEXT
from ..wire.plain import Decoder
from .handing import TEXT, Handed

_ENDS_OF_LOOPS = (StopIteration, StopAsyncIteration)
"""Exceptions of the program that must not end a loop in the tests."""

_MAY_BE_EXPECTED = (SystemExit, *_ENDS_OF_LOOPS)


class ProgramError(Exception):
    """An exception of the program that no builtin class can represent."""


class OwnException(Exception):
    """An exception of the program under the name of its own class; see `own_exception`."""

    text = ""
    attributes: dict[str, Any]
    builtin: type[Exception]
    make: Callable[..., dict[str, Any]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _fill(self, type(self).make(*args, **kwargs), Decoder())

    def __str__(self) -> str:
        return self.text

    def __getattr__(self, name: str) -> Any:
        try:
            return vars(self)["attributes"][name]
        except KeyError:
            raise AttributeError(f"the program's {type(self).__name__} has no plain attribute {name!r}") from None


def classes_to_make(names: Sequence[str], described: Mapping[str, Any]) -> list[tuple[str, list[Any], list[Any]]]:
    """Return the first three arguments of `own_exception` for each exception class among these names, bases first.

    Args:
        names: Names that the tests use.
        described: The program's description of each exception class among them; a malformed one is left out.
    """
    found = [(name, *described[name]) for name in names if _is_pair_of_lists(described.get(name))]
    return sorted(found, key=lambda one: len(one[1]))


def _is_pair_of_lists(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(one, list) for one in value)


def own_exception(
    name: str,
    bases: list[Any],
    builtin_bases: list[Any],
    known: Mapping[str, type[OwnException]],
    make: Callable[..., dict[str, Any]],
) -> type[OwnException] | None:
    """Make the class with which tests catch the program's exceptions of that name; None if it cannot be made.

    Args:
        name: The name of the program's class.
        bases: The names of its bases, up to the nearest builtin class.
        builtin_bases: The names of its builtin bases, the nearest first.
        known: The classes that this function has made already, by name.
        make: Called with arguments of the tests; returns the program's description of an exception made with them.
    """
    kinds = _builtin_classes(builtin_bases)
    # An exception that ends loops would end loops of the tests (PEP 479).
    if not kinds or kinds[0].__name__ != builtin_bases[0]:
        return None
    own = [known[base] for base in map(str, bases) if base in known and issubclass(known[base].builtin, kinds[0])]
    parents = [own[0] if own else OwnException, *(kind for kind in kinds if not own or not issubclass(own[0], kind))]
    members = {"builtin": kinds[0], "make": staticmethod(make), "_code_env_target": name}
    with contextlib.suppress(TypeError):  # Some builtin classes cannot be bases together.
        made: type[OwnException] = type(name, tuple(parents), members)
        made.__new__(made)
        return made
    return type(name, tuple(own[:1]) or (OwnException, kinds[0]), members)


def _builtin_classes(names: Any) -> list[type[Exception]]:
    """Return the builtin exception classes with these names, without those that end loops."""
    found = [getattr(builtins, str(name), None) for name in (names if isinstance(names, list) else ())]
    kinds = [kind for kind in found if isinstance(kind, type) and issubclass(kind, Exception)]
    return [kind for kind in kinds if not issubclass(kind, _ENDS_OF_LOOPS)]


class _Text:
    """Shows the text that the program's class gave, where its builtin base would show another."""

    def __str__(self) -> str:
        text = vars(self).get(TEXT)
        return super().__str__() if text is None else str(text)


@functools.lru_cache(maxsize=200)
def _unnamed(name: str, kinds: tuple[type[Exception], ...]) -> type[Exception]:
    """Return the class of exceptions of a class that the tests do not name, with these builtin bases."""
    if not name.isidentifier() or len(name) > _LONGEST_NAME:
        name = kinds[0].__name__
    members = {"__module__": "solution", "_code_env_builtin": kinds[0]}
    try:
        return type(name, (_Text, *kinds), members)
    except TypeError:  # Some builtin classes cannot be bases together.
        return type(name, (_Text, kinds[0]), members)


_LONGEST_NAME = 100
"""The longest name of a class that the program chooses, in characters."""


def _of_unnamed_class(error: BaseException, raised: dict[str, Any], args: list[Any] | None) -> BaseException:
    """Return an exception of the program's class, given one of its nearest builtin class, if it can be made."""
    message = str(raised.get("message"))
    kinds = _builtin_classes(raised.get("builtins", [raised.get("builtin")]))
    if not kinds or not isinstance(error, kinds[0]) or isinstance(error, BaseExceptionGroup):
        return error
    with contextlib.suppress(Exception):  # The class takes other arguments, or an argument has no text.
        made = _unnamed(str(raised.get("name")), tuple(kinds))(*(args if args is not None else [message]))
        if len(message) <= MAX_TEXT and str(made) != message:  # Longer ones have been cut.
            vars(made)[TEXT] = message
        return made
    return error


def rebuilt(
    raised: dict[str, Any],
    decoder: Decoder,
    own: Mapping[str, type[OwnException]],
    handed: Handed,
    expected: frozenset[str] = frozenset(),
) -> BaseException:
    """Return the exception that a call raised.

    Args:
        raised: The description of the exception.
        decoder: Rebuilds its arguments.
        own: Classes for the program's own exceptions, by name.
        handed: The objects that the program has been handed.
        expected: Names of classes that may end the tests, or a loop of the tests, because the tests look for them.

    Raises:
        NotPlain: If the description is malformed.
    """
    if "m" in raised:
        error = handed.given(raised["m"])
        if isinstance(error, Exception):
            return error
    error = _made(raised, decoder, own, handed, expected)
    notes = raised.get("notes")
    for note in notes if isinstance(notes, list) else ():
        error.add_note(str(note))
    cause = raised.get("cause")
    if isinstance(cause, dict):
        error.__cause__ = rebuilt({**cause, "cause": None}, decoder, own, handed)
    return error


def _made(
    raised: dict[str, Any],
    decoder: Decoder,
    own: Mapping[str, type[OwnException]],
    handed: Handed,
    expected: frozenset[str],
) -> BaseException:
    form = raised.get("args")
    args = None if form is None else decoder.items(form, 0)
    error = _as_builtin(raised, args, expected)
    if "given" in raised:
        kind = handed.given(raised["given"])
        if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, _ENDS_OF_LOOPS):
            with contextlib.suppress(Exception):  # The class takes other arguments than it keeps.
                return kind(*args or ())
    classes = raised.get("classes")
    for name in classes if isinstance(classes, list) else ():
        found = own.get(name) if isinstance(name, str) else None
        if found is not None and isinstance(error, (found.builtin, ProgramError)):
            known = found.__new__(found)
            _fill(known, raised, decoder)
            return known
    standard = raised.get("standard")
    if isinstance(standard, list) and len(standard) == 2:
        kind = _standard_exception(*standard)
        if kind is not None and (type(error) in kind.__mro__ or isinstance(error, ProgramError)):
            error = kind.__new__(kind)
            error.args = tuple(args or [str(raised.get("message"))])
    group = raised.get("group")
    if isinstance(group, list) and group and type(error) in (ProgramError, ExceptionGroup):
        made = [rebuilt(part, decoder, own, handed) for part in group if isinstance(part, dict)]
        parts = [part for part in made if isinstance(part, Exception)]
        if len(parts) == len(group) and raised.get("builtin") == "ExceptionGroup":
            error = ExceptionGroup(str((args or [""])[0]), parts)
    if isinstance(classes, list) and type(error).__module__ == "builtins":
        error = _of_unnamed_class(error, raised, args)
    _set_attributes(error, raised.get("attributes"))
    return error


def _standard_exception(module: Any, name: Any) -> type[Exception] | None:
    """Return an exception class of the standard library if its module is loaded here; otherwise None."""
    if not isinstance(module, str) or not isinstance(name, str) or name[:1] == "_":
        return None
    if module.partition(".")[0] not in sys.stdlib_module_names or module.partition(".")[0] in _NOT_RAISED:
        return None
    kind = vars(sys.modules.get(module, builtins)).get(name)
    if not isinstance(kind, type) or not issubclass(kind, Exception):
        return None
    return None if issubclass(kind, _ENDS_OF_LOOPS) else kind


_NOT_RAISED = frozenset(("builtins", "unittest", "doctest", "bdb", "pdb"))
"""Modules whose exceptions control how tests run."""


def _fill(error: OwnException, raised: dict[str, Any], decoder: Decoder) -> None:
    form, attributes = raised.get("args"), raised.get("attributes")
    message = str(raised.get("message"))
    args = (message,) if form is None else tuple(decoder.items(form, 0))
    error.attributes = {}
    if isinstance(error, OSError) and 2 <= len(args) <= 5:
        error.errno, error.strerror, error.filename = (*args, None)[:3]
        args = args[:2]
    error.args, error.text = args, message
    if isinstance(attributes, dict):
        error.attributes = {str(name): Decoder().decode(value) for name, value in attributes.items()}


def _set_attributes(error: BaseException, attributes: Any) -> None:
    """Set the attributes that the program set on its exception, except where the class gives them a value already."""
    for name, form in attributes.items() if isinstance(attributes, dict) else ():
        has_no_value = getattr(error, name, None) is None
        if str(name).isidentifier() and not name.startswith("__") and has_no_value:
            with contextlib.suppress(AttributeError, TypeError):
                setattr(error, name, Decoder().decode(form))


def _as_builtin(
    raised: dict[str, Any], args: list[Any] | None, expected: frozenset[str] = frozenset()
) -> BaseException:
    """Return the exception that a call raised, as an exception of the nearest builtin class.

    Exits and interrupts become a `ProgramError`, because they must not end the tests' own process. The end of a loop
    becomes a `RuntimeError`, as in a generator (PEP 479). If the tests look for one of these, they get it unchanged.
    """
    kind = getattr(builtins, str(raised.get("builtin")), None)
    name, message = str(raised.get("name")), str(raised.get("message"))
    may_be = isinstance(kind, type) and kind.__name__ in expected and issubclass(kind, _MAY_BE_EXPECTED)
    if not (isinstance(kind, type) and (issubclass(kind, Exception) or may_be)):
        return ProgramError(f"{name}: {message}")
    if issubclass(kind, _ENDS_OF_LOOPS) and not may_be:
        return RuntimeError(f"the program raised {name}")
    try:
        error: BaseException = kind(*(args if args is not None else [message]))
    # The class takes other arguments, or the description is forged.
    except Exception:
        return ProgramError(f"{name}: {message}")
    return error
