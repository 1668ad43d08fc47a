"""Learns which numbers in a program's standard input count what follows, as `3` does before three lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_PLACES = [(line, word) for line in range(3) for word in range(3)]
"""Where a number can stand that counts: the number of its line, and of the word there."""

_COUNTED: dict[str, Callable[[list[str], int], int]] = {
    "lines after it": lambda lines, line: len(lines) - line - 1,
    "words of the next line": lambda lines, line: len(lines[line + 1].split()),
    "characters of the next line": lambda lines, line: len(lines[line + 1]),
    "words after its line": lambda lines, line: sum(len(one.split()) for one in lines[line + 1 :]),
}


class Counts:
    """The numbers that count something in all examples.

    Args:
        examples: Standard inputs. A relation is learnt from two different counts on.

    Example:
        >>> counts = Counts(["2\\n5 6\\n", "3\\n1 2 3\\n"])
        >>> counts.allows("1\\n9\\n"), counts.allows("1\\n9 9\\n")
        (True, False)
    """

    def __init__(self, examples: Sequence[str]) -> None:
        self._relations = []
        for place in _PLACES:
            for what in _COUNTED:
                pairs = [_pair(text, place, what) for text in examples]
                if all(pair is not None and pair[0] == pair[1] for pair in pairs) and len(set(pairs)) > 1:
                    self._relations.append((place, what))

    def allows(self, text: str) -> bool:
        """Whether the numbers count the same in this input."""
        pairs = [_pair(text, place, what) for place, what in self._relations]
        return all(pair is not None and pair[0] == pair[1] for pair in pairs)


def _pair(text: str, place: tuple[int, int], what: str) -> tuple[int, int] | None:
    """The number at a place, and the count that it could be; None if there is no number."""
    lines, (line, word) = text.removesuffix("\n").split("\n"), place
    try:
        return int(lines[line].split()[word]), _COUNTED[what](lines, line)
    except (IndexError, ValueError):
        return None
