"""The exceptions that a program gets when it breaks the policy.

Each is derived from the exception that Python itself would raise there.
"""

from __future__ import annotations

import sys

MOST_TOLD = 10
"""The most violations of a text that a message lists."""


class PolicyViolation(SyntaxError):
    """The text breaks the policy; the message says where, and which rules."""

    def __str__(self) -> str:
        return str(self.msg)  # The message names the line already.


class ForbiddenAttribute(AttributeError):
    """An attribute that no program may have."""


class ForbiddenImport(ImportError):
    """A module, or a name of one, that is not allowed."""


class ForbiddenWrite(TypeError):
    """A change to an object that is not the program's."""


class ForbiddenValue(TypeError):
    """A value, or a use of one, that no program may have."""


for _kind in (PolicyViolation, ForbiddenAttribute, ForbiddenImport, ForbiddenWrite, ForbiddenValue):
    _kind.__module__ = "builtins"  # So tracebacks show the names without a module.


def here(builtins: dict[str, object]) -> str:
    """Return the line that the program is running, as the beginning of a message.

    Args:
        builtins: The builtin names of the program. A frame that has this very dict is the program's.
    """
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_builtins is builtins and frame.f_lineno:
            return f"Line {frame.f_lineno}: "
        frame = frame.f_back  # type: ignore[assignment]
    return ""
