"""The messages between the trainer and a session's worker.

They follow the worker's `READY`, see `wire.py`::

    worker's socket             trainer -> worker   Put, with a file of packed files, once
                                trainer -> worker   Run, with a cell's descriptors and a socket for its answers
                                trainer -> worker   Read, with a socket for the answer
                                trainer -> worker   Forget
    a cell's socket             worker  -> trainer  Started, with a descriptor of the process, or Lost
                                worker  -> trainer  Spent, as often as needed
                                worker  -> trainer  Ended
    a read's socket             worker  -> trainer  one byte, with a file that holds the content if there is one

A cell's descriptors are its `CellOrder`, standard output, standard error and the report. Only the process that runs the
cell reads the order.
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Mapping
from typing import Any, NamedTuple

_MARSHAL_VERSION = 2

FIRST = 0
"""The number of the first interpreter of a session, in which no cell has run. It lives as long as the worker."""


class CellOrder(NamedTuple):
    """A cell, as its process reads it."""

    history: list[str]
    """Cells to run before it, whose output nobody wants."""
    text: str
    """The cell."""
    number: int
    """Its number, for its file name in tracebacks."""


class Run(NamedTuple):
    """Run a cell."""

    interpreter: int
    """The number of the interpreter whose fork runs it."""
    room: int
    """The number of the room that it runs in; 0 for a fresh one. An interpreter that is not forked has its room."""


class Put(NamedTuple):
    """The first interpreter gets files."""


class Read(NamedTuple):
    """Send the content of a file."""

    interpreter: int
    """The number of the interpreter after whose last cell the file is read."""
    path: str
    """Its path, relative to the directory in which the session began."""


class Forget(NamedTuple):
    """Some interpreters and rooms are not needed any more."""

    interpreters: list[int]
    """Their numbers."""
    rooms: list[int]
    """Their numbers."""


class Started(NamedTuple):
    """The process of a cell lives and has its order."""

    room: str
    """The path of its room's file system, in the worker's view."""


class Spent(NamedTuple):
    """What the worker has spent so far on calls of the cell's process."""

    cpu_s: float
    """CPU time, in seconds."""


class Ended(NamedTuple):
    """A cell has ended."""

    status: int
    """The wait status of its process, 0 if the process is kept."""
    cpu_s: float
    """The CPU time of the cell, with what the worker has spent on its calls, in seconds."""
    interpreter: int
    """The number of the interpreter after the cell; -1 if its process has ended."""
    room: int
    """The number of the room that it ran in."""
    obstacles: list[str]
    """Why this interpreter will not be forked, in words."""


class Lost(NamedTuple):
    """A cell cannot run."""

    is_full: bool
    """Whether that is because there is no room; otherwise the interpreter that it needs is gone."""


Order = Run | Put | Read | Forget
Answer = Started | Spent | Ended | Lost

_KINDS: dict[str, Any] = {one.__name__: one for one in (Run, Put, Read, Forget, Started, Spent, Ended, Lost)}


def pack(message: Order | Answer) -> bytes:
    """Encode a message."""
    return json.dumps([type(message).__name__, *message]).encode()


def unpack(data: bytes) -> Any:
    """Decode a message."""
    kind, *fields = json.loads(data)
    return _KINDS[kind](*fields)


def pack_cell(order: CellOrder) -> bytes:
    """Encode a cell's order, as `kept_cells.py` reads it."""
    return marshal.dumps(tuple(order), _MARSHAL_VERSION)


def pack_files(files: Mapping[str, bytes]) -> bytes:
    """Encode files: contents by path."""
    return marshal.dumps(dict(files), _MARSHAL_VERSION)


def unpack_files(data: bytes) -> dict[str, bytes]:
    """Decode what `pack_files` has encoded."""
    files: dict[str, bytes] = marshal.loads(data)
    return files
