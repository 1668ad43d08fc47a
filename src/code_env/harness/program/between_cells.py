"""Writes files and seeds generators between two cells of a session, in the process of the session's cells.

An instruction to do so stands in the list of cells, as a text that begins with a null character and so is not valid
Python. The trainer's process makes instructions. The process of the cells, which is untrusted, carries them out with
functions that are bound here, so that a cell's own names do not shadow them.
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


def instruction_to_write(path: str, data: bytes) -> str:
    """Return the instruction to write a file.

    Args:
        path: Its path, relative to the directory in which the session began.
        data: Its content.
    """
    return f"{_MARK}{_WRITE}{_text(path.encode('utf-8', 'surrogateescape'))} {_text(data)}"


def instruction_to_seed(seed: int) -> str:
    """Return the instruction to seed `random` and NumPy's generator."""
    return f"{_MARK}{_SEED}{seed}"


def is_instruction(text: str) -> bool:
    """Return whether a text in the list of cells is an instruction."""
    return text.startswith(_MARK)


def carry_out(instruction: str, start: str) -> None:
    """Carry out an instruction.

    Args:
        instruction: The instruction.
        start: The directory in which the session began.

    Raises:
        OSError: If a file cannot be written.
    """
    if instruction[1] == _SEED:
        _seed(int(instruction[2:]))
        return
    path, data = map(_a2b, instruction[2:].split(" "))
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
    import random  # Not above: it seeds itself after each fork, so programs without a session would pay for it.

    random.seed(seed)
    if _NUMPYS in _modules:
        _modules[_NUMPYS].seed(seed)
        return
    # NumPy loads its generator, and takes a seed from the system, when a program uses it for the first time.
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
