import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_env.text import clip, first_line, printable

ANY_TEXT = st.text(st.characters(exclude_categories=[]))


@given(ANY_TEXT | st.integers(0, 10_000).map("x".__mul__), st.integers(0, 300))
def test_clipped_text_is_never_longer_than_its_bound(text, bound):
    assert len(clip(text, bound)) <= bound


@given(ANY_TEXT, st.integers(0, 50))
def test_text_that_fits_stays_as_it_is(text, more):
    assert clip(text, len(text) + more) == text


@given(st.integers(200, 5_000), st.integers(100, 199))
def test_clipped_text_keeps_head_and_tail_and_counts_what_is_gone(length, bound):
    text = "".join(chr(0x4E00 + i) for i in range(length))
    head, note, tail = clip(text, bound).split("\n")
    left_out = int(note.split()[1])
    assert note == f"[... {left_out} characters left out ...]"
    assert text.startswith(head)
    assert text.endswith(tail)
    assert head
    assert tail
    assert len(head) + left_out + len(tail) == length
    assert abs(len(head) - len(tail)) <= 1


@pytest.mark.parametrize("bound", [0, 1, 30])
def test_where_the_note_has_no_room_nothing_is_left(bound):
    assert clip("x" * 1000, bound) == ""


def test_a_clipped_text_uses_its_bound():
    assert 90 <= len(clip("x" * 1000, 100)) <= 100


@given(ANY_TEXT, st.integers(0, 50))
def test_a_first_line_is_one_line_and_never_longer_than_its_bound(text, bound):
    line = first_line(text, bound)
    assert len(line) <= bound
    assert "\n" not in line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        ("short", "short"),
        ("exactly ten"[:10], "exactly te"),
        ("more than ten", "more than…"),
        ("\n one\n", "one"),
        ("one\ntwo", "one…"),
    ],
)
def test_a_first_line_tells_that_something_is_left_out(text, line):
    assert first_line(text, 10) == line


@given(ANY_TEXT)
def test_printable_text_has_no_control_characters_or_surrogates(text):
    safe = printable(text)
    assert all(c in "\n\t" or c.isprintable() for c in safe)
    assert safe.encode().decode() == safe


def test_every_character_becomes_printable():
    text = "".join(map(chr, range(sys.maxunicode + 1)))
    assert all(c in "\n\t" or c.isprintable() for c in printable(text))


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("", ""),
        ("plain é 漢 \U0001f600", "plain é 漢 \U0001f600"),
        ("a\n\tb", "a\n\tb"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\rb", "a\\rb"),
        ("\0\x07\x7f\x9b", "\\x00\\x07\\x7f\\x9b"),
        ("\ud800", "\\ud800"),
        ("a\udfff\n", "a\\udfff\n"),
        ("\u202egnp", "\\u202egnp"),
        ("\u200b\u2028", "\\u200b\\u2028"),
        ("\U000e0001", "\\U000e0001"),
    ],
    ids=ascii,
)
def test_what_would_act_on_a_terminal_is_shown_as_an_escape(text, safe):
    assert printable(text) == safe
