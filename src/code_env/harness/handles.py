"""Stand-ins, on the tests' side, for what stays in the program's process.

The entry point is a `Handle` that can be called; so is a function the program returns. An object of
a class that the program defines is a `Handle` too. A handle gives out attributes and calls, as plain
data or further handles, and refuses everything else: a comparison that it took part in would be
decided by the program. Under `judge="objects"` an `ObjectHandle` forwards that as well, and the
verdict says so.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, Protocol


class HandleMisuse(AssertionError):
    """A test used an object of the program in a way that would let the program decide its outcome."""


class Remote(Protocol):
    """What a handle needs of the conversation with the program; `judge.Module` is one."""

    def call(self, target: str | int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a name or an object of the program."""

    def get(self, number: int, name: str) -> Any:
        """Read an attribute of an object of the program."""

    def operate(self, name: str, args: tuple[Any, ...]) -> Any:
        """Apply an operator to objects of the program."""


class Handle:
    """An object of the program; only attribute reads and calls are forwarded."""

    __slots__ = ("_code_env_remote", "_code_env_target", "_code_env_type")

    def __init__(self, remote: Remote, target: str | int, type_name: str) -> None:
        self._code_env_remote = remote
        self._code_env_target = target
        self._code_env_type = type_name

    def __getattr__(self, name: str) -> Any:
        target = self._code_env_target
        if name.startswith("__") or isinstance(target, str):
            raise AttributeError(f"{self!r} gives out no attribute {name!r}")
        return self._code_env_remote.get(target, name)

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
        """Call it in the program's process, with plain data."""
        return self._code_env_remote.call(self._code_env_target, args, kwargs)

    @property
    def __name__(self) -> str:
        """The function's name."""
        target = self._code_env_target
        return target if isinstance(target, str) else str(self._code_env_remote.get(target, "__name__"))


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


class ProgramDied(BaseException):
    """The program's process is gone or does not answer; no test code may catch this as an error."""


class ProgramError(Exception):
    """An exception of the program that no builtin class stands for."""


def rebuild_exception(raised: dict[str, Any], args: list[Any] | None) -> BaseException:
    """The exception that a call raised, as the nearest builtin class.

    Exits and interrupts become a `ProgramError`: they must not end the tests' own process.
    """
    kind = getattr(builtins, str(raised.get("builtin")), None)
    name, message = str(raised.get("name")), str(raised.get("message"))
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return ProgramError(f"{name}: {message}")
    try:
        return kind(*(args if args is not None else [message]))
    # A class that wants other arguments, or a forged message.
    except Exception:
        return ProgramError(f"{name}: {message}")


def update_in_place(old: Any, new: Any) -> None:
    """Make a mutable value of the tests equal to what the program made of it.

    Containers inside that kept their place and kind are updated in place too, so a test that holds
    one of them sees the change.
    """
    if isinstance(old, list) and isinstance(new, list):
        old[:] = [_updated(o, n) for o, n in zip(old, new, strict=False)] + new[len(old) :]
    elif isinstance(old, dict) and isinstance(new, dict):
        kept = {key: _updated(old[key], value) if key in old else value for key, value in new.items()}
        old.clear()
        old.update(kept)
    elif isinstance(old, set) and isinstance(new, set):
        old.clear()
        old.update(new)
    elif hasattr(old, "extend") and type(old) is type(new):  # bytearray, deque
        old.clear()
        old.extend(new)
    elif hasattr(old, "shape") and getattr(new, "shape", None) == old.shape:  # a NumPy array
        old[...] = new
    elif isinstance(old, tuple) and isinstance(new, tuple):
        for o, n in zip(old, new, strict=False):
            _updated(o, n)


def _updated(old: Any, new: Any) -> Any:
    if type(old) is type(new) and isinstance(old, list | dict | set | bytearray | tuple):
        update_in_place(old, new)
        return old if not isinstance(old, tuple) else new
    return new
