"""Frames with programs, in which a judge crosses a link once, however many answers it judges.

A judge holds the tests of a task, which can be megabytes, and all answers to a task have equal judges. So a program
names its peer by a digest, and a peer is sent only if the other end does not keep it. The sender decides what is kept,
and tells the other end what to forget.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from code_env.errors import TaskError
from code_env.executors.program import Program

from .messages import program_data, program_from

MOST_BYTES = 64 << 20
"""The other end is told to forget the peers that were not used for the longest time when they have more bytes."""

_REFUSED_BYTES = 4 * MOST_BYTES
"""A sender that has more kept is not one of ours."""


class PeersThere:
    """What the sender knows of the peers that the other end keeps."""

    def __init__(self) -> None:
        self._sizes: OrderedDict[str, int] = OrderedDict()
        self._bytes = 0
        self._forget: list[str] = []

    def frame(self, programs: Mapping[int, Program]) -> str:
        """Return the frame that sends programs by their numbers; call `sent` when it has been sent."""
        new = {key: program_data(peer) for key, peer in _peers(programs.values()).items() if key not in self._sizes}
        rows = {
            str(number): program_data(program) | ({} if program.peer is None else {"peer": program.peer.digest})
            for number, program in programs.items()
        }
        frame = {"programs": rows, "peers": new, "forget": self._forget}
        return json.dumps(frame, separators=(",", ":"))

    def sent(self, programs: Iterable[Program]) -> None:
        """Note that the other end has these programs now, and keeps their peers."""
        self._forget = []
        used = _peers(programs)
        for key, peer in used.items():
            if key not in self._sizes:
                self._sizes[key] = _size(peer)
                self._bytes += self._sizes[key]
            self._sizes.move_to_end(key)
        while self._bytes > MOST_BYTES and len(self._sizes) > len(used):
            key, size = self._sizes.popitem(last=False)
            self._bytes -= size
            self._forget.append(key)


class PeersKept:
    """The peers that are kept for the sender of a link."""

    def __init__(self) -> None:
        self._peers: dict[str, Program] = {}
        self._bytes = 0

    def programs(self, frame: Any) -> dict[int, Program]:
        """Return the programs of a frame by their numbers.

        Raises:
            TaskError: If the frame is malformed, or too much is to be kept.
        """
        try:
            for key in frame["forget"]:
                self._bytes -= _size(self._peers.pop(key))
            for key, row in frame["peers"].items():
                self._peers[key] = program_from(row, None)
                self._bytes += _size(self._peers[key])
            found = {
                int(number): program_from(row, self._peers[row["peer"]] if "peer" in row else None)
                for number, row in frame["programs"].items()
            }
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise TaskError(f"a frame with programs was expected; {type(error).__name__}: {error}") from None
        if self._bytes > _REFUSED_BYTES:
            raise TaskError(f"a link keeps judges of at most {_REFUSED_BYTES} bytes")
        return found


def _peers(programs: Iterable[Program]) -> dict[str, Program]:
    """The peers of programs, by their digests."""
    return {program.peer.digest: program.peer for program in programs if program.peer is not None}


def _size(peer: Program) -> int:
    return len(peer.code) + len(peer.stdin) + sum(map(len, peer.files.values()))
