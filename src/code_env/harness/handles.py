"""Stand-ins, on the tests' side, for what stays in the program's process.

The entry point is a `Handle` that can be called; so is a function the program returns. An object of
a class that the program defines is a `Handle` too. A handle gives out attributes and calls, as plain
data or further handles, and refuses everything else: a comparison that it took part in would be
decided by the program. Under `judge="objects"` an `ObjectHandle` forwards that as well, and the
verdict says so.
"""

from __future__ import annotations

import contextlib
import enum
import types
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Any, Protocol


class HandleMisuse(AssertionError):
    """A test used an object of the program in a way that would let the program decide its outcome."""


class Origin(enum.Enum):
    """How the tests came by an object of the program.

    A test that calls `f("a").startswith("hello")` expects text, and an object that is none would see
    the expected value and answer as it likes. A test that calls `Stack().pop()` expects an object
    of the program. The names tell them apart, as Python's conventions have it: one that begins with
    a capital letter is a class. The program has no say in it.
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

    @classmethod
    def of_name(cls, name: str) -> Origin:
        """The origin of what a name of the program stands for."""
        return cls.CLASS if name.lstrip("_")[:1].isupper() else cls.FUNCTION

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
        if name.startswith("__"):
            raise AttributeError(f"{self!r} gives out no attribute {name!r}")
        return self._code_env_remote.get(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._code_env_origin is not Origin.INSTANCE and not isinstance(self, ObjectHandle):
            raise HandleMisuse(f"setting {name!r} on {self!r}: only objects of a class under test can be changed")
        self._code_env_remote.set(self, name, value)

    def __repr__(self) -> str:
        return f"<the program's {self._code_env_type}>"

    __str__ = __repr__

    def __copy__(self) -> Handle:
        return self

    def __deepcopy__(self, memo: Any) -> Handle:
        return self


class CallableHandle(Handle):
    """An object of the program that can be called."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it in the program's process, with plain data.

        Raises:
            HandleMisuse: If it is a method of an object that a function returned.
        """
        if self._code_env_origin is Origin.RESULT_METHOD and not isinstance(self, ObjectHandle):
            raise HandleMisuse(
                f"a method of an object that a function returned was called: {self!r} would decide the test; "
                'judge="objects" allows it'
            )
        return self._code_env_remote.call(self, args, kwargs)

    @property
    def __name__(self) -> str:
        """The function's name."""
        target = self._code_env_target
        return target if isinstance(target, str) else str(self._code_env_remote.get(self, "__name__"))


class IteratorHandle(Handle):
    """An object of the program whose class defines `__next__`: its values cross one by one, as plain data."""

    __slots__ = ()


class CallableIteratorHandle(IteratorHandle, CallableHandle):
    """An iterator of the program that can be called as well."""

    __slots__ = ()


HANDLES: dict[tuple[bool, bool], type[Handle]] = {
    (False, False): Handle,
    (True, False): CallableHandle,
    (False, True): IteratorHandle,
    (True, True): CallableIteratorHandle,
}
"""The class of a handle, by whether the object can be called and whether it is an iterator."""


class ObjectHandle(CallableHandle):
    """A handle of a task marked `judge="objects"`: operators are forwarded as well."""

    __slots__ = ()


_SPECIAL_METHODS = (
    *("eq", "ne", "lt", "le", "gt", "ge", "bool", "hash"),
    *("len", "iter", "next", "reversed", "contains", "getitem", "setitem", "delitem"),
    *("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow"),
    *("lshift", "rshift", "and", "or", "xor", "neg", "pos", "abs", "invert"),
    *("int", "float", "index", "round", "format", "enter", "exit", "iadd", "isub", "imul"),
)
_REFLECTED = ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow", "and", "or", "xor")
_BINARY = frozenset(
    ("eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow")
)
_EXACT = {"bool": bool, "contains": bool, "len": int, "hash": int, "int": int, "index": int, "float": float}


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
        if name in _BINARY and not isinstance(result, Handle) and not any(isinstance(arg, Handle) for arg in args):
            raise HandleMisuse(f"{name} of {self!r} and plain data gave plain data, which the program would choose")
        return result

    return method


for _name in _SPECIAL_METHODS:
    setattr(Handle, f"__{_name}__", _refuse(_name))
    setattr(ObjectHandle, f"__{_name}__", _forward(_name))
for _name in _REFLECTED:
    setattr(Handle, f"__r{_name}__", _refuse(_name))
    setattr(ObjectHandle, f"__r{_name}__", _forward(_name, reflected=True))
for _name in ("str", "repr"):
    setattr(ObjectHandle, f"__{_name}__", _forward(_name))


def _next_of(self: Handle) -> Any:
    values, _, failure = self._code_env_remote.next_values(self._code_env_target, 1)
    if values:
        return values[0]
    raise failure or StopIteration


for _name, _method in {
    "__iter__": lambda self: self,
    "__next__": _next_of,
    "__contains__": lambda self, value: any(item is value or item == value for item in self),
    "__len__": None,  # So that `list` asks no further.
}.items():
    setattr(IteratorHandle, _name, _method)


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
