"""What passes between the trainer and the jail.

Two kinds of socket, both keeping messages whole (SOCK_SEQPACKET)::

    control, one for each server        trainer -> guardian   configuration, JSON, once
                                        server  -> trainer    {"level": ...} or {"error": ...}, JSON, once
                                        trainer -> server     {"user": ..., "directory": ...} and a worker's socket
    worker's, one for each worker       worker  -> trainer    READY or an error's text, once
                                        trainer -> worker     ORDER and its descriptors, or an ORDER to CLEAR
                                        worker  -> trainer    SPENT, while the program runs, as often as needed
                                        worker  -> trainer    ENDED, and the working directory if asked for; when it
                                                              has cleared, READY or an error's text

An order's numbers are all that a worker learns of a program. What the program is, a `ProgramOrder`, lies
behind a descriptor that the child alone reads. Nothing that comes from a
process that has run a program is ever unpacked here: a child has no socket of these.
"""

from __future__ import annotations

import _socket
import marshal
import struct
from typing import Any, NamedTuple

from code_env.harness.process.sockets import receive_descriptors

MAX_MESSAGE = 1 << 17
"""Longest message on a control socket, in bytes."""

MAX_DESCRIPTORS = 8
"""Most descriptors with one message."""

READY = b"ready"
"""A worker's first message when it works, and its answer when it has cleared."""

FIRST = 3
"""Number of an order's first descriptor in a worker. The others follow: the `ProgramOrder`, standard input, output
and error, the report; for a program with a partner the channel to it and, where it answers in one process, the bell;
for a peer that may be kept a socket for further channels, last."""

OWN = 64
"""From this number on, descriptors in a worker are its own."""

ORDER = struct.Struct("<QQIB")
"""Bytes that the scratch file system holds, bytes of the `ProgramOrder`, processes that it may start, flags."""

WANT_DIRECTORY, COMMAND, CLEAR = 1, 2, 4
"""Flags: the working directory's descriptor comes with the answer; the program is not Python; there is no program, but
to be removed what the last one has left at level `contained`."""

ENDED = struct.Struct("<idQ")
"""Wait status, CPU seconds of the whole run, peak resident bytes of its largest process."""

SPENT = struct.Struct("<d")
"""CPU seconds of the worker that forks of the program have taken which were refused, so far."""


class FurtherOrder(NamedTuple):
    """What a child is told beside, if its program is served, a peer, a notebook, not Python or held to a policy."""

    environment: dict[str, str]
    """Variables that it finds beside the server's."""
    command: dict[str, Any] | None
    """How its interpreter is run: the fields of a `Command` by name; None if it is Python."""
    cells: list[str] | None
    """The code of a notebook's cells; None if it is no notebook."""
    limits: dict[str, Any]
    """What one run or test may use: the fields of a `ProcessLimits` by name."""
    processes: int
    """How many processes it may start."""
    scratch: str
    """Where a served program makes the directories of its tests."""
    policy: bool
    """Whether it is held to the policy of its server."""
    test_rlimits: list[tuple[int, int, int]]
    """Of a served program: limits that the kernel enforces on a test's process and not on its own."""


class ProgramOrder(NamedTuple):
    """What the trainer tells the child that is to become a program."""

    role: str
    """What the program is: `program`, `served` or `loaded`, see `harness/boot.py`."""
    directory: str
    """Its working directory."""
    code: bytes
    """Its text."""
    argv: list[str]
    """Its arguments, without its name."""
    files: dict[str, bytes]
    """What is put into its working directory, by relative path; its own file is not among them."""
    rlimits: list[tuple[int, int, int]]
    """Limits that the kernel enforces on its process: resource, soft limit, hard limit."""
    further: FurtherOrder | None
    """The rest; None for an ordinary program, whose child is the sooner done for it."""


# Version 2 is understood by every Python 3, and the jail's may be another than the trainer's.
_MARSHAL_VERSION = 2


def pack(order: ProgramOrder) -> bytes:
    """An order as bytes that `unpack` undoes in any Python 3."""
    # Of tuples, marshal takes plain ones only.
    further = None if order.further is None else tuple(order.further)
    return marshal.dumps((*order[:-1], further), _MARSHAL_VERSION)


def unpack(data: bytes) -> ProgramOrder:
    """The order that was packed."""
    order = ProgramOrder._make(marshal.loads(data))
    return order if order.further is None else order._replace(further=FurtherOrder._make(order.further))


def receive(sock: _socket.socket) -> tuple[bytes, list[int]]:
    """The next message with its descriptors; an empty one when the other side is gone."""
    return receive_descriptors(sock, MAX_MESSAGE, MAX_DESCRIPTORS)
