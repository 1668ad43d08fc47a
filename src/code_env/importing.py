"""Functions that are given by name, as `package.module:function`: the form in which a spec survives JSON."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def named_function(path: str) -> Callable[..., Any]:
    """The function at `package.module:function`.

    Raises:
        LookupError: If there is none; the text says why.

    Example:
        >>> named_function("math:sqrt")(4)
        2.0
    """
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise LookupError(f"no function at {path!r} (package.module:function): {error}") from None
    if not callable(found):
        raise LookupError(f"what is at {path!r} is no function but a {type(found).__name__}")
    return found  # type: ignore[no-any-return]
