"""Grammars: what may come next, how soon a program can end, and which grammars are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_env import GrammarError, judge, load_suite
from code_env.encodings import Grammar, TokenEncoding, load_grammar

SUM = "sum: operand more NEWLINE\nmore: | '+' operand more\noperand: 'a' | '1'"
FUNCTIONS = load_grammar("functions")


def write(grammar, tokens):
    rest = grammar.start
    for token in tokens:
        rest = grammar.after(rest, token)
        assert rest is not None, token
    return rest


def may_come(grammar, rest):
    return [token for token in grammar.tokens if grammar.after(rest, token) is not None]


def test_what_may_come_next():
    grammar = Grammar(SUM)
    assert grammar.tokens == ("NEWLINE", "+", "a", "1")
    assert may_come(grammar, grammar.start) == ["a", "1"]
    assert may_come(grammar, write(grammar, ["a"])) == ["NEWLINE", "+"]
    assert may_come(grammar, write(grammar, ["a", "+"])) == ["a", "1"]
    assert write(grammar, ["a", "NEWLINE"]) == ()
    assert may_come(grammar, ()) == []


def test_the_fewest_tokens_to_the_end():
    grammar = Grammar(SUM)
    assert grammar.least(grammar.start) == 2
    assert grammar.least(write(grammar, ["a", "+"])) == 2
    assert grammar.least(write(grammar, ["a", "+", "1"])) == 1
    assert grammar.least(()) == 0


def test_programs_are_laid_out():
    grammar = Grammar("f: 'if' 'a' ':' NEWLINE INDENT 'b' NEWLINE INDENT 'c' NEWLINE DEDENT DEDENT 'd' END")
    assert grammar.render(grammar.tokens[:-1]) == "if a :\n    b c d"
    tokens = ["if", "a", ":", "NEWLINE", "INDENT", "b", "NEWLINE", "INDENT", "c", "NEWLINE", "DEDENT", "DEDENT", "d"]
    assert grammar.render(tokens) == "if a :\n    b\n        c\nd"
    assert grammar.render([*tokens, "END"]) == grammar.render(tokens)
    assert grammar.render([]) == ""


def test_comments_further_lines_and_either_quote():
    grammar = Grammar("# sums\nsum: \"'\" # a quote\n   | '\"' '#'\n\n  | 'b'\n")
    assert grammar.tokens == ("'", '"', "#", "b")
    assert may_come(grammar, grammar.start) == ["'", '"', "b"]


@pytest.mark.parametrize(
    ("text", "message"),
    {
        "nothing": ("", "at least one rule"),
        "only a comment": ("# x", "at least one rule"),
        "no rule": ("'a' 'b'", "line 1: a rule was expected"),
        "not indented": ("s: 'a'\n| 'b'", "line 2: a rule was expected"),
        "what is no symbol": ("s: 'a' ; 'b'", r"line 1: a name, a quoted token or \| was expected; got \"; 'b'\""),
        "an open quote": ("s: 'a", "line 1: a name, a quoted token"),
        "a blank token": ("s: ' '", "not blank"),
        "a token with a backslash": ("s: 'a\\n'", "backslash"),
        "a token named like a layout": ("s: 'NEWLINE'", "line 1: a token is text"),
        "the same rule twice": ("s: 'a'\ns: 'b'", "line 2: the rule 's' stands there already"),
        "no such rule": ("s: 'a' t", "uses 't', which is no rule"),
        "a rule that nothing uses": ("s: 'a'\nt: 'b'", "no program uses t"),
        "a rule that only itself uses": ("s: 'a'\nt: 'b' t | 'c'", "no program uses t"),
        "no INDENT": ("s: 'a' DEDENT", "every INDENT needs a DEDENT"),
        "no DEDENT": ("s: 'a' INDENT 'b'", "every INDENT needs a DEDENT"),
        "DEDENT before INDENT": ("s: DEDENT 'a' INDENT", "every INDENT needs a DEDENT"),
        "a NUL": ("s: 'a\0b'", "line 1: a token is text"),
        "a lone surrogate": ("s: '\ud800'", "line 1: a token is text"),
        "a line separator": ("s: 'a\u2028b'", "line 1: a token is text"),
        "no end": ("s: 'a' s", "nothing that s stands for has an end"),
        "no end, round about": ("s: 'a' t\nt: 'b' s", "nothing that s, t stands for has an end"),
        "two that begin alike": ("s: 'a' 'b' | 'a' 'c'", "rule 's': two alternatives can begin with 'a'"),
        "left recursion": ("s: s '+' 'a' | 'a'", "two alternatives can begin with 'a'"),
        "two that begin alike, further in": ("s: t | 'a'\nt: 'a' 'b'", "two alternatives can begin with 'a'"),
        "empty, or what comes behind": ("s: t 'a'\nt: | 'a' 'b'", "rule 't': two alternatives can begin with 'a'"),
        "two that may be empty": ("s: t 'a'\nt: u |\nu:", "two alternatives can begin with 'a'"),
        "no token for the end": ("s: 'a' t\nt: | 'b' t", "rule 't' may be empty where a program can end"),
        "nothing at all": ("s:", "rule 's' may be empty where a program can end"),
    }.values(),
)
def test_a_grammar_that_cannot_be_used_is_refused(text, message):
    with pytest.raises(GrammarError, match=message):
        Grammar(text)


def test_a_grammar_is_found_by_name_and_by_path(tmp_path):
    (tmp_path / "grammar.txt").write_text(SUM)
    assert load_grammar(tmp_path).tokens == load_grammar(tmp_path / "grammar.txt").tokens == Grammar(SUM).tokens
    with pytest.raises(GrammarError, match=r"no grammar at 'nowhere'.*give a path, or the name of an environment"):
        load_grammar("nowhere")
    with pytest.raises(GrammarError, match=r"no grammar at .*starter.*grammar\.txt"):
        load_grammar("starter")
    (tmp_path / "grammar.txt").write_text("s: t")
    with pytest.raises(GrammarError, match=r"grammar\.txt: rule 's' uses 't'"):
        load_grammar(tmp_path)
    (tmp_path / "grammar.txt").write_bytes(b"\xff")
    with pytest.raises(GrammarError, match=r"grammar\.txt"):
        load_grammar(tmp_path)
    (tmp_path / "grammar.txt").write_bytes(b"\xef\xbb\xbfs: 'a' END\r\n | 'b' END\r\n")
    assert load_grammar(tmp_path).tokens == ("a", "END", "b")


@pytest.mark.parametrize("what", [SUM, "a\0b", None, 3, b"s: 'a'"])
def test_what_names_no_grammar_is_refused(what):
    with pytest.raises(GrammarError, match=r"Grammar\(text\)|text or a path"):
        load_grammar(what)
    if not isinstance(what, str):
        with pytest.raises(GrammarError, match="a grammar is text"):
            Grammar(what)


def tokens_of(grammar, text, written=()):
    """The tokens that write a text, blanks aside."""
    rest = write(grammar, written)
    if not rest:
        return written if squeezed(grammar.render(written)) == squeezed(text) else None
    for token in may_come(grammar, rest):
        further = (*written, token)
        if squeezed(text).startswith(squeezed(grammar.render(further)).rstrip("\n")):
            found = tokens_of(grammar, text, further)
            if found is not None:
                return found
    return None


def squeezed(text):
    return text.replace(" ", "")


@pytest.mark.parametrize("task", load_suite("functions"), ids=lambda task: task.id)
def test_each_function_can_be_written(task, executor):
    tokens = tokens_of(FUNCTIONS, task.reference)
    assert len(tokens) <= 22
    assert judge(task, FUNCTIONS.render(tokens), executor).passed


@given(seed=st.integers(0, 2**32 - 1), budget=st.integers(8, 40))
def test_whatever_is_drawn_ends_within_the_budget_and_can_be_compiled(seed, budget):
    draw = np.random.default_rng(seed)
    encoding = TokenEncoding(FUNCTIONS, budget)
    encoding.begin("any")
    program = None
    while program is None:
        allowed = np.flatnonzero(encoding.mask())
        assert len(allowed) > 1  # What leaves no choice is written at once.
        program = encoding.take(int(draw.choice(allowed)))
    assert np.count_nonzero(encoding.written()) <= budget
    compile(program, "program", "exec")


@pytest.mark.parametrize("budget", range(6, 11))
def test_the_mask_leaves_out_exactly_what_could_not_be_ended(budget):
    """Compared with all programs of that many tokens, written out."""
    grammar = Grammar("s: 'r' v NEWLINE END\nv: 'a' m\nm: | '+' 'a' m | '(' v ')'")

    def programs(rest, left):
        if not rest:
            return [()]
        found = []
        for token in may_come(grammar, rest) if left else ():
            found += [(token, *more) for more in programs(grammar.after(rest, token), left - 1)]
        return found

    encoding = TokenEncoding(grammar, budget)
    every = programs(grammar.start, budget)

    def walk(actions):
        encoding.begin("any")
        whole = [encoding.take(action) for action in actions]
        written = tuple(grammar.tokens[number - 1] for number in encoding.written() if number)
        if whole and whole[-1] is not None:
            return {written}
        following = {program[len(written)] for program in every if program[: len(written)] == written}
        assert {grammar.tokens[number] for number in np.flatnonzero(encoding.mask())} == following
        return set().union(*(walk([*actions, int(number)]) for number in np.flatnonzero(encoding.mask())))

    assert walk([]) == set(every)
