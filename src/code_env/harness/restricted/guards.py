"""What the transformed text calls: decides on attributes, writes, classes and types while the program runs.

A guard looks at exact types, by functions that no program can replace, and calls no method of the program's objects
before it has decided. The program holds some of them as values (`getattr`, `type`), so none has an argument more than
it needs, and what each is made with lies where only attributes with an underscore lead.
"""

from __future__ import annotations

import abc
import builtins
import collections
import contextlib
import enum
import functools
import io
import operator
import types
import typing
from collections.abc import Callable
from typing import Any

from RestrictedPython.Guards import guarded_iter_unpack_sequence, guarded_unpack_sequence

from .formatting import format_text
from .names import DECIDED_LATER, NAMED_TUPLES, why_not_attribute
from .refusals import ForbiddenAttribute, ForbiddenValue, ForbiddenWrite, here

_type, _getattr, _setattr, _delattr, _id, _len = type, getattr, setattr, delattr, id, len
_isinstance, _issubclass, _build_class, _super, _str, _tuple = (
    isinstance,
    issubclass,
    __build_class__,
    super,
    str,
    tuple,
)
_vars = vars
_SUPER_SELF = vars(super)["__self__"]

_LEAD_OUT = (
    types.ModuleType,
    types.FrameType,
    types.TracebackType,
    types.CodeType,
    types.CellType,
    types.MappingProxyType,
)
"""Types of values that no attribute may give."""

_FUNCTION_TYPES = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)

_UNTOUCHABLE_TYPES = frozenset(
    (
        *_LEAD_OUT,
        *(types.FunctionType, types.MethodType, types.SimpleNamespace, types.GetSetDescriptorType),
        # The call of these, with names, makes classes that have any special method.
        *(enum.Enum, enum.IntEnum, enum.StrEnum, enum.Flag, enum.IntFlag, enum.ReprEnum),
        *(io.FileIO, io.BufferedReader, io.BufferedWriter, io.BufferedRandom, io.BufferedRWPair, io.TextIOWrapper),
    )
)
"""Types that `type` does not give: with most of them one could make what no program may have."""

_UNTOUCHABLE_FUNCTIONS = frozenset(
    id(_vars(builtins)[name])
    for name in (
        *("__import__", "__build_class__", "breakpoint", "compile", "delattr", "dir", "eval", "exec", "getattr"),
        *("globals", "hasattr", "locals", "open", "setattr", "vars"),
    )
)

_TYPES_OF_MODULES = frozenset(
    (
        *(
            "builtins",
            "collections",
            "_collections",
            "itertools",
            "functools",
            "re",
            "decimal",
            "datetime",
            "fractions",
        ),
        *("random", "_random", "array", "_hashlib", "zlib", "time", "queue", "_queue", "statistics", "_operator"),
        *("numbers", "operator"),
    )
)
"""Modules of which `type` gives any type of an object that a program has."""

_WATCHED = frozenset((*_LEAD_OUT, type, abc.ABCMeta, enum.EnumMeta, types.BuiltinFunctionType))
"""Types of values that are looked at once more before an attribute gives them."""

_NOT_ALL_OF = {
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
"""Attributes that objects of some types keep to themselves, and the types."""

_LRU = _type(functools.lru_cache(_len))

_NO_BASES = (
    *(type, super, property, staticmethod, classmethod, BaseExceptionGroup, _LRU),
    # Of objects of these what decides which attribute is read, or written, could be changed.
    *(functools.partial, functools.partialmethod, functools.cached_property, functools.singledispatchmethod),
    *(types.DynamicClassAttribute, enum.property, enum.auto),
)

_DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType)

_IMMUTABLE = frozenset(
    (
        *(int, float, complex, bool, str, bytes, tuple, frozenset, range, slice, object),
        *(_type(None), _type(...), _type(NotImplemented)),
    )
)
"""Types whose objects Python itself lets nobody change."""

_MATCH_THEMSELVES = (int, float, str, bytes, bytearray, dict, list, tuple, set, frozenset)
"""Types of which a class pattern's only argument is the object as it is."""

_TRUSTED_MODULE = "tests"
"""Name of the module of tests that run beside a program, in its process; see `suite.SuiteRun`."""

_MIXINS = ("collections", "_collections_abc")
"""Modules whose methods, written in Python, change whatever they are called with by its own methods."""

_CHANGES = frozenset(
    (
        *("update", "subtract", "pop", "popitem", "clear", "setdefault", "move_to_end"),
        *("append", "extend", "insert", "remove", "reverse", "add", "discard"),
    )
)
"""Names of those methods."""

CONTAINERS = frozenset((dict, list, bytearray, collections.deque, collections.defaultdict, collections.OrderedDict))
"""Types of containers that programs may change."""

_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "%=": operator.imod,
    "**=": operator.ipow,
    "<<=": operator.ilshift,
    ">>=": operator.irshift,
    "|=": operator.ior,
    "^=": operator.ixor,
    "&=": operator.iand,
    "//=": operator.ifloordiv,
    "@=": operator.imatmul,
}

_missing = object()


class AbstractMeta:
    """Stands for `abc.ABCMeta` in programs: of use as a metaclass, and for nothing else."""

    __slots__ = ("_refuse",)

    def __init__(self, refuse: Callable[[type[Exception], str], Any]) -> None:
        self._refuse = refuse

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse."""
        return self._refuse(ForbiddenValue, "abc.ABCMeta is a metaclass here, for class statements only")


class TypeFunction:
    """Stands for `type` in programs: a function of one argument."""

    __slots__ = ("_guards",)
    __name__ = "type"

    def __init__(self, guards: Guards) -> None:
        self._guards = guards

    def __call__(self, ob: Any, /, *more: Any) -> Any:
        """The type of an object."""
        if more:
            rule = "type() takes one argument here: classes are made by class statements"
            self._guards.refuse(ForbiddenValue, rule)
        return self._guards.type_of(ob)

    # As `typing.Type`: an alias of `type` itself could be called with three arguments.
    def __getitem__(self, item: Any) -> Any:
        return typing.Type[item]  # noqa: UP006

    def __or__(self, other: Any) -> Any:
        return typing.Union[typing.Type, other]  # noqa: UP006, UP007

    def __ror__(self, other: Any) -> Any:
        return typing.Union[other, typing.Type]  # noqa: UP006, UP007

    def __repr__(self) -> str:
        return "<class 'type'>"

    def __copy__(self) -> TypeFunction:
        return self

    def __deepcopy__(self, memo: object) -> TypeFunction:
        return self


class Guards:
    """The guards of one policy.

    Args:
        names: The names that all modules of programs share; what tells the program's frames and functions from others.
        allow_format: Whether texts may be formatted by `str.format`.
        stand_ins: What programs have in place of a type.
        known: Types that `type` may give.
        writable: Types whose objects programs may change.
    """

    def __init__(
        self,
        names: dict[str, Any],
        *,
        allow_format: bool,
        stand_ins: dict[type, Any],
        known: set[type],
        writable: set[type],
    ) -> None:
        self._names, self._allow_format = names, allow_format
        self._stand_ins, self._known, self._writable = stand_ins, known, writable
        self._originals = {_id(stand_in): original for original, stand_in in stand_ins.items()}
        self._classes: dict[int, type] = {}
        self._matching: dict[tuple[int, int, tuple[str, ...]], tuple[Any, type]] = {}
        self.abstract_meta = AbstractMeta(self.refuse)
        self.enum_meta: type | None = None
        """The metaclass of programs' enumerations, once `enum` is given."""
        self._type = TypeFunction(self)
        self._originals[_id(self._type)] = type

    def __deepcopy__(self, memo: object) -> Guards:
        return self  # A copy of a guard that a program has as a value would be a copy of this.

    def refuse(self, kind: type[Exception], rule: str) -> Any:
        """Raise an error that names the program's line."""
        raise kind(f"{here(self._names)}{rule}.")

    # Attributes

    def getattr(self, ob: Any, name: str, /) -> Any:
        """An attribute whose name the transformer has looked at."""
        if name in DECIDED_LATER:
            return self._decide(ob, name)
        if name in NAMED_TUPLES:
            return self._of_named_tuple(ob, name)
        value = _getattr(ob, name)
        kind = _type(value)
        if kind in _WATCHED:
            self._check_value(value, name)
        elif kind is types.FunctionType and name in _CHANGES and value.__module__ in _MIXINS:
            return self._of_writable(value)
        return value

    def _of_named_tuple(self, ob: Any, name: str) -> Any:
        kind = _type(ob)
        is_class = _issubclass(kind, _type)
        # Those of a class that are for its objects would do to any object what they do to these.
        if not _issubclass(ob if is_class else kind, _tuple) or (is_class and name in ("_replace", "_asdict")):
            self.refuse(ForbiddenAttribute, f"{why_not_attribute(name)}; only of named tuples it may be read")
        return _getattr(ob, name)

    def _of_writable(self, function: Any) -> Callable[..., Any]:
        """A method of a mixin that is bound to nothing, for what the program may change."""
        return lambda self_, /, *args, **kwargs: function(self.write(self_), *args, **kwargs)

    def getattr_by_name(self, ob: Any, name: Any, default: Any = _missing, /) -> Any:
        """`getattr` for programs."""
        self._check_name(name)
        try:
            return self.getattr(ob, name)
        except ForbiddenAttribute:
            raise
        except AttributeError:
            if default is _missing:
                raise
            return default

    def hasattr(self, ob: Any, name: Any, /) -> bool:
        """`hasattr` for programs: what they may not have is not there."""
        try:
            self.getattr_by_name(ob, name)
        except AttributeError:
            return False
        return True

    def setattr(self, ob: Any, name: Any, value: Any, /) -> None:
        """`setattr` for programs."""
        self._check_name(name)
        _setattr(self.write(ob), name, value)

    def delattr(self, ob: Any, name: Any, /) -> None:
        """`delattr` for programs."""
        self._check_name(name)
        _delattr(self.write(ob), name)

    def load_attr(self, ob: Any, name: str, /) -> tuple[Any, str, Any]:
        """The first half of an augmented assignment to an attribute."""
        return ob, name, self.getattr(ob, name)

    def store_attr(self, loaded: tuple[Any, str, Any], operation: str, value: Any, /) -> None:
        """The second half."""
        ob, name, old = loaded
        new = _IN_PLACE[operation](old, value)
        _setattr(self.write(ob), name, new)

    def special(self, ob: Any, name: str, /) -> Any:
        """A special method that is called by name, or a name."""
        kind = _type(ob)
        if kind is _super:
            bound = _SUPER_SELF.__get__(ob)
            # Of a class it gives functions that are bound to nothing, and do to any object what they do to their own.
            if bound is None or _issubclass(_type(bound), _type):
                self.refuse(ForbiddenAttribute, f'"{name}" of super() is for methods of objects')
            if name == "__init__":
                self.write(bound)
        if kind is types.GenericAlias:
            ob = _behind_aliases(ob)
            kind = _type(ob)
        if name == "__name__":
            value = _getattr(ob, name)
            if _type(value) is not _str:
                self.refuse(ForbiddenAttribute, '"__name__" is for functions and classes')
            return value
        if name == "__init__" and kind is not _super:
            if not _issubclass(kind, _type):
                self.refuse(ForbiddenAttribute, '"__init__" is called of a class or of super()')

            def init(self_: Any, /, *args: Any, **kwargs: Any) -> None:
                self.write(self_)
                if not any(base is ob for base in _type.__getattribute__(_type(self_), "__mro__")):
                    self.refuse(ForbiddenValue, f"{ob.__name__}.__init__ is for objects of {ob.__name__}")
                _getattr(ob, "__init__")(self_, *args, **kwargs)

            return init
        value = _getattr(ob, name)
        if _type(value) in _WATCHED:
            self._check_value(value, name)
        if _type(value) is types.FunctionType and _is_data_class(ob):
            return _of_instances(ob, value)
        return value

    def _check_name(self, name: Any) -> None:
        if _type(name) is not _str:
            self.refuse(ForbiddenValue, "the name of an attribute must be a text, and of no class of one's own")
        why = why_not_attribute(name)
        if why is not None:
            self.refuse(ForbiddenAttribute, why)

    def _decide(self, ob: Any, name: str) -> Any:
        ob = _behind_aliases(ob)
        kinds = _NOT_ALL_OF.get(name, ())
        whose = _SUPER_SELF.__get__(ob) if _type(ob) is _super else ob
        if kinds and (
            _issubclass(_type(whose), kinds)
            or (_issubclass(_type(whose), _type) and _issubclass(whose, kinds) and _id(ob) not in self._classes)
        ):
            self.refuse(ForbiddenAttribute, f'"{name}" of {_type(whose).__name__} leads further than programs may go')
        if name == "ctypes" and _id(_type(ob)) not in self._classes:
            self.refuse(ForbiddenAttribute, '"ctypes" leads to memory')
        value = _getattr(ob, name)
        kind = _type(value)
        if name in ("format", "format_map"):
            if kind is types.BuiltinFunctionType and _isinstance(value.__self__, _str):
                return self._format(name, value.__self__)
            if kind is types.MethodDescriptorType and _issubclass(value.__objclass__, _str):
                return self._format(name)
        if name == "register" and kind is types.MethodType and value.__func__ is abc.ABCMeta.register:
            self.refuse(ForbiddenAttribute, '"register" of an abstract class would have it stand for other classes')
        if kind in _DESCRIPTORS and _id(ob) not in self._classes:
            self.refuse(ForbiddenAttribute, f'"{name}" is here a {kind.__name__} that no program may have')
        if name == "mro" and (
            (kind is types.MethodDescriptorType and value.__objclass__ is _type)
            or (kind is types.BuiltinFunctionType and _isinstance(value.__self__, _type))
        ):
            self.refuse(ForbiddenAttribute, '"mro" of a class leads further than programs may go')
        if kind in _WATCHED:
            self._check_value(value, name)
        return value

    def _format(self, name: str, *text: str) -> Callable[..., str]:
        if not self._allow_format:
            self.refuse(
                ForbiddenAttribute, f'"str.{name}" reads attributes by name; allow_str_format=True has a safe one'
            )
        get = self.getattr_by_name
        if name == "format_map":
            return lambda *args: _format_map(get, *text, *args)
        if text:
            return lambda *args, **named: format_text(get, text[0], named, args)
        return lambda own, /, *args, **named: format_text(get, own, named, args)

    def _check_value(self, value: Any, name: str) -> None:
        kind = _type(value)
        if kind is types.BuiltinFunctionType:
            if _id(value) not in _UNTOUCHABLE_FUNCTIONS:
                return
        elif _issubclass(kind, _type) and not _issubclass(value, _type) and value not in _UNTOUCHABLE_TYPES:
            return
        self.refuse(ForbiddenAttribute, f'"{name}" is here a {kind.__name__} that no program may have')

    # Writes

    def write(self, ob: Any, /) -> Any:
        """An object, if the program may change it: its own, or a container."""
        kind = _type(ob)
        if kind in self._writable or _id(kind) in self._classes or _id(ob) in self._classes:
            return ob
        if kind is types.FunctionType and ob.__builtins__ is self._names:
            return ob
        if kind in _IMMUTABLE:  # Python's own error is the right one, and `+=` of what a tuple holds comes first.
            return ob
        if _type(kind) is self.enum_meta and self.enum_meta is not None:
            return ob  # A member whose class is being made.
        if _issubclass(kind, BaseException) and kind.__module__ == "builtins":
            return ob
        if kind is _LRU and self.own_function(ob.__wrapped__):
            return ob
        if self._is_of_tests(kind) or (_issubclass(kind, _type) and self._is_of_tests(ob)):
            return ob
        return self.refuse(ForbiddenWrite, f"a program may not change this {kind.__name__}, which is not its own")

    @staticmethod
    def _is_of_tests(cls: type) -> bool:
        """Whether the tests that run beside the program have defined a class; no program has a say in its module."""
        return bool(_type.__getattribute__(cls, "__dict__").get("__module__") == _TRUSTED_MODULE)

    def set_item(self, ob: Any, key: Any, value: Any, /) -> None:
        """`operator.setitem` for programs."""
        self.write(ob)[key] = value

    def delete_item(self, ob: Any, key: Any, /) -> None:
        """`operator.delitem` for programs."""
        del self.write(ob)[key]

    # Classes and types

    def own_class(self, cls: Any, what: str) -> Any:
        """A class, if the program has defined it."""
        if _id(cls) not in self._classes:
            self.refuse(ForbiddenWrite, f"{what} is for classes that the program defines")
        return cls

    def adopt(self, cls: type) -> type:
        """Take a class for one of the program's own."""
        self._classes[_id(cls)] = cls  # Kept, so that its number stays its own.
        names = _getattr(cls, "__match_args__", ())
        if _type(names) is not _tuple or not all(_type(one) is _str for one in names):
            names = None
        if names is None or any(why_not_attribute(one) for one in names):
            _type.__setattr__(cls, "__match_args__", ())
        return cls

    def check_own_names(self, ob: Any) -> None:
        """See that no special name was put among an object's own, where library code would take it for its class's."""
        try:
            names = object.__getattribute__(ob, "__dict__")
        except (AttributeError, TypeError):
            return
        if _type(ob) is types.FunctionType:
            return
        if _type(names) is not dict:
            self.refuse(ForbiddenValue, "an object whose names are in no ordinary dict cannot be used so")
        for name in names:
            # What a class of `typing.Generic` is made with, the interpreter notes in its objects.
            if _type(name) is not _str or (name.startswith("__") and name != "__orig_class__"):
                self.refuse(ForbiddenValue, f"an object with {name!r:.50} among its own names cannot be used so")

    def is_own_class(self, cls: Any) -> bool:
        """Whether the program has defined a class, or the tests beside it have."""
        return _id(cls) in self._classes or self._is_of_tests(cls)

    def check_fields(self, cls: type, fields: Any) -> None:
        """See that no field of a class stands for an attribute of a base that is not the program's.

        Code that is written for data classes reads fields without asking.
        """
        for name in fields:
            why = why_not_attribute(name)
            if why is not None and (name.startswith("__") or not name.startswith("_")):
                self.refuse(ForbiddenValue, f"a field: {why}")
        for base in _type.__getattribute__(cls, "__mro__"):
            if _id(base) in self._classes or base is object:
                continue
            for name in fields:
                if name in _type.__getattribute__(base, "__dict__"):
                    self.refuse(ForbiddenValue, f'a field "{name}" would stand for an attribute of {base.__name__}')

    def build_class(self, body: Any, name: str, /, *bases: Any, **options: Any) -> Any:
        """A class statement."""
        metaclass = options.pop("metaclass", None)
        if metaclass is self.abstract_meta:
            options["metaclass"] = abc.ABCMeta
        elif metaclass is not None and metaclass is not _type:
            self.refuse(ForbiddenValue, "metaclasses are not allowed, but for abc.ABCMeta")
        bases = _tuple([self._base(base) for base in bases])
        for base in types.resolve_bases(bases):
            self._base(base)
        cls = _build_class(body, name, *bases, **options)
        if not _issubclass(_type(cls), _type) or _issubclass(cls, _type):
            self.refuse(ForbiddenValue, "what is inherited from makes no class")
        return self.adopt(cls)

    def _base(self, base: Any) -> Any:
        base = self._originals.get(_id(base), base)
        kind = _type(base)
        if _issubclass(kind, _type):
            if _issubclass(base, _NO_BASES):
                self.refuse(ForbiddenValue, f"a class of a program may not inherit from {base.__name__}")
            return base
        from_typing = kind.__module__ == "typing" and kind is not typing.NewType
        if kind is not types.GenericAlias and base is not typing.NamedTuple and not from_typing:
            self.refuse(ForbiddenValue, f"a class may inherit from classes, not from a {kind.__name__}")
        return base

    @property
    def type_function(self) -> Callable[[Any], Any]:
        """`type` for programs, a plain function."""
        return self._type

    def type_of(self, ob: Any) -> Any:
        """The type of an object."""
        kind = _type(ob)
        if kind in self._stand_ins:
            return self._stand_ins[kind]
        if _issubclass(kind, _type):
            return self._type
        if _id(kind) in self._classes or kind in self._known or self._is_of_tests(kind):
            return kind
        if kind in _UNTOUCHABLE_TYPES or kind.__module__ not in _TYPES_OF_MODULES:
            self.refuse(ForbiddenValue, f"the type {kind.__name__} is not given to programs")
        return kind

    def isinstance(self, ob: Any, kinds: Any, /) -> bool:
        """`isinstance` that knows what stands for types."""
        return _isinstance(ob, self._types(kinds))

    def issubclass(self, cls: Any, kinds: Any, /) -> bool:
        """`issubclass` that knows what stands for types."""
        return _issubclass(self._originals.get(_id(cls), cls), self._types(kinds))

    def _types(self, kinds: Any) -> Any:
        if _type(kinds) is _tuple:
            return _tuple([self._types(kind) for kind in kinds])
        return self._originals.get(_id(kinds), kinds)

    # Patterns

    def patterns(self, *thunks: Callable[[], Any]) -> Patterns:
        """What the patterns of a `match` statement name, each value made when a pattern is tried."""
        return Patterns(thunks)

    def pattern_class(self, cls: Any, positions: int, /, *names: str) -> Any:
        """A class for a class pattern: before the interpreter reads an object's attributes, a guard does.

        Args:
            cls: The class that the pattern names.
            positions: How many patterns it has by position.
            names: The attributes of the others.
        """
        cls = self._originals.get(_id(cls), cls)
        if not _issubclass(_type(cls), _type):
            return cls  # The interpreter's own error.
        by_position = _getattr(cls, "__match_args__", ()) if positions else ()
        if _type(by_position) is not _tuple or not all(_type(one) is _str for one in by_position):
            by_position = ()
        for name in by_position[:positions]:
            self._check_name(name)
        base: Any = next((one for one in _MATCH_THEMSELVES if _issubclass(cls, one)), object)
        matches_itself = base is not object and not by_position
        names = (*by_position[:positions], *names)
        if not names:
            return cls
        key = (_id(cls), positions, names)
        if key not in self._matching:
            bases = (base,) if matches_itself else ()
            made = PatternMeta(_type.__getattribute__(cls, "__name__"), bases, {})
            if not matches_itself:
                _type.__setattr__(made, "__match_args__", by_position)
            made.real, made.names, made.guards = cls, names, self
            self._matching[key] = (cls, made)  # The class is kept, so that its number stays its own.
        return self._matching[key][1]

    def look_at(self, ob: Any, names: tuple[str, ...]) -> None:
        """See that what the interpreter will read of an object is what a guard would give."""
        foreign = [
            base
            for base in _type.__getattribute__(_type(ob), "__mro__")
            if base is not object and _id(base) not in self._classes
        ]
        for name in names if foreign else ():
            try:
                self.getattr(ob, name)
            except (ForbiddenAttribute, ForbiddenValue):
                raise
            except AttributeError:
                return  # The pattern does not match.

    def own_function(self, function: Any) -> bool:
        """Whether this is a function of the program's text."""
        return _type(function) is types.FunctionType and function.__builtins__ is self._names

    def table(self) -> dict[str, Any]:
        """The guards by the names that texts call them by, also those that RestrictedPython's transformer writes."""
        return {
            "_getattr_": self.getattr,
            "_special_": self.special,
            "_write_": self.write,
            "_patterns_": self.patterns,
            "_pattern_class_": self.pattern_class,
            "_load_attr_": self.load_attr,
            "_store_attr_": self.store_attr,
            "__build_class__": self.build_class,
            "__metaclass__": type,
            "_getitem_": operator.getitem,
            "_getiter_": _same,
            "_iter_unpack_sequence_": guarded_iter_unpack_sequence,
            "_unpack_sequence_": guarded_unpack_sequence,
            "_inplacevar_": _in_place,
            "_apply_": _apply,
            "_print_": _Print,
        }


class Patterns:
    """What the patterns of one `match` statement name; an attribute for each."""

    __slots__ = ("_thunks",)

    def __init__(self, thunks: tuple[Callable[[], Any], ...]) -> None:
        self._thunks = thunks

    def __getattr__(self, name: str) -> Any:
        return self._thunks[int(name[1:])]()


class PatternMeta(type):
    """Makes a class that stands in a pattern for another."""

    real: Any
    names: tuple[str, ...]
    guards: Guards

    def __instancecheck__(cls, ob: Any) -> bool:
        if not _isinstance(ob, cls.real):
            return False
        cls.guards.look_at(ob, cls.names)
        return True


def _behind_aliases(ob: Any) -> Any:
    """The class that a generic alias stands for, since an alias gives the attributes of its class."""
    while True:
        kind = _type(ob)
        if kind is types.GenericAlias:
            ob = ob.__origin__
        elif kind.__module__ == "typing" and not _issubclass(kind, _type):
            try:
                ob = object.__getattribute__(ob, "__dict__")["__origin__"]
            except (AttributeError, KeyError):
                return ob
        else:
            return ob


def _is_data_class(ob: Any) -> bool:
    """Whether this is a class with the methods of a data class, its own or inherited ones."""
    if not _issubclass(_type(ob), _type):
        return False
    bases = _type.__getattribute__(ob, "__mro__")
    return any("__dataclass_fields__" in _type.__getattribute__(base, "__dict__") for base in bases)


def _of_instances(cls: type, function: Any) -> Callable[..., Any]:
    """A method of a data class, for its own instances: it reads fields of whatever it is given without asking."""

    def method(self_: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not _issubclass(_type(self_), cls):
            raise TypeError(f"{function.__name__} requires a {cls.__name__}, not a {_type(self_).__name__}")
        return function(self_, *args, **kwargs)

    return method


def _format_map(get: Any, text: Any, mapping: Any, /) -> str:
    return format_text(get, text, mapping)


def _same(ob: Any, /) -> Any:
    return ob


def _in_place(operation: str, old: Any, value: Any, /) -> Any:
    return _IN_PLACE[operation](old, value)


def _apply(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


class _Print:
    """What RestrictedPython's own transformer makes of `print`; here it prints."""

    def __init__(self, get: object = None) -> None:
        self._lines: list[str] = []

    def _call_print(self, *args: Any, **options: Any) -> None:
        print(*args, **options)  # noqa: T201

    def __call__(self) -> str:
        return ""
