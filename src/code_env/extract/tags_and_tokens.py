"""Removes what a model wrote around its answer: thinking parts, channels, special tokens, answer tags."""

from __future__ import annotations

import re
from collections.abc import Iterator

from code_env.languages import LANGUAGES, canonical_name, fence_tags

from .prose import is_prose

_KINDS = {
    **{
        f"<{name}>": f"</{name}>"
        for name in (
            *("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad", "analysis"),
            *("seed:think", "longcat_think"),
        )
    },
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
}
"""How thinking parts begin and end in the texts of different models: opening tag to closing tag."""

_FENCES = r"(?=[`~<\[◁])(?:(?P<fence>`{3,}|~{3,})"
_THINKING = re.compile(
    f"{_FENCES}|(?P<open>{'|'.join(map(re.escape, _KINDS))})|(?P<close>{'|'.join(map(re.escape, _KINDS.values()))}))"
)
_ANSWER_TAGS = frozenset(("answer", "final_answer", "solution", "code", "response"))
_TAG = re.compile(_FENCES + r"|<(?P<open>\w{1,20})(?P<attributes>[ \t][^<>\n]{0,200})?>)")
_LANGUAGE = re.compile(r"(?:\blang(?:uage)?[ \t]{0,9}=[ \t]{0,9}[\"']?|\blanguage-)([\w+#.-]+)")
_BRACKETED = re.compile(
    _FENCES + r"|\[(?:(?P<open>PYTHON|CODE|ANSWER|SOLUTION|BEGIN)|(?P<close>/PYTHON|/CODE|/ANSWER|/SOLUTION|DONE))\]"
    r"[ \t]{0,99}\r?(?:\n|\Z))"
)
_ONLY_A_TAG = re.compile(r"[ \t]{0,9}[\w+#.-]{0,40}[ \t\r]{0,99}(?:\n|\Z)")

_TOKEN = r"<\|[^|<>\s]{1,40}\|>|<｜[^｜<>\s]{1,40}｜>"
_LAST_TOKEN = re.compile(
    rf"(?:{_TOKEN}|</s>|<eos>|<pad>|<end_of_turn>"
    rf"|</(?:execute|{'|'.join(sorted(_ANSWER_TAGS) + [language.name for language in LANGUAGES])})>)$"
)
_FIRST_TOKENS = re.compile(rf"\s*(?:(?:{_TOKEN}|<s>|<bos>|<start_of_turn>)(?:(?:assistant|model)\b)?(?:[ \t]*\n)*)+")
_NEXT_TURN = re.compile(
    _FENCES + r"|(?:<\|(?:im_end|eot_id|end|endoftext|end_of_text)\|>|</s>|<end_of_turn>)\s*"
    r"(?:<\|(?:im_start|start_header_id|user|begin_of_text)\|>|<start_of_turn>))"
)
_NO_SPACE = re.compile(r"\S")
_LONGEST_TOKEN = 64
_LOOKED_BACK = 300
_SINGLE_QUOTE = re.compile(r"(?<!\w)'|'(?!\w)")

_FINAL = re.compile(r"<\|channel\|>final[^<\n]{0,100}(?:<\|constrain\|>[^<\n]{0,40})?<\|message\|>")
_FINAL_WITHOUT_TOKENS = "assistantfinal"

_QUOTES = ("'", '"', "`")
_TRIPLE_QUOTES = ("'''", '"""', "```")


def without_thinking(text: str) -> str:
    """Return the text without its thinking parts, for all ways in which models mark them.

    A tag in a fence is code, and so is a tag in quotes outside fences. An opening tag in the middle of a line that is
    not closed is plain text. A closing tag without an opening tag ends a part that began in the prompt, as with some
    chat templates. In the middle of a line this closing tag counts only if the text has no complete thinking part,
    and if either no fence came before the tag, or the rest of its line is empty or begins a fence. At the start of a
    line it counts in a fence too, because thinking can leave a fence open, unless the fence has an opening tag for it.
    """
    text = _final_channel(text)
    kept: list[str] = []
    position = at = mention_ends = skipped = 0
    fence, seen_fence, has_own = "", False, False
    closings = _Closings(text)
    while (found := _THINKING.search(text, at)) is not None:
        start, at = found.span()
        begins_line = _begins_line(text, position, start)
        if found["fence"]:
            if begins_line or _ONLY_A_TAG.match(text, at):
                fence, seen_fence, skipped = _after_fence(fence, found["fence"]), True, 0
        elif found["open"]:
            if fence:
                skipped += 1
            elif not begins_line and text[start - 1] in _QUOTES:
                mention_ends = max(mention_ends, _line_end(text, at) if at > mention_ends else 0)
            elif (end := closings.first(_KINDS[found["open"]], at)) is not None:
                kept.append(text[position:start])
                position = at = end
                has_own = True
            elif begins_line:
                return "".join(kept) + text[position:start]
        elif fence and skipped:
            skipped -= 1
        elif begins_line or not (
            fence
            or has_own
            or start < mention_ends
            or _is_quoted(text, start, at)
            or _is_in_string(text, start)
            or (seen_fence and text[at : at + 3] not in ("```", "~~~") and text[at : at + 1] not in ("", "\r", "\n"))
        ):
            kept, position = [], at
            fence, seen_fence, skipped = "", False, 0
    return "".join(kept) + text[position:]


def without_special_tokens(text: str) -> str:
    """Return the text without the special tokens at its start and its end."""
    kept = end = len(text)
    while end > 0:
        tail = text[max(0, end - _LONGEST_TOKEN) : end]
        stripped = tail.rstrip()
        token = _LAST_TOKEN.search(stripped)
        if stripped and token is None:
            break
        end -= len(tail) - (token.start() if token else 0)
        kept = end if token else kept
    first = _FIRST_TOKENS.match(text, 0, kept)
    return text[first.end() if first else 0 : kept]


def first_turn(text: str) -> str:
    """Return the text up to the end of the model's turn; a model that is not stopped can go on with another turn."""
    for found in _outside_fences(_NEXT_TURN, text):
        if _NO_SPACE.search(text, 0, found.start()):
            return text[: found.start()]
    return text


def answer_part(text: str, language: str) -> str | None:
    """Return the text in the last `<answer>` tags, or similar tags, outside fences; None if it has none of these.

    A tag with attributes counts if they name the language, as in `<code language="python">`.
    """
    openings = _openings(text, _ANSWER_TAGS, language)
    return _content(text, openings[-1]) if openings else None


def executed_part(text: str, language: str) -> str | None:
    """Return the text in the last `<execute>` tags, or tags with the language's name, as agents write them.

    Only prose can be before the first tag, because code can hold such tags too. None if there are no tags.
    """
    openings = _openings(text, frozenset(("execute", canonical_name(language))), language)
    before = text[: openings[0].start()] if openings else ""
    return _content(text, openings[-1]) if openings and (not before.strip() or is_prose(before)) else None


def _openings(text: str, names: frozenset[str], language: str) -> list[re.Match[str]]:
    """Return the opening tags with one of these names, outside fences."""
    openings = []
    for found in _outside_fences(_TAG, text):
        if found["open"].lower() not in names or not (found.start() == 0 or text[found.start() - 1].isspace()):
            continue
        named = _LANGUAGE.search(found["attributes"] or "")
        if not found["attributes"] or (named is not None and named[1].lower() in fence_tags(language)):
            openings.append(found)
    return openings


def _content(text: str, opening: re.Match[str]) -> str:
    """Return the text from an opening tag to its closing tag, or to the end."""
    end = text.find(f"</{opening['open']}>", opening.end())
    part = text[opening.end() : end if end >= 0 else len(text)]
    newline = re.match(r"[ \t]*\r?\n", part)
    return part[newline.end() if newline else 0 :]


def bracketed_part(text: str) -> str | None:
    """Return the text between the first `[PYTHON]` and `[/PYTHON]`, or similar tags; None if there are none.

    Each tag must be alone on its line, outside fences. The prompt can have opened the part, as MBPP's does with
    `[BEGIN]`: then it ends by `[DONE]`, and a model that is not stopped goes on with another task.
    """
    begin = None
    for found in _outside_fences(_BRACKETED, text):
        if not _begins_line(text, 0, found.start()):
            continue
        if found["close"]:
            return text[begin or 0 : found.start()]
        begin = found.end() if begin is None else begin
    return None if begin is None else text[begin:]


def _outside_fences(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    fence = ""
    for found in pattern.finditer(text):
        if not found["fence"]:
            if not fence:
                yield found
        elif _begins_line(text, 0, found.start()) or _ONLY_A_TAG.match(text, found.end()):
            fence = _after_fence(fence, found["fence"])


def _after_fence(fence: str, mark: str) -> str:
    """Return the fence that is open after a mark, or an empty text; `fence` is the fence that was open before."""
    return mark if not fence else "" if mark.startswith(fence) else fence


class _Closings:
    """Finds the next closing tag. Callers must ask in ascending order, so that the text is searched only once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._next: dict[str, int] = {}

    def first(self, tag: str, start: int) -> int | None:
        """Return the end of the first closing tag from `start` on that is not in quotes; None if there is none."""
        at = self._next.get(tag, -1)
        if at < start:
            at = self._text.find(tag, start)
            while at >= 0 and _is_quoted(self._text, at, at + len(tag)):
                at = self._text.find(tag, at + len(tag))
            self._next[tag] = at = at if at >= 0 else len(self._text)
        return None if at == len(self._text) else at + len(tag)


def _is_quoted(text: str, start: int, end: int) -> bool:
    """Return whether a closing tag is in quotes, as in code, or in a sentence about the tag."""
    after = text[end : end + 1]
    if text[end : end + 3] in _TRIPLE_QUOTES:
        return False
    quoted = text[max(0, start - 1) : start] in _QUOTES and not text.endswith(("```", "~~~"), 0, start)
    return after in _QUOTES or (quoted and not (after == "" or after.isspace()))


def _is_in_string(text: str, at: int) -> bool:
    """Return whether a quotation mark is open before a position on its line. Apostrophes in words do not count."""
    before = text[max(0, at - _LOOKED_BACK) : at].rpartition("\n")[2]
    return before.count('"') % 2 == 1 or len(_SINGLE_QUOTE.findall(before)) % 2 == 1


def _begins_line(text: str, start: int, end: int) -> bool:
    """Return whether there is only a little white space between the start of a line and `end`."""
    before = text[max(start, end - _LONGEST_TOKEN) : end]
    line = before[before.rfind("\n") + 1 :]
    return not line.strip() and len(line) < _LONGEST_TOKEN


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


def _final_channel(text: str) -> str:
    """Return the final message, if a model writes in channels; an empty text if the model did not reach it.

    A text without channels is returned unchanged.
    """
    has_channels = "<|channel|>" in text and text.lstrip().startswith(("<|channel|>", "<|start|>"))
    for found in _FINAL.finditer(text):
        if has_channels or text.endswith(("<|start|>assistant", "<|end|>"), 0, found.start()):
            return text[found.end() :]
    if has_channels:
        return ""
    if text.startswith("analysis") and _FINAL_WITHOUT_TOKENS in text:
        return text.partition(_FINAL_WITHOUT_TOKENS)[2]
    return text
