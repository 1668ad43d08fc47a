"""The messages between the trainer and the jail.

There are two kinds of socket. Both keep the borders of messages (SOCK_SEQPACKET); `configuration.py` describes the
configurations::

    control, one for each server        trainer -> guardian   ServerConfiguration, JSON, once
                                        server  -> trainer    {"level": ...} or {"error": ...}, JSON, once
                                        trainer -> server     WorkerConfiguration, JSON, and a worker's socket
    worker's, one for each worker       worker  -> trainer    READY or an error's text, once
                                        trainer -> worker     ORDER and its descriptors, or an ORDER to CLEAR
                                        worker  -> trainer    SPENT, while the program runs, as often as needed
                                        worker  -> trainer    ENDED, and the working directory if asked for; when it
                                                              has cleared, READY or an error's text

A worker learns about a program only the numbers in its order. The program itself, a `ProgramOrder`, is behind a
descriptor that only the child reads. A child has none of these sockets, so nothing that comes from a process that has
run a program is ever unpacked here.
"""

from __future__ import annotations

import _socket
import marshal
import struct
from typing import Any, NamedTuple

from code_env.harness.process.sockets import receive_descriptors

MAX_MESSAGE = 1 << 17
"""The longest message on a control socket, in bytes."""

MAX_DESCRIPTORS = 8
"""The most descriptors that one message carries."""

READY = b"ready"
"""The first message of a worker that has started, and its reply when it has cleared the directory."""

FIRST = 3
"""The number of an order's first descriptor in a worker. This is the `ProgramOrder`; the others follow it: standard
input, output and error, and the report. A program with a peer, and the peer, also get the channel, and the bell if the
program is loaded. A peer that can be kept also gets, last, a socket for further channels."""

OWN = 64
"""From this number on, a worker's descriptors are its own; lower ones come with orders."""

ORDER = struct.Struct("<QQIB")
"""The size of the scratch file system and of the `ProgramOrder` in bytes, the number of processes that the program may
start, and the flags."""

WANT_DIRECTORY, COMMAND, CLEAR = 1, 2, 4
"""Flags: the reply carries a descriptor of the working directory; the program is not Python; there is no program, and
the worker removes what the last program has left, at level `contained`."""

ENDED = struct.Struct("<idQ")
"""The wait status, the CPU seconds of the whole run, and the peak resident memory of its largest process in bytes."""

SPENT = struct.Struct("<dI")
"""The CPU seconds that the worker has spent so far on forks and locks of the program, and the number of the locks."""


class FurtherOrder(NamedTuple):
    """Further parts of an order, if the program is served, a peer, a notebook, not Python or held to a policy."""

    environment: dict[str, str]
    """Environment variables that the program gets in addition to the server's."""
    command: dict[str, Any] | None
    """How to run the program's interpreter: the fields of a `Command` by name; None if the program is Python."""
    cells: list[str] | None
    """The code of a notebook's cells; None if the program is not a notebook."""
    history: list[str] | None
    """The cells of a session before the program, which is its next cell; None if it is no cell of a session."""
    limits: dict[str, Any]
    """The limits of one run or test: the fields of a `ProcessLimits` by name."""
    processes: int
    """The number of processes that the program may start."""
    scratch: str
    """The directory in which a served program makes the directories of its tests."""
    policy: bool
    """Whether the program is held to the policy of its server."""
    test_rlimits: list[tuple[int, int, int]]
    """For a served program: limits that the kernel enforces on a test's process, and not on the serving process."""


class ProgramOrder(NamedTuple):
    """The trainer's order to a child that becomes a program."""

    role: str
    """The role of the program: `program`, `served` or `loaded`, see `harness/boot.py`."""
    directory: str
    """The working directory of the program."""
    code: bytes
    """The text of the program."""
    argv: list[str]
    """The arguments of the program, without its name."""
    files: dict[str, bytes]
    """Contents of the files for its working directory, by relative path, without the program's own file."""
    rlimits: list[tuple[int, int, int]]
    """Limits that the kernel enforces on the program's process: resource, soft limit, hard limit."""
    further: FurtherOrder | None
    """The other parts. They are None for an ordinary program, which makes its child faster."""


# Every Python 3 reads version 2, and the jail's Python can be another version than the trainer's.
_MARSHAL_VERSION = 2


def pack(order: ProgramOrder) -> bytes:
    """Encode an order as bytes that `unpack` decodes in any Python 3."""
    # marshal encodes plain tuples, but no named ones.
    further = None if order.further is None else tuple(order.further)
    return marshal.dumps((*order[:-1], further), _MARSHAL_VERSION)


def unpack(data: bytes) -> ProgramOrder:
    """Decode an order that `pack` has encoded."""
    order = ProgramOrder._make(marshal.loads(data))
    return order if order.further is None else order._replace(further=FurtherOrder._make(order.further))


def receive(sock: _socket.socket) -> tuple[bytes, list[int]]:
    """Receive the next message with its descriptors; an empty one means that the other side is gone."""
    return receive_descriptors(sock, MAX_MESSAGE, MAX_DESCRIPTORS)
