"""A channel on which the program's process does not wake its peer with each frame.

Waking a process costs more than anything else that is done for a call. So the peer does not wait on the channel
itself but on a pipe, the bell: the program's process rings it when it is about to wait, and its end closes it. In
between frames may pile up, and none is lost if that process dies: they are in the channel by then.
"""

from __future__ import annotations

import os
import select

from .channel import Channel, ChannelTimeout, milliseconds

_write, _set_blocking = os.write, os.set_blocking


class QuietChannel(Channel):
    """The peer's side.

    Args:
        fd: The channel's descriptor; it stays the caller's to close.
        bell: The end of the bell to listen to, likewise.
    """

    def __init__(self, fd: int, bell: int) -> None:
        super().__init__(fd)
        os.set_blocking(fd, False)
        self._bell = bell
        self._bell_poll = select.poll()
        self._bell_poll.register(bell, select.POLLIN)
        self._bell_is_closed = False

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
        """Send frames, of which the other side learns later."""
        self._has_sent = True
        super().send_frames(frames)

    def before_waiting(self) -> None:
        """Ring, if anything was sent since."""
        if self._has_sent:
            self._has_sent = False
            self.before_waiting_for_room()

    def before_waiting_for_room(self) -> None:
        """Ring: the other side sleeps, and must make room, as often as there is none."""
        try:  # noqa: SIM105  # A context manager would cost more than the ringing.
            _write(self._bell, b".")
        except BrokenPipeError:
            pass  # It has heard enough and is gone; whoever reads or sends next learns of it.

    def more(self, left_s: float | None) -> bool:
        """Ring, then wait for more to read, and read it; False when the other side has closed."""
        self.before_waiting()
        try:
            return self.fill()
        except BlockingIOError:
            return super().more(left_s)
