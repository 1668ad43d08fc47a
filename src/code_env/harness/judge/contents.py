"""Computes operators on objects of the program here, where their class leaves the operator to a builtin base.

A list with further methods is compared as a list: the program gives its content, and the tests' process compares it.
An object whose class defines no `__eq__` is equal to itself only. The program is asked before it could see the other
operand, so what it says is worth as much as any other result: it could return a list, or an object without `__eq__`. A
class that defines the operator itself is not handled here; there the program's code would decide.
"""

from __future__ import annotations

from typing import Any

from ..wire.operations import OPERATIONS
from ..wire.shapes import REFLECTED

COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
"""Special methods that Python can call on any object, whether its class defines them or not."""

_COMPUTED = COMPARISONS | frozenset((*REFLECTED, *(f"r{name}" for name in REFLECTED)))

UNDECIDED: Any = object()


def computed(handle: Any, name: str, args: tuple[Any, ...]) -> Any:
    """Return what an operator gives for an object of the program; `UNDECIDED` if only the program can tell.

    Args:
        handle: The handle of the object.
        name: The name of the special method, without underscores.
        args: The other operands.
    """
    if name not in _COMPUTED:
        return UNDECIDED
    content = handle._code_env_remote.operate("content", (handle, name))
    if type(content) is not list or len(content) > 1 or any(hasattr(type(one), "_code_env_target") for one in content):
        return UNDECIDED
    if content:
        is_reflected = name not in OPERATIONS
        return OPERATIONS[name[1:]](*args, content[0]) if is_reflected else OPERATIONS[name](content[0], *args)
    is_same = getattr(args[0], "_code_env_target", UNDECIDED) == handle._code_env_target if args else False
    return name == "eq" if is_same and name in ("eq", "ne") else NotImplemented
