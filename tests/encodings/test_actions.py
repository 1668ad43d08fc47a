"""Actions as programs: tokens, templates, candidates; and what is no action."""

import numpy as np
import pytest

from code_env import EncodingError, GrammarError
from code_env.encodings import CandidateEncoding, Grammar, TemplateEncoding, TokenEncoding

SUM = Grammar("sum: 'return' operand more NEWLINE\nmore: | '+' operand more\noperand: 'a' | '1'")
RETURN, NEWLINE, PLUS, A, ONE = range(5)


def test_a_program_is_written_token_by_token():
    encoding = TokenEncoding(SUM, 6)
    encoding.begin("any")
    assert encoding.written().tolist() == [RETURN + 1, 0, 0, 0, 0, 0]  # It leaves no choice, so it is there.
    assert encoding.mask().tolist() == [False, False, False, True, True]
    assert encoding.take(A) is None
    assert encoding.take(np.int64(PLUS)) is None
    assert encoding.take(np.array(ONE)) == "return a + 1\n"  # Within the budget only a newline can follow.
    assert encoding.written() in encoding.written_space
    assert not encoding.mask().any()
    encoding.begin("another")
    assert encoding.written().tolist() == [RETURN + 1, 0, 0, 0, 0, 0]


def test_a_token_that_is_not_allowed_ends_the_program_where_it_stands():
    encoding = TokenEncoding(SUM, 6)
    encoding.begin("any")
    encoding.take(A)
    assert encoding.take(A) == "return a"
    encoding.begin("any")
    assert encoding.take(NEWLINE) == "return"


@pytest.mark.parametrize("max_tokens", [2, 0, -1, 3.0, True, None])
def test_a_budget_that_no_program_fits_into_is_refused(max_tokens):
    with pytest.raises(GrammarError, match="at least 3, the shortest program's tokens; got"):
        TokenEncoding(SUM, max_tokens)


def test_a_grammar_without_a_choice_is_refused():
    with pytest.raises(GrammarError, match="one program only"):
        TokenEncoding(Grammar("s: 'a' END"), 10)


@pytest.mark.parametrize("action", [-1, 5, 1.0, True, "a", None, [1], np.array([1])])
def test_what_is_no_token_is_refused(action):
    encoding = TokenEncoding(SUM, 6)
    encoding.begin("any")
    with pytest.raises(EncodingError, match=r"an action of Discrete\(5\) was expected; got"):
        encoding.take(action)
    assert encoding.written().tolist()[:2] == [RETURN + 1, 0]


def test_a_template_is_filled():
    encoding = TemplateEncoding("{'$x': $y, '$$': $x}", {"y": ["1", "2"], "x": ["a", "b", "c"]})
    assert encoding.action_space.nvec.tolist() == [2, 3]
    assert encoding.take(np.array([1, 2])) == "{'c': 2, '$': c}"
    assert encoding.take([0, 0]) == "{'a': 1, '$': a}"
    for action in ([2, 0], [0, [1]], [0], [0, 0, 0], [0.0, 1.0], 1, "ab", [-1, 0]):
        with pytest.raises(EncodingError, match="was expected; got"):
            encoding.take(action)


@pytest.mark.parametrize(
    ("template", "slots"),
    [
        ("f($x)", {}),
        ("f()", {"x": ["1"]}),
        ("f($x)", {"x": ["1"], "y": ["2"]}),
        ("f($x, $y)", {"x": ["1"]}),
        ("f($)", {"x": ["1"]}),
        ("f($x)", {"x": []}),
        ("f($x)", {"x": "ab"}),
        ("f($x)", {"x": [1, 2]}),
    ],
)
def test_slots_that_do_not_fit_a_template_are_refused(template, slots):
    with pytest.raises(EncodingError, match="slots"):
        TemplateEncoding(template, slots)


def test_a_candidate_is_chosen_for_all_tasks_or_by_task():
    encoding = CandidateEncoding(["x", "y"])
    encoding.begin("any")
    assert encoding.take(1) == "y"
    encoding = CandidateEncoding({"one": ["x", "y"], "two": ["z", "w"]})
    encoding.begin("two")
    assert [encoding.take(action) for action in (0, 1)] == ["z", "w"]
    with pytest.raises(EncodingError, match="no candidates for 'three'"):
        encoding.begin("three")
    with pytest.raises(EncodingError, match="no candidates for 'three', 'four'"):
        encoding.require(["one", "three", "four"])
    with pytest.raises(EncodingError, match=r"Discrete\(2\)"):
        encoding.take(2)


@pytest.mark.parametrize("candidates", [[], "ab", [1], {}, {"a": ["x"], "b": ["x", "y"]}, {"a": []}, None])
def test_candidates_that_are_none_are_refused(candidates):
    with pytest.raises(EncodingError, match="candidates"):
        CandidateEncoding(candidates)
