"""The guards: transformed texts call them to check attributes, writes, classes and types while the program runs.

A guard checks exact types, with functions that no program can replace, and calls no method of the program's objects
before it has decided. Programs hold some guards as values (`getattr`, `type`). So no guard has an argument that it does
not need, and only attributes with an underscore in front lead from a guard to the objects that it works with.
"""

from __future__ import annotations

import abc
import operator
import types
from collections.abc import Callable
from typing import Any

from RestrictedPython.Guards import guarded_iter_unpack_sequence, guarded_unpack_sequence

from .class_guards import ClassGuards
from .formatting import format_text
from .names import DECIDED_LATER, NAMED_TUPLES, why_not_attribute
from .refusals import ForbiddenAttribute, ForbiddenValue, ForbiddenWrite
from .type_stand_ins import PatternMeta, Patterns
from .types_of_values import (
    CHANGES,
    DESCRIPTORS,
    IMMUTABLE,
    LRU_CACHE,
    MATCH_THEMSELVES,
    MIXINS,
    NOT_ALL_OF,
    UNTOUCHABLE_FUNCTIONS,
    UNTOUCHABLE_TYPES,
    WATCHED,
)

_type, _getattr, _setattr, _delattr, _id = type, getattr, setattr, delattr, id
_isinstance, _issubclass, _super, _str, _tuple = isinstance, issubclass, super, str, tuple
_SUPER_SELF = vars(super)["__self__"]

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


class Guards(ClassGuards):
    """The guards of one policy.

    Args:
        names: The builtin names that all modules of programs share. A frame or function that has this very dict as its
            builtins is the program's.
        allow_format: Whether programs may use `str.format` and `str.format_map`.
        stand_ins: The objects that programs have in place of types, by type.
        known: Types that `type` may return.
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
        super().__init__(names, stand_ins, known)
        self._allow_format, self._writable = allow_format, writable
        self._matching: dict[tuple[int, int, tuple[str, ...]], tuple[Any, type]] = {}
        self.enum_meta: type | None = None
        """The metaclass of programs' enumerations; None if programs do not get `enum`."""

    def __deepcopy__(self, memo: object) -> Guards:
        return self  # A deep copy of a guard that a program holds would otherwise copy this object too.

    # Attributes

    def getattr(self, ob: Any, name: str, /) -> Any:
        """Return an attribute whose name the transformer has checked."""
        if name in DECIDED_LATER:
            return self._decide(ob, name)
        if name in NAMED_TUPLES:
            return self._of_named_tuple(ob, name)
        value = _getattr(ob, name)
        kind = _type(value)
        if kind in WATCHED:
            self._check_value(value, name)
        elif kind is types.FunctionType and name in CHANGES and value.__module__ in MIXINS:
            return self._of_writable(value)
        return value

    def _of_named_tuple(self, ob: Any, name: str) -> Any:
        kind = _type(ob)
        is_class = _issubclass(kind, _type)
        # `_replace` and `_asdict` of a class are unbound functions, which would act on any object.
        if not _issubclass(ob if is_class else kind, _tuple) or (is_class and name in ("_replace", "_asdict")):
            self.refuse(ForbiddenAttribute, f"{why_not_attribute(name)}; only of named tuples it may be read")
        return _getattr(ob, name)

    def _of_writable(self, function: Any) -> Callable[..., Any]:
        """Return an unbound method of a mixin that acts only on objects that the program may change."""
        return lambda self_, /, *args, **kwargs: function(self.write(self_), *args, **kwargs)

    def getattr_by_name(self, ob: Any, name: Any, default: Any = _missing, /) -> Any:
        """Implement `getattr` for programs."""
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
        """Implement `hasattr` for programs: False also for an attribute that they may not have."""
        try:
            self.getattr_by_name(ob, name)
        except AttributeError:
            return False
        return True

    def setattr(self, ob: Any, name: Any, value: Any, /) -> None:
        """Implement `setattr` for programs."""
        self._check_name(name)
        _setattr(self.write(ob), name, value)

    def delattr(self, ob: Any, name: Any, /) -> None:
        """Implement `delattr` for programs."""
        self._check_name(name)
        _delattr(self.write(ob), name)

    def load_attr(self, ob: Any, name: str, /) -> tuple[Any, str, Any]:
        """Read the attribute: the first half of an augmented assignment to an attribute."""
        return ob, name, self.getattr(ob, name)

    def store_attr(self, loaded: tuple[Any, str, Any], operation: str, value: Any, /) -> None:
        """Compute and store the new value: the second half of an augmented assignment."""
        ob, name, old = loaded
        new = _IN_PLACE[operation](old, value)
        _setattr(self.write(ob), name, new)

    def special(self, ob: Any, name: str, /) -> Any:
        """Return a special method that the program calls by name, or `__name__`."""
        kind = _type(ob)
        if kind is _super:
            bound = _SUPER_SELF.__get__(ob)
            # super() of a class gives unbound functions, which would act on any object.
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
        if _type(value) in WATCHED:
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
        kinds = NOT_ALL_OF.get(name, ())
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
        if kind in DESCRIPTORS and _id(ob) not in self._classes:
            self.refuse(ForbiddenAttribute, f'"{name}" is here a {kind.__name__} that no program may have')
        if name == "mro" and (
            (kind is types.MethodDescriptorType and value.__objclass__ is _type)
            or (kind is types.BuiltinFunctionType and _isinstance(value.__self__, _type))
        ):
            self.refuse(ForbiddenAttribute, '"mro" of a class leads further than programs may go')
        if kind in WATCHED:
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
            if _id(value) not in UNTOUCHABLE_FUNCTIONS:
                return
        elif _issubclass(kind, _type) and not _issubclass(value, _type) and value not in UNTOUCHABLE_TYPES:
            return
        self.refuse(ForbiddenAttribute, f'"{name}" is here a {kind.__name__} that no program may have')

    # Writes

    def write(self, ob: Any, /) -> Any:
        """Return the object, or refuse it if the program may not change it.

        A program may change its own objects, containers and exceptions, and objects of classes that the tests define.
        """
        kind = _type(ob)
        if kind in self._writable or _id(kind) in self._classes or _id(ob) in self._classes:
            return ob
        if kind is types.FunctionType and ob.__builtins__ is self._names:
            return ob
        if kind in IMMUTABLE:  # Python raises the right error; `t[0] += [1]` of a tuple extends the list first.
            return ob
        if _type(kind) is self.enum_meta and self.enum_meta is not None:
            return ob  # A member of an enumeration whose class statement still runs.
        if _issubclass(kind, BaseException) and kind.__module__ == "builtins":
            return ob
        if kind is LRU_CACHE and self.own_function(ob.__wrapped__):
            return ob
        if self._is_of_tests(kind) or (_issubclass(kind, _type) and self._is_of_tests(ob)):
            return ob
        return self.refuse(ForbiddenWrite, f"a program may not change this {kind.__name__}, which is not its own")

    def set_item(self, ob: Any, key: Any, value: Any, /) -> None:
        """Implement `operator.setitem` for programs."""
        self.write(ob)[key] = value

    def delete_item(self, ob: Any, key: Any, /) -> None:
        """Implement `operator.delitem` for programs."""
        del self.write(ob)[key]

    # Patterns

    def patterns(self, *thunks: Callable[[], Any]) -> Patterns:
        """Return the values that the patterns of a `match` statement name; each is made when its pattern is tried."""
        return Patterns(thunks)

    def pattern_class(self, cls: Any, positions: int, /, *names: str) -> Any:
        """Return a class for a class pattern: it checks an object's attributes before the interpreter reads them.

        Args:
            cls: The class that the pattern names.
            positions: The number of its positional patterns.
            names: The attributes that its keyword patterns read.
        """
        cls = self._originals.get(_id(cls), cls)
        if not _issubclass(_type(cls), _type):
            return cls  # The interpreter raises the right error.
        by_position = _getattr(cls, "__match_args__", ()) if positions else ()
        if _type(by_position) is not _tuple or not all(_type(one) is _str for one in by_position):
            by_position = ()
        for name in by_position[:positions]:
            self._check_name(name)
        base: Any = next((one for one in MATCH_THEMSELVES if _issubclass(cls, one)), object)
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
            self._matching[key] = (cls, made)  # The class is kept so that no other object gets its `id`.
        return self._matching[key][1]

    def look_at(self, ob: Any, names: tuple[str, ...]) -> None:
        """Check that the guards allow all attributes that the interpreter will read of an object."""
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
        """Return whether this is a function that the program's text defines."""
        return _type(function) is types.FunctionType and function.__builtins__ is self._names

    def table(self) -> dict[str, Any]:
        """Return the guards by the names that texts call.

        The names that only RestrictedPython's own transformer writes are included.
        """
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


def _behind_aliases(ob: Any) -> Any:
    """Return the class behind a generic alias, which gives the attributes of its class; any other object as it is."""
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
    """Return whether this is a class with the methods of a data class, its own or inherited ones."""
    if not _issubclass(_type(ob), _type):
        return False
    bases = _type.__getattribute__(ob, "__mro__")
    return any("__dataclass_fields__" in _type.__getattribute__(base, "__dict__") for base in bases)


def _of_instances(cls: type, function: Any) -> Callable[..., Any]:
    """Limit a method of a data class to instances of the class: it reads the fields of any object without a guard."""

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
    """Prints, in place of RestrictedPython's print collector, which its own transformer calls for `print`."""

    def __init__(self, get: object = None) -> None:
        self._lines: list[str] = []

    def _call_print(self, *args: Any, **options: Any) -> None:
        print(*args, **options)  # noqa: T201

    def __call__(self) -> str:
        return ""
