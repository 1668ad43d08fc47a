"""Matches of regular expressions: the text and the positions in it cross, the expression does not."""

from __future__ import annotations

import re
from typing import Any


class PlainMatch:
    """A match that is rebuilt from its text and the positions of its groups. For `isinstance`, it is a `re.Match`.

    Args:
        text: The text that was searched, `str` or `bytes`.
        bounds: Where the search started and ended in the text.
        spans: Start and end of the match and of each group; -1 for a group that took no part.
        names: Name and number of each group that has a name.
        last: The number of the last group that matched; None if no group matched.

    Raises:
        ValueError: If the arguments do not fit together.
    """

    __class__ = re.Match  # type: ignore[assignment]

    def __init__(self, text: Any, bounds: Any, spans: Any, names: Any, last: Any) -> None:
        places = [*bounds, *(place for span in spans for place in span)]
        groups = range(1, len(spans))
        if (
            not isinstance(text, str | bytes)
            or not spans
            or not all(type(place) is int and -1 <= place <= len(text) for place in places)
            or not all(isinstance(name, str) and number in groups for name, number in names)
            or (last is not None and last not in groups)
        ):
            raise ValueError("a match whose groups do not lie in its text")
        self.string, (self.pos, self.endpos) = text, bounds
        self.regs = tuple((start, end) for start, end in spans)
        self.lastindex = last
        self._names = dict(names)
        self.lastgroup = next((name for name, number in names if number == last), None)

    def __getattr__(self, name: str) -> Any:
        hint = '; it has crossed as its text and groups; judge="shared" allows it' if name in ("expand", "re") else ""
        raise AttributeError(f"'re.Match' object has no attribute {name!r}{hint}")

    def _number(self, group: Any) -> int:
        number = self._names.get(group) if isinstance(group, str) else group
        if type(number) is not int or not 0 <= number < len(self.regs):
            raise IndexError("no such group")
        return number

    def __getitem__(self, group: int | str) -> Any:
        start, end = self.span(group)
        return None if start < 0 else self.string[start:end]

    def group(self, *groups: int | str) -> Any:
        """Return the text of a group, or the texts of several groups."""
        found = tuple(self[group] for group in groups or (0,))
        return found[0] if len(found) == 1 else found

    def groups(self, default: Any = None) -> tuple[Any, ...]:
        """Return the text of each group, or `default` for a group that took no part."""
        texts = [self[number] for number in range(1, len(self.regs))]
        return tuple(default if text is None else text for text in texts)

    def groupdict(self, default: Any = None) -> dict[str, Any]:
        """Return the text of each group that has a name, by name."""
        texts = {name: self[name] for name in self._names}
        return {name: default if text is None else text for name, text in texts.items()}

    def span(self, group: int | str = 0) -> tuple[int, int]:
        """Return where a group begins and ends."""
        return self.regs[self._number(group)]

    def start(self, group: int | str = 0) -> int:
        """Return where a group begins."""
        return self.span(group)[0]

    def end(self, group: int | str = 0) -> int:
        """Return where a group ends."""
        return self.span(group)[1]

    def __repr__(self) -> str:
        return f"<re.Match object; span={self.span()}, match={self.group()!r}>"


def parts_of(match: Any) -> tuple[Any, ...]:
    """Return the arguments with which `PlainMatch` rebuilds a match."""
    if type(match) is PlainMatch:
        return match.string, [match.pos, match.endpos], match.regs, list(match._names.items()), match.lastindex
    return match.string, [match.pos, match.endpos], match.regs, list(match.re.groupindex.items()), match.lastindex
