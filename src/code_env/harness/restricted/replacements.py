"""Replacements for functions and classes of the standard library that could break the policy.

For example, the originals take names of attributes or evaluate text.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import inspect
import json
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from . import copying
from .guards import Guards
from .refusals import ForbiddenValue


class Stream:
    """A standard stream that does not lead to its file object, which would lead to any file.

    Args:
        name: Name of the stream in `sys`.
        binary: Whether this is the binary `buffer` of the stream.
    """

    __slots__ = ("__dict__", "_of")

    def __init__(self, name: str, binary: bool = False) -> None:
        def stream() -> Any:
            found = getattr(sys, name)
            return found.buffer if binary else found

        self._of = stream
        self.__dict__["name"] = f"<{name}>"
        if not binary:
            self.__dict__.update(buffer=Stream(name, binary=True), encoding="utf-8", errors="strict")

    def read(self, size: int | None = -1, /) -> Any:
        """Read like `read` of a file."""
        return self._of().read(size)

    def readline(self, size: int = -1, /) -> Any:
        """Read a line, like `readline` of a file."""
        return self._of().readline(size)

    def readlines(self, hint: int = -1, /) -> list[Any]:
        """Read lines, like `readlines` of a file."""
        return list(self._of().readlines(hint))

    def write(self, data: Any, /) -> int:
        """Write like `write` of a file."""
        return int(self._of().write(data))

    def writelines(self, lines: Any, /) -> None:
        """Write lines, like `writelines` of a file."""
        self._of().writelines(lines)

    def flush(self) -> None:
        """Flush like `flush` of a file."""
        self._of().flush()

    def isatty(self) -> bool:
        """Return False."""
        return False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        line = self._of().readline()
        if not line:
            raise StopIteration
        return line

    def __copy__(self) -> Stream:
        return self

    def __deepcopy__(self, memo: object) -> Stream:
        return self


def enumerations(guards: Guards) -> dict[str, Any]:
    """Return the names that programs get of `enum`."""

    class ByValueOnly(enum.EnumMeta):
        # The call with names could make classes with any special method.
        def __call__(cls, value: Any, /, *more: Any, **options: Any) -> Any:  # type: ignore[override]
            if more or options:
                guards.refuse(ForbiddenValue, "enumerations are made by class statements, not by a call with names")
            return super().__call__(value)

    def sealed(base: Any) -> Any:
        made = ByValueOnly(base.__name__, (base,), ByValueOnly.__prepare__(base.__name__, (base,)))
        made.__module__ = "enum"
        return made

    guards.enum_meta = ByValueOnly
    names = ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag")
    return {**{name: sealed(getattr(enum, name)) for name in names}, "auto": enum.auto, "unique": enum.unique}


def data_classes(guards: Guards) -> dict[str, Any]:
    """Return the names that programs get of `dataclasses`."""

    def dataclass(cls: Any = None, /, **options: Any) -> Any:
        def decorate(cls: Any) -> Any:
            guards.own_class(cls, "dataclass")
            fields = [*inspect.get_annotations(cls), *getattr(cls, "__dataclass_fields__", ())]
            guards.check_fields(cls, fields)
            check_owners(cls)
            return guards.adopt(dataclasses.dataclass(**options)(cls))

        return decorate if cls is None else decorate(cls)

    def check_owners(cls: Any) -> None:
        # `dataclasses` builds source text from the names that the fields have, and runs it.
        for base in type.__getattribute__(cls, "__mro__")[1:]:
            for name, one in type.__getattribute__(base, "__dict__").get("__dataclass_fields__", {}).items():
                if type(one.name) is not str or one.name != name or not name.isidentifier():
                    guards.refuse(ForbiddenValue, f"a field of {base.__name__} has a name that is not its own")
        for one in type.__getattribute__(cls, "__dict__").values():
            if type(one) is dataclasses.Field and one.name is not None:
                guards.refuse(ForbiddenValue, "what field() gave is for one class")

    # The library's functions read the list of fields from the object, where a program can have put its own list.
    def class_of(ob: Any, what: str) -> Any:
        kind = ob if issubclass(type(ob), type) else type(ob)
        if "__dataclass_fields__" not in dir(kind):
            raise TypeError(f"{what} should be called on a dataclass or an instance of one")
        return kind

    def fields(class_or_instance: Any, /) -> Any:
        return dataclasses.fields(class_of(class_or_instance, "fields()"))

    def asdict(obj: Any, /, *, dict_factory: Any = dict) -> Any:
        if issubclass(type(obj), type):
            raise TypeError("asdict() should be called on dataclass instances")
        class_of(obj, "asdict()")
        return plain(obj, lambda names, values: dict_factory([*zip(names, values, strict=True)]), dict_factory)

    def astuple(obj: Any, /, *, tuple_factory: Any = tuple) -> Any:
        if issubclass(type(obj), type):
            raise TypeError("astuple() should be called on dataclass instances")
        class_of(obj, "astuple()")
        return plain(obj, lambda names, values: tuple_factory([*values]), None)

    def plain(ob: Any, make: Any, dict_factory: Any) -> Any:
        kind = type(ob)
        if kind not in plain_types and "__dataclass_fields__" in dir(kind) and not issubclass(kind, type):
            names = [field.name for field in dataclasses.fields(kind)]
            return make(names, [plain(guards.getattr(ob, name), make, dict_factory) for name in names])
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            return kind(*[plain(item, make, dict_factory) for item in ob])
        if issubclass(kind, list | tuple):
            return kind(plain(item, make, dict_factory) for item in ob)
        if issubclass(kind, dict):
            items = [(plain(key, make, dict_factory), plain(value, make, dict_factory)) for key, value in ob.items()]
            if issubclass(kind, collections.defaultdict):
                return kind(ob.default_factory, items)
            return kind(items)
        return deepcopy(ob)

    deepcopy = copying.copy_functions(guards)["deepcopy"]
    plain_types = frozenset((int, float, str, bool, type(None), bytes))

    def replace(obj: Any, /, **changes: Any) -> Any:
        if issubclass(type(obj), type):
            raise TypeError("replace() should be called on dataclass instances")
        class_of(obj, "replace()")
        guards.check_own_names(obj)
        return dataclasses.replace(obj, **changes)

    def is_dataclass(obj: Any, /) -> bool:
        return "__dataclass_fields__" in dir(obj if issubclass(type(obj), type) else type(obj))

    names = ("field", "FrozenInstanceError", "InitVar")
    return {
        **{function.__name__: function for function in (fields, asdict, astuple, replace, is_dataclass)},
        **{name: getattr(dataclasses, name) for name in names},
        "KW_ONLY": dataclasses.KW_ONLY,
        "MISSING": dataclasses.MISSING,
        "dataclass": dataclass,
    }


def named_tuple(guards: Guards) -> Callable[..., Any]:
    """Return a `collections.namedtuple` whose classes count as the program's own."""

    def namedtuple(typename: Any, field_names: Any, *, rename: bool = False, defaults: Any = None) -> Any:
        make: Any = collections.namedtuple
        made = make(typename, field_names, rename=rename, defaults=defaults, module="__main__")
        return guards.adopt(made)

    return namedtuple


def function_tools(guards: Guards) -> dict[str, Any]:
    """Return the replacements for names of `functools` that are not harmless as they are."""
    cached = (
        types.FunctionType,
        types.MethodType,
        types.BuiltinFunctionType,
        functools.partial,
        type,
        type(functools.lru_cache(len)),
    )

    def check_callable(function: Any) -> Any:
        # `lru_cache` copies the attributes of the callable; a class would give its raw attributes.
        if not issubclass(type(function), cached):
            raise TypeError(f"a function was expected, not a {type(function).__name__}")
        if issubclass(type(function), type):
            return lambda *args, **kwargs: function(*args, **kwargs)
        return function

    def lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:
        if callable(maxsize):
            return functools.lru_cache(128, typed)(check_callable(maxsize))
        return lambda function: functools.lru_cache(maxsize, typed)(check_callable(function))

    def cache(function: Any, /) -> Any:
        return functools.lru_cache(None)(check_callable(function))

    def update_wrapper(wrapper: Any, wrapped: Any) -> Any:
        if guards.own_function(wrapper) and issubclass(type(wrapped), cached):
            for name in ("__name__", "__qualname__", "__doc__"):
                value = getattr(wrapped, name, None)
                if type(value) is str:
                    setattr(wrapper, name, value)
            if guards.own_function(wrapped):
                wrapper.__dict__.update(wrapped.__dict__)
        return wrapper

    def wraps(wrapped: Any) -> Any:
        return lambda wrapper: update_wrapper(wrapper, wrapped)

    def total_ordering(cls: Any, /) -> Any:
        return functools.total_ordering(guards.own_class(cls, "total_ordering"))

    def singledispatch(function: Any, /) -> Any:
        chosen: dict[type, Any] = {object: function}

        def dispatch(cls: type, /) -> Any:
            return next(chosen[kind] for kind in type.__getattribute__(cls, "__mro__") if kind in chosen)

        def register(cls: Any, function: Any = None, /) -> Any:
            if not isinstance(cls, type):
                raise TypeError("here register() takes a class, and no annotations")
            if function is None:
                return lambda function: register(cls, function)
            chosen[cls] = function
            return function

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return dispatch(type(args[0]))(*args, **kwargs)

        wrapper.register, wrapper.dispatch = register, dispatch  # type: ignore[attr-defined]
        return wrapper

    made = (lru_cache, cache, update_wrapper, wraps, total_ordering, singledispatch)
    return {function.__name__: function for function in made}


def context_tools(guards: Guards) -> dict[str, Any]:
    """Return the replacements for names of `contextlib` that are not harmless as they are."""
    import contextlib

    def contextmanager(func: Any, /) -> Any:
        # `contextlib.contextmanager` copies the attributes of the function.
        if not guards.own_function(func):
            raise TypeError(f"a function of the program was expected, not a {type(func).__name__}")
        return contextlib.contextmanager(func)

    return {"contextmanager": contextmanager}


def json_functions() -> dict[str, Any]:
    """Return the names that programs get of `json`: no function takes a class that does the work."""

    def dumps(
        obj: Any,
        *,
        skipkeys: bool = False,
        ensure_ascii: bool = True,
        check_circular: bool = True,
        allow_nan: bool = True,
        indent: Any = None,
        separators: Any = None,
        default: Any = None,
        sort_keys: bool = False,
    ) -> str:
        return json.dumps(
            obj,
            skipkeys=skipkeys,
            ensure_ascii=ensure_ascii,
            check_circular=check_circular,
            allow_nan=allow_nan,
            indent=indent,
            separators=separators,
            default=default,
            sort_keys=sort_keys,
        )

    def loads(
        s: Any,
        *,
        object_hook: Any = None,
        parse_float: Any = None,
        parse_int: Any = None,
        parse_constant: Any = None,
        object_pairs_hook: Any = None,
    ) -> Any:
        return json.loads(
            s,
            object_hook=object_hook,
            parse_float=parse_float,
            parse_int=parse_int,
            parse_constant=parse_constant,
            object_pairs_hook=object_pairs_hook,
        )

    def dump(obj: Any, fp: Any, **options: Any) -> None:
        fp.write(dumps(obj, **options))

    def load(fp: Any, **options: Any) -> Any:
        return loads(fp.read(), **options)

    functions = {function.__name__: function for function in (dump, dumps, load, loads)}
    return {**functions, "JSONDecodeError": json.JSONDecodeError}


def leave(code: Any = None, /) -> None:
    """Implement `exit`, `quit` and `sys.exit` for programs."""
    raise SystemExit(code)


def unchanged(value: Any, /) -> Any:
    """Implement a decorator that has a meaning only for type checkers."""
    return value
