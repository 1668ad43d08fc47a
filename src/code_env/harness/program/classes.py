"""Stand-ins, in the program's process, for classes of the tests.

The class of a stand-in for an object is the stand-in for the object's class, whether the tests hand over the object,
the class, or both. So `handlers[type(event)]`, `isinstance(event, Created)` and `issubclass` give what they give in the
tests. A call makes an object in the tests. What else a program does with such a class is asked of the tests, which
answer or refuse: the class here has none of the attributes and methods that the tests define.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ..wire.shapes import BASIC, SPECIAL

_TYPE, _ID, _NEXT = type, id, next
_native, _names_in = type.__getattribute__, type.__dict__["__dict__"].__get__

_SPECIAL = frozenset(f"__{name}__" for name in (*SPECIAL, *BASIC))
"""The stand-in for a class has each of these that the class has."""

_NATIVE = _SPECIAL.union(
    ("__module__", "__name__", "__mro__", "__bases__", "__base__", "mro", "__subclasses__", "__slots__"),
    ("__instancecheck__", "__subclasscheck__", "__abstractmethods__"),
)
"""What Python itself, `abc` and `functools` read from a class, and which is here what it is in the tests. Only abstract
classes do not look abstract here; a call makes the object in the tests, where they are."""


def class_of_tests(borrowed: Any, body: Any) -> Any:
    """Return the stand-in for a class of the tests."""
    _, name, special, forms, has_checks = body
    bases = tuple(borrowed.stand_in("cl", form) for form in forms)

    def asked(name: str) -> Any:
        return lambda self, *args: borrowed.use(self, name, args)

    members = {one: asked(one) for one in (*special, "__reduce_ex__")}
    if "__len__" in special:
        members.setdefault("__bool__", asked("__bool__"))
    if "__call__" in special:
        members["__call__"] = lambda self, *args, **kwargs: borrowed.call(borrowed.given(self), args, kwargs)
    for one in ("__setattr__", "__delattr__"):
        members[one] = lambda self, *_, _one=one: borrowed.use(self, _one, ())
    members["__getattr__"] = lambda self, name: borrowed.use(self, name, ())
    members |= {"__module__": "tests", "__qualname__": name, "__slots__": () if bases else ("__weakref__",)}
    made = _TYPE.__new__(ClassOfTests, name.rpartition(".")[2], bases, members)
    _CLASSES[_ID(made)] = borrowed, made, has_checks
    return made


_CLASSES: dict[int, tuple[Any, type, bool]] = {}
"""What each stand-in for a class belongs to, itself, and whether the metaclass in the tests decides `isinstance`."""


def _use(kind: type, name: str, *args: Any) -> Any:
    return _CLASSES[_ID(kind)][0].use(kind, name, args)


class ClassOfTests(type):
    """The class of stand-ins for classes."""

    def __new__(cls, name: str, bases: tuple[type, ...], *_: Any, **__: Any) -> Any:
        """Ask the tests, which refuse that the program derives a class."""
        return _use(_NEXT(base for base in bases if _ID(base) in _CLASSES), "__init_subclass__")

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make an object in the tests."""
        borrowed = _CLASSES[_ID(cls)][0]
        return borrowed.call(borrowed.given(cls), args, kwargs)

    def __getattribute__(cls, name: str) -> Any:
        """Read what is the same here; ask the tests for all else."""
        if name in _NATIVE:
            return _native(cls, name)
        if name == "__class__":
            return _TYPE
        return _Members(cls) if name == "__dict__" else _use(cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        """Ask the tests, which refuse it."""
        _use(cls, "__setattr__")

    def __delattr__(cls, name: str) -> None:
        """Ask the tests, which refuse it."""
        _use(cls, "__delattr__")

    def __instancecheck__(cls, instance: Any) -> bool:
        """Look at the classes here, then ask the tests if theirs decides by more than these."""
        if _TYPE.__instancecheck__(cls, instance) or not _CLASSES[_ID(cls)][2]:
            return _TYPE.__instancecheck__(cls, instance)
        return _use(cls, "__instancecheck__", instance)  # type: ignore[no-any-return]

    def __subclasscheck__(cls, subclass: Any) -> bool:
        """Look at the classes here, then ask the tests if theirs decides by more than these."""
        if _TYPE.__subclasscheck__(cls, subclass) or not _CLASSES[_ID(cls)][2]:
            return _TYPE.__subclasscheck__(cls, subclass)
        return _use(cls, "__subclasscheck__", subclass)  # type: ignore[no-any-return]


class _Members:
    """The names in a class of the tests, where abstract classes and protocols look for methods."""

    def __init__(self, kind: type) -> None:
        self._kind = kind

    def __contains__(self, name: Any) -> bool:
        if name in _SPECIAL:
            return name in _names_in(self._kind)
        try:
            _use(self._kind, name)
        except AttributeError:
            return False
        return True

    def __getitem__(self, name: Any) -> Any:
        return _names_in(self._kind)[name] if name in _SPECIAL else _use(self._kind, name)

    def __getattr__(self, name: str) -> Any:
        return _use(self._kind, "__dict__")

    def _refuse(self) -> NoReturn:
        _use(self._kind, "__dict__")
        raise TypeError

    def __iter__(self) -> Any:
        self._refuse()

    def __len__(self) -> int:
        self._refuse()
