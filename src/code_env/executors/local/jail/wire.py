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

An order's numbers are all that a worker learns of a program. What the program is, its order proper, lies
behind a descriptor that the child alone reads. Nothing that comes from a
process that has run a program is ever unpacked here: a child has no socket of these.
"""

from __future__ import annotations

import _socket
import marshal
import struct
from typing import Any

from code_env.harness.process.sockets import receive_descriptors

MAX_MESSAGE = 1 << 17
"""Longest message on a control socket, in bytes."""

MAX_DESCRIPTORS = 8
"""Most descriptors with one message."""

READY = b"ready"
"""A worker's first message when it works, and its answer when it has cleared."""

FIRST = 3
"""Number of an order's first descriptor in a worker. The others follow: the order, standard input, output
and error, the report; for a program with a partner the channel to it and, where it answers in one process, the bell;
for a peer that may be kept a socket for further channels, last."""

OWN = 64
"""From this number on, descriptors in a worker are its own."""

ORDER = struct.Struct("<QQIB")
"""Bytes that the scratch file system holds, bytes of the order, processes that the program may start, flags."""

WANT_DIRECTORY, COMMAND, CLEAR = 1, 2, 4
"""Flags: the working directory's descriptor comes with the answer; the program is not Python; there is no program, but
to be removed what the last one has left at level `contained`."""

ENDED = struct.Struct("<idQ")
"""Wait status, CPU seconds of the whole run, peak resident bytes of its largest process."""

SPENT = struct.Struct("<d")
"""CPU seconds of the worker that forks of the program have taken which were refused, so far."""

# Version 2 is understood by every Python 3, and the jail's may be another than the trainer's.
_MARSHAL_VERSION = 2


def pack(order: tuple[Any, ...]) -> bytes:
    """An order as bytes; `marshal.loads` of any Python 3 undoes it."""
    return marshal.dumps(order, _MARSHAL_VERSION)


def receive(sock: _socket.socket) -> tuple[bytes, list[int]]:
    """The next message with its descriptors; an empty one when the other side is gone."""
    return receive_descriptors(sock, MAX_MESSAGE, MAX_DESCRIPTORS)
