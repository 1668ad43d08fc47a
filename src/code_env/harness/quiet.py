"""A channel on which the program's process does not wake its peer with each frame.

Waking a process costs more than anything else that is done for a call. So the peer does not wait on the channel
itself but on a second socket, the bell: the program's process rings it when it is about to wait, and its end closes
it. In between frames may pile up, and none is lost if that process dies: they are in the channel by then.
"""

from __future__ import annotations

import os
import select
import socket

from .channel import Channel, ChannelError, ChannelTimeout

_read, _write, _set_blocking, _close = os.read, os.write, os.set_blocking, os.close


class QuietChannel(Channel):
    """The peer's side.

    Args:
        fd: The channel's descriptor; it stays the caller's to close.
    """

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        os.set_blocking(fd, False)
        mine, self._theirs = socket.socketpair()
        self._bell = mine
        self._bell_poll = select.poll()
        self._bell_poll.register(mine.fileno(), select.POLLIN)
        self._bell_is_closed = False

    def send_first(self, kind: int, payload: bytes) -> None:
        """Send the first frame, and the other side's bell with it.

        Raises:
            ChannelError: If the other side is gone.
        """
        with socket.socket(fileno=os.dup(self.fd)) as sock, self._theirs as theirs:
            try:
                socket.send_fds(sock, [b"!"], [theirs.fileno()])
            except OSError as error:
                raise ChannelError(f"the other side is gone: {error}") from error
        self.send(kind, payload)

    def more(self, left_s: float | None) -> bool:
        """Read what is there, or wait for the bell; False when the other side is gone and nothing is left.

        Raises:
            ChannelTimeout: If the bell did not ring in time.
        """
        try:
            return self.fill()
        except BlockingIOError:
            if self._bell_is_closed:
                return False
        if not self._bell_poll.poll(None if left_s is None else left_s * 1000):
            raise ChannelTimeout(f"no frame within {left_s:.1f} s")
        self._bell_is_closed = not self._bell.recv(64)
        return True

    def close(self) -> None:
        """Close the bell."""
        self._bell.close()
        self._theirs.close()


class RingingChannel(Channel):
    """The side of the program's process.

    Args:
        fd: The channel's descriptor, on which the bell comes first.

    Raises:
        ChannelError: If there is no bell.
    """

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        sock = socket.socket(fileno=fd)
        _, fds, _, _ = socket.recv_fds(sock, 1, 1)
        sock.detach()
        if not fds:
            raise ChannelError("no bell came")
        self._bell = fds[0]
        self._rang = True
        _set_blocking(fd, False)

    def send_frames(self, frames: bytes | bytearray) -> None:
        """Send frames, of which the other side learns later."""
        self._rang = False
        super().send_frames(frames)

    def before_waiting(self) -> None:
        """Ring, if anything was sent."""
        if not self._rang:
            self._rang = True
            _write(self._bell, b".")
