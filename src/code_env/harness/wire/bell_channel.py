"""A channel on which the program's process does not wake its peer with each frame.

To wake a process costs more than everything else that a call needs. So the peer does not wait on the channel itself,
but on a pipe, the bell. The program's process rings the bell, by writing to it, when it is about to wait. The bell
closes when that process ends. Frames can collect in the channel between two rings. No frame is lost if the process
dies, because the frames are already in the channel.
"""

from __future__ import annotations

import os
import select

from .channel import Channel, ChannelTimeout, milliseconds

_write, _set_blocking = os.write, os.set_blocking


class QuietChannel(Channel):
    """The peer's side.

    Args:
        fd: The channel's descriptor. The caller must close it.
        bell: The end of the bell to listen to. The caller must close it too.
    """

    def __init__(self, fd: int, bell: int) -> None:
        super().__init__(fd)
        os.set_blocking(fd, False)
        self._bell = bell
        self._bell_poll = select.poll()
        self._bell_poll.register(bell, select.POLLIN)
        self._bell_is_closed = False

    def more(self, left_s: float | None) -> bool:
        """Read the available data, or wait for the bell; return False if the other side is gone and no data is left.

        Raises:
            ChannelTimeout: If the bell did not ring in time.
        """
        try:
            return self.fill()
        except BlockingIOError:
            if self._bell_is_closed:
                return False
        if not self._bell_poll.poll(milliseconds(left_s)):
            raise ChannelTimeout(f"no frame within {left_s:.1f} s")
        self._bell_is_closed = not os.read(self._bell, 64)
        return True


class RingingChannel(Channel):
    """The side of the program's process.

    Args:
        fd: The channel's descriptor.
        bell: The end of the bell to ring.
    """

    def __init__(self, fd: int, bell: int) -> None:
        super().__init__(fd)
        _set_blocking(fd, False)
        self._bell = bell
        self._has_sent = False

    def send_frames(self, frames: bytes | bytearray) -> None:
        """Send frames without waking the other side."""
        self._has_sent = True
        super().send_frames(frames)

    def before_waiting(self) -> None:
        """Ring, if frames were sent since the last call."""
        if self._has_sent:
            self._has_sent = False
            self.before_waiting_for_room()

    def before_waiting_for_room(self) -> None:
        """Ring each time the channel is full, because the other side sleeps and must read to make room."""
        try:  # noqa: SIM105  # A context manager would cost more than the ringing.
            _write(self._bell, b".")
        except BrokenPipeError:
            pass  # The peer is gone. The next read or send on the channel shows that.

    def more(self, left_s: float | None) -> bool:
        """Ring, then wait for data and read it; return False if the other side has closed."""
        self.before_waiting()
        try:
            return self.fill()
        except BlockingIOError:
            return super().more(left_s)
