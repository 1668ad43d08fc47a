"""What a program meets that breaks the policy: errors, each a kind of what Python itself would raise there."""

from __future__ import annotations

import sys

MOST_TOLD = 10
"""How many violations of a text are told."""


class PolicyViolation(SyntaxError):
    """The text breaks the policy; it says where, and which rules."""

    def __str__(self) -> str:
        return str(self.msg)  # Which names the line.


class ForbiddenAttribute(AttributeError):
    """An attribute that no program may have."""


class ForbiddenImport(ImportError):
    """A module, or a name of one, that is not allowed."""


class ForbiddenWrite(TypeError):
    """A change to an object that is not the program's."""


class ForbiddenValue(TypeError):
    """A value, or a use of one, that no program may have."""


for _kind in (PolicyViolation, ForbiddenAttribute, ForbiddenImport, ForbiddenWrite, ForbiddenValue):
    _kind.__module__ = "builtins"  # As tracebacks shall show them.


def here(builtins: dict[str, object]) -> str:
    """The line of the program that is being run, as the beginning of a message.

    Args:
        builtins: The names that tell the program's frames from others.
    """
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_builtins is builtins and frame.f_lineno:
            return f"Line {frame.f_lineno}: "
        frame = frame.f_back  # type: ignore[assignment]
    return ""
