"""Keeps the head and the tail of a stream of any length."""

from __future__ import annotations


class HeadAndTail:
    """Takes bytes and keeps the first and the last `size` of them.

    Example:
        >>> kept = HeadAndTail(3)
        >>> kept.take(b"abcdefgh")
        >>> kept.text(), kept.truncated
        ('abc\\n... 2 bytes left out ...\\nfgh', True)
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def take(self, data: bytes) -> None:
        """Take the next piece of the stream."""
        self.total += len(data)
        room = self._size - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        del self._tail[: -self._size]

    @property
    def truncated(self) -> bool:
        """Whether something was dropped in the middle."""
        return self.total > len(self._head) + len(self._tail)

    def text(self) -> str:
        """The kept bytes as text; bytes that are not UTF-8 are replaced."""
        dropped = self.total - len(self._head) - len(self._tail)
        gap = b"\n... %d bytes left out ...\n" % dropped if dropped else b""
        return bytes(self._head + gap + self._tail).decode("utf-8", "replace")
