"""Reads the answer and the expected output from chat messages.

The assistant's messages are not searched for an expected output, because an answer that states its own expected output
would always be right.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from code_env.errors import TaskError

Messages = Sequence[Mapping[str, Any]]
"""Chat messages, each with a `role` and a `content`. A message is a mapping, or an object with these attributes."""

_STATED = re.compile(r"expected[ \t]+output[ \t]*(?:is[ \t]*)?:[ \t]*([^\n]*)(?:\n|$)", re.IGNORECASE)
_FENCE = re.compile(r"```[^\n]*\n(.*?)\n?```", re.DOTALL)
_REMARK = re.compile(r"[ \t]*\((?:for|when|if|given|with)\b[^\n]*\)[ \t]*\.?$", re.IGNORECASE)


def answer_of(messages: Messages) -> str:
    """Return the text of the assistant's last message; empty if it has no text, for example if it only calls a tool.

    Raises:
        TaskError: If the last message is not the assistant's.

    Example:
        >>> answer_of([{"role": "user", "content": "Print 1."}, {"role": "assistant", "content": "print(1)"}])
        'print(1)'
    """
    _check(messages, "messages")
    if not messages or _field(messages[-1], "role") != "assistant":
        role = _field(messages[-1], "role") if messages else "no message"
        raise TaskError(f"messages must end with the assistant's answer; got {role!r} at the end")
    return _text(messages[-1])


def stated_output(messages: Messages) -> str | None:
    """Return the output that a prompt states after `Expected output:`, without a remark like `(for ...)`.

    It is the rest of the line; if that is empty, it is the fenced block or the paragraph below. If a prompt states
    several outputs, the last of them counts. If it states none, the result is None.

    Example:
        >>> stated_output([{"role": "user", "content": "Sum a list. Expected output: 15 (for [1, 2, 3, 4, 5])"}])
        '15'
    """
    _check(messages, "original_messages")
    texts = [_text(message) for message in messages if _field(message, "role") != "assistant"]
    for text in reversed(texts):
        found = list(_STATED.finditer(text))
        if found:
            return _stated(found[-1][1].strip(), text[found[-1].end() :])
    return None


def _stated(line: str, below: str) -> str | None:
    line = _REMARK.sub("", line).strip()
    if line:
        quoted = re.fullmatch(r"`([^`]*)`\.?", line)
        return quoted[1] if quoted else line
    fence = _FENCE.match(below.lstrip())
    if fence:
        return fence[1]
    return below.strip().split("\n\n")[0].strip() or None


def _check(messages: Any, name: str) -> None:
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):
        raise TaskError(f"{name} must be a list of messages with role and content; got {type(messages).__name__}")


def _field(message: Any, name: str) -> Any:
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)


def _text(message: Any) -> str:
    content = _field(message, "content")
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    parts = [_field(part, "text") for part in content] if isinstance(content, Sequence) else [None]
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) < len(parts):
        raise TaskError(f"content must be text, or a list of parts with text; got {type(content).__name__}")
    return "".join(texts)
