"""Tables of types, and of attributes of their objects, that restricted programs may or may not have."""

from __future__ import annotations

import abc
import builtins
import collections
import contextlib
import enum
import functools
import io
import types

LEAD_OUT = (
    types.ModuleType,
    types.FrameType,
    types.TracebackType,
    types.CodeType,
    types.CellType,
    types.MappingProxyType,
)
"""Types of values that no attribute may give."""

UNTOUCHABLE_TYPES = frozenset(
    (
        *LEAD_OUT,
        *(types.FunctionType, types.MethodType, types.SimpleNamespace, types.GetSetDescriptorType),
        # A call of one of these types with names can make a class with any special method.
        *(enum.Enum, enum.IntEnum, enum.StrEnum, enum.Flag, enum.IntFlag, enum.ReprEnum),
        *(io.FileIO, io.BufferedReader, io.BufferedWriter, io.BufferedRandom, io.BufferedRWPair, io.TextIOWrapper),
    )
)
"""Types that `type` does not return: with most of them, a program could make objects that it may not have."""

UNTOUCHABLE_FUNCTIONS = frozenset(
    id(vars(builtins)[name])
    for name in (
        *("__import__", "__build_class__", "breakpoint", "compile", "delattr", "dir", "eval", "exec", "getattr"),
        *("globals", "hasattr", "locals", "open", "setattr", "vars"),
    )
)
"""The `id` of each builtin function that no attribute may give."""

TYPES_OF_MODULES = frozenset(
    (
        *("builtins", "collections", "_collections", "itertools", "functools", "re", "decimal", "datetime"),
        *("fractions", "random", "_random", "array", "_hashlib", "zlib", "time", "queue", "_queue", "statistics"),
        *("numbers", "operator", "_operator"),
    )
)
"""Modules whose types `type` returns for any object that a program has."""

WATCHED = frozenset((*LEAD_OUT, type, abc.ABCMeta, enum.EnumMeta, types.BuiltinFunctionType))
"""Types of values that a guard checks once more before an attribute gives them."""

NOT_ALL_OF = {
    "mro": (type,),
    "obj": (AttributeError, memoryview),
    "func": (functools.partial, functools.partialmethod, functools.cached_property, contextlib.ContextDecorator),
    "keywords": (functools.partial, functools.partialmethod),
    "gen": (contextlib.ContextDecorator,),
    "fget": (property,),
    "fset": (property,),
    "fdel": (property,),
    "default_factory": (collections.defaultdict,),
    "buffer": (io.IOBase,),
    "raw": (io.IOBase,),
}
"""Attributes that programs may not read from objects of some types, with these types."""

LRU_CACHE = type(functools.lru_cache(len))

NO_BASES = (
    *(type, super, property, staticmethod, classmethod, BaseExceptionGroup, LRU_CACHE),
    # A program could change objects of classes derived from these, and so choose which attribute is read or written.
    *(functools.partial, functools.partialmethod, functools.cached_property, functools.singledispatchmethod),
    *(types.DynamicClassAttribute, enum.property, enum.auto),
)
"""Classes that no class of a program may inherit from."""

DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType)

IMMUTABLE = frozenset(
    (
        *(int, float, complex, bool, str, bytes, tuple, frozenset, range, slice, object),
        *(type(None), type(...), type(NotImplemented)),
    )
)
"""Types whose objects Python itself protects from any change."""

MATCH_THEMSELVES = (int, float, str, bytes, bytearray, dict, list, tuple, set, frozenset)
"""Types whose class patterns compare their only positional pattern with the object itself."""

MIXINS = ("collections", "_collections_abc")
"""Modules with methods, written in Python, that change any object they get, through the object's own methods."""

CHANGES = frozenset(
    (
        *("update", "subtract", "pop", "popitem", "clear", "setdefault", "move_to_end"),
        *("append", "extend", "insert", "remove", "reverse", "add", "discard"),
    )
)
"""The names of the methods in `MIXINS` that change an object."""

CONTAINERS = frozenset((dict, list, bytearray, collections.deque, collections.defaultdict, collections.OrderedDict))
"""Types of containers that programs may change."""
