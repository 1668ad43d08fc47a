"""Connected sockets, and descriptors sent over them, without the module `socket`.

That module loads others and makes enumerations of some hundred constants: half a megabyte, which would be a part of
every fork of a server. What is needed of it here is what it is built on.
"""

from __future__ import annotations

import _socket
import struct
from _socket import CMSG_SPACE, SHUT_WR
from collections.abc import Sequence

__all__ = ["CMSG_SPACE", "SHUT_WR", "Socket", "receive_descriptors", "send_descriptors", "socket_pair"]


class Socket(_socket.socket):
    """A socket that is closed at the end of its context."""

    def __enter__(self) -> Socket:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def socket_pair() -> tuple[Socket, Socket]:
    """Two sockets that are connected with each other and keep no messages apart."""
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
    return Socket(fileno=ours.detach()), Socket(fileno=theirs.detach())


def send_descriptors(sock: _socket.socket, data: bytes, descriptors: Sequence[int]) -> None:
    """Send copies of descriptors along with data, of which there must be some.

    Raises:
        OSError: If the other side is gone, or the kernel lets no more descriptors be on their way.
    """
    packed = struct.pack(f"{len(descriptors)}i", *descriptors)
    sock.sendmsg([data], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, packed)])


def receive_descriptors(sock: _socket.socket, size: int, most: int) -> tuple[bytes, list[int]]:
    """Receive data and descriptors; no data if the other side is gone.

    Args:
        sock: Where from.
        size: The most bytes of data.
        most: The most descriptors.

    Raises:
        OSError: If the connection failed.
    """
    data, ancillary, _, _ = sock.recvmsg(size, CMSG_SPACE(4 * most))
    descriptors: list[int] = []
    for level, kind, packed in ancillary:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            descriptors += struct.unpack(f"{len(packed) // 4}i", packed[: len(packed) // 4 * 4])
    return data, descriptors
