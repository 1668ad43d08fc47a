"""Stand-ins, in the program's process, for functions, iterators, coroutines and exceptions that the tests handed over.

The objects themselves stay in the tests' process and have numbers; `handing.py` is that side. The same object gets the
same stand-in each time, so a program can find it again in a list. A function's stand-in shows what a program might look
at: its names, its parameters and their defaults, its documentation, and whether it is a coroutine function.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Generator
from typing import Any

from ..wire.containers import Containers
from ..wire.plain import Decoder, NotPlain, encode
from .classes import class_of_tests
from .lasting import Handing
from .loops import Loops
from .turns import Turns

_STOP, _TYPE, _ID, _COMPILE, _EXEC, _NEW = StopIteration, type, id, compile, exec, object.__new__

_FUNCTION, _Exception, _isinstance, _vars, _list = types.FunctionType, Exception, isinstance, vars, list

_ONE_BY_ONE = 1000
"""How many values of an iterator cross one by one, each when the program asks for it. Later values cross in groups."""

_AT_ONCE = 100  # At most handing.MAX_AT_ONCE.


class Borrowed:
    """The objects that the tests have handed to a program.

    Args:
        ask: Sends a request to the tests and returns their reply.
        turn: A context manager: the thread within it has the conversation for itself.
        decoder: Rebuilds values of the tests.
        encode: Returns the form of a value of the program; it also takes the containers of the exchange, if any.
        loops: The event loops that the tests let run.
    """

    def __init__(
        self,
        ask: Callable[[dict[str, Any]], dict[str, Any]],
        turn: Turns,
        decoder: Decoder,
        encode: Callable[..., Any],
        loops: Loops,
    ) -> None:
        self._ask, self.turn, self.decode, self.encode = ask, turn, decoder.decode, encode
        self._decoder, self.loops, self.handing = decoder, loops, Handing(encode)
        self._stand_ins: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._told: dict[int, dict[str, Any]] = {}

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request to the tests and return their reply."""
        with self.turn:
            return self._ask(request)

    def number_of(self, value: object) -> int | None:
        """Return the number of the object that a stand-in represents; None if the value is not a stand-in."""
        return self._numbers.get(_ID(value))

    def changed(self, value: Any) -> dict[str, Any]:
        """Return what the program has set on a function or an exception of the tests, for the tests to set or refuse.

        The values are forms; those of values that are not plain data are malformed. Each is told once.
        """
        if _TYPE(value) is not _FUNCTION and not _isinstance(value, _Exception):
            return {}
        told = self._told.setdefault(_ID(value), {})
        found = {name: _form_of(one) for name, one in (*_list(_vars(value).items()), *_names_of(value))}
        changed = {name: form for name, form in found.items() if name not in told or told[name] != form}
        told.update(changed)
        return changed

    def given(self, stand_in: object) -> int:
        """Return the number of the object that a stand-in represents."""
        return self._numbers[_ID(stand_in)]

    def stand_in(self, tag: str, body: Any) -> Any:
        """Return the stand-in for an object that the tests handed over."""
        number: int = body if tag == "co" else body[0]
        if number not in self._stand_ins:
            made = _MAKERS[tag](self, body)
            self._stand_ins[number] = made
            self._numbers[_ID(made)] = number
            self.changed(made)
        return self._stand_ins[number]

    def value_of(self, reply: dict[str, Any], known: Containers | None = None) -> Any:
        """Return the value of a reply, or raise the exception that the tests raised."""
        decoder = self._decoder.within(known or Containers())
        value = None if "raised" in reply else decoder.decode(reply["value"])
        if known is not None:
            known.change([(at, decoder.content(form)) for at, form in reply.get("changed", ())])
        if "raised" in reply:
            raise self.decode(reply["raised"])
        return value

    def call(self, number: int, args: Any, kwargs: dict[str, Any]) -> Any:
        """Call a function of the tests."""
        with self.turn:
            message, lasting = self.handing.step(args, kwargs)
            return lasting.take(self._ask({"callback": number, **message}), self.value_of)

    def use(self, stand_in: object, name: str, args: tuple[Any, ...]) -> Any:
        """Do something with an object of the tests that does not cross; the tests refuse most of it."""
        with self.turn:
            forms = [self.encode(arg) for arg in args] if name[:2] == "__" else []
            request = {"callback": self.given(stand_in), "do": "use", "name": name, "args": forms}
            return self.value_of(self._ask(request))


def _names_of(value: Any) -> list[tuple[str, Any]]:
    """Return what else than attributes a program may set on a function or an exception of the tests."""
    if _TYPE(value) is _FUNCTION:
        return [(name, getattr(value, name)) for name in ("__name__", "__qualname__", "__doc__")]
    return [("args", value.args)]


def _form_of(value: Any) -> Any:
    try:
        return encode(value)
    except (NotPlain, TypeError):
        return None if value is None else {"none": _ID(value)}


def _function(borrowed: Borrowed, body: Any) -> Any:
    number, described = body
    if described and "class" in described:
        return _object(borrowed, [number, described["class"]])
    if not described or "names" not in described:

        def function(*args: Any, **kwargs: Any) -> Any:
            return borrowed.call(number, args, kwargs)

    else:
        function = _function_with_parameters(borrowed, number, described)
    for name in ("name", "qualname", "doc"):
        if described and name in described:
            setattr(function, f"__{name}__", described[name])
    return function


_HEADER = """{start}def stand_in({parameters}):
    {give} __code_env_call(({positional}), {rest}, {{{named}}}, {more})
"""


def _function_with_parameters(borrowed: Borrowed, number: int, described: dict[str, Any]) -> Any:
    """Return a function with the same parameters as the function of the tests."""
    names, keyword_only = described["names"], described["keyword_only"]
    rest, more = described["rest"], described["more"]
    defaults = [borrowed.decode(form) for form in described["defaults"]]
    keyword_defaults = {name: borrowed.decode(form) for name, form in described["keyword_defaults"].items()}
    first_default = len(names) - len(defaults)
    parameters = [name if at < first_default else f"{name}=None" for at, name in enumerate(names)]
    if described["positional_only"]:
        parameters.insert(described["positional_only"], "/")
    if rest or keyword_only:
        parameters.append(f"*{rest or ''}")
    parameters += [f"{name}=None" if name in keyword_defaults else name for name in keyword_only]
    if more:
        parameters.append(f"**{more}")
    source = _HEADER.format(
        start="async " if described["kind"] == "async " else "",
        parameters=", ".join(parameters),
        give={"": "return", "async ": "return await", "generator": "return (yield from"}[described["kind"]],
        positional="".join(f"{name}, " for name in names),
        rest=rest or "()",
        named=", ".join(f"{name!r}: {name}" for name in keyword_only),
        more=more or "{}",
    )
    if described["kind"] == "generator":
        source = source.rstrip() + ")\n"

    def call(positional: Any, rest: Any, named: dict[str, Any], more: dict[str, Any]) -> Any:
        given = list(positional)
        # Default values at the end are not sent: the tests use their own, for example a list that they keep.
        while not rest and len(given) > first_default and given[-1] is defaults[len(given) - 1 - first_default]:
            given.pop()
        named = {k: v for k, v in named.items() if k not in keyword_defaults or v is not keyword_defaults[k]}
        return borrowed.call(number, [*given, *rest], {**named, **more})

    scope: dict[str, Any] = {"__name__": "tests", "__code_env_call": call}
    _EXEC(_COMPILE(source, "<tests>", "exec", dont_inherit=True), scope)
    function = scope["stand_in"]
    function.__code__ = function.__code__.replace(
        co_name=described.get("name", "stand_in"), co_qualname=described.get("qualname", "stand_in")
    )
    function.__defaults__ = tuple(defaults) or None
    function.__kwdefaults__ = keyword_defaults or None
    function.__annotations__ = {name: borrowed.decode(form) for name, form in described["annotations"].items()}
    return function


class BorrowedIterator:
    """An iterator of the tests: each value that is taken here is taken from the tests' iterator."""

    def __init__(self, borrowed: Borrowed, number: int) -> None:
        self._borrowed, self._number = borrowed, number
        self._values: list[Any] = []
        self._taken = 0
        self._then: dict[str, Any] | None = None

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        with self._borrowed.turn:
            return self._next()

    def _next(self) -> Any:
        if not self._values and self._then is None:
            count = 1 if self._taken < _ONE_BY_ONE else _AT_ONCE
            self._take(self._borrowed.ask({"callback": self._number, "do": "next", "count": count}))
        if self._values:
            self._taken += 1
            return self._borrowed.decode(self._values.pop(0))
        then, self._then = self._then or {}, {}
        if "raised" in then:
            raise self._borrowed.decode(then["raised"])
        raise _STOP(*[self._borrowed.decode(form) for form in (then.get("end"),) if form is not None])

    def _take(self, reply: dict[str, Any]) -> None:
        self._values = reply.get("values", [])
        if "raised" in reply or "end" in reply:
            self._then = reply


class BorrowedGenerator(BorrowedIterator, Generator[Any, Any, Any]):
    """A generator of the tests."""

    def _resume(self, do: str, *args: Any) -> Any:
        with self._borrowed.turn:
            forms = [self._borrowed.encode(arg) for arg in args]
            self._take(self._borrowed.ask({"callback": self._number, "do": do, "args": forms}))
            return self._next()

    def send(self, value: Any) -> Any:
        """Resume with a value."""
        return self._resume("send", value)

    def throw(self, error: Any, *_: Any) -> Any:
        """Close the generator and raise the exception, as if the generator did not catch it."""
        self.close()
        raise error

    def close(self) -> None:
        """Close the generator."""
        self._borrowed.value_of({"value": None, **self._borrowed.ask({"callback": self._number, "do": "close"})})

    __class__ = types.GeneratorType  # type: ignore[assignment]  # For `inspect.isgenerator`.


class _Awaited:
    """Runs a coroutine of the tests in a loop that the answer itself runs, and lets its tasks run in between."""

    def __init__(self, borrowed: Borrowed, number: int) -> None:
        self._borrowed, self._number = borrowed, number

    def __await__(self) -> Any:
        while True:
            reply = self._borrowed.ask({"callback": self._number, "do": "await"})
            if "cancelled" in reply:
                import asyncio

                raise asyncio.CancelledError
            if "pending" not in reply:
                return self._borrowed.value_of(reply)
            try:
                yield
            except BaseException:
                self._borrowed.ask({"callback": self._number, "do": "cancel"})
                raise


async def _coroutine(borrowed: Borrowed, number: int) -> Any:
    asyncio = sys.modules.get("asyncio")
    loop = None if asyncio is None else borrowed.loops.driven(asyncio._get_running_loop())
    if loop is None:
        return await _Awaited(borrowed, number)
    return borrowed.value_of(await loop.outcome_of(borrowed.ask, number))


def _class(borrowed: Borrowed, body: Any) -> Any:
    _, name, module, forms = body
    known = (
        getattr(sys.modules.get(module), name, None) if module.partition(".")[0] in sys.stdlib_module_names else None
    )
    if isinstance(known, type):
        return known
    bases = tuple(borrowed.decode(form) for form in forms)
    return _TYPE(name, bases, {"__module__": module})


def _error(borrowed: Borrowed, body: Any) -> Any:
    _, class_form, args, attributes = body
    kind = borrowed.decode(class_form)
    values = [borrowed.decode(form) for form in args]
    try:
        error = kind(*values)
    except TypeError:  # The arguments of the class differ from the `args` that it keeps.
        error = kind.__new__(kind, *values)
        error.args = tuple(values)
    for name, form in attributes.items():
        setattr(error, name, borrowed.decode(form))
    return error


def _object(borrowed: Borrowed, body: Any) -> Any:
    """Return the stand-in for an object of the tests that does not cross.

    What the program does with it, beside handing it on, is asked of the tests, which answer or refuse.
    """
    return object() if len(body) == 1 else _NEW(borrowed.stand_in("cl", body[1]))


_MAKERS: dict[str, Callable[[Borrowed, Any], Any]] = {
    "cb": _function,
    "it": lambda b, body: (BorrowedGenerator if body[1] else BorrowedIterator)(b, body[0]),
    "co": _coroutine,
    "cl": class_of_tests,
    "ec": _class,
    "er": _error,
    "ob": _object,
    "sl": lambda b, body: slice(*map(b.decode, body[1])),
}
