"""How the tests got an object of the program, which decides what they may do with it."""

from __future__ import annotations

import enum


class Origin(enum.Enum):
    """How the tests got an object of the program.

    A test that calls `f("a").startswith("hello")` expects text. If `f` returned an object of the program, this object
    would see the expected value and could return any result. A test that calls `Stack().pop()` expects an object of the
    program. The task's prompt and reference tell the two apart. If they do not, the name decides, by Python's
    conventions: a name that begins with a capital letter is a class. The program cannot influence this.
    """

    FUNCTION = enum.auto()
    """A function of the program, known by its name; a call returns a result."""
    CLASS = enum.auto()
    """A class of the program; a call returns an instance."""
    INSTANCE = enum.auto()
    """An object of a class under test; its methods may be called."""
    METHOD = enum.auto()
    """An attribute of a function, a class or an instance; it may be called, and otherwise counts as a result."""
    RESULT = enum.auto()
    """A value that a function or a method returned; its attributes are data, its methods may not be called."""
    RESULT_METHOD = enum.auto()
    """A method of a result."""
    COMPARISON = enum.auto()
    """The result of a comparison with data, which the program has seen. Its truth value is refused, unless its class
    defines one: other objects are true by default."""

    @property
    def of_call(self) -> Origin:
        """The origin of the value that a call returns."""
        return Origin.INSTANCE if self is Origin.CLASS else Origin.RESULT

    @property
    def of_attribute(self) -> Origin:
        """The origin of an attribute."""
        return Origin.METHOD if self in (Origin.FUNCTION, Origin.CLASS, Origin.INSTANCE) else Origin.RESULT_METHOD
