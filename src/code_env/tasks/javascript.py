"""Finds the cases of test code in JavaScript: the places in its text where something is asserted.

A case is a call of `assert`, of a method of it, or of `console.assert`, but for those that always fail. In the text
that runs, `$cases[3](assert, 'equal')` replaces `assert.equal`, so that each place is known when it is reached, and
calls what the tests have as `assert`; see `harness/interpreted/javascript/cases.js`. The number of cases depends on the
text only. An assertion written in another way, such as a call of a function taken out of `assert`, is not a case; if it
fails, it ends the tests.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from code_env.harness.judge.asserting import NO_CASES

_LONGEST_SOURCE = 500

_TOKEN = re.compile(
    r"""
    (?P<blank>\s+ | //[^\n]* | /\*.*?\*/)
    | (?P<text>'(?:\\.|[^'\\\n])*' | "(?:\\.|[^"\\\n])*")
    | (?P<name>[\w$]+)
    | (?P<sign>=> | \?\. | \.\.\. | \+\+ | -- | .)
    """,
    re.VERBOSE | re.DOTALL,
)
_REGEX = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/[\w$]*")
_TEMPLATE = re.compile(r"(?:\\.|\$(?!\{)|[^`\\$])*(`|\$\{)", re.DOTALL)

_BEFORE_REGEX = frozenset(
    (
        "return",
        "typeof",
        "case",
        "in",
        "of",
        "delete",
        "void",
        "throw",
        "new",
        "else",
        "do",
        "instanceof",
        "yield",
        "await",
    )
)
"""Words after which a slash begins a regular expression. After a sign, a slash does so too, unless the sign ends an
expression."""

_CLOSING = frozenset((")", "]", "}", "++", "--"))


class _Token(NamedTuple):
    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Cases(NamedTuple):
    """Test code and its cases."""

    code: str
    """The code with `$cases[...]` in the places where something is asserted."""
    sources: tuple[str, ...]
    """The source of each case, on one line. Tests without such a place have one case, which stands for their end."""
    sites: int
    """The number of places where something is asserted."""


@functools.lru_cache(maxsize=4096)
def find_cases(code: str) -> Cases:
    """Find the cases of test code.

    Example:
        >>> find_cases("assert.equal(add(1, 2), 3);").code
        "$cases[0](assert, 'equal')(add(1, 2), 3);"
    """
    tokens = list(_tokens(code))
    pieces: list[str] = []
    sources: list[str] = []
    done = 0
    for index, token in enumerate(tokens):
        length = _words_of_site(tokens, index)
        if length and not _is_method(code, tokens, index):
            pieces += [code[done : token.start], f"$cases[{len(sources)}]({_callee(tokens[index : index + length])})"]
            done = tokens[index + length - 1].end
            sources.append(_source(code, tokens, index))
    pieces.append(code[done:])
    return Cases("".join(pieces), tuple(sources) or (NO_CASES,), len(sources))


def _callee(words: list[_Token]) -> str:
    """What tells a case which function it calls; `console.assert` is the same for all tests."""
    if words[0].text == "console":
        return "null"
    return "assert" if len(words) == 1 else f"assert, '{words[2].text}'"


def _words_of_site(tokens: list[_Token], index: int) -> int:
    """The number of tokens, beginning with this one, that a case replaces; 0 if nothing is asserted here."""
    before = tokens[index - 1].text if index else ""
    words = [token.text for token in tokens[index : index + 4]]
    if before in (".", "?.", "#", "function", "new"):
        return 0
    if words[:3] == ["console", ".", "assert"] and words[3:] == ["("]:
        return 3
    if words[0] != "assert" or _fails_always([token.text for token in tokens[index : index + 5]]):
        return 0
    method = words[1:2] == ["."] and words[3:] == ["("]
    return 1 if words[1:2] == ["("] else 3 if method else 0


def _fails_always(words: list[str]) -> bool:
    """Whether a call of `assert` fails whatever an answer does: no right answer reaches it."""
    return words[1:4] == [".", "fail", "("] or words[1:3] == ["(", "false"] or words[1:] == [".", "ok", "(", "false"]


def _is_method(code: str, tokens: list[_Token], index: int) -> bool:
    """Whether a method of this name is defined here, as in `{ assert(x) { ... } }`.

    After a call, a brace can only be in a later line.
    """
    last = _last_of_call(tokens, index)
    after = tokens[last + 1 : last + 2] if tokens[index].text == "assert" and tokens[index + 1].text == "(" else []
    return bool(after) and after[0].text == "{" and "\n" not in code[tokens[last].end : after[0].start]


def _source(code: str, tokens: list[_Token], index: int) -> str:
    """The call that begins here, on one line."""
    end = tokens[_last_of_call(tokens, index)].end
    return " ".join(code[tokens[index].start : end].split())[:_LONGEST_SOURCE]


def _last_of_call(tokens: list[_Token], index: int) -> int:
    """The index of the token that closes the call that begins here; the last token if none does."""
    depth = 0
    for number, token in enumerate(tokens[index:], start=index):
        depth += (token.text == "(") - (token.text == ")")
        if token.text == ")" and depth == 0:
            return number
    return len(tokens) - 1


def _tokens(code: str) -> Iterator[_Token]:
    """The words and signs of the code, without comments; a string or a regular expression is one token."""
    position, before = 0, ""
    templates: list[int] = []  # The number of open braces in each template that a `${` interrupts.
    while position < len(code):
        sign = code[position]
        closes = sign == "}" and bool(templates) and templates[-1] == 0
        if sign == "`" or closes:
            if closes:
                templates.pop()
            found = _TEMPLATE.match(code, position + 1)
            if found is None:  # The template does not end, so the program does not compile.
                return
            if found[1] == "${":
                templates.append(0)
            token = _Token("text", code[position : found.end()], position)
        elif sign == "/" and code[position + 1 : position + 2] not in ("/", "*") and _may_begin_regex(before):
            regex = _REGEX.match(code, position)
            token = _Token("text", regex[0] if regex else sign, position)
        else:
            match = _TOKEN.match(code, position)
            if match is None:
                return
            token = _Token(str(match.lastgroup), match[0], position)
            if templates and token.kind == "sign":
                templates[-1] += (token.text == "{") - (token.text == "}")
        position = token.end
        if token.kind != "blank":
            before = token.text
            yield token


def _may_begin_regex(before: str) -> bool:
    word = bool(re.match(r"[\w$'\"`]", before)) or before.endswith("`")
    return before in _BEFORE_REGEX if word else before not in _CLOSING
