"""The notation of grammars.

    # A comment.
    program: 'return' value NEWLINE
    value: 'a'
         | 'b' '+' value

A rule begins at the start of a line, and its further lines are indented. `|` separates alternatives, and an alternative
can be empty. Quoted text is a token. The tokens `NEWLINE`, `INDENT` and `DEDENT` lay out the program, and the token
`END` writes nothing. A program begins with the first rule.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from code_env.errors import GrammarError

LAYOUT = ("NEWLINE", "INDENT", "DEDENT", "END")
"""Tokens without a text of their own."""

_RULE = re.compile(r"([a-z_][a-z0-9_]*)\s*:(?!=)")
_PART = re.compile(r"""\s+|\#.*|(?P<bar>\|)|(?P<text>'[^'\n]*'|"[^"\n]*")|(?P<name>[A-Za-z_][A-Za-z0-9_]*)""")


class Symbol(NamedTuple):
    """A part of a rule."""

    name: str
    """The name of a rule, the text of a token, or the name of a token in `LAYOUT`."""
    is_token: bool
    """Whether it is a token."""


Rules = dict[str, list[tuple[Symbol, ...]]]
"""The alternatives of each rule."""


def read_rules(text: str) -> Rules:
    """Read the rules of a grammar, in their order.

    Raises:
        GrammarError: If there is no rule, a line cannot be read, or a rule is defined twice. The message names the
            line.

    Example:
        >>> read_rules("start: 'a' | 'b' start")["start"][0]
        (Symbol(name='a', is_token=True),)
    """
    rules: Rules = {}
    name = ""
    if not isinstance(text, str):
        raise GrammarError(f"a grammar is text; got {type(text).__name__}")
    for number, line in enumerate(text.split("\n"), start=1):
        head = _RULE.match(line)
        if head is not None:
            name = head[1]
            if name in rules:
                raise GrammarError(f"line {number}: the rule {name!r} stands there already")
            rules[name] = [()]
        start = 0 if head is None else head.end()
        parts = _parts(line, start, number)
        if parts and (not name or (head is None and not line[0].isspace())):
            raise GrammarError(f"line {number}: a rule was expected, like `name: 'token' rule`; got {line.strip()!r}")
        for part in parts:
            if part is None:
                rules[name].append(())
            else:
                rules[name][-1] += (part,)
    if not rules:
        raise GrammarError("a grammar has at least one rule; there is none")
    return rules


def _parts(line: str, start: int, number: int) -> list[Symbol | None]:
    """Return the symbols of a line from a position on; None represents a `|`."""
    found: list[Symbol | None] = []
    while start < len(line):
        part = _PART.match(line, start)
        if part is None:
            raise GrammarError(f"line {number}: a name, a quoted token or | was expected; got {line[start:].strip()!r}")
        start = part.end()
        if part["bar"]:
            found.append(None)
        elif part["text"]:
            found.append(Symbol(_token(part["text"], number), True))
        elif part["name"]:
            found.append(Symbol(part["name"], part["name"] in LAYOUT))
    return found


def _token(quoted: str, number: int) -> str:
    text = quoted[1:-1]
    if not text.strip() or "\\" in text or not text.replace("\t", " ").isprintable() or text in LAYOUT:
        raise GrammarError(
            f"line {number}: a token is text without a backslash, not blank, and no {LAYOUT}; got {quoted}"
        )
    return text
