"""Foreign text made safe to show: what programs print and models write goes through here."""

from __future__ import annotations

_GAP = "\n[... {} characters left out ...]\n"


def clip(text: str, max_chars: int) -> str:
    """The text, its middle replaced by a note if it is longer than `max_chars`.

    >>> clip("short", 10)
    'short'
    """
    if len(text) <= max_chars:
        return text
    room = max_chars - len(_GAP.format(len(text)))
    if room <= 0:
        return ""
    head = (room + 1) // 2
    tail = room - head
    return text[:head] + _GAP.format(len(text) - room) + text[len(text) - tail :]


def printable(text: str) -> str:
    """The text with control characters and lone surrogates written as escapes.

    >>> printable("a\\x1b[31m")
    'a\\\\x1b[31m'
    """
    safe = text.encode("utf-8", "backslashreplace").decode()
    if safe.isprintable():
        return safe
    return "".join(c if c in "\n\t" or c.isprintable() else c.encode("unicode_escape").decode() for c in safe)


def first_line(text: str, max_chars: int) -> str:
    """The first line of the text that is not blank; it ends with an ellipsis if something after it is left out.

    >>> first_line("ValueError: no\\n  in line 3", 40), first_line("a long reason", 8)
    ('ValueError: no…', 'a long …')
    """
    line, _, rest = text.strip().partition("\n")
    line = line.rstrip()
    if len(line) <= max_chars and not rest:
        return line
    return line[: max_chars - 1] + "…" if max_chars > 0 else ""
