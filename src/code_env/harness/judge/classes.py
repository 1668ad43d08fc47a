"""Classes that stand for those of the program's objects where tests ask `isinstance` about a class of Python's.

The program names the classes that the class of an object derives from. Those that the tests' process has loaded from
the standard library or an installed package are found again here. A class that derives from them answers `isinstance`
as the object's own class would in the program. The program could name a class that its object does not have, as it
could return an object that has it.
"""

from __future__ import annotations

import contextlib
import functools
import types
from typing import Any

from ..wire.shapes import class_named

_OF_TASK = frozenset(("tests", "solution", "__main__", "code_env", "code_env_harness", "unittest"))
"""Modules whose classes no object of a program has: those of the task and of this package."""

_MOST = 100
"""The most classes of an object that are looked up."""


def class_like(names: Any, kind: type[Any]) -> type[Any] | None:
    """Return a class that derives from those that a program has named; None if none of them is known here.

    Args:
        names: The modules and the names.
        kind: The class whose name the made class gets. It also decides whether objects can be hashed.
    """
    found: list[type[Any]] = []
    for one in names[:_MOST] if isinstance(names, list) else ():
        if isinstance(one, list) and list(map(type, one)) == [str, str]:
            known = _known(*one)
            if known is not None and known not in found:
                found.append(known)
    return _made(kind, tuple(found)) if found else None  # type: ignore[arg-type]


def _known(module: str, name: str) -> type[Any] | None:
    """Return a class of an installed module that is loaded here."""
    if module.partition(".")[0] in _OF_TASK:
        return None
    found = class_named(module, name)
    return found if issubclass(type(found), type) else None


@functools.lru_cache(maxsize=1000)
def _made(kind: type[Any], bases: tuple[type[Any], ...]) -> type[Any]:
    nearest = [base for base in bases if not any(base in other.__mro__[1:] for other in bases)]
    real = [base for base in nearest if not hasattr(base, "_abc_impl")]
    hashes = {name: value for name, value in vars(kind).items() if name == "__hash__"}
    # An abstract class that derives from `type` breaks `isinstance` for its abstract bases in the whole process.
    first = real if any(issubclass(base, type) for base in real) else nearest
    for tried in (first, real, real[:1]):
        # Some classes have no subclasses, some exclude one another, and some do more than that when one is made.
        with contextlib.suppress(Exception):
            made: type[Any] = types.new_class(kind.__name__, tuple(tried), exec_body=lambda names: names.update(hashes))
            break
    else:
        return nearest[0]
    for abstract in nearest:
        if hasattr(abstract, "_abc_impl") and not issubclass(made, abstract):
            abstract.register(made)
    return made
