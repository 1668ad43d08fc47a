"""What is done in a session between two cells: files are written, and generators are seeded.

An order stands among the cells as a text that Python would refuse as one. It is carried out by functions that no cell
can replace by a name of its own.
"""

from __future__ import annotations

import binascii
import importlib.machinery
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_MARK, _WRITE, _SEED = "\0", "w", "s"
_NUMPYS = "numpy.random"

_open, _write, _mkdir, _close = os.open, os.write, os.mkdir, os.close
_a2b, _b2a, _modules = binascii.a2b_base64, binascii.b2a_base64, sys.modules


def order_to_write(path: str, data: bytes) -> str:
    """The order to write a file.

    Args:
        path: Its path, relative to the directory in which the session began.
        data: Its content.
    """
    return f"{_MARK}{_WRITE}{_text(path.encode('utf-8', 'surrogateescape'))} {_text(data)}"


def order_to_seed(seed: int) -> str:
    """The order to seed `random` and NumPy's generator."""
    return f"{_MARK}{_SEED}{seed}"


def is_order(text: str) -> bool:
    """Whether a text among the cells is an order."""
    return text.startswith(_MARK)


def carry_out(order: str, start: str) -> None:
    """Carry out an order.

    Args:
        order: The order.
        start: The directory in which the session began.

    Raises:
        OSError: If a file cannot be written.
    """
    if order[1] == _SEED:
        _seed(int(order[2:]))
        return
    path, data = map(_a2b, order[2:].split(" "))
    _put(start, path.decode("utf-8", "surrogateescape"), data)


def _text(data: bytes) -> str:
    return _b2a(data, newline=False).decode()


def _put(start: str, path: str, data: bytes) -> None:
    *folders, _ = path.split("/")
    for count in range(len(folders) + 1):  # A cell can have removed even the directory in which the session began.
        try:
            _mkdir("/".join([start, *folders[:count]]))
        except FileExistsError:
            continue
    fd = _open(f"{start}/{path}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        view = memoryview(data)
        while view:
            view = view[_write(fd, view) :]
    finally:
        _close(fd)


def _seed(seed: int) -> None:
    import random  # Not above: after a fork each program would seed it, also those that have no session.

    random.seed(seed)
    if _NUMPYS in _modules:
        _modules[_NUMPYS].seed(seed)
        return
    # NumPy loads its generator when a program uses it first, and takes a seed from the system then.
    for finder in sys.meta_path:
        if isinstance(finder, _Seeding):
            finder.seed = seed
            return
    sys.meta_path.insert(0, _Seeding(seed))


class _Seeding:
    """Seeds NumPy's generator as soon as it is loaded."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if name != _NUMPYS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        loader: Any = None if spec is None else spec.loader
        if loader is None:
            return spec
        run = loader.exec_module

        def run_and_seed(module: Any) -> None:
            run(module)
            module.seed(self.seed)

        loader.exec_module = run_and_seed
        return spec
