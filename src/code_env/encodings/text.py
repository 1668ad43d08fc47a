"""Encodes text as numbers: prompts become arrays of a fixed length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from code_env.checks import require_whole
from code_env.errors import EncodingError

BYTES = 256
"""The number of values of a byte. The default padding is 0, because our texts do not need this value."""


class TextEncoding:
    """Turns text into a fixed number of numbers; shorter text is padded, and longer text loses its middle.

    Args:
        length: How many numbers the result has.
        encode: Turns text into token ids of at least 0; None for the bytes of UTF-8.
        vocabulary: The number of token ids, if `encode` is given.
        pad: The number that is appended to shorter text.

    Raises:
        EncodingError: If an argument is out of range.

    Example:
        >>> TextEncoding(4)("abc")
        array([97, 98, 99,  0], dtype=uint8)
        >>> TextEncoding(4)("abcdef")
        array([ 97,  98, 101, 102], dtype=uint8)
    """

    def __init__(
        self,
        length: int,
        encode: Callable[[str], Sequence[int]] | None = None,
        vocabulary: int | None = None,
        pad: int = 0,
    ) -> None:
        require_whole("length", length, EncodingError, least=1)
        if (encode is None) != (vocabulary is None):
            raise EncodingError("encode and vocabulary belong together: give both, or neither for bytes")
        count = BYTES if vocabulary is None else vocabulary
        if type(count) is not int or count < 2 or type(pad) is not int or not 0 <= pad < count:
            raise EncodingError(f"0 <= pad < vocabulary must hold; got pad={pad!r}, vocabulary={vocabulary!r}")
        self._encode = _utf8 if encode is None else encode
        self._length, self._pad = length, pad
        dtype: Any = np.uint8 if encode is None else np.int64
        self.space = spaces.Box(0, count - 1, (length,), dtype)
        """The space of the results."""

    def __call__(self, text: str) -> npt.NDArray[Any]:
        """Return the numbers of a text.

        Raises:
            EncodingError: If `encode` returns something other than a list of numbers in the vocabulary.
        """
        numbers = np.asarray(self._encode(text))
        if numbers.size == 0:
            numbers = np.zeros(0, dtype=np.int64)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise EncodingError(f"encode must give a list of whole numbers; got {numbers!r:.100}")
        if numbers.size and not 0 <= numbers.min() <= numbers.max() <= self.space.high[0]:
            raise EncodingError(
                f"encode gave {numbers.min()} to {numbers.max()}; expected is 0 to {self.space.high[0]}"
            )
        if len(numbers) > self._length:
            head, tail = (self._length + 1) // 2, self._length // 2
            numbers = np.concatenate([numbers[:head], numbers[len(numbers) - tail :]])
        filled = np.full(self._length, self._pad, dtype=self.space.dtype)
        filled[: len(numbers)] = numbers
        return filled


def _utf8(text: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text.encode("utf-8", "replace"), dtype=np.uint8)
