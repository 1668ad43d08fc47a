"""Chooses the code from the parts of a response."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from code_env.languages import canonical_name, fence_tags, find_language

from .defined_names import defined_names, definition_of, with_definitions_before
from .fences import Block, fenced_blocks
from .outputs import is_output
from .prose import is_no_code, runs_a_program
from .tags_and_tokens import (
    answer_part,
    bracketed_part,
    executed_part,
    first_turn,
    without_special_tokens,
    without_thinking,
)

Extraction = Literal["fence", "raw"]
"""How to find the code in a response: `fence`: by its fences; `raw`: the whole response is the code."""

_NO_LANGUAGE = frozenset(("", "code", "text", "txt", "plain", "plaintext", "answer", "solution", "program", "script"))
"""Tags that do not name a language."""

_ANSWER_TAG = "answer"

_VERSION = re.compile(r"[\d.]+\Z")


def extract_code(
    response: str, language: str = "python", extract: Extraction = "fence", entry_point: str | None = None
) -> str:
    """Find the code in a response; the result is empty if no code is certainly meant as the answer.

    Thinking parts and special tokens around the answer are dropped. The code is the last fence that defines the entry
    point, otherwise the last fence. Fences with a tag of the language are looked at first, then fences without a tag.
    Functions, classes and imports that the code needs are added from the fences before it. Fences of other languages
    are ignored. Without a fence, the whole text is code, unless it is certainly prose. `docs/answers.md` has the rules
    and their limits.

    Args:
        response: What the policy wrote.
        language: The task's language.
        extract: `raw` takes the response unchanged.
        entry_point: Name of the function or class that the task asks for, if there is one.

    Raises:
        TypeError: If the response is not text.

    Example:
        >>> extract_code("Sure:\\n```python\\nprint(1)\\n```\\nDone.")
        'print(1)\\n'
        >>> extract_code("<think>print(2)?</think>print(1)<|im_end|>")
        'print(1)'
        >>> usage = "```python\\ndef f(): return 1\\n```\\nUsage:\\n```python\\nprint(f())\\n```"
        >>> extract_code(usage, entry_point="f")
        'def f(): return 1\\n'
        >>> extract_code("I cannot do that.")
        ''
    """
    if not isinstance(response, str):
        raise TypeError(f"a response is text; got {type(response).__name__}")
    if extract == "raw":
        return response
    defines = definition_of(entry_point)
    text = _answer_in(response)
    part = answer_part(text, language)
    part = bracketed_part(text) if part is None else part
    if part is not None:
        code = _code_in(part, language, defines)
        if code or not fenced_blocks(text, language, defines):
            return code
    return _code_in(text, language, defines)


def answer_fence(response: str, language: str = "python") -> str | None:
    """Return the code in the last fence that is tagged `answer`, outside thinking parts; None if there is none.

    If these fences are all blank, for example because another fence begins in one, the whole response is returned.

    Args:
        response: What the policy wrote.
        language: The task's language.

    Example:
        >>> answer_fence("Done:\\n```answer\\nprint(1)\\n```"), answer_fence("```python\\nprint(1)\\n```")
        ('print(1)\\n', None)
    """
    blocks = fenced_blocks(_answer_in(response), language, definition_of(None))
    answers = [block.code for block in blocks if block.tag == _ANSWER_TAG]
    if not answers:
        return None
    return next((code for code in reversed(answers) if code.strip()), response)


def as_answer(code: str) -> str:
    """Return code in a fence that is tagged `answer`.

    Args:
        code: The code.

    Example:
        >>> as_answer("print(1)")
        '```answer\\nprint(1)\\n```'
    """
    longest = max((len(run) for run in re.findall("`+", code)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{_ANSWER_TAG}\n{code.removesuffix(chr(10))}\n{marks}"


def has_fence(response: str, language: str = "python") -> bool:
    """Return whether there is a fenced block in a response, outside its thinking parts.

    Args:
        response: What the policy wrote.
        language: The task's language.

    Example:
        >>> has_fence("Sure:\\n```python\\nprint(1)\\n```"), has_fence("print(1)")
        (True, False)
    """
    text = _answer_in(response)
    return bool(fenced_blocks(text, language, definition_of(None)))


def _answer_in(response: str) -> str:
    return first_turn(without_special_tokens(without_thinking(response)))


def _code_in(text: str, language: str, defines: Callable[[str], bool]) -> str:
    blocks = fenced_blocks(text, language, defines)
    if not blocks:
        part = executed_part(text, language)
        code = text if part is None else part
        return "" if is_no_code(code) else code
    tags = fence_tags(language)
    full = [block for block in blocks if block.code.strip()]
    is_known = find_language(language) is not None  # If the language is unknown, any tag can be its alias.
    tagged = _programs([block for block in full if _is_of(block, tags)], language, defines, is_tagged=True)
    without_tag = [
        block
        for block in full
        if (block.tag in _NO_LANGUAGE or not is_known)
        and not is_no_code(block.code)
        and not runs_a_program(block.code, language)
    ]
    untagged = _programs(without_tag, language, defines, is_tagged=False)
    for codes in (tagged, untagged):
        for index in range(len(codes) - 1, -1, -1):
            if defines(codes[index]):
                return with_definitions_before(codes, index, language)
    codes = tagged or untagged
    if not codes:
        return ""
    # If the prompt opened the fence, that code is the answer, and what follows is about it.
    chosen = 0 if blocks[0].is_of_prompt and codes[0] is blocks[0].code else len(codes) - 1
    return with_definitions_before(codes, chosen, language)


def _programs(blocks: list[Block], language: str, defines: Callable[[str], bool], *, is_tagged: bool) -> list[str]:
    """Return the codes of blocks, without commands and outputs of an example; all codes if there is nothing else."""
    codes: list[str] = []
    names: set[str] = set()
    for block in blocks:
        if defines(block.code) or not (
            runs_a_program(block.code, language)
            or is_output(block, canonical_name(language), is_tagged=is_tagged, names=names)
        ):
            codes.append(block.code)
        names |= defined_names(block.code)
    return codes or [block.code for block in blocks]


def _is_of(block: Block, tags: frozenset[str]) -> bool:
    """Return whether the tag of a block is in `tags`, alone, with a version, or as the ending of a file name."""
    if block.is_of_prompt:
        return not is_no_code(block.code)
    return not tags.isdisjoint((block.tag, _VERSION.sub("", block.tag), block.tag.rpartition(".")[2]))
