"""From what a policy wrote to the code it means.

Text in, text out: nothing is parsed or compiled here, and every step takes time in proportion to
the response, which is as long as a policy likes.
"""

from __future__ import annotations

import re
from typing import Literal

Extraction = Literal["fence", "raw"]
"""How code is found in a response: by its fences, or not at all, the response being the code."""

_TAGS = {"python": frozenset({"python", "py", "python3"})}

_THINKING = re.compile(r"^[ \t]*<think>.*?(?:</think>|\Z)", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*([\w+#.-]*)[^`]*$")
_SPECIAL_TOKEN = re.compile(r"(?:<\|[^|<>\s]{1,40}\|>|<｜[^｜<>\s]{1,40}｜>|</s>|<eos>|<end_of_turn>)$")
_LONGEST_TOKEN = 64


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
    tags = _TAGS.get(language, frozenset({language}))
    tagged = [code for tag, code in blocks if tag.lower() in tags]
    return tagged[-1] if tagged else blocks[-1][1]


def _without_thinking(text: str) -> str:
    if "<think>" not in text:
        # Some chat templates put the opening tag into the prompt.
        return text.rpartition("</think>")[2]
    return _THINKING.sub("", text)


def _without_special_tokens(text: str) -> str:
    while True:
        stripped = text.rstrip()
        token = _SPECIAL_TOKEN.search(stripped[-_LONGEST_TOKEN:])
        if token is None:
            return text
        text = stripped[: len(stripped) - len(token.group())]


def _fenced_blocks(text: str) -> list[tuple[str, str]]:
    """Tag and content of each fenced block."""
    blocks: list[tuple[str, str]] = []
    opening: re.Match[str] | None = None
    lines: list[str] = []
    for line in text.splitlines(keepends=True):
        fence = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if opening is None:
            opening, lines = fence, []
        elif fence is not None and _closes(opening, fence):
            blocks.append((opening[3], "".join(lines)))
            opening = None
        else:
            lines.append(line.removeprefix(opening[1]))
    if opening is not None:
        blocks.append((opening[3], "".join(lines)))
    return blocks


def _closes(opening: re.Match[str], fence: re.Match[str]) -> bool:
    same = fence[2][0] == opening[2][0] and len(fence[2]) >= len(opening[2])
    return same and not fence[0].strip().strip("`~")
