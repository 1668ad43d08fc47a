"""Rebuilds exceptions of the program for the tests, from the description that its process sends; see `raising.py`.

The description is data, and the program's process is not trusted. The description selects classes that are here
already: builtin classes, classes of the standard library that the tests have imported, classes of imported packages
that the tests name, a class that the tests handed over, and the classes made here for exception classes of the program
that the tests name. For any other class of the program, a subclass of those that it derives from is made; it shows the
text that the program's class gave. What is not data (methods, properties, attributes that hold objects) is read from
the program's exception, whose handle comes along. Only constructors of builtin classes and of the tests' own classes
run.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ..process.limits import MAX_TEXT
from ..wire.plain import Decoder, NotPlain
from ..wire.shapes import class_named
from .handing import ATTRIBUTES, KEPT, TEXT, Handed
from .of_program import OfProgram, known_operators, methods

_ENDS_OF_LOOPS = (StopIteration, StopAsyncIteration)
"""Exceptions of the program that must not end a loop in the tests."""

_MAY_BE_EXPECTED = (SystemExit, *_ENDS_OF_LOOPS)

MAY_BE_EXPECTED = frozenset(kind.__name__ for kind in _MAY_BE_EXPECTED)
"""Names of exceptions that could end the tests or their loops. They arrive as themselves if the tests look for them."""

_Error = TypeVar("_Error", bound=BaseException)

_LEVELS = 3
"""How far causes and contexts are rebuilt."""


class ProgramError(Exception):
    """An exception of the program that no builtin class can represent."""


class OwnException(OfProgram):
    """An exception of a class of the program that the tests name; see `own_exception`."""

    _code_env_builtin: type[Exception]
    _code_env_make: Callable[..., dict[str, Any]]
    _code_env_derived: dict[tuple[Any, ...], type[OwnException]]
    """Classes of the program that derive from this class and that the tests do not name, by name and bases."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _fill(self, type(self)._code_env_make(*args, **kwargs), Decoder())


def classes_to_make(
    names: Sequence[str], described: Mapping[str, Any]
) -> list[tuple[str, list[Any], list[Any], list[Any]]]:
    """Return the first four arguments of `own_exception` for each exception class among these names, bases first.

    Args:
        names: Names that the tests use.
        described: The program's description of each exception class among them; a malformed one is left out.
    """
    found = [(name, *described[name]) for name in names if _is_three_lists(described.get(name))]
    return sorted(found, key=lambda one: len(one[1]))


def _is_three_lists(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(isinstance(one, list) for one in value)


def own_exception(
    name: str,
    bases: list[Any],
    builtin_bases: list[Any],
    operators: list[Any],
    known: Mapping[str, type[OwnException]],
    make: Callable[..., dict[str, Any]],
) -> type[OwnException] | None:
    """Make the class with which tests catch the program's exceptions of that name; None if it cannot be made.

    Args:
        name: The name of the program's class.
        bases: The names of its bases that are not builtin.
        builtin_bases: The names of its builtin bases, the nearest first.
        operators: The names of the special methods that it and its bases define, without underscores.
        known: The classes that this function has made already, by name.
        make: Called with arguments of the tests; returns the program's description of an exception made with them.
    """
    kinds = _builtin_classes(builtin_bases)
    # An exception that ends loops would end loops of the tests (PEP 479).
    if not kinds or kinds[0].__name__ != builtin_bases[0]:
        return None
    own = [known[base] for base in map(str, bases) if base in known]
    members = {"_code_env_builtin": kinds[0], "_code_env_make": staticmethod(make), "_code_env_target": name}
    return _new_class(name, [*(own or [OwnException]), *kinds], members | methods(known_operators(operators)))


def _new_class(name: str, bases: Sequence[type[Any]], members: dict[str, Any]) -> type[Any]:
    """Return a new class that derives from these classes; from the first ones only, if not all can be bases together.

    Some builtin classes exclude one another.
    """
    bases = [base for base in bases if not any(base in other.__mro__[1:] for other in bases)]
    for several in (bases, bases[:2], bases[:1]):
        with contextlib.suppress(TypeError):
            made = type(name, tuple(several), members | {"_code_env_derived": {}})
            _bare(made, ExceptionGroup("", [ValueError()]))
            break
    return made


def _new(kind: type[_Error], args: list[Any]) -> _Error:
    """Return an exception of a class, made with these arguments.

    Raises:
        Exception: If the class takes other arguments.
    """
    # Python shows such an error with what stands at that position, and does not check whether it is below zero.
    if issubclass(kind, UnicodeError):
        for one in args:
            if hasattr(type(one), "__index__") and operator.index(one) < 0:
                raise ValueError("a position before the text")
    return kind(*args)


def _bare(kind: type[_Error], like: BaseException) -> _Error:
    """Return an exception of a class without calling its constructor; the members of a group are those of `like`."""
    parts = (like.message, like.exceptions) if isinstance(like, ExceptionGroup) and issubclass(kind, type(like)) else ()
    return kind.__new__(kind, *parts)


def _builtin_classes(names: Any) -> list[type[Exception]]:
    """Return the builtin exception classes with these names, without those that end loops."""
    found = [getattr(builtins, str(name), None) for name in (names if isinstance(names, list) else ())]
    kinds = [kind for kind in found if isinstance(kind, type) and issubclass(kind, Exception)]
    return [kind for kind in kinds if not issubclass(kind, _ENDS_OF_LOOPS)]


@functools.lru_cache(maxsize=200)
def _unnamed(name: str, kinds: tuple[type[Exception], ...], operators: tuple[str, ...]) -> type[Exception]:
    """Return the class of exceptions of a class that the tests do not name, with these bases."""
    members = {"__module__": "solution", "_code_env_builtin": kinds[0], **methods(operators)}
    return _new_class(name, (OfProgram, *kinds), members)


_LONGEST_NAME = 100
"""The longest name of a class that the program chooses, in characters."""


def _name_in(raised: dict[str, Any], otherwise: type[Exception]) -> str:
    name = str(raised.get("name"))
    return name if name.isidentifier() and len(name) <= _LONGEST_NAME else otherwise.__name__


def _own_class(
    raised: dict[str, Any], own: list[type[OwnException]], others: list[type[Exception]]
) -> type[OwnException]:
    """Return the class of an exception whose class derives from `own`, which the tests name, and from `others`."""
    nearest, name = own[0], _name_in(raised, own[0])
    further = [kind for kind in (*own, *others) if not issubclass(nearest, kind)]
    if nearest.__name__ == name and not further:
        return nearest
    operators = known_operators(raised.get("operators"))
    known, key = nearest._code_env_derived, (name, operators, *further)
    if key not in known:
        if len(known) >= 100:  # A program that invents classes must not fill the judge's memory.
            known.clear()
        members = {"_code_env_builtin": nearest._code_env_builtin, "_code_env_target": nearest.__name__}
        known[key] = _new_class(name, [nearest, *further], members | methods(operators))
    return known[key]


def _of_unnamed_class(
    error: BaseException, raised: dict[str, Any], args: list[Any] | None, library: type[Exception] | None
) -> BaseException:
    """Return an exception of the program's class, given one of its nearest builtin class, if it can be made.

    Args:
        error: The exception of the builtin class.
        raised: The description of the exception.
        args: Its arguments.
        library: The nearest class that it derives from and that is no class of the program, if it is known here.
    """
    message = str(raised.get("message"))
    kinds = _builtin_classes(raised.get("builtins", [raised.get("builtin")]))
    if not kinds or not isinstance(error, (kinds[0], ProgramError)) or isinstance(error, BaseExceptionGroup):
        return error
    whole = len(message) <= MAX_TEXT  # Longer ones have been cut.
    if library is not None and raised.get("name") == library.__name__:
        with contextlib.suppress(Exception):  # Only its constructor can make an exception of this class.
            exact = library.__new__(library)
            _set_arguments(exact, raised, args)
            _set_attributes(exact, raised.get("attributes"))
            if not whole or _shows(exact, message):
                return exact
    bases, operators = tuple([library, *kinds] if library else kinds), known_operators(raised.get("operators"))
    made = _unnamed(_name_in(raised, kinds[0]), bases, operators)
    with contextlib.suppress(Exception):  # The class takes other arguments.
        if library is not None:
            error = made.__new__(made)
            _set_arguments(error, raised, args)
        else:
            error = _new(made, args if args is not None else [message])
        if whole and not _shows(error, message):
            vars(error)[TEXT] = message
    return error


def _shows(error: BaseException, message: str) -> bool:
    try:
        return str(error) == message
    except Exception:  # An argument has no text, or the class looks for an attribute that its constructor sets.
        return False


_NOT_RAISED = frozenset(
    (
        *("builtins", "unittest", "doctest", "bdb", "pdb", "pytest", "_pytest", "hypothesis"),
        *("tests", "solution", "__main__", "code_env", "code_env_harness"),
    )
)
"""Modules whose exceptions control how tests run, or belong to the task or to this package."""


def _library_class(names: Any, expected: frozenset[str]) -> type[Exception] | None:
    """Return the first of the named classes that is a known class of exceptions; None if there is none.

    A class is known if its module is loaded here, and if it belongs to the standard library or the tests name it.

    Args:
        names: The modules and the names.
        expected: The names that the tests use.
    """
    for one in names if isinstance(names, list) else ():
        if not isinstance(one, list) or list(map(type, one)) != [str, str]:
            continue
        root, short = one[0].partition(".")[0], one[1].rpartition(".")[2]
        may_be = short in expected or root in sys.stdlib_module_names
        kind = class_named(*one) if may_be and root not in _NOT_RAISED and short[:1] != "_" else None
        if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, _ENDS_OF_LOOPS):
            return kind
    return None


def rebuilt(
    raised: dict[str, Any],
    decoder: Decoder,
    own: Mapping[str, type[OwnException]],
    handed: Handed,
    expected: frozenset[str] = frozenset(),
    kept: Callable[[Any], Any] = lambda form: None,
    levels: int = _LEVELS,
) -> BaseException:
    """Return the exception that a call raised.

    Args:
        raised: The description of the exception.
        decoder: Rebuilds its arguments.
        own: Classes for the program's own exceptions, by name.
        handed: The objects that the program has been handed.
        expected: The names that the tests use. Exceptions that could end the tests, or a loop of them, become others
            unless their classes are among these names.
        kept: Returns the handle of the program's exception from its form.
        levels: How far causes and contexts are rebuilt.

    Raises:
        NotPlain: If the description is malformed.
    """
    if "m" in raised:
        known = handed.come_back(raised["m"])
        if isinstance(known, Exception):
            if levels and isinstance(raised.get("cause"), dict):
                known.__cause__ = rebuilt(raised["cause"], decoder, own, handed, expected, kept, levels - 1)
            return known
    error = _made({**raised, "object": kept(raised.get("object"))}, decoder, own, handed, expected, kept)
    notes = raised.get("notes")
    for note in notes if isinstance(notes, list) else ():
        error.add_note(str(note))
    for name in ("cause", "context") if levels else ():
        if isinstance(raised.get(name), dict):
            led_to = rebuilt(raised[name], decoder, own, handed, expected, kept, levels - 1)
            setattr(error, f"__{name}__", led_to)
    if raised.get("context") == "cause":
        error.__context__ = error.__cause__
    error.__suppress_context__ = error.__suppress_context__ or raised.get("suppress") is True
    return error


def _made(
    raised: dict[str, Any],
    decoder: Decoder,
    own: Mapping[str, type[OwnException]],
    handed: Handed,
    expected: frozenset[str],
    kept: Callable[[Any], Any],
) -> BaseException:
    form = raised.get("args")
    args = None if form is None else decoder.items(form, 0)
    error = _as_builtin(raised, args, expected)
    if "given" in raised:
        kind = handed.given(raised["given"])
        if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, _ENDS_OF_LOOPS):
            with contextlib.suppress(Exception):  # The class takes other arguments than it keeps.
                return _new(kind, args or [])
    group = raised.get("group")
    if isinstance(group, list) and group and type(error) in (ProgramError, ExceptionGroup):
        made = [rebuilt(one, decoder, own, handed, expected, kept) for one in group if isinstance(one, dict)]
        parts = [part for part in made if isinstance(part, Exception)]
        if len(parts) == len(group) and raised.get("builtin") == "ExceptionGroup":
            error = ExceptionGroup(str((args or [""])[0]), parts)
    library = _library_class(raised.get("library"), expected)
    if library is not None and getattr(builtins, str(raised.get("builtin")), None) not in library.__mro__:
        library = None
    classes = raised.get("classes")
    texts = [name for name in classes if isinstance(name, str)] if isinstance(classes, list) else []
    named = [own[name] for name in texts if name in own]
    named = [kind for kind in named if isinstance(error, (kind._code_env_builtin, ProgramError))]
    if named:
        builtin = _builtin_classes(raised.get("builtins", [raised.get("builtin")]))
        found = _own_class(raised, named, [*([library] if library else ()), *builtin])
        with contextlib.suppress(TypeError):  # A group that says that it is none, or the reverse.
            known = _bare(found, error)
            _fill(known, raised, decoder)
            return known
    if library is not None or (isinstance(classes, list) and type(error).__module__ == "builtins"):
        error = _of_unnamed_class(error, raised, args, library)
    _set_attributes(error, raised.get("attributes"))
    with contextlib.suppress(NotPlain):  # Where only plain data is allowed, an exception is known without its objects.
        _set_attributes(error, raised.get("objects"), decoder)
    if isinstance(error, OfProgram):
        vars(error)[KEPT] = raised["object"]
    return error


def _fill(error: OwnException, raised: dict[str, Any], decoder: Decoder) -> None:
    form, attributes = raised.get("args"), raised.get("attributes")
    _set_arguments(error, raised, None if form is None else decoder.items(form, 0))
    vars(error)[TEXT], vars(error)[KEPT] = str(raised.get("message")), raised.get("object")
    if isinstance(attributes, dict):
        vars(error)[ATTRIBUTES] = {str(name): Decoder().decode(value) for name, value in attributes.items()}
        _set_attributes(error, attributes)  # A builtin base has places of its own for some.


def _set_arguments(error: BaseException, raised: dict[str, Any], args: list[Any] | None) -> None:
    args = [str(raised.get("message"))] if args is None else args
    if isinstance(error, OSError) and 2 <= len(args) <= 5:
        error.errno, error.strerror, error.filename = (*args, None)[:3]
        args = args[:2]
    error.args = tuple(args)


def _set_attributes(error: BaseException, attributes: Any, decoder: Decoder | None = None) -> None:
    """Set the attributes that the program set on its exception, except where the class gives them a value already."""
    for name, form in attributes.items() if isinstance(attributes, dict) else ():
        if str(name).isidentifier() and not name.startswith(("__", "_code_env_")):
            value = (decoder or Decoder()).decode(form)
            with contextlib.suppress(Exception):  # The class can refuse the name or the value.
                if getattr(error, name, None) is None:
                    setattr(error, name, value)


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
        error: BaseException = _new(kind, args if args is not None else [message])
    # The class takes other arguments, or the description is forged.
    except Exception:
        return ProgramError(f"{name}: {message}")
    return error
