"""Hands objects of the tests other than plain data to the program: functions, iterators, coroutines, exceptions.

Each object stays here and has a number. The program gets a stand-in for it (`borrowing.py`), always the same one, which
requests a call, a value or a step. A request must name a number that was given out, and its arguments are decoded as
strictly as any reply. When a stand-in comes back, the tests get the object that they handed over.
"""

from __future__ import annotations

import functools
import sys
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

from ..wire.by_name import is_coroutine, name_for_program
from ..wire.containers import Containers
from ..wire.operations import OPERATIONS
from ..wire.plain import Decoder, Encoder, NotPlain, encode
from ..wire.shapes import BASIC, SPECIAL
from ..wire.subclasses import Members
from .attributes_set import TRUSTED_CODE, ChangesByProgram
from .binding import Receiver
from .handles import Handle, HandleMisuse, NotHandedOver, ProgramDied, Refusals, RemoteIterator, number_of_coroutine
from .lasting import LastingContainers

_OWN_CODE = __file__.rpartition("judge")[0]
"""The beginning of the file names of this package's code."""

MAX_AT_ONCE = 100
"""The most values of an iterator of the tests that the program may request at once."""

TEXT, ATTRIBUTES, KEPT = (f"_code_env_{name}" for name in ("text", "attributes", "kept"))
"""Attributes of an exception here: the text, the attributes and the handle of the program's exception."""

_STEP_S = 0.001
"""A coroutine of the tests runs at most this long before the program's own tasks get their turn, in seconds."""


class Handed:
    """The objects that the tests have handed to one answer.

    Args:
        decoder: Rebuilds what the program sends.
        members: Encodes members of enumerations.
        lasting: Keeps the containers that the program hands over.
        begin: Begins a task in a loop of the tests, see `loops.Loops`.
    """

    def __init__(
        self, decoder: Decoder, members: Members, lasting: LastingContainers, begin: Callable[..., Any]
    ) -> None:
        self._decoder, self._members, self._lasting, self._begin = decoder, members, lasting, begin
        self._given: list[Any] = []
        self._numbers: dict[object, int] = {}
        self._descriptions: dict[int, Any] = {}
        self._chosen: set[int] = set()
        """Numbers of generators that a function of the tests returned to the program, which chose the arguments."""
        self._tokens: set[int] = set()
        """Numbers of objects that the program can only hand on, compare and give back."""
        self._changes = ChangesByProgram()
        self._tasks: dict[int, Any] = {}
        self._loops: list[Any] = []
        self._stepped_at = time.monotonic()
        self._stood_still_s = 0.0

    def argument(self, value: object) -> Any:
        """Return the form of an argument of the tests.

        Raises:
            TypeError: If the argument cannot be handed over.
            NotPlain: If it is too large.
        """
        return self._reporting(Encoder(self._form, self._members.alike))(value)

    def arguments(self, known: Containers) -> Callable[[object], Any]:
        """Return a function that gives the form of each argument of one call, as `argument` does."""
        return self._reporting(Encoder(self._form, self._members.alike, known))

    @staticmethod
    def _reporting(encoder: Encoder) -> Callable[[object], Any]:
        """Return `encode` of an encoder, which also reports a refusal: then the tests fail, whatever they catch."""

        def form_of(value: object) -> Any:
            try:
                return encoder.encode(value)
            except NotHandedOver as error:
                Refusals.tell(str(error))
                raise

        return form_of

    def result(self, value: object, known: Containers | None = None) -> Any:
        """Return the form of a value that a function of the tests returns to the program.

        Not every callable is handed over. The program chose the arguments, and with a method or a class that it got
        this way it could reach anything in this process. Functions that the tests define are meant to be handed over.
        """
        return self._encoder_of_results(known).encode(value)

    def _encoder_of_results(self, known: Containers | None) -> Encoder:
        return Encoder(self._form_of_result, self._members.alike, known)

    def given(self, number: Any) -> Any:
        """Return the object that was handed over under a number, when the number comes back.

        Raises:
            NotPlain: If nothing was handed over under that number.
        """
        if type(number) is not int or not 0 <= number < len(self._given):
            raise NotPlain("what the tests have not handed over")
        return self._given[number]

    def come_back(self, body: Any) -> Any:
        """Return an object that comes back, as `given` does, with the attributes that the program has set on it."""
        number, attributes = body if type(body) is list and len(body) == 2 else (body, {})
        value = self.given(number)
        self._changes.set(value, attributes)
        return value

    def answer(self, request: dict[str, Any], size: int = 0) -> dict[str, Any]:
        """Do what a stand-in requests, in a message of `size` bytes, and return the reply.

        Raises:
            ProgramDied: If nothing was handed over under that number.
            HandleMisuse: If the request holds a value that is not plain data.
        """
        try:
            handed = self.given(request.get("callback"))
        except NotPlain as error:
            raise ProgramDied("the program's process called what it was not given") from error
        try:
            reply = self._do(request, handed, size)
        except (HandleMisuse, NotPlain) as error:
            raise HandleMisuse(f"a function of the tests was called with what is not plain data: {error}") from error
        except Exception as error:
            reply = {"raised": self._failure(error)}
        return {**reply, **self._lasting.forgets(request.get("of"))}

    def close(self) -> None:
        """Close the event loops that this object made."""
        for loop in self._loops:
            if not loop.is_running():
                loop.close()

    def _do(self, request: dict[str, Any], handed: Any, size: int) -> dict[str, Any]:
        """Do what a stand-in requests of an object, and return the reply if it raises nothing."""
        do = request.get("do", "call")
        if do == "use" or request["callback"] in self._tokens:
            return self._used(handed, request.get("name", "__call__"), request.get("args"))
        if do == "next":
            form = self.result if request["callback"] in self._chosen else self.argument
            return self._values(handed, request.get("count"), form)
        if do == "start":
            return self._start(request["callback"], handed, request.get("loop"))
        if do == "await":
            return self._step(request["callback"], handed)
        if do == "cancel":
            task = self._tasks.get(request["callback"])
            return {"value": None if task is None else bool(task.cancel())}
        args, named = request.get("args") or [], request.get("kwargs") or {}
        if do in ("send", "close") and isinstance(handed, types.GeneratorType):
            return self._resumed(getattr(handed, do), list(map(self._decoder.decode, args)))
        if do != "call" or not callable(handed):
            raise NotPlain("a step that it does not have")
        values, known = self._lasting.handed(request, [*args, *named.values()], size, self._decoder)
        args, named = values[: len(args)], dict(zip(named, values[len(args) :], strict=True))
        given = [value for value in known.values if known.number_of(value) is not None]
        before = [self._seen(value, known) for value in given]
        try:
            reply = {"value": self.result(handed(*args, **named), known)}
        except (HandleMisuse, NotPlain):
            raise
        except Exception as error:
            reply = {"raised": self._failure(error)}
        after = [self._seen(value, known) for value in given]
        pairs = zip(given, before, after, strict=True)
        changed = [[known.number_of(value), form] for value, old, form in pairs if form is not None and form != old]
        return {**reply, "changed": changed} if changed else reply

    def _used(self, handed: Any, name: Any, forms: Any) -> dict[str, Any]:
        """Do what a stand-in asks of an object that does not cross: it can be compared, and all else is refused."""
        name, kind = str(name)[:100], type(handed).__name__
        if name in _COMPARED:
            return {"value": self.result(OPERATIONS[name[2:-2]](handed, *map(self._decoder.decode, forms)))}
        if isinstance(handed, type) and name in _CHECKS:
            (value,) = map(self._decoder.decode, forms)
            if not issubclass(type(value), Handle):
                return {"value": _CHECKS[name](value, handed)}
        if name in _NAMES and callable(handed) and hasattr(handed, name):
            return {"value": self.result(getattr(handed, name))}
        if name == "__dict__" and callable(handed) and not isinstance(handed, type):
            return {"value": self.result({})}  # `functools.wraps` copies it.
        if not hasattr(handed, name) and not (isinstance(handed, type) and name == "__signature__"):
            raise AttributeError(f"{kind!r} object has no attribute {name!r}")
        what = f"the class {handed.__name__}" if isinstance(handed, type) else f"a {kind}"
        message = f'the program used {name!r} of {what}, for which it has only a stand-in; judge="shared" allows it'
        Refusals.tell(message)
        raise NotHandedOver(message)

    def _seen(self, value: Any, known: Containers) -> Any:
        """Return the form of a container's content, to see whether a function changes it; None if it has no form."""
        count = len(known.values)
        try:
            return self._encoder_of_results(known).encode(value, content=True)
        except (TypeError, NotPlain):
            known.cut(count)
            return None

    def _values(self, iterator: Any, count: Any, form: Callable[[object], Any]) -> dict[str, Any]:
        values: list[Any] = []
        if not isinstance(iterator, Iterator) or type(count) is not int or not 0 < count <= MAX_AT_ONCE:
            raise NotPlain("a step that it does not have")
        try:
            for _ in range(count):
                values.append(form(next(iterator)))
        except StopIteration as end:
            return {"values": values, "end": form(end.value)}
        except (HandleMisuse, NotPlain):
            raise
        except Exception as error:
            return {"values": values, "raised": self._failure(error)}
        return {"values": values}

    def _resumed(self, method: Callable[..., Any], args: list[Any]) -> dict[str, Any]:
        try:
            value = method(*args)
            return {"values": [self.result(value)]}
        except StopIteration as end:
            return {"values": [], "end": self.result(end.value)}

    def _start(self, number: int, coroutine: Any, loop: Any) -> dict[str, Any]:
        """Begin a task for a coroutine, which runs in the loop of the tests that waits for the program."""
        if not is_coroutine(coroutine):
            raise NotPlain("a step that it does not have")
        task = self._begin(coroutine, loop, lambda: [number, self._outcome_for_program(number)])
        if task is None:  # That loop is closed.
            return {"cancelled": True}
        self._tasks[number] = task
        return self._outcome_of(task) if task.done() else {"pending": True}

    def _outcome_for_program(self, number: int) -> dict[str, Any]:
        try:
            return self._outcome_of(self._tasks[number])
        except Exception as error:
            return {"raised": self._failure(error)}

    def _outcome_of(self, task: Any) -> dict[str, Any]:
        return {"cancelled": True} if task.cancelled() else {"value": self.result(task.result())}

    def _step(self, number: int, coroutine: Any) -> dict[str, Any]:
        """Let a coroutine run for a while; return its result, or that it still waits for something.

        The answer runs a loop of its own, so the coroutine needs one here too.
        """
        import asyncio

        if not is_coroutine(coroutine):
            raise NotPlain("a step that it does not have")
        around = asyncio._get_running_loop()
        asyncio._set_running_loop(None)  # The tests' own loop waits for the program.
        begins = number not in self._tasks
        try:
            if begins:
                loop = next((loop for loop in self._loops if not loop.is_running()), None)
                if loop is None:
                    loop = asyncio.new_event_loop()
                    loop.time = lambda: time.monotonic() - self._stood_still_s  # type: ignore[method-assign]
                    self._loops.append(loop)
                self._tasks[number] = loop.create_task(coroutine)
                # The loops' clock leaves out the time between the last step and this start, so that the number of
                # coroutines that run at once does not depend on the machine.
                self._stood_still_s += time.monotonic() - self._stepped_at
            task = self._tasks[number]
            if not task.done() and not task.get_loop().is_running():
                task.get_loop().run_until_complete(asyncio.wait({task}, timeout=0 if begins else _STEP_S))
        finally:
            asyncio._set_running_loop(around)
            self._stepped_at = time.monotonic()
        return self._outcome_of(task) if task.done() else {"pending": True}

    def _form(self, value: Any, why: str) -> Any:
        known = name_for_program(value)
        if known is not None:
            return {"bn": known}
        if isinstance(value, Handle | RemoteIterator):
            return self._form_of_result(value, why)
        if type(value) is Receiver:
            return self._form(value.value, why) if isinstance(value.value, Handle) else self._token(value.value)
        if type(value) is slice:
            return {"sl": [self._number(value), [encode(part) for part in (value.start, value.stop, value.step)]]}
        if isinstance(value, Iterator) and not callable(value):  # A `MagicMock` is both.
            return {"it": [self._number(value), isinstance(value, types.GeneratorType)]}
        if callable(value) and not isinstance(value, type):
            return self._function(value)
        if isinstance(value, type) and not issubclass(value, BaseException):
            if not _is_class_of_tokens(value):
                return self._function(value)
            body = self._class_of_tokens(value)
            self._tokens.discard(body[0])  # The program may call it.
            return {"cl": body}
        return self._form_of_result(value, why)

    def _form_of_result(self, value: Any, why: str) -> Any:
        if isinstance(value, Handle):
            return {"r": value._code_env_target}
        if isinstance(value, RemoteIterator):
            return {"r": value.number}
        if type(value) is types.FunctionType and value.__code__.co_filename in TRUSTED_CODE:
            return self._function(value)
        if type(value) is types.GeneratorType and value.gi_code.co_filename in TRUSTED_CODE:
            self._chosen.add(self._number(value))
            return {"it": [self._number(value), True]}
        if is_coroutine(value):
            number = number_of_coroutine(value)
            return {"co": self._number(value)} if number is None else {"r": number}
        kind = value if isinstance(value, type) else type(value)
        # Not a class that the program made by a call of `type`.
        if issubclass(kind, Exception) and (_crosses_as(kind) or kind.__module__ == "tests" or _is_standard(kind)):
            return self._class(value) if value is kind else self._error(value)
        if type(value) is object:
            return {"ob": [self._number(value)]}
        if _is_token(kind):
            return self._token(value)
        why = f"a test handed the program a {why}"
        raise NotHandedOver(f'{why}; only plain data can be handed over; judge="shared" allows it')

    def _token(self, value: object) -> Any:
        """Return the form of an object that the program can only hand on, compare and give back."""
        if isinstance(value, type) and _is_class_of_tokens(value):
            return {"cl": self._class_of_tokens(value)}
        number = self._number(value)
        if number in self._descriptions:
            return self._function(value)
        self._tokens.add(number)
        return {"ob": [number, self._class_of_tokens(type(value))]}

    def _class_of_tokens(self, kind: type) -> list[Any]:
        """Return what a stand-in for a class needs: a number, names, special methods, bases, and how it is asked.

        A class that the tests have not handed over itself cannot be called: it came with an object.
        """
        count, bases = len(self._given), [base for base in kind.__bases__ if base.__module__ == "tests"]
        is_one = _is_class_of_tokens(kind)
        number = self._number(kind, () if is_one else (id(kind),))
        if number == count:
            self._tokens.add(number)
        names = [vars(base) for base in kind.__mro__ if base is not object]
        special = [name for name in _USES if any(one.get(name) is not None for one in names)]
        forms = [self._class_of_tokens(base) for base in bases if _is_token(base)]
        return [number, kind.__qualname__, special, forms, type(kind) is not type]

    def _number(self, value: Any, key: object = ()) -> int:
        # Each lookup of a method gives a new object.
        key = key or id(value)
        if type(value) is types.MethodType:
            key = (id(value.__self__), id(value.__func__))
        elif type(value) in _METHODS_OF_BUILTINS:
            key = value
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._given)
            self._given.append(value)  # Kept alive, so that no other object gets its id.
        return number

    def _function(self, function: Any) -> dict[str, Any]:
        number = self._number(function)
        if number not in self._descriptions:
            self._descriptions[number] = None  # A default can be the function itself.
            self._descriptions[number] = self._described(function)
        return {"cb": [number, self._descriptions[number]]}

    def _described(self, function: Any) -> dict[str, Any]:
        """Return what a stand-in shows of a function: its names, its documentation and its parameters."""
        texts = {name: getattr(function, f"__{name}__", None) for name in ("name", "qualname", "doc")}
        described: dict[str, Any] = {name: text for name, text in texts.items() if isinstance(text, str)}
        own = function.__func__ if type(function) is types.MethodType else function
        if type(own) is not types.FunctionType:
            kind = None if type(own) in _FUNCTIONS else self._class_of_tokens(type(function))
            return described if kind is None else {**described, "class": kind}
        code, form = own.__code__, Encoder(self._shown).encode
        names = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        more = list(code.co_varnames[len(names) : len(names) + 2])
        bound = int(own is not function)
        return {
            **described,
            "names": names[bound : code.co_argcount],
            "positional_only": max(0, code.co_posonlyargcount - bound),
            "keyword_only": names[code.co_argcount :],
            "rest": more.pop(0) if code.co_flags & 0x04 else None,
            "more": more.pop(0) if code.co_flags & 0x08 else None,
            "kind": "async " if code.co_flags & 0x80 else "generator" if code.co_flags & 0x20 else "",
            "defaults": [form(value) for value in own.__defaults__ or ()],
            "keyword_defaults": {name: form(value) for name, value in (own.__kwdefaults__ or {}).items()},
            "annotations": {name: form(value) for name, value in own.__annotations__.items() if _is_shown(value)},
        }

    def _shown(self, value: Any, why: str) -> Any:
        """Return the form of a default or an annotation that is not plain data; the program only looks at it."""
        return {"bn": name_for_program(value) or "object"}

    def _class(self, kind: Any) -> dict[str, Any]:
        """Return the form of an exception class."""
        known = name_for_program(kind)
        if known is not None:
            return {"bn": known}
        target = _crosses_as(kind)
        if isinstance(target, type):
            return self._class(target)
        if target is not None:
            return {"r": target}
        bases = [self._class(base) for base in kind.__bases__ if issubclass(base, Exception)]
        return {"ec": [self._number(kind), kind.__name__, kind.__module__, bases]}

    def _failure(self, error: Exception) -> dict[str, Any]:
        """Return the form of an exception that code of the tests has raised while the program waits for it.

        A failed assertion of a library has failed even if the program catches it. A `raise` of the tests' own text, and
        what the program itself raised, may be meant for the program.
        """
        if isinstance(error, AssertionError):
            raised_in = _raised_in(error)
            if raised_in not in TRUSTED_CODE and not raised_in.startswith(_OWN_CODE):
                Refusals.tell(f"in a function that the program called: {str(error).strip()}")
        return self._error(error)

    def _error(self, error: Exception) -> dict[str, Any]:
        """Return the form of an exception of the tests."""
        try:
            args = encode(list(error.args))
        except (NotPlain, TypeError):
            args = [str(error)]
        attributes = {}
        for name, value in (vars(error).get(ATTRIBUTES, {}) | vars(error)).items():
            if name in (TEXT, ATTRIBUTES, KEPT):
                continue
            try:
                attributes[name] = encode(value)
            except (NotPlain, TypeError):
                continue
        error.__traceback__ = None  # Do not keep the objects that it refers to.
        return {"er": [self._number(error), self._class(type(error)), args, attributes]}


_USES = tuple(f"__{name}__" for name in (*SPECIAL, *BASIC))

_COMPARED = frozenset(f"__{name}__" for name in (*BASIC, "bool", "hash"))

_NAMES = ("__name__", "__qualname__", "__doc__")

_CHECKS: dict[str, Callable[[Any, Any], bool]] = {"__instancecheck__": isinstance, "__subclasscheck__": issubclass}

_FUNCTIONS = (types.BuiltinFunctionType, functools.partial, type(functools.lru_cache(len)))
"""Types of callable objects, beside functions, that have nothing of their own but calls."""

_METHODS_OF_BUILTINS = (types.BuiltinMethodType, types.MethodWrapperType)
"""Types of methods of builtin objects. Two are equal if they are one function, bound to one object: `got.append`."""

_OF_TOKENS = frozenset(("tests", "unittest.mock", "abc", "typing"))


def _is_token(kind: type) -> bool:
    """Whether objects of a class cross as objects of which the program knows nothing.

    The class derives from nothing that the program could look for, such as `dict` or `Mapping`.
    """
    return all(base is object or base.__module__ in _OF_TOKENS for base in kind.__mro__)


def _is_class_of_tokens(kind: type) -> bool:
    """Whether a class and its objects cross together, so that the program finds the class in `type(o)`."""
    return _is_token(kind) and (type(kind) is type or type(kind).__module__ in _OF_TOKENS)


def _raised_in(error: BaseException) -> str:
    """Return the name of the file whose code raised an exception."""
    trace, name = error.__traceback__, ""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        trace = trace.tb_next
    return name


def _crosses_as(kind: type) -> str | type | None:
    """Return what crosses in place of an exception class that represents one of the program's; None for other classes.

    It is the program's name for its class if the tests name that class; otherwise it is the nearest builtin class.
    """
    known: str | type | None = vars(kind).get("_code_env_target") or vars(kind).get("_code_env_builtin")
    return known


def _is_standard(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in sys.stdlib_module_names


def _is_shown(value: Any) -> bool:
    return isinstance(value, str) or name_for_program(value) is not None
