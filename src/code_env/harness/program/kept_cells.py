"""Keeps the interpreter of a session between its cells, and forks it for the next cell.

The process waits for a message. At `FORK` it forks a child, and goes on waiting. At `CELL` it runs a cell, gives up all
that belongs to this cell, sends `DONE`, and waits again. So the process of a cell becomes the interpreter from which
the next cell is forked, and the interpreter that forked it keeps the state before the cell.

All this runs in the process of untrusted cells, which can change everything here. The worker that sends the messages
(`session_worker.py`) does not trust the replies, and looks at the process from outside.
"""

from __future__ import annotations

import marshal
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from ..process.sockets import Socket, receive_descriptors
from ..wire.records import Record
from .main_module import flush
from .notebook import Kernel, run_cell_after

SOCKET, ROOM, REPORT = 60, 61, 62
"""Descriptors of the process: its socket and, while a cell runs, the cell's directory and the file for its record."""

FORK, CELL = b"fork", b"cell"
"""The messages to the process. With `FORK` comes the socket of the new child. With `CELL` come five descriptors: the
cell and those before it as `session_wire.pack_cell` encodes them, standard output, standard error, the file for the
record, and the cell's directory."""

BORN, FORKED, DONE = b"born", b"forked", b"done"
"""The messages from the process. A new child sends `BORN`. The process that forked it sends `FORKED` when it has closed
the child's socket. `DONE` says that the cell has ended."""

MOST_DESCRIPTORS = 5

_fork, _waitpid, _exit, _dup2, _close = os.fork, os.waitpid, os._exit, os.dup2, os.close
_write, _chdir, _fchdir, _WNOHANG, _pread = os.write, os.chdir, os.fchdir, os.WNOHANG, os.pread
_getcwd = os.getcwd
_setitimer, _TIMERS = signal.setitimer, (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
_loads = marshal.loads


def serve_cells(names: dict[str, Any], encode: Callable[[Record], bytes], work: str) -> NoReturn:
    """Serve the messages that come on `SOCKET`; end this process when the other side is gone.

    Args:
        names: The names that the cells share.
        encode: Returns a record as one line.
        work: The directory, inside that of a cell, in which it starts.
    """

    def send(record: Record) -> None:
        view = memoryview(encode(record))
        while view:
            view = view[_write(REPORT, view) :]

    kernel, sock, place = Kernel(names, send), Socket(fileno=SOCKET), work
    while True:
        message, fds = receive_descriptors(sock, 16, MOST_DESCRIPTORS)
        if not message:
            _exit(0)
        if message == CELL:
            place = _run_cell(kernel, fds, work, place)
            sock.send(DONE)
            continue
        _reap()
        pid = _fork()
        if pid == 0:
            _dup2(fds[0], SOCKET)
            _close(fds[0])
            sock.send(BORN)
        else:
            _close(fds[0])
            sock.send(FORKED)


def _reap() -> None:
    try:
        while _waitpid(-1, _WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _run_cell(kernel: Kernel, fds: list[int], work: str, place: str) -> str:
    """Run a cell, and return the working directory at its end.

    Args:
        kernel: What the cells share.
        fds: The descriptors that came with the message.
        work: The directory, inside the cell's directory, in which the session began.
        place: The working directory at the end of the cell before, absolute or relative to the cell's directory.
    """
    order, *rest = fds
    history, text, number = _loads(_whole(order))
    _close(order)
    for fd, own in zip(rest, (1, 2, REPORT, ROOM), strict=True):
        _dup2(fd, own)
        _close(fd)
    _fchdir(ROOM)
    room = _getcwd()
    _go_to([place, work])
    start = f"{room}/{work}"
    _write(REPORT, b"{}\n")
    run_cell_after(kernel, history, text, number, start)
    for kind in _TIMERS:
        _setitimer(kind, 0)
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        flush(stream)
    # Nothing may lead from here to what belongs to the cell.
    _dup2(0, 1)
    _dup2(0, 2)
    _close(REPORT)
    _close(ROOM)
    left = _left(room)
    _chdir("/")
    return left or work


def _go_to(places: list[str]) -> None:
    """Go to the first of these directories that exists, if any: a cell can have removed or closed them all."""
    for place in places:
        try:
            _chdir(place)
            return
        except OSError:
            continue


def _left(room: str) -> str:
    """Return the working directory; relative if it is in the cell's directory, because each cell has its own."""
    try:
        here = _getcwd()
    except OSError:
        return ""
    return f".{here[len(room) :]}" if f"{here}/".startswith(f"{room}/") else here


def _whole(fd: int) -> bytes:
    pieces, size = list[bytes](), 0
    while piece := _pread(fd, 1 << 20, size):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)
