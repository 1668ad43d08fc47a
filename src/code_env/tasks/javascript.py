"""Finds the cases of test code in JavaScript: the places in its text where something is asserted.

A case is a call of `assert`, of a method of it, or of `console.assert`, but for those that always fail. So is a call by
a name that the text gives to the module `assert` or to a function out of it, as `const { equal: same } = assert` does.
In the text that runs, `$cases[3](assert, 'equal')` replaces `assert.equal`, so that each place is known when it is
reached, and calls what the tests have as `assert`; see `harness/interpreted/javascript/cases.js`. The number of cases
depends on the text only. An assertion written in another way is not a case; if it fails, it ends the tests.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from code_env.harness.judge.asserting import NO_CASES

from .javascript_imports import as_script

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

_MODULE = re.compile(r"""(['"`])(?:node:)?assert(?:/strict)?\1""")
_NO_CHECKS = frozenset(("fail", "AssertionError", "CallTracker", "Assert"))
"""What the module `assert` has that checks nothing."""
_AFTER_NAME = frozenset(("(", ".", "?.", "["))
"""Signs after which a name does not stand for what it was given, but for a part or a result of it."""


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
    code = as_script(code)
    tokens = list(_tokens(code))
    taken = _Taken(tokens)
    pieces: list[str] = []
    sources: list[str] = []
    done = 0
    for index, token in enumerate(tokens):
        if _is_import(tokens, index):
            pieces += [code[done : token.start], "$import"]
            done = token.end
            continue
        site = None if token.start < done else _site(tokens, index, taken)
        if site and not _is_method(code, tokens, index, site.length):
            end = tokens[index + site.base - 1].end if site.base else token.start
            pieces += [code[done : token.start], f"$cases[{len(sources)}]({site.callee(code[token.start : end])})"]
            done = tokens[index + site.length - 1].end
            sources.append(_source(code, tokens, index))
    pieces.append(code[done:])
    return Cases("".join(pieces), tuple(sources) or (NO_CASES,), len(sources))


def _is_import(tokens: list[_Token], index: int) -> bool:
    """Whether an `import(...)` begins here."""
    before = tokens[index - 1].text if index else ""
    words = [token.text for token in tokens[index : index + 2]]
    return words == ["import", "("] and before not in (".", "?.", "#")


class _Taken:
    """The names that a text gives to the module `assert`, and to functions that it takes out of it.

    Where the text has the same name for something else, only the run can tell; see cases.js.
    """

    def __init__(self, tokens: list[_Token]) -> None:
        self.modules: set[str] = set()
        self.functions: dict[str, str] = {}
        for index, token in enumerate(tokens):
            before = tokens[index - 1].text if index else ""
            if token.text == "=" and index and before not in ("=", "!", "<", ">"):
                self._assignment(tokens, index)

    def module_at(self, tokens: list[_Token], index: int) -> int:
        """The number of tokens, beginning with this one, that stand for the module; 0 if they do not."""
        words = [token.text for token in tokens[index : index + 4]]
        length = 0
        if words[:2] == ["require", "("] and words[3:] == [")"] and _MODULE.fullmatch(words[2]):
            length = 4
        elif words[:1] == ["assert"] or (words and words[0] in self.modules):
            length = 1
        after = [token.text for token in tokens[index + length : index + length + 2]]
        return length + 2 if length and after == [".", "strict"] else length

    def _assignment(self, tokens: list[_Token], index: int) -> None:
        length = self.module_at(tokens, index + 1)
        if not length:
            return
        after = [token.text for token in tokens[index + 1 + length : index + 4 + length]]
        target = tokens[index - 1]
        if target.text == "}":
            if not after or after[0] not in _AFTER_NAME:
                self._pattern(tokens, index - 1)
        elif target.kind != "name" or (index > 1 and tokens[index - 2].text in (".", "?.", "#")):
            return
        elif not after or after[0] not in _AFTER_NAME:
            self._name("strict", target.text)
        elif after[0] == "." and after[2:3] not in ([sign] for sign in _AFTER_NAME):
            self._name(after[1], target.text)

    def _pattern(self, tokens: list[_Token], last: int) -> None:
        """Read the pattern that ends here, as `{ equal, strict: { ok }, throws: refuses }`."""
        first, depth = last, 1
        while depth and first:
            first -= 1
            depth += (tokens[first].text == "}") - (tokens[first].text == "{")
        words = [token.text.strip("'\"") for token in tokens[first + 1 : last]]
        for number, word in enumerate(words):
            if number and words[number - 1] == ":":
                continue
            if words[number + 1 : number + 2] != [":"]:
                self._name(word, word)
            elif words[number + 2 : number + 3] != ["{"]:
                self._name(word, words[number + 2])

    def _name(self, key: str, name: str) -> None:
        if key in _NO_CHECKS or name == "assert" or not re.fullmatch(r"[^\W\d][\w$]*|\$[\w$]*", name):
            return
        if key == "strict":
            self.modules.add(name)
        else:
            self.functions[name] = key


class _Site(NamedTuple):
    """A place where something is asserted."""

    length: int
    """The number of tokens that a case replaces."""
    base: int
    """The number of those that say what is called, or whose method; 0 for `console.assert`, the same for all tests."""
    method: str
    """The name of the method; empty if it is none."""
    is_taken: bool
    """Whether the name is one that the text has given, so that it can mean something else in this place."""

    def callee(self, base: str) -> str:
        """Return the arguments that tell the function of a case, see cases.js, what the place calls."""
        told = [base or "null"]
        if self.method or self.is_taken:
            told.append(f"'{self.method}'" if self.method else "null")
        if self.is_taken:
            told.append("true")
        return ", ".join(told)


def _site(tokens: list[_Token], index: int, taken: _Taken) -> _Site | None:
    """What is asserted in the place that begins here; None if nothing is."""
    before = tokens[index - 1].text if index else ""
    words = [token.text for token in tokens[index : index + 4]]
    if before in (".", "?.", "#", "function", "new") or tokens[index].kind != "name":
        return None
    if words[:3] == ["console", ".", "assert"] and words[3:] == ["("]:
        return _Site(3, 0, "", False)
    if words[0] in taken.functions:
        fails = taken.functions[words[0]] == "ok" and words[2:3] == ["false"]
        return _Site(1, 1, "", True) if words[1:2] == ["("] and not fails else None
    base = taken.module_at(tokens, index)
    after = [token.text for token in tokens[index + base : index + base + 4]]
    is_taken = words[0] != "assert"
    if not base or _fails_always(after):
        return None
    if after[:1] == ["("]:
        return _Site(base, base, "", is_taken)
    return _Site(base + 2, base, after[1], is_taken) if after[:1] == ["."] and after[2:3] == ["("] else None


def _fails_always(after: list[str]) -> bool:
    """Whether `assert`, with these words after it, fails whatever an answer does: no right answer reaches it."""
    method = after[1] if after[:1] == ["."] else ""
    return method in _NO_CHECKS or after[:2] == ["(", "false"] or (method == "ok" and after[2:] == ["(", "false"])


def _is_method(code: str, tokens: list[_Token], index: int, length: int) -> bool:
    """Whether a method of this name is defined here, as in `{ assert(x) { ... } }`.

    After a call, a brace can only be in a later line.
    """
    last = _last_of_call(tokens, index)
    after = tokens[last + 1 : last + 2] if length == 1 else []
    return bool(after) and after[0].text == "{" and "\n" not in code[tokens[last].end : after[0].start]


def _source(code: str, tokens: list[_Token], index: int) -> str:
    """The call that begins here, on one line."""
    end = tokens[_last_of_call(tokens, index)].end
    return " ".join(code[tokens[index].start : end].split())[:_LONGEST_SOURCE]


def _last_of_call(tokens: list[_Token], index: int) -> int:
    """The index of the token that closes the call that begins here; the last token if none does."""
    if tokens[index].text == "require":  # Its own call comes first.
        index += 4
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
