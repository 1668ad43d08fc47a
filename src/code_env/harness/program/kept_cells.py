"""Keeps the interpreter of a session between its cells, and forks it for the next cell.

The process waits for a message. At `FORK` it forks a child, and goes on waiting. At `CELL` it runs a cell, gives up all
that belongs to this cell, says `DONE`, and waits again. So the process of a cell becomes the interpreter from which the
next cell is forked, and the interpreter before it is the state before the cell.

All this runs in the process of untrusted cells, which can change everything here. Who sends the messages trusts nothing
of it, and looks at the process from outside.
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
"""Descriptors of the process: its socket; while a cell runs also the cell's directory, and where its record goes."""

FORK, CELL = b"fork", b"cell"
"""What the process is told. A child's socket comes with the first; with the second come the order, standard output and
error, the report, and the cell's directory."""

BORN, FORKED, DONE = b"born", b"forked", b"done"
"""What the process says: a fork of it lives, which the fork itself says; it has forked, and holds nothing of the fork;
the cell has ended."""

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
    """Run a cell.

    Args:
        kernel: What the cells share.
        fds: The descriptors that came with the message.
        work: The directory, inside that of the cell, in which the session began.
        place: The working directory that the cell before has left, absolute or relative to that of the cell.

    Returns:
        That which this cell has left.
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
    """Go to the first of these directories that there is. A cell can have removed or closed them all."""
    for place in places:
        try:
            _chdir(place)
            return
        except OSError:
            continue


def _left(room: str) -> str:
    """The working directory: in the cell's directory relative to it, since each branch has another; else absolute."""
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
