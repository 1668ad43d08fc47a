"""What a session's worker knows of the interpreters that it keeps, and of the cells that run."""

from __future__ import annotations

import struct
from _socket import AF_UNIX, SO_PASSCRED, SOCK_SEQPACKET, SOL_SOCKET, socketpair
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from code_env.harness.process.sockets import Socket, send_descriptors

from . import linux, session_wire, wire
from .rooms import Room

CREDENTIALS = struct.Struct("iII")
"""Who sent a message: process, user and group."""


@dataclass(eq=False)
class Interpreter:
    """A process of the session. While no cell runs in it, it is stopped."""

    pid: int
    sock: Socket
    """The worker's end of the socket between them."""
    inode: int
    """The inode of the other end, which tells it from sockets that cells have opened."""
    pidfd: int
    files: int
    """The number of the files after its last cell."""
    room: Room | None = None
    """Where its next cell must run, if it is not forked."""
    obstacles: list[str] = field(default_factory=list)
    """Why it is not forked, in words."""
    known: frozenset[Room] = frozenset()
    """The rooms whose names it can know."""
    held_bytes: int = 0
    """How much memory it holds."""
    used_at: float = 0.0
    """When it was used last, by the monotonic clock."""
    forks: deque[Cell] = field(default_factory=deque)
    """The cells that it is to be forked for. It is forked for one at a time."""


@dataclass(eq=False)
class Cell:
    """A cell that was ordered and has not ended.

    Until its process exists, `sock`, `pid` and `pidfd` are empty. They are then those of a fork of `origin`, or of
    `origin` itself if this is not forked.
    """

    origin: Interpreter
    """The interpreter after the cell before."""
    room: Room
    number: int
    """The number of the room."""
    fds: list[int]
    """Descriptors for its process, until this has got them."""
    answer: Socket
    """Leads to the trainer."""
    sock: Socket | None = None
    inode: int = 0
    pid: int = 0
    pidfd: int = -1
    born: int = 0
    """The process that said it is the fork."""
    is_alone: bool = False
    """Whether the interpreter holds nothing of its fork any more."""
    deadline: float = float("inf")
    """When `origin` must have forked, by the monotonic clock."""
    cpu_before_s: float = 0.0
    """The CPU time that its process had used before, in seconds."""
    told_s: float = 0.0
    """The CPU time that the last `Spent` told of, in seconds."""


def connected() -> tuple[Socket, Socket]:
    """Return the worker's and a process's end of a socket. The worker learns who sent a message."""
    ours, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
    ours.setsockopt(SOL_SOCKET, SO_PASSCRED, 1)
    return Socket(fileno=linux.move_descriptor(ours.detach(), wire.OWN)), Socket(fileno=theirs.detach())


def tell(cell: Cell, answer: session_wire.Answer, fds: Sequence[int] = ()) -> bool:
    """Tell the trainer something about a cell; return False if the trainer does not want the cell any more."""
    try:
        send_descriptors(cell.answer, session_wire.pack(answer), fds)
    except OSError:
        return False
    return True
