"""Finds the fenced blocks of a text as models write them, which does not always follow Markdown.

A mark is a run of three or more back ticks or tildes that can open or close a block. The reader first finds all marks,
and then goes through them once, in order. If a mark could open or close a block, the number of bare marks up to the
next mark with a tag decides, because bare marks come in pairs.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple

from .prose import is_prose

_RUN = re.compile(r"`{3,}|~{3,}")
_PREFIX = re.compile(r"[ \t]*(?P<quote>(?:>[ \t]?)*)(?P<indent>[ \t]*)(?P<bullet>(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)")
_TAG = re.compile(r"[\w+#.-]*")
_ENDS = re.compile(r"(?:(?:<[|｜][^|｜<>\s]{1,40}[|｜]>|</?\w{1,20}>)\s*)+")
"""Tokens and tags that end an answer; they can come after a mark on its line."""

_TRIPLE_QUOTES = re.compile(r"""(?<!')\"{3}(?!')|(?<!")'{3}(?!")""")
_NO_SPACE = re.compile(r"\S")
_UNQUOTED = re.compile(r"\n(?![ \t]{0,3}>)")
_WORDS = re.compile(r"\w[^\n]*")
_LOOKED_BACK = 300
_DEEP = 4
"""A mark that is indented by at least this many columns more than the opening mark belongs to the code."""


class Block(NamedTuple):
    """A fenced block."""

    tag: str
    """The word after the opening mark, in lower case."""
    code: str
    """The code in the block."""
    before: str = ""
    """The last words between the block before it and its opening mark, on one line; at most 300 characters."""
    is_of_prompt: bool = False
    """Whether its opening mark is in the prompt."""


class _Kind(Enum):
    OPEN = auto()
    """The mark has a tag, or is after a bullet: it can only open a block."""
    BARE = auto()
    """The mark is alone on its line."""
    BEHIND = auto()
    """The mark is at the end of a line, after other text."""
    BEFORE = auto()
    """The mark is at the start of a line, before words."""


class _Mark(NamedTuple):
    kind: _Kind
    run: str
    tag: str
    line: int
    """The index at which its line begins."""
    at: int
    end: int
    """The index at which its line ends, after the line feed."""
    quotes: int
    """The number of `>` before the mark."""
    indent: str
    width: int
    """The number of columns before the mark, with bullets."""
    has_bullet: bool
    is_first: bool
    """Whether only white space, `>` and bullets are before the mark on its line."""


def fenced_blocks(text: str, language: str, defines: Callable[[str], bool]) -> list[Block]:
    """Return the fenced blocks of a text, in order.

    Args:
        text: The text.
        language: The language of the code: in Python, back ticks in a docstring are not a mark.
        defines: Whether a text defines what the task asks for.
    """
    return _Reader(text, language, defines).blocks()


class _Reader:
    """Goes through the marks of a text."""

    def __init__(self, text: str, language: str, defines: Callable[[str], bool]) -> None:
        self._text, self._defines = text, defines
        begins = _NO_SPACE.search(text)
        self._begins = len(text) if begins is None or is_prose(text) else begins.start()
        """The index at which code begins if its opening mark is in the prompt."""
        self._marks = _marks(text)
        self._bare = _bare_after(self._marks)
        self._strings = _TripleQuoted(text, language == "python")
        self._blocks: list[Block] = []
        self._opening: _Mark | None = None
        self._inner: list[_Mark] = []
        """Deeply indented bare marks in the open block: they come in pairs, otherwise the last ends the block."""
        self._quote_ends = -1
        self._after = 0
        """The index at which the text after the last block begins."""

    def blocks(self) -> list[Block]:
        """Return all fenced blocks, in order."""
        for index, mark in enumerate(self._marks):
            if self._opening is not None:
                self._end_with_quote(self._opening, mark)
            if self._strings.hold(mark.at):
                continue
            if self._opening is not None and not self._inside(self._opening, mark, self._bare[index]):
                continue
            if self._opening is None:
                self._outside(mark, index)
        if self._opening is not None:
            quote_ends = self._end_of_quote(self._opening)
            if quote_ends < len(self._text) or len(self._inner) % 2 == 0:
                self._close(self._opening, quote_ends)
            else:
                self._close(self._opening, self._inner[-1].line)
        return self._blocks

    def _outside(self, mark: _Mark, index: int) -> None:
        """Handle a mark while no block is open."""
        if mark.kind is not _Kind.OPEN and self._ends_what_the_prompt_opened(mark, index):
            end = mark.at if mark.kind is _Kind.BEHIND else mark.line
            self._blocks.append(Block("", self._text[:end], is_of_prompt=True))
            self._restart(mark.end)
        elif mark.kind is not _Kind.BEHIND or self._bare[index] % 2:
            self._opening, self._inner = mark, []
            self._strings.restart(mark.end)

    def _ends_what_the_prompt_opened(self, mark: _Mark, index: int) -> bool:
        """Return whether all text before a mark is the code of a block whose opening mark is in the prompt."""
        if self._blocks or self._begins >= mark.at or mark.quotes:
            return False
        following = self._marks[index + 1].line if index + 1 < len(self._marks) else len(self._text)
        before_defines = self._defines(self._text[: mark.at])
        if before_defines != self._defines(self._text[mark.end : following]):
            return before_defines
        return self._bare[index] % 2 == 0

    def _inside(self, opening: _Mark, mark: _Mark, bare_after: int) -> bool:
        """Handle a mark while a block is open; return whether it must also be handled as a mark outside the block."""
        if not mark.run.startswith(opening.run) or mark.quotes != opening.quotes:
            return False
        if mark.kind is _Kind.BEHIND:
            if bare_after % 2 == 0:
                self._close(opening, mark.at, mark.end)
            return False
        if mark.kind is _Kind.OPEN and (mark.has_bullet or not mark.is_first):
            return False
        if mark.width >= opening.width + _DEEP:
            if mark.kind is _Kind.BARE:
                self._inner.append(mark)
            return False
        if len(self._inner) % 2:
            self._close(opening, self._inner[-1].line, mark.line)
            return True
        self._close(opening, mark.line, mark.end)
        return mark.kind is _Kind.OPEN

    def _end_with_quote(self, opening: _Mark, mark: _Mark) -> None:
        """Close a block in a quote, if the quote ends before a mark."""
        quote_ends = self._end_of_quote(opening)
        if quote_ends <= mark.line:
            self._close(opening, quote_ends)

    def _end_of_quote(self, opening: _Mark) -> int:
        """Return the index at which the quote around a block ends; the end of the text if there is no quote."""
        if not opening.quotes:
            return len(self._text)
        if self._quote_ends < opening.end:
            found = _UNQUOTED.search(self._text, opening.end - 1)
            self._quote_ends = found.end() if found else len(self._text)
        return self._quote_ends

    def _close(self, opening: _Mark, end: int, after: int | None = None) -> None:
        """Close the open block at `end`; the text after the block begins at `after`, by default at `end`."""
        code = self._text[opening.end : end]
        if opening.quotes:
            quote = re.compile(rf"^[ \t]{{0,3}}(?:>[ \t]?){{1,{opening.quotes}}}", re.MULTILINE)
            code = quote.sub("", code)
        self._blocks.append(Block(opening.tag.lower(), _less_indented(code, opening.indent), self._before(opening)))
        self._opening = None
        self._restart(end if after is None else after)

    def _before(self, opening: _Mark) -> str:
        """Return the last words before a block, on its line or on a line above; empty if there are none."""
        end = opening.line if opening.is_first else opening.at
        lines = _WORDS.findall(self._text, max(self._after, end - _LOOKED_BACK), end)
        return lines[-1].strip() if lines else ""

    def _restart(self, at: int) -> None:
        """Go on after a block, at a position that is in no string."""
        self._after = at
        self._strings.restart(at)


class _TripleQuoted:
    """Tells which positions are in a string with triple quotes. Callers must ask for positions in ascending order."""

    def __init__(self, text: str, is_enabled: bool) -> None:
        self._text, self._is_enabled = text, is_enabled
        self._at, self._open = 0, ""
        self._next = {'"""': -1, "'''": -1}

    def restart(self, at: int) -> None:
        """Start again at a position that is in no string."""
        self._at, self._open = at, ""

    def hold(self, at: int) -> bool:
        """Return whether a position is in a string that ends after it."""
        if not self._is_enabled:
            return False
        for found in _TRIPLE_QUOTES.finditer(self._text, self._at, max(self._at, at)):
            if not self._open:
                self._open = found[0]
            elif found[0] == self._open:
                self._open = ""
        self._at = max(self._at, at)
        if not self._open:
            return False
        if self._next[self._open] < at:
            end = self._text.find(self._open, at)
            self._next[self._open] = end if end >= 0 else len(self._text)
        return self._next[self._open] < len(self._text)


def _marks(text: str) -> list[_Mark]:
    marks = []
    position = 0
    while (run := _RUN.search(text, position)) is not None:
        line = text.rfind("\n", position, run.start()) + 1 or position
        end = text.find("\n", run.end())
        end = len(text) if end < 0 else end + 1
        mark = _mark(text, line, run, end)
        if mark is not None:
            marks.append(mark)
        position = end
    return marks


def _mark(text: str, line: int, run: re.Match[str], end: int) -> _Mark | None:
    """Return the mark of a line, or None, in a single pass, because a line can be megabytes long."""
    rest = text[run.end() : end].strip()
    prefix = _PREFIX.match(text, line, run.start())
    if prefix is None or run[0][0] in rest:
        return None
    is_first = prefix.end() == run.start()
    if _ENDS.fullmatch(rest):
        rest = ""
    tag = _TAG.match(rest)
    word = tag[0] if tag else ""
    if is_first:
        has_words = len(rest.split(None, 1)) > 1 and not rest[len(word) :].lstrip(" \t").startswith(("{", "title"))
        kind = _Kind.BEFORE if has_words else _Kind.OPEN if rest or prefix["bullet"] else _Kind.BARE
    elif run[0][0] == "~" or word != rest:
        return None
    else:
        kind = _Kind.OPEN if rest else _Kind.BEHIND
    indent = (prefix["indent"] if prefix["quote"] else prefix[0].removesuffix(prefix["bullet"])) + " " * len(
        prefix["bullet"]
    )
    return _Mark(
        kind,
        run[0],
        word,
        line,
        run.start(),
        end,
        prefix["quote"].count(">"),
        indent,
        len(indent.expandtabs(_DEEP)),
        bool(prefix["bullet"]),
        is_first,
    )


def _bare_after(marks: list[_Mark]) -> list[int]:
    """Return for each mark the number of bare marks between it and the next mark that opens a block."""
    counts, count = [0] * len(marks), 0
    for index in range(len(marks) - 1, -1, -1):
        counts[index] = count
        mark = marks[index]
        count = 0 if mark.kind is _Kind.OPEN and mark.is_first else count + (mark.kind is _Kind.BARE)
    return counts


def _less_indented(code: str, indent: str) -> str:
    """Remove the indentation of the fence from code, if the first line of the code has this indentation."""
    first = re.search(r"^[ \t]*+[^ \t\r\n]", code, re.MULTILINE)
    if not indent or first is None or not first[0].startswith(indent):
        return code
    # Split at line feeds only: other line separators can be inside a string.
    return "".join(line.removeprefix(indent) for line in io.StringIO(code, newline="\n"))
