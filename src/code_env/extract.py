"""From what a policy wrote to the code it means.

Text in, text out: nothing is parsed or compiled here, and every step takes time in proportion to
the response, which is as long as a policy likes.
"""

from __future__ import annotations

import io
import re
from typing import Literal, NamedTuple

from .languages import fence_tags

Extraction = Literal["fence", "raw"]
"""How code is found in a response: by its fences, or not at all, the response being the code."""

_TAG = re.compile(r"[\w+#.-]*")
_SPECIAL_TOKEN = re.compile(r"(?:<\|[^|<>\s]{1,40}\|>|<｜[^｜<>\s]{1,40}｜>|</s>|<eos>|<pad>|<end_of_turn>)$")
_LONGEST_TOKEN = 64
_OPEN, _CLOSE = "<think>", "</think>"
_CLOSING_LINE = re.compile(rf"^[ \t]{{0,63}}{_CLOSE}", re.MULTILINE)


def extract_code(response: str, language: str = "python", extract: Extraction = "fence") -> str:
    """The code in a response.

    Thinking parts and special tokens at the end are dropped. Then it is the last fence tagged with
    the language, else the last fence; a fence that is not closed runs to the end. Without a fence
    the whole text is code.

    Args:
        response: What the policy wrote.
        language: The task's language.
        extract: `raw` takes the response as it is.

    Raises:
        TypeError: If the response is not text.

    Example:
        >>> extract_code("Sure:\\n```python\\nprint(1)\\n```\\nDone.")
        'print(1)\\n'
        >>> extract_code("<think>print(2)?</think>print(1)<|im_end|>")
        'print(1)'
    """
    if not isinstance(response, str):
        raise TypeError(f"a response is text; got {type(response).__name__}")
    if extract == "raw":
        return response
    text = _without_special_tokens(_without_thinking(response))
    blocks = _fenced_blocks(text)
    if not blocks:
        return text
    tags = fence_tags(language)
    tagged = [code for tag, code in blocks if tag.lower() in tags]
    return tagged[-1] if tagged else blocks[-1][1]


def has_fence(response: str) -> bool:
    """Whether there is a fenced block in a response, thinking parts aside.

    Example:
        >>> has_fence("Sure:\\n```python\\nprint(1)\\n```"), has_fence("print(1)")
        (True, False)
    """
    return bool(_fenced_blocks(_without_special_tokens(_without_thinking(response))))


def _without_thinking(text: str) -> str:
    """The text without its `<think>` parts.

    One in the middle of a line counts before the first fence only, since after it the tag may be
    code; one that is not closed counts at a line's start only. A closing tag without an opening one
    ends a part that began in the prompt, as some chat templates have it; where there are parts of
    its own too, it counts at a line's start only.
    """
    if _OPEN not in text:
        return text.rpartition(_CLOSE)[2]
    kept = _without_own_thinking(text)
    closings = list(_CLOSING_LINE.finditer(kept)) if _CLOSE in kept else []
    return kept[closings[-1].end() :] if closings else kept


def _without_own_thinking(text: str) -> str:
    kept: list[str] = []
    position = searched = 0
    fences = _Fences(text)
    fence = fences.first(0)
    while (start := text.find(_OPEN, searched)) >= 0:
        at_line_start = _begins_line(text, position, start)
        if not at_line_start and start > fence:
            searched = start + len(_OPEN)
            continue
        end = text.find(_CLOSE, start)
        if end < 0:
            kept.append(text[position:start] if at_line_start else text[position:])
            return "".join(kept)
        kept.append(text[position:start])
        position = searched = end + len(_CLOSE)
        if fence < position:
            fence = fences.first(position)
    return "".join(kept) + text[position:]


class _Fences:
    """Where the next fence is, looked for from one place after another: each part of the text is searched once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._next = {"```": -1, "~~~": -1}

    def first(self, start: int) -> int:
        """Where the first fence from `start` on is; the text's end if there is none."""
        for mark, at in self._next.items():
            if at < start:
                found = self._text.find(mark, start)
                self._next[mark] = found if found >= 0 else len(self._text)
        return min(self._next.values())


def _begins_line(text: str, start: int, end: int) -> bool:
    """Whether there is nothing but a little white space between a line's start and `end`."""
    before = text[max(start, end - _LONGEST_TOKEN) : end]
    line = before[before.rfind("\n") + 1 :]
    return not line.strip() and len(line) < _LONGEST_TOKEN


def _without_special_tokens(text: str) -> str:
    kept = end = len(text)
    while end > 0:
        tail = text[max(0, end - _LONGEST_TOKEN) : end]
        stripped = tail.rstrip()
        token = _SPECIAL_TOKEN.search(stripped)
        if stripped and token is None:
            break
        end -= len(tail) - (token.start() if token else 0)
        kept = end if token else kept
    return text[:kept]


class _Fence(NamedTuple):
    """A line that opens or closes a block."""

    indent: str
    mark: str
    """The run of back ticks or tildes."""
    tag: str


def _fence(line: str) -> _Fence | None:
    """The fence that a line is, if it is one, in a single pass: a line may be megabytes long."""
    text = line.lstrip(" \t")
    mark = text[:1]
    if mark not in ("`", "~") or not text.startswith(3 * mark):
        return None
    rest = text.lstrip(mark)
    if mark == "`" and "`" in rest:
        return None
    tag = _TAG.match(rest.strip())
    return _Fence(line[: len(line) - len(text)], mark * (len(text) - len(rest)), tag[0] if tag else "")


def _fenced_blocks(text: str) -> list[tuple[str, str]]:
    """Tag and content of each fenced block."""
    blocks: list[tuple[str, str]] = []
    opening: _Fence | None = None
    lines: list[str] = []
    for line in io.StringIO(text, newline="\n"):  # At line feeds only: others may stand inside a string.
        fence = _fence(line)
        if opening is None:
            opening, lines = fence, []
        elif fence is not None and fence.mark.startswith(opening.mark) and line.strip() == fence.mark:
            blocks.append((opening.tag, "".join(lines)))
            opening = None
        else:
            lines.append(line.removeprefix(opening.indent))
    if opening is not None:
        code = "".join(lines)
        # Closed on the code's own last line, as models do at times.
        if code.rstrip().endswith(opening.mark):
            code = code.rstrip().removesuffix(opening.mark)
        blocks.append((opening.tag, code))
    return blocks
