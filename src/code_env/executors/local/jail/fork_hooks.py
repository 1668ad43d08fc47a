"""Keeps what modules want done at each fork from being done, until a program may fork itself.

`random` and `threading` register such hooks when they are imported, and these alone cost a fifth of every fork. A
worker has one thread and its children reseed what they need, so it does without; a program that may start
processes gets the hooks back.
"""

from __future__ import annotations

import os
from collections.abc import Callable

_register = os.register_at_fork
_collected: list[dict[str, Callable[[], object]]] = []


def collect() -> None:
    """From now on, keep hooks instead of registering them."""

    def keep(**hooks: Callable[[], object]) -> None:
        _collected.append(hooks)

    os.register_at_fork = keep  # type: ignore[assignment]


def restore() -> None:
    """Register what was kept, and let all later ones be registered at once."""
    os.register_at_fork = _register
    for hooks in _collected:
        _register(**hooks)
    _collected.clear()
