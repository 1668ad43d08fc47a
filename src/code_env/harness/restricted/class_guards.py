"""Guards of classes and types: they decide what a program may define and inherit from, and which types it gets."""

from __future__ import annotations

import abc
import types
import typing
from collections.abc import Callable
from typing import Any

from .names import why_not_attribute
from .refusals import ForbiddenValue, ForbiddenWrite, here
from .type_stand_ins import AbstractMeta, TypeFunction
from .types_of_values import NO_BASES, TYPES_OF_MODULES, UNTOUCHABLE_TYPES

_type, _getattr, _id, _str, _tuple = type, getattr, id, str, tuple
_isinstance, _issubclass, _build_class = isinstance, issubclass, __build_class__

_TRUSTED_MODULE = "tests"
"""The name of the module of tests that run in the program's process; see `suite.SuiteRun`."""


class ClassGuards:
    """The guards of classes and types of one policy.

    Args:
        names: The builtin names that all modules of programs share. A frame or function that has this very dict as its
            builtins is the program's.
        stand_ins: The objects that programs have in place of types, by type.
        known: Types that `type` may return.
    """

    def __init__(self, names: dict[str, Any], stand_ins: dict[type, Any], known: set[type]) -> None:
        self._names, self._stand_ins, self._known = names, stand_ins, known
        self._originals = {_id(stand_in): original for original, stand_in in stand_ins.items()}
        self._classes: dict[int, type] = {}
        self.abstract_meta = AbstractMeta(self.refuse)
        self._type = TypeFunction(self.type_of, self.refuse)
        self._originals[_id(self._type)] = type

    def refuse(self, kind: type[Exception], rule: str) -> Any:
        """Raise an error that names the program's line."""
        raise kind(f"{here(self._names)}{rule}.")

    @staticmethod
    def _is_of_tests(cls: type) -> bool:
        """Return whether the tests in the program's process have defined a class; no program can set `__module__`."""
        return bool(_type.__getattribute__(cls, "__dict__").get("__module__") == _TRUSTED_MODULE)

    def own_class(self, cls: Any, what: str) -> Any:
        """Return a class, or refuse it if the program has not defined it."""
        if _id(cls) not in self._classes:
            self.refuse(ForbiddenWrite, f"{what} is for classes that the program defines")
        return cls

    def adopt(self, cls: type) -> type:
        """Count a class among the program's own, and empty its `__match_args__` if they break the policy."""
        self._classes[_id(cls)] = cls  # Kept so that no other object gets its `id`.
        names = _getattr(cls, "__match_args__", ())
        if _type(names) is not _tuple or not all(_type(one) is _str for one in names):
            names = None
        if names is None or any(why_not_attribute(one) for one in names):
            _type.__setattr__(cls, "__match_args__", ())
        return cls

    def check_own_names(self, ob: Any) -> None:
        """Refuse an object with a special name among its own names.

        Library code would take the name for one of the object's class.
        """
        try:
            names = object.__getattribute__(ob, "__dict__")
        except (AttributeError, TypeError):
            return
        if _type(ob) is types.FunctionType:
            return
        if _type(names) is not dict:
            self.refuse(ForbiddenValue, "an object whose names are in no ordinary dict cannot be used so")
        for name in names:
            # Python stores the alias `Stack[int]` in the object that `Stack[int]()` makes.
            if _type(name) is not _str or (name.startswith("__") and name != "__orig_class__"):
                self.refuse(ForbiddenValue, f"an object with {name!r:.50} among its own names cannot be used so")

    def is_own_class(self, cls: Any) -> bool:
        """Return whether the program, or the tests in its process, have defined a class."""
        return _id(cls) in self._classes or self._is_of_tests(cls)

    def check_fields(self, cls: type, fields: Any) -> None:
        """Check that no field of a class has the name of an attribute of a base class that is not the program's.

        Code that `dataclasses` generates reads fields without a guard.
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
        """Run a class statement and return its class."""
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
            if _issubclass(base, NO_BASES):
                self.refuse(ForbiddenValue, f"a class of a program may not inherit from {base.__name__}")
            return base
        from_typing = kind.__module__ == "typing" and kind is not typing.NewType
        if kind is not types.GenericAlias and base is not typing.NamedTuple and not from_typing:
            self.refuse(ForbiddenValue, f"a class may inherit from classes, not from a {kind.__name__}")
        return base

    @property
    def type_function(self) -> Callable[[Any], Any]:
        """The `type` of programs: a callable that is not a class."""
        return self._type

    def type_of(self, ob: Any) -> Any:
        """Return the type of an object, or the object that stands for the type in programs."""
        kind = _type(ob)
        if kind in self._stand_ins:
            return self._stand_ins[kind]
        if _issubclass(kind, _type):
            return self._type
        if _id(kind) in self._classes or kind in self._known or self._is_of_tests(kind):
            return kind
        if kind in UNTOUCHABLE_TYPES or kind.__module__ not in TYPES_OF_MODULES:
            self.refuse(ForbiddenValue, f"the type {kind.__name__} is not given to programs")
        return kind

    def isinstance(self, ob: Any, kinds: Any, /) -> bool:
        """Implement `isinstance` for programs, where some objects stand for types."""
        return _isinstance(ob, self._types(kinds))

    def issubclass(self, cls: Any, kinds: Any, /) -> bool:
        """Implement `issubclass` for programs, where some objects stand for types."""
        return _issubclass(self._originals.get(_id(cls), cls), self._types(kinds))

    def _types(self, kinds: Any) -> Any:
        if _type(kinds) is _tuple:
            return _tuple([self._types(kind) for kind in kinds])
        return self._originals.get(_id(kinds), kinds)
