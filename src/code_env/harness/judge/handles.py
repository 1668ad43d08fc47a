"""Stand-ins, on the tests' side, for what stays in the program's process.

The entry point is a `Handle` that can be called; so is a function the program returns. An object of
a class that the program defines is a `Handle` too. A handle gives out attributes and calls, as plain
data or further handles, and refuses everything else: a comparison that it took part in would be
decided by the program. Under `judge="objects"` an `ObjectHandle` forwards that as well, and the
verdict says so.
"""

from __future__ import annotations

import builtins
import contextlib
import enum
import functools
import types
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Any, Protocol

from ..wire.operations import OPERATIONS
from ..wire.shapes import ARITHMETIC, REFLECTED, SPECIAL, names_of, special_methods


class HandleMisuse(AssertionError):
    """A test used an object of the program in a way that would let the program decide its outcome."""


class Origin(enum.Enum):
    """How the tests came by an object of the program.

    A test that calls `f("a").startswith("hello")` expects text, and an object that is none would see
    the expected value and answer as it likes. A test that calls `Stack().pop()` expects an object
    of the program. The task's prompt and reference tell them apart; where they do not, the names do, as
    Python's conventions have it: one that begins with a capital letter is a class. The program has no say in it.
    """

    FUNCTION = enum.auto()
    """A function of the program, or one that was returned: what it returns is a result."""
    CLASS = enum.auto()
    """A class of the program: what a call returns is an instance."""
    INSTANCE = enum.auto()
    """An object of a class under test; its methods may be called."""
    METHOD = enum.auto()
    """An attribute of one of these; it may be called, and what it is otherwise is a result."""
    RESULT = enum.auto()
    """What a function or a method returned; its attributes are data, its methods may not be called."""
    RESULT_METHOD = enum.auto()
    """A method of a result."""

    @property
    def of_call(self) -> Origin:
        """The origin of what a call of it returns."""
        return Origin.INSTANCE if self is Origin.CLASS else Origin.RESULT

    @property
    def of_attribute(self) -> Origin:
        """The origin of what its attributes are."""
        return Origin.METHOD if self in (Origin.FUNCTION, Origin.CLASS, Origin.INSTANCE) else Origin.RESULT_METHOD


class Remote(Protocol):
    """What a handle needs of the conversation with the program; `remote.RemoteModule` is one."""

    def call(self, handle: Handle, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a name or an object of the program."""

    def get(self, handle: Handle, name: str) -> Any:
        """Read an attribute of a name or an object of the program."""

    def set(self, handle: Handle, name: str, value: Any) -> None:
        """Set an attribute of an object of the program."""

    def operate(self, name: str, args: tuple[Any, ...]) -> Any:
        """Apply an operator to objects of the program."""

    def next_values(self, number: str | int, count: int) -> tuple[list[Any], bool, BaseException | None]:
        """The next values of an iterator of the program, whether there may be more, and what ended it if not."""

    def resume(self, number: int, do: str, args: tuple[Any, ...]) -> tuple[list[Any], bool, BaseException | None]:
        """Have a generator of the program go on with a value or an exception, or end; as `next_values`."""

    def wait_for(self, number: int) -> Any:
        """What a coroutine of the program returns."""


class Handle:
    """An object of the program; only attribute reads and calls are forwarded.

    `handle_class` makes the class of a handle, which has the special methods of the object's class.

    Args:
        remote: The conversation with the program.
        target: What it stands for: a name of the program, or an object's number.
        type_name: The object's type, for messages.
        origin: How the tests came by it, which decides whether its methods may be called.
    """

    __slots__ = ("_code_env_origin", "_code_env_remote", "_code_env_target", "_code_env_type")

    def __init__(self, remote: Remote, target: str | int, type_name: str, origin: Origin) -> None:
        for name, value in zip(Handle.__slots__, (origin, remote, target, type_name), strict=True):
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__") and name not in _SPECIAL and name not in _ASKED:
            raise AttributeError(f"{self!r} gives out no attribute {name!r}")
        return self._code_env_remote.get(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._code_env_origin is not Origin.INSTANCE and not isinstance(self, ObjectHandle):
            raise HandleMisuse(f"setting {name!r} on {self!r}: only objects of a class under test can be changed")
        self._code_env_remote.set(self, name, value)

    def __dir__(self) -> Any:
        return self._code_env_remote.operate("dir", (self,))

    # What is an object of the program's class the program knows; of data that is not its own it is told nothing.
    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, Handle) and self._code_env_remote.operate("isinstance", (value, self)) is True

    def __subclasscheck__(self, kind: object) -> bool:
        return isinstance(kind, Handle) and self._code_env_remote.operate("issubclass", (kind, self)) is True

    def __repr__(self) -> str:
        return f"<the program's {self._code_env_type}>"

    __str__ = __repr__

    def __copy__(self) -> Handle:
        return self

    def __deepcopy__(self, memo: Any) -> Handle:
        return self


class ObjectHandle(Handle):
    """A handle of a task marked `judge="objects"`: operators are forwarded as well."""

    __slots__ = ()


_NAMES_OF_DATA = frozenset(
    (
        *vars(builtins),
        *("Counter", "OrderedDict", "defaultdict", "deque", "Decimal", "Fraction", "Match", "NoneType", "ndarray"),
        *("date", "time", "datetime", "timedelta", "timezone", "ZoneInfo", "function", "method", "generator", "module"),
    )
)

_ASKED = frozenset(
    f"__{name}__"
    for name in (
        *("name", "qualname", "doc", "module", "dict", "annotations", "defaults", "kwdefaults", "wrapped"),
        *("slots", "bases", "match_args", "abstractmethods", "version"),
    )
)
"""Attributes with two underscores that tests look for, and that tell of the object, not of the handle."""

_ASKED_IN_CLASS = ("__doc__", "__module__", "__slots__")
"""Those of them that every class has."""

_SPECIAL = frozenset(f"__{name}__" for name in SPECIAL)

_OF_EVERY_OBJECT = ("eq", "ne", "lt", "le", "gt", "ge", "bool", "format")
"""Special methods that decide something of any object, whether its class has them or not."""

_COMPARED = frozenset(("eq", "ne", "lt", "le", "gt", "ge", *ARITHMETIC))
_EXACT = {"bool": bool, "contains": bool, "len": int, "hash": int, "int": int, "index": int, "float": float}


def _call(self: Handle, *args: Any, **kwargs: Any) -> Any:
    if self._code_env_origin is Origin.RESULT_METHOD and not isinstance(self, ObjectHandle):
        raise HandleMisuse(
            f"a method of an object that a function returned was called: {self!r} would decide the test; "
            'judge="objects" allows it'
        )
    return self._code_env_remote.call(self, args, kwargs)


def _ask(self: Handle, name: str) -> Any:
    return self._code_env_remote.get(self, name)


def _refuse(operation: str) -> Callable[..., Any]:
    def method(self: Handle, *_: Any) -> Any:
        raise HandleMisuse(f"{operation} on {self!r}: only plain data can be compared, computed with or looked into")

    return method


def _forward(name: str, *, reflected: bool = False) -> Callable[..., Any]:
    def method(self: Handle, *args: Any) -> Any:
        operands = (*args, self) if reflected else (self, *args)
        result = self._code_env_remote.operate(name, operands)
        kind = _EXACT.get(name)  # Python insists on the exact type of what these return.
        if kind is not None and type(result) is not kind:
            raise HandleMisuse(f"{name} on {self!r} gave {type(result).__name__}, not {kind.__name__}")
        # With data on the other side, the program would see what is expected and give what passes. What it may give is
        # another object, as a frame does when it is compared with a number.
        if name in _COMPARED and not isinstance(result, Handle) and not any(isinstance(arg, Handle) for arg in args):
            raise HandleMisuse(f"{name} of {self!r} and plain data gave plain data, which the program would choose")
        return result

    return method


def _method(base: type[Handle], name: str) -> Callable[..., Any]:
    """What a handle does where Python calls its special method of that name."""
    if name == "call":
        return _call
    if base is ObjectHandle:
        if name in OPERATIONS:
            return _forward(name)
        if name[:1] == "r" and name[1:] in REFLECTED:
            return _forward(name[1:], reflected=True)
    return _refuse(name)


for _name in _OF_EVERY_OBJECT:
    for _base in (Handle, ObjectHandle):
        setattr(_base, f"__{_name}__", _method(_base, _name))
for _name in ("str", "repr"):
    setattr(ObjectHandle, f"__{_name}__", _forward(_name))


@functools.lru_cache(maxsize=1000)
def handle_class(base: type[Handle], type_name: str, methods: int) -> type[Handle]:
    """The class of the handles of objects of one class of the program.

    Args:
        base: `Handle`, or `ObjectHandle` where operators are forwarded.
        type_name: The name of the object's class, or of what it is.
        methods: Which special methods that class has, as `special_methods` tells.
    """
    members: dict[str, Any] = {"__hash__": None}
    members |= {f"__{name}__": _method(base, name) for name in names_of(methods)}
    if base is Handle and "__next__" in members:
        members |= _OF_ITERATORS
        if "__len__" in members:
            members["__len__"] = None  # `list` would ask for it.
    # What the program calls its class is its claim; data does not come as a handle.
    name = type_name if type_name.isidentifier() and type_name not in _NAMES_OF_DATA else "Handle"
    made = type(name, (base,), {"__slots__": (), **members})
    for asked in _ASKED_IN_CLASS:
        setattr(made, asked, property(functools.partial(_ask, name=asked)))
    return made


_OF_FUNCTIONS = special_methods(lambda: None)


def named_handle(remote: Remote, name: str, origin: Origin) -> Handle:
    """The handle of a function or class of the program, by its name."""
    return handle_class(Handle, "Handle", _OF_FUNCTIONS)(remote, name, f"function {name!r}", origin)


def _next_of(self: Handle) -> Any:
    values, _, failure = self._code_env_remote.next_values(self._code_env_target, 1)
    if values:
        return values[0]
    raise failure or StopIteration


_OF_ITERATORS = {
    "__iter__": lambda self: self,
    "__next__": _next_of,
    "__contains__": lambda self, value: any(item is value or item == value for item in self),
}
"""Methods of an object of the program whose class defines `__next__`: its values cross one by one, as plain data."""


class RemoteIterator(Iterator[Any]):
    """An iterator of the program: each value crosses as plain data when the tests ask for it.

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
        """The next value.

        Raises:
            StopIteration: At the end.
        """
        # One by one: what an iterator does between two values it does when the tests ask for the second.
        if not self._values and self._more:
            values, self._more, self._failure = self._remote.next_values(self.number, 1)
            self._values.extend(values)
        if self._values:
            return self._values.popleft()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        raise StopIteration


class RemoteGenerator(RemoteIterator, Generator[Any, Any, Any]):
    """A generator of the program."""

    __class__ = types.GeneratorType  # type: ignore[assignment]  # What `inspect.isgenerator` asks for.

    def _resume(self, do: str, *args: Any) -> Any:
        values, self._more, self._failure = self._remote.resume(self.number, do, args)
        self._values.extend(values)
        return self.__next__()

    def send(self, value: Any) -> Any:
        """Go on with a value."""
        return self._resume("send", value)

    def throw(self, error: Any, *_: Any) -> Any:
        """Go on with an exception."""
        return self._resume("throw", error)

    def close(self) -> None:
        """End it."""
        self._values.clear()
        with contextlib.suppress(StopIteration):
            self._resume("close")


async def remote_coroutine(remote: Remote, number: int) -> Any:
    """A coroutine of the program, which runs to its end when the tests await this one."""
    return remote.wait_for(number)


def number_of_coroutine(value: Any) -> int | None:
    """The number of a coroutine of the program that nobody has awaited yet; None if the value is another one."""
    if value.cr_code is not remote_coroutine.__code__ or value.cr_frame is None:
        return None
    number: int = value.cr_frame.f_locals["number"]
    return number


class ProgramDied(BaseException):
    """The program's process is gone or does not answer; no test code may catch this as an error."""


class TimeIsUp(ProgramDied):
    """The tests took longer than the program may."""
