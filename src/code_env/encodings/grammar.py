"""Grammars of programs that are written token by token: which token can come next, and how soon a program can end.

A grammar is LL(1): the next token alone determines the alternative. So the rest of a program, which is not written yet,
is a stack of symbols. This stack determines which tokens can come next, and how few tokens can complete the program.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from code_env.environments.definitions import environment_names, environments_directory
from code_env.errors import GrammarError

from .notation import Rules, Symbol, read_rules

FILE = "grammar.txt"
"""The name of the grammar's file in an environment's folder."""

Rest = tuple[Symbol, ...]
"""The symbols that are not written yet, the next symbol first; empty if the program is complete."""

_INDENT = "    "

_NOTHING = ""
"""Represents the end of a program, among the tokens that can follow a rule."""

_MOST_KNOWN = 10_000
"""For how many rests a grammar remembers which tokens can come next; an RL loop asks twice for each token."""


class Grammar:
    """A grammar of programs.

    Args:
        text: The rules of the grammar; see `docs/training.md` for the notation.

    Raises:
        GrammarError: If the text cannot be read; if a rule is missing, is never used or never ends; if INDENT and
            DEDENT of an alternative are not in pairs; or if the next token does not determine the alternative.

    Example:
        >>> grammar = Grammar("sum: operand more NEWLINE\\nmore: | '+' operand more\\noperand: 'a' | '1'")
        >>> grammar.tokens
        ('NEWLINE', '+', 'a', '1')
        >>> rest = grammar.after(grammar.start, "a")
        >>> [token for token in grammar.tokens if grammar.after(rest, token) is not None], grammar.least(rest)
        (['NEWLINE', '+'], 1)
        >>> grammar.render(["a", "+", "1", "NEWLINE"])
        'a + 1\\n'
    """

    def __init__(self, text: str) -> None:
        self._rules = read_rules(text)
        first = next(iter(self._rules))
        _check_names(self._rules, first)
        _check_layout(self._rules)
        tokens = (symbol.name for _, symbol in _symbols(self._rules) if symbol.is_token)
        self.tokens: tuple[str, ...] = tuple(dict.fromkeys(tokens))
        """All tokens, in the order in which they first occur in the rules."""
        self.start: Rest = (Symbol(first, False),)
        """The rest of a program before its first token is written."""
        self._least = _least_of_each(self._rules)
        self._alternative = _alternatives(self._rules, first)
        self._next_tokens: dict[Rest, tuple[tuple[str, int], ...]] = {}

    def after(self, rest: Rest, token: str) -> Rest | None:
        """Return the rest of a program after a token; None if the token cannot come next."""
        while rest:
            top, below = rest[0], rest[1:]
            if top.is_token:
                return below if top.name == token else None
            alternative = self._alternative[top.name].get(token)
            if alternative is None:
                return None
            rest = alternative + below
        return None

    def next_tokens(self, rest: Rest) -> tuple[tuple[str, int], ...]:
        """Return the tokens that can come next, each with the smallest number of tokens that completes what follows."""
        known = self._next_tokens.get(rest)
        if known is None:
            if len(self._next_tokens) >= _MOST_KNOWN:
                self._next_tokens.clear()
            rests = ((token, self.after(rest, token)) for token in self.tokens)
            known = tuple((token, self.least(after)) for token, after in rests if after is not None)
            self._next_tokens[rest] = known
        return known

    def least(self, rest: Rest) -> int:
        """Return the smallest number of tokens that completes a rest."""
        return sum(1 if symbol.is_token else int(self._least[symbol.name]) for symbol in rest)

    def render(self, tokens: Iterable[str]) -> str:
        """Return the text of a program: tokens separated by spaces, in lines and with indentation."""
        lines, words, depth = [""], 0, 0
        for token in tokens:
            if token == "NEWLINE":
                lines.append("")
                words = 0
            elif token in ("INDENT", "DEDENT"):
                depth += 1 if token == "INDENT" else -1
            elif token != "END":
                lines[-1] += f" {token}" if words else _INDENT * depth + token
                words += 1
        return "\n".join(lines)


def load_grammar(name_or_path: str | Path) -> Grammar:
    """Load the grammar of an environment, or the grammar in a file.

    Args:
        name_or_path: The name of an environment whose folder has a `grammar.txt`, or the path of a grammar file or of
            the folder that contains a `grammar.txt`.

    Raises:
        GrammarError: If there is no grammar, or it cannot be read; the message names the file.

    Example:
        >>> len(load_grammar("functions").tokens)
        20
    """
    if not isinstance(name_or_path, str | Path):
        raise GrammarError(f"a grammar is named by text or a path; got {type(name_or_path).__name__}")
    named = str(name_or_path) in environment_names()
    path = environments_directory() / str(name_or_path) if named else Path(name_or_path)
    try:
        path = path / FILE if path.is_dir() else path
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:  # ValueError: not a valid path, or not UTF-8.
        raise GrammarError(
            f"no grammar at {str(path)!r:.200} ({error}); give a path, or the name of an environment that has a "
            f"{FILE}; the text of a grammar goes into Grammar(text)"
        ) from None
    try:
        return Grammar(text)
    except GrammarError as error:
        raise GrammarError(f"{path}: {error}") from None


def _symbols(rules: Rules) -> Iterable[tuple[str, Symbol]]:
    """Yield each symbol with the name of the rule that contains it."""
    for name, alternatives in rules.items():
        for alternative in alternatives:
            for symbol in alternative:
                yield name, symbol


def _check_names(rules: Rules, first: str) -> None:
    uses: dict[str, set[str]] = {name: set() for name in rules}
    for name, symbol in _symbols(rules):
        if symbol.is_token:
            continue
        if symbol.name not in rules:
            raise GrammarError(f"rule {name!r} uses {symbol.name!r}, which is no rule; a token has quotes")
        uses[name].add(symbol.name)
    used, to_follow = {first}, [first]
    while to_follow:
        further = uses[to_follow.pop()] - used
        used |= further
        to_follow += further
    unused = [name for name in rules if name not in used]
    if unused:
        raise GrammarError(f"no program uses {', '.join(unused)}; the first rule is where a program begins")


def _check_layout(rules: Rules) -> None:
    for name, alternatives in rules.items():
        for alternative in alternatives:
            depth = 0
            for symbol in alternative:
                depth += {"INDENT": 1, "DEDENT": -1}.get(symbol.name, 0) if symbol.is_token else 0
                if depth < 0:
                    break
            if depth:
                raise GrammarError(f"rule {name!r}: in each alternative, every INDENT needs a DEDENT behind it")


def _least_of_each(rules: Rules) -> dict[str, float]:
    """Return the smallest number of tokens of each rule."""
    least = dict.fromkeys(rules, math.inf)
    changed = True
    while changed:
        changed = False
        for name, alternatives in rules.items():
            found = min(sum(1 if s.is_token else least[s.name] for s in alternative) for alternative in alternatives)
            if found < least[name]:
                least[name], changed = found, True
    endless = [name for name in rules if math.isinf(least[name])]
    if endless:
        raise GrammarError(f"nothing that {', '.join(endless)} stands for has an end: each alternative needs itself")
    return least


def _alternatives(rules: Rules, start: str) -> dict[str, dict[str, tuple[Symbol, ...]]]:
    """Return the LL(1) table: for each rule, the alternative that each token selects.

    The method is from A. V. Aho, M. S. Lam, R. Sethi, J. D. Ullman, Compilers, section 4.4.3.
    """
    firsts, follows = _firsts(rules), _follows(rules, start)
    table: dict[str, dict[str, tuple[Symbol, ...]]] = {name: {} for name in rules}
    for name, alternatives in rules.items():
        for alternative in alternatives:
            tokens, is_nullable = _first_of(alternative, firsts)
            if is_nullable and _NOTHING in follows[name]:
                raise GrammarError(
                    f"rule {name!r} may be empty where a program can end, so that no token says so; put END behind it"
                )
            for token in sorted(tokens | (follows[name] if is_nullable else set())):
                if token in table[name]:
                    raise GrammarError(
                        f"rule {name!r}: two alternatives can begin with {token!r}, so the next token does not say "
                        "which is meant; move what they share into one, and what differs into a rule behind it"
                    )
                table[name][token] = alternative
    return table


_Firsts = dict[str, tuple[set[str], bool]]
"""The tokens that each rule can begin with, and whether it can be empty."""


def _firsts(rules: Rules) -> _Firsts:
    firsts: _Firsts = {name: (set(), False) for name in rules}
    changed = True
    while changed:
        before = firsts
        firsts = {
            name: (
                set().union(*(_first_of(alternative, before)[0] for alternative in alternatives)),
                any(_first_of(alternative, before)[1] for alternative in alternatives),
            )
            for name, alternatives in rules.items()
        }
        changed = firsts != before
    return firsts


def _first_of(symbols: Sequence[Symbol], firsts: _Firsts) -> tuple[set[str], bool]:
    found: set[str] = set()
    for symbol in symbols:
        tokens, is_nullable = ({symbol.name}, False) if symbol.is_token else firsts[symbol.name]
        found |= tokens
        if not is_nullable:
            return found, False
    return found, True


def _follows(rules: Rules, start: str) -> dict[str, set[str]]:
    """Return the tokens that can follow each rule."""
    firsts = _firsts(rules)
    follows: dict[str, set[str]] = {name: set() for name in rules}
    follows[start].add(_NOTHING)
    changed = True
    while changed:
        changed = False
        for name, alternatives in rules.items():
            for alternative in alternatives:
                for place, symbol in enumerate(alternative):
                    if symbol.is_token:
                        continue
                    tokens, is_nullable = _first_of(alternative[place + 1 :], firsts)
                    found = tokens | (follows[name] if is_nullable else set())
                    if not found <= follows[symbol.name]:
                        follows[symbol.name] |= found
                        changed = True
    return follows
