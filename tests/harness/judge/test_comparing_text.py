"""Which texts pass for one another under each rule, and how the first difference is named."""

import pytest

from code_env.harness.judge.comparing import compare_text
from code_env.harness.wire.shown import MAX_BRIEF


@pytest.mark.parametrize(
    ("rule", "expected", "actual", "verdict"),
    [
        ("exact", "", "", True),
        ("exact", "a\n", "a\n", True),
        ("exact", "a\n", "a", False),
        ("exact", "a", "a ", False),
        ("exact", "a\r\n", "a\n", False),
        ("exact", "\ud800", "\ud800", True),
        ("exact", "a\0b", "a\0b", True),
        ("trailing", "a", "a\n", True),
        ("trailing", "a\n", "a", True),
        ("trailing", "a\nb \n\n", "a\nb\t", True),
        ("trailing", "", " \n", True),
        ("trailing", "a \nb", "a\nb", False),
        ("trailing", "a\r\nb", "a\nb", False),
        ("trailing", " a", "a", False),
        ("trailing", "a", "b", False),
        ("unordered", "a\nb", "b\na\n", True),
        ("unordered", "a\nb", "b  \r\na\r\n\r\n", True),
        ("unordered", "a\na\nb", "a\nb\nb", False),
        ("unordered", "a\na", "a", False),
        ("unordered", "a", "a\na", False),
        ("unordered", "a b", "b a", False),
        ("unordered", "a\n\nb", "\na\nb", True),
        ("unordered", "a\nb", "\na\nb", False),
        ("unordered", "", "\n", True),
        ("unordered", "", "a", False),
        ("unordered", "a", "", False),
        ("lines", "", "", True),
        ("lines", "", "\n \n", True),
        ("lines", "", "0", False),
        ("lines", "a", "a\n", True),
        ("lines", "a\n\n\n", "a", True),
        ("lines", "a  \nb\t", "a\nb", True),
        ("lines", "a\nb", "a\r\nb\r\n", True),
        ("lines", "a\nb", "a\n\nb", False),
        ("lines", "a\nb", "\na\nb", False),
        ("lines", " a", "a", False),
        ("lines", "a b", "a  b", False),
        ("lines", "a b", "a\nb", False),
        ("lines", "a", "A", False),
        ("lines", "1", "1.0", False),
        ("lines", "a\nb", "a\u2028b", False),
        ("lines", "a\nb", "a\x0bb", False),
        ("lines", "a\nb", "a\rb", False),
        ("lines", "a\u2028b", "a\u2028b", True),
        ("lines", "a", "a\0", False),
        ("lines", "\udc80", "\udc80\n", True),
        ("lines", "a\nb", "a", False),
        ("lines", "a", "a\nb", False),
        ("tokens", "", " \n", True),
        ("tokens", "a b", "  a\n\tb ", True),
        ("tokens", "a b", "ab", False),
        ("tokens", "a b", "b a", False),
        ("tokens", "a b", "a b c", False),
        ("tokens", "1", "1.0", False),
        ("numbers", "1 2", "1.0\n2.0000001", True),
        ("numbers", "1", "1.1", False),
        ("numbers", "0", "0.0000001", True),
        ("numbers", "0", "0.1", False),
        ("numbers", "1e3", "1000", True),
        ("numbers", "inf", "inf", True),
        ("numbers", "inf", "-inf", False),
        ("numbers", "inf", "1e308", False),
        ("numbers", "nan", "nan", True),
        ("numbers", "nan", "1", False),
        ("numbers", "a 1", "a 1.0", True),
        ("numbers", "a 1", "b 1", False),
        ("numbers", "1", "one", False),
        ("numbers", "one", "1", False),
        ("numbers", "1 2", "1", False),
        ("numbers", "1", "1 1", False),
        ("numbers", "1" + "0" * 400, "1" + "0" * 400, True),
        ("numbers", "1" + "0" * 400, "2" + "0" * 400, False),
        ("numbers", "1" + "0" * 400, "inf", False),
        ("numbers", "1" + "0" * 400, "1e400", True),
        ("numbers", "1" + "0" * 400, "1" + "0" * 399 + "1", True),
        ("numbers", "inf", "+Infinity", True),
        ("numbers", "-inf", "-INFINITY", True),
        ("numbers", "nan", "-NaN", True),
        ("numbers", "0", "-0.0", True),
        ("numbers", "1000", "1_000", False),
        ("numbers", "1_000", "1_000", True),
        ("numbers", "12", "\u0661\u0662", False),
        ("numbers", "12.0", "\uff11\uff12", False),
        ("numbers", "16", "0x10", False),
        ("numbers", "1", "1\0", False),
        ("numbers", "1", "\ud800", False),
        ("numbers", "1", "1e999999999", False),
        ("numbers", "inf", "1e999999999", False),
        ("numbers", "0", "1e-999999999", True),
        ("numbers", "0", "0e999999999", True),
        ("numbers", "1e999999999", "1e999999999", True),
        ("numbers", "1e999999999", "2e999999999", False),
        ("numbers", "1.", "1", True),
        ("numbers", ".5", "0.5", True),
        ("numbers", "1", "1.", True),
        ("numbers", "1", ".", False),
        ("numbers", "1", "e", False),
        ("numbers", "5 1", "5.0 x", False),
        ("numbers", "1/2", "0.5", False),
    ],
)
def test_a_rule_for_text_decides(rule, expected, actual, verdict):
    difference = compare_text(expected, actual, rule, 1e-6, 1e-6)
    assert (difference is None) is verdict, difference


def test_without_a_tolerance_whole_numbers_must_be_the_same():
    for same in ("9007199254740993.0", "9007199254740993e0", "+9007199254740993"):
        assert compare_text("9007199254740993", same, "numbers", 0, 0) is None
    for other in ("9007199254740992", "9007199254740992.0", "9007199254740992e0"):
        assert compare_text("9007199254740993", other, "numbers", 0, 0) is not None


@pytest.mark.parametrize(
    ("expected", "actual", "rel", "abs_", "verdict"),
    [
        ("100", "101", 0.01, 0, True),
        ("100", "102", 0.01, 0, False),
        ("0", "0.5", 0, 0.5, True),
        ("0", "0.6", 0, 0.5, False),
        ("10", "11", 0, 1, True),
        ("10", "12", 0, 1, False),
        ("5", "5.0", 0, 0, True),
    ],
)
def test_the_tolerance_of_numbers_is_the_one_given(expected, actual, rel, abs_, verdict):
    assert (compare_text(expected, actual, "numbers", rel, abs_) is None) is verdict


@pytest.mark.parametrize(
    ("rule", "expected", "actual", "difference"),
    [
        ("lines", "a\nb\nc", "a\nx\ny", "line 2: expected 'b', got 'x'"),
        ("lines", "a\nb", "a", "line 2: 'b' is missing"),
        ("lines", "a", "a\nb", "line 2: 'b' is too much"),
        ("tokens", "a b", "a c", "word 2: expected 'b', got 'c'"),
        ("tokens", "a", "", "word 1: 'a' is missing"),
        ("numbers", "1 2 3", "1.0 5 3", "word 2: expected '2', got '5'"),
        ("numbers", "1 2 3", "1.0 2", "word 3: '3' is missing"),
        ("numbers", "1", "1.0 2", "word 2: '2' is too much"),
        ("exact", "a", "b", "character 1: expected 'a', got 'b'"),
        ("exact", "abc", "ab", "character 3: expected 'c', got ''"),
        ("exact", "x" * 10**6 + "a", "x" * 10**6 + "b", "character 1000001: expected 'a', got 'b'"),
        ("trailing", "ab\n", "ac\n", "character 2: expected 'b', got 'c'"),
        ("unordered", "a\nb", "b\nc", "line 'a' is missing"),
        ("unordered", "b\nc", "b\na", "line 'a' is too much"),
        ("unordered", "a\nb", "a", "expected 2 lines, got 1"),
        ("unordered", "", "a", "expected 0 lines, got 1"),
    ],
)
def test_the_first_difference_is_named(rule, expected, actual, difference):
    assert compare_text(expected, actual, rule, 1e-6, 1e-6) == difference


def test_a_difference_is_short_however_long_the_texts():
    difference = compare_text("a" * 10**6, "b" * 10**6, "lines", 0, 0)
    assert len(difference) < 3 * MAX_BRIEF
    assert "\n" not in compare_text("a\nb" * 1000, "c\n", "exact", 0, 0)
