"""Makes a mutable value on one side what the other side made of its copy."""

from __future__ import annotations

from typing import Any


def update_in_place(old: Any, new: Any) -> None:
    """Make a mutable value equal to what became of its copy.

    Containers inside that kept their place and kind are updated in place too, so whoever holds
    one of them sees the change.
    """
    if isinstance(old, list) and isinstance(new, list):
        old[:] = [_updated(o, n) for o, n in zip(old, new, strict=False)] + new[len(old) :]
    elif isinstance(old, dict) and isinstance(new, dict):
        kept = {key: _updated(old[key], value) if key in old else value for key, value in new.items()}
        old.clear()
        old.update(kept)
    elif isinstance(old, set) and isinstance(new, set):
        old.clear()
        old.update(new)
    elif hasattr(old, "extend") and type(old) is type(new):  # bytearray, deque
        old.clear()
        old.extend(new)
    elif hasattr(old, "shape") and getattr(new, "shape", None) == old.shape:  # a NumPy array
        old[...] = new
    elif isinstance(old, tuple) and isinstance(new, tuple):
        for o, n in zip(old, new, strict=False):
            _updated(o, n)


def _updated(old: Any, new: Any) -> Any:
    if type(old) is type(new) and isinstance(old, list | dict | set | bytearray | tuple):
        update_in_place(old, new)
        return old if not isinstance(old, tuple) else new
    return new
