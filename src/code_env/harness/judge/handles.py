"""Handles: they represent, on the tests' side, objects that stay in the program's process.

The entry point is a `Handle` that can be called, and so is a function that the program returns. An object of a class
that the program defines is a `Handle` too. A handle gives access to attributes and makes calls, texts and copies; the
results are plain data or further handles. It refuses everything else, because the program would decide a comparison
with its object.
Under `judge="objects"`, an `ObjectHandle` also forwards these operations, and the verdict says so.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import itertools
import types
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Any, ClassVar, Protocol

from ..wire.operations import OPERATIONS
from ..wire.shapes import ARITHMETIC, REFLECTED, SPECIAL, names_of, special_methods
from ..wire.structures import CROSSED, object_of
from .binding import bind, set_name
from .classes import class_like
from .contents import COMPARISONS, UNDECIDED, computed
from .origin import Origin


class HandleMisuse(AssertionError):
    """A test used an object of the program in a way that would let the program decide its outcome.

    A test that expects an exception might catch this one, so it is reported as soon as it is made.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        Refusals.tell(message)


class NotHandedOver(TypeError):
    """A test handed the program what cannot be handed over."""


class Refusals:
    """Holds the function that reports that something was refused to the tests; each run of a suite sets its own."""

    tell: ClassVar[Callable[[str], None]] = staticmethod(lambda message: None)


class Remote(Protocol):
    """The methods of the conversation with the program that a handle uses; `remote.RemoteModule` has them."""

    def call(self, handle: Handle, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call an object of the program."""

    def get(self, handle: Handle, name: str) -> Any:
        """Read an attribute of an object of the program."""

    def operate(self, name: str, args: tuple[Any, ...], origin: Origin = Origin.RESULT) -> Any:
        """Apply an operator to objects of the program; `origin` is that of the result."""

    def next_values(self, number: str | int) -> tuple[list[Any], bool, BaseException | None]:
        """Return the next value of an iterator of the program, whether more can follow, and if not, what ended it.

        The value is in a list, which is empty at the end.
        """

    def resume(self, number: int, do: str, args: tuple[Any, ...]) -> tuple[list[Any], bool, BaseException | None]:
        """Have a generator of the program continue with a value or an exception, or close; returns as `next_values`."""

    async def result_of(self, target: str | int) -> Any:
        """Have the program await one of its objects, and return the result."""


_memos = itertools.count()


class Handle:
    """Represents an object of the program; it forwards only attribute access, calls, texts and copies.

    `handle_class` makes the class of a handle, which has the special methods of the object's class.

    Args:
        remote: The conversation with the program.
        target: The object's name in the program, or its number.
        type_name: The object's type, for messages.
        origin: How the tests got the object, which decides whether its methods may be called.
    """

    __slots__ = ("_code_env_origin", "_code_env_remote", "_code_env_target", "_code_env_type")

    _asyncio_future_blocking = None  # A future of the program is no future for the tests' loop, but can be awaited.

    def __init__(self, remote: Remote, target: str | int, type_name: str, origin: Origin) -> None:
        for name, value in zip(Handle.__slots__, (origin, remote, target, type_name), strict=True):
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__") and name not in _SPECIAL and name not in _ASKED:
            raise AttributeError(f"{shown(self)} gives out no attribute {name!r}")
        return self._code_env_remote.get(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        check_change(self, f"setting {name!r} on", value)
        self._code_env_remote.operate("setattr", (self, name, value))

    def __delattr__(self, name: str) -> None:
        check_change(self, f"deleting {name!r} of")
        self._code_env_remote.operate("delattr", (self, name))

    def __mro_entries__(self, bases: Any) -> Any:
        raise HandleMisuse(f'a class of the tests derives from {shown(self)}; judge="shared" allows it')

    @property
    def __signature__(self) -> Any:  # Otherwise `inspect.signature` would show that of the handle's own method.
        raise HandleMisuse(f'the tests asked for the signature of {shown(self)}; judge="shared" allows it')

    def __dir__(self) -> Any:
        return self._code_env_remote.operate("dir", (self,))

    # The program knows which of its objects belong to its classes. It does not see other data.
    def __instancecheck__(self, value: object) -> bool:
        kind = type(value)
        if hasattr(kind, CROSSED):
            # A namedtuple crosses without its class. If the object did not come with it, name and fields must do.
            value = object_of(value)
            if value is None:
                names: Any = kind
                return bool((self.__name__, self._fields) == (names.__name__, names._fields))
        if issubclass(kind, Exception):  # One that the tests caught: the program's exception can be of more classes.
            value = vars(value).get("_code_env_kept")
        return isinstance(value, Handle) and self._code_env_remote.operate("isinstance", (value, self)) is True

    def __subclasscheck__(self, kind: object) -> bool:
        return isinstance(kind, Handle) and self._code_env_remote.operate("issubclass", (kind, self)) is True

    # `isinstance` looks here for all other classes.
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        kind = type(self)
        return class_like(self._code_env_remote.operate("classes", (self,)), kind) or kind

    # The program copies its object, as a method could do, and the tests may use the copy as they may use the object.
    def __copy__(self) -> Any:
        return self._code_env_remote.operate("copy", (self,), self._code_env_origin)

    def __deepcopy__(self, memo: Any) -> Any:
        number = memo.setdefault("code_env", next(_memos))  # Not the memo's id: a later memo can have it.
        return self._code_env_remote.operate("deepcopy", (self, number), self._code_env_origin)

    def _code_env_shown(self) -> str:
        return shown(self)


def shown(handle: Handle) -> str:
    """Return what messages show of a handle, without a request to the program."""
    return f"<the program's {handle._code_env_type}>"


_DEFINED = (Origin.FUNCTION, Origin.CLASS)


def check_change(handle: Handle, what: str, value: object = None) -> None:
    """Check that the tests may change an object of the program; `what` says how, and `value` is what they put there.

    Raises:
        HandleMisuse: If they may not.
    """
    origin = handle._code_env_origin
    if origin not in (*_DEFINED, Origin.INSTANCE) and not issubclass(type(handle), ObjectHandle):
        why = 'only what is under test, and objects that it makes, can be changed; judge="objects" allows it'
        raise HandleMisuse(f"{what} {shown(handle)}: {why}")
    # In a class, the stand-in of a mock would bind the object that it is called on, as a function does.
    crosses_as_itself = isinstance(value, types.FunctionType) or issubclass(type(value), Handle)
    if origin in _DEFINED and callable(value) and not crosses_as_itself:
        why = 'only data and functions can be put there; judge="shared" allows it'
        raise HandleMisuse(f"{what} {shown(handle)}: {why}")


def is_subclass(kind: Any, of: Any) -> bool:
    """Return what `issubclass` does; `kind` may be the handle of a class, which Python itself does not take for one."""
    if not issubclass(type(kind), Handle):
        return issubclass(kind, of)
    like = class_like(kind._code_env_remote.operate("classes_of_class", (kind,)), type(kind)) or object
    several = of if isinstance(of, tuple) else (of,)
    return any(is_subclass(kind, one) if type(one) is tuple else _is_subclass(kind, like, one) for one in several)


def _is_subclass(kind: Handle, like: type, of: Any) -> bool:
    asks = issubclass(type(of), Handle) or hasattr(of, "_code_env_target")
    return issubclass(kind if asks else like, of)  # type: ignore[arg-type]


class ObjectHandle(Handle):
    """A handle for a task marked `judge="objects"`: it forwards operators as well."""

    __slots__ = ()

    _code_env_shown = None  # type: ignore[assignment]  # Messages show what `repr` gives.


_ERRORS = frozenset(
    name for name, kind in vars(builtins).items() if isinstance(kind, type) and BaseException in kind.__mro__
)

_NAMES_OF_DATA = frozenset(
    (
        *(vars(builtins).keys() - _ERRORS),
        *("Counter", "OrderedDict", "defaultdict", "deque", "Decimal", "Fraction", "Match", "NoneType", "ndarray"),
        *("date", "time", "datetime", "timedelta", "timezone", "ZoneInfo", "function", "method", "generator", "module"),
    )
)

_ASKED = frozenset(
    f"__{name}__"
    for name in (
        *("name", "qualname", "doc", "module", "dict", "annotations", "defaults", "kwdefaults", "wrapped"),
        *("slots", "bases", "match_args", "abstractmethods", "version", "members"),
    )
)
"""Attributes with double underscores that tests read, and that describe the object, not the handle."""

_ASKED_IN_CLASS = ("__doc__", "__module__", "__slots__")
"""Those of `_ASKED` that every class has."""

_SPECIAL = frozenset(f"__{name}__" for name in SPECIAL)

_COMPARED = COMPARISONS | frozenset((*ARITHMETIC, *(f"i{name}" for name in ARITHMETIC)))
_TEXTS = ("str", "repr", "format")
"""Special methods that return a text. They are forwarded in every mode, as attributes are: the program learns nothing
about what the tests expect, and the text itself is data."""

_EXACT = {"bool": bool, "contains": bool, "len": int, "hash": int, "int": int, "index": int, "float": float}
_EXACT |= dict.fromkeys(_TEXTS, str) | {"bytes": bytes, "complex": complex}


def _call(self: Handle, *args: Any, **kwargs: Any) -> Any:
    if self._code_env_origin is Origin.RESULT_METHOD and not issubclass(type(self), ObjectHandle):
        raise HandleMisuse(
            f"a method of an object that a function returned was called: {shown(self)} would decide the test; "
            'judge="objects" allows it'
        )
    return self._code_env_remote.call(self, args, kwargs)


def _ask(self: Handle, name: str) -> Any:
    return self._code_env_remote.get(self, name)


def _refuse(name: str) -> Callable[..., Any]:
    """Return a method that refuses an operation, unless the object's class leaves the operation to Python."""

    def method(self: Handle, *args: Any) -> Any:
        if name in ("eq", "ne") and args[0] is None:
            return name == "ne"  # As for `is`: hardly an object is equal to None.
        result = computed(self, name, args)
        if result is not UNDECIDED:
            return result
        gives_data = name in (*COMPARISONS, "divmod") and not isinstance(args[0], Handle)
        # A function does not forward operators in any mode.
        is_function = type(self) is handle_class(Handle, "Handle", _OF_FUNCTIONS)
        hint = "shared" if gives_data or is_function or issubclass(type(self), ObjectHandle) else "objects"
        why = "only plain data can be compared, computed with or looked into"
        raise HandleMisuse(f'{name} on {shown(self)}: {why}; judge="{hint}" allows it')

    return method


def _forward(name: str, *, reflected: bool = False) -> Callable[..., Any]:
    def method(self: Handle, *args: Any) -> Any:
        if name in ("exit", "aexit"):
            args = args[1:2]  # The exception is enough; its traceback does not cross.
        operands = (*args, self) if reflected else (self, *args)
        with_data = name in _COMPARED and not any(isinstance(arg, Handle) for arg in args)
        if with_data:
            result = computed(self, f"r{name}" if reflected else name, args)
            if result is not UNDECIDED:
                return result
        origin = Origin.COMPARISON if with_data and name in COMPARISONS else Origin.RESULT
        result = self._code_env_remote.operate(name, operands, origin)
        kind = _EXACT.get(name)  # Python requires results of exactly these types.
        if kind is not None and type(result) is not kind:
            raise HandleMisuse(f"{name} on {shown(self)} gave {type(result).__name__}, not {kind.__name__}")
        # If the other operand is data, the program sees the expected value and could return a result that passes. It
        # may return another object, as a data frame does when it is compared with a number. It may also say that the
        # two are not equal, as an object of a class without `__eq__` always does.
        is_unequal = name in ("eq", "ne") and result is (name == "ne")
        if with_data and not is_unequal and not isinstance(result, Handle):
            why = 'and plain data gave plain data, which the program would choose; judge="shared" allows it'
            raise HandleMisuse(f"{name} of {shown(self)} {why}")
        return result

    return method


def _await(self: Handle) -> Any:
    # The result is data, as that of a coroutine is.
    return remote_coroutine(self._code_env_remote, self._code_env_target).__await__()


def _refuse_setting(self: Handle, *_: Any) -> None:
    why = 'its code cannot reach objects of a class of the tests; judge="shared" allows it'
    raise HandleMisuse(f"an attribute that {shown(self)} manages was changed: {why}")


_IN_CLASSES: dict[str, Callable[..., Any]] = {
    "call": _call,
    "await": _await,
    "get": bind,
    "set_name": set_name,
    "set": _refuse_setting,
    "delete": _refuse_setting,
}
"""Special methods of handles in every mode. Python calls the last four for what is in the body of a class."""


async def _next_awaited(self: Handle) -> Any:
    more, value = await self._code_env_remote.operate("anext", (self,))
    if more is not True:
        raise StopAsyncIteration
    return value


def _is_true(self: Handle) -> bool:
    if self._code_env_origin is Origin.COMPARISON:
        raise HandleMisuse(f"a comparison with data gave {shown(self)}, which is always true")
    return True


def _method(base: type[Handle], name: str) -> Callable[..., Any]:
    """Return the special method called `name` for the handles of a class."""
    if name in _IN_CLASSES:
        return _IN_CLASSES[name]
    if base is ObjectHandle:
        if name == "anext":
            return _next_awaited
        if name in OPERATIONS:
            return _forward(name)
        if name[:1] == "r" and name[1:] in REFLECTED:
            return _forward(name[1:], reflected=True)
    return _refuse(name)


for _name in COMPARISONS:
    for _base in (Handle, ObjectHandle):
        setattr(_base, f"__{_name}__", _method(_base, _name))
for _name in _TEXTS:
    setattr(Handle, f"__{_name}__", _forward(_name))


@functools.lru_cache(maxsize=1000)
def handle_class(base: type[Handle], type_name: str, methods: int) -> type[Handle]:
    """Return the class for handles of objects of one class of the program.

    Args:
        base: `Handle`, or `ObjectHandle` where operators are forwarded.
        type_name: The name of the object's class, or a description of the object.
        methods: The special methods of that class, as `special_methods` returns them.
    """
    members: dict[str, Any] = {"__hash__": None}
    members |= {f"__{name}__": _method(base, name) for name in names_of(methods)}
    if "__len__" not in members:
        members.setdefault("__bool__", _is_true)
    if base is Handle and "__next__" in members:
        members = _OF_ITERATORS | members | {"__next__": _next_of}
        if "__iter__" in members:
            members["__iter__"] = _iter_of
        if "__len__" in members:
            members["__len__"] = None  # Otherwise `list` would call it.
    if base is Handle and "__await__" in members:
        members["__hash__"] = object.__hash__  # `asyncio.gather` looks for what it gets twice.
    if base is Handle and "__anext__" in members:
        members |= {"__anext__": _next_awaited, "__aiter__": _forward("aiter")}
    # The program chooses the name of its class. Names of data types are not used: data does not come as a handle.
    name = type_name if type_name.isidentifier() and type_name not in _NAMES_OF_DATA else "Handle"
    made = type(name, (base,), {"__slots__": (), **members})
    for asked in _ASKED_IN_CLASS:
        setattr(made, asked, property(functools.partial(_ask, name=asked)))
    return made


_OF_FUNCTIONS = special_methods(len)  # Not of a function, which would bind: the name can stand for a class.


def named_handle(remote: Remote, name: str, origin: Origin, methods: int | None = None, *, forwards: bool) -> Handle:
    """Return the handle of the function or class of the program that has this name.

    Args:
        remote: The conversation with the program.
        name: The name.
        origin: Whether it is a function or a class.
        methods: The special methods of a class that can do more than be called, see `class_methods`.
        forwards: Whether these methods are forwarded.
    """
    base = ObjectHandle if forwards and methods is not None else Handle
    kind = handle_class(base, "Handle", _OF_FUNCTIONS if methods is None else methods)
    return kind(remote, name, f"function {name!r}", origin)


def _next_of(self: Handle) -> Any:
    values, _, failure = self._code_env_remote.next_values(self._code_env_target)
    if values:
        return values[0]
    raise failure or StopIteration


def _iter_of(self: Handle) -> Any:
    # The program's `__iter__` runs: it can start again, return another iterator or raise. Python checks the result.
    return self._code_env_remote.operate("iter", (self,))


_OF_ITERATORS: dict[str, Any] = {
    "__contains__": lambda self, value: any(item is value or item == value for item in self),
}
"""Methods that the handle of an object has if the class of the object defines `__next__` and not these methods. The
values of such an object cross one by one, as plain data."""


class RemoteIterator(Iterator[Any]):
    """An iterator of the program; each value crosses as plain data when the tests request it.

    Args:
        remote: The conversation with the program.
        number: The object's number.
    """

    def __init__(self, remote: Remote, number: int) -> None:
        self.number = number
        self._remote = remote
        self._values: deque[Any] = deque()
        self._more = True
        self._failure: BaseException | None = None

    def __next__(self) -> Any:
        """Return the next value.

        Raises:
            StopIteration: At the end.
        """
        # One by one, so that the iterator does its work between two values when the tests request the second.
        if not self._values and self._more:
            values, self._more, self._failure = self._remote.next_values(self.number)
            self._values.extend(values)
        if self._values:
            return self._values.popleft()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        raise StopIteration


class RemoteGenerator(RemoteIterator, Generator[Any, Any, Any]):
    """A generator of the program."""

    __class__ = types.GeneratorType  # type: ignore[assignment]  # `inspect.isgenerator` reads it.

    def _resume(self, do: str, *args: Any) -> Any:
        values, self._more, self._failure = self._remote.resume(self.number, do, args)
        self._values.extend(values)
        return self.__next__()

    def send(self, value: Any) -> Any:
        """Continue with a value."""
        return self._resume("send", value)

    def throw(self, error: Any, *_: Any) -> Any:
        """Continue with an exception."""
        return self._resume("throw", error)

    def close(self) -> None:
        """End the generator."""
        self._values.clear()
        with contextlib.suppress(StopIteration):
            self._resume("close")


async def remote_coroutine(remote: Remote, number: str | int) -> Any:
    """Represent a coroutine of the program, which runs when the tests await this coroutine."""
    return await remote.result_of(number)


def number_of_coroutine(value: Any) -> int | None:
    """Return the number of a coroutine of the program that nobody has awaited yet; None for any other coroutine."""
    if value.cr_code is not remote_coroutine.__code__ or value.cr_frame is None:
        return None
    number: int = value.cr_frame.f_locals["number"]
    return number


class ProgramDied(BaseException):
    """The program's process is gone or does not answer; a `BaseException`, so that no test catches it as an error."""


class TimeIsUp(ProgramDied):
    """The tests took longer than the program may run."""
