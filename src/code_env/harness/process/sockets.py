"""Connected sockets, and descriptors sent over them, without the module `socket`.

The module `socket` loads other modules and makes enumerations of some hundred constants. This takes half a megabyte,
which every fork of a server would contain. The module `_socket`, on which it is built, has all that is needed here.
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
    """Return two connected stream sockets."""
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
    return Socket(fileno=ours.detach()), Socket(fileno=theirs.detach())


def send_descriptors(sock: _socket.socket, data: bytes, descriptors: Sequence[int]) -> None:
    """Send copies of descriptors along with data, which must not be empty.

    Raises:
        OSError: If the other side is gone, or the kernel allows no more descriptors in transit.
    """
    packed = struct.pack(f"{len(descriptors)}i", *descriptors)
    sock.sendmsg([data], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, packed)])


def receive_descriptors(sock: _socket.socket, size: int, most: int) -> tuple[bytes, list[int]]:
    """Receive data and descriptors; the data is empty if the other side is gone.

    Args:
        sock: The socket to read from.
        size: The most bytes of data to read.
        most: The most descriptors to receive.

    Raises:
        OSError: If the connection failed.
    """
    data, ancillary, _, _ = sock.recvmsg(size, CMSG_SPACE(4 * most))
    descriptors: list[int] = []
    for level, kind, packed in ancillary:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            descriptors += struct.unpack(f"{len(packed) // 4}i", packed[: len(packed) // 4 * 4])
    return data, descriptors
