"""Keeps the fork hooks of modules from running, until a program may fork itself.

`random` and `threading` register fork hooks when they are imported, and these alone cost a fifth of every fork. A
worker has one thread, and its children reseed what they need, so it does not need the hooks. A program that may start
processes gets them back.
"""

from __future__ import annotations

import os
from collections.abc import Callable

_register = os.register_at_fork
_collected: list[dict[str, Callable[[], object]]] = []


def collect() -> None:
    """Store hooks from now on, instead of registering them."""

    def keep(**hooks: Callable[[], object]) -> None:
        _collected.append(hooks)

    os.register_at_fork = keep  # type: ignore[assignment]


def restore() -> None:
    """Register the stored hooks, and let modules register all later hooks directly."""
    os.register_at_fork = _register
    for hooks in _collected:
        _register(**hooks)
    _collected.clear()
