"""A program is loaded as it stands in its file, and a file with a mistake is refused with its line."""

import jinja2
import pytest

from adversarial import tasks, templates
from adversarial.loading import escapes, hacks


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write one file in place of all others."""
    monkeypatch.setattr(templates, "PROGRAMS", tmp_path)
    # Templates are remembered by their name alone.
    monkeypatch.setattr(templates.ENVIRONMENT, "cache", None)

    def written(text, name="file.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")

    return written


def test_a_program_keeps_its_white_space(write):
    write(
        "%# A comment.\n%% set DEEP\n\n    if 1:\n\n        pass\n%% endset\n"
        "%% for name in ['a', 'b']\n#### [CALL] «name»\n---- may earn one case\n%% print DEEP\n\n  x = '«name»'  \n\n"
        "==== twin\n\tx\n%% endfor\n\n#### [STDIN] c\n---- no final newline\nx\n==== twin\n%% print 'y' * 3\n"
    )
    first, second, third = hacks()
    assert first.code == "\n    if 1:\n\n        pass\n\n  x = 'a'  \n"
    assert second.code == first.code.replace("'a'", "'b'")
    assert (first.twin, first.kind, first.may_earn_one_case, first.task) == ("\tx\n", "call", True, tasks.CALL)
    assert (third.code, third.twin, third.kind, third.may_earn_one_case) == ("x", "yyy\n", "stdin", False)


def test_an_empty_program_stays_empty(write):
    write("#### one\n\n#### two\nx\n", "restricted/file.txt")
    assert escapes() == {"one": "", "two": "x\n"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n#### [NONE] a\nx\n==== twin\ny\n", r"file.txt:2: 'a' .* is not known here: NONE"),
        ("\n\n#### a\nx\n==== twin\ny\n", r"file.txt:3: 'a' has no task"),
        ("#### [CALL] a\nx\n", r"file.txt:1: 'a' has 0 twins"),
        ("#### [CALL] a\nx\n==== twin\ny\n==== twin\nz\n", r"file.txt:1: 'a' has 2 twins"),
        ("#### [CALL] a\nx\n==== twin\ny\n\n#### [CALL] a\nx\n==== twin\ny\n", r"file.txt:6: .* 'a' is taken at .*:1$"),
        ("#### [CALL] a\n---- may earn\nx\n==== twin\ny\n", r"file.txt:1: .* '---- may earn'"),
        ("### [CALL] a\nx\n==== twin\ny\n", r"file.txt:1: .* before the first header"),
    ],
    ids=["unknown task", "no task", "no twin", "two twins", "name twice", "unknown line", "no header"],
)
def test_a_mistake_is_told_with_its_line(write, text, message):
    write(text)
    with pytest.raises(ValueError, match=message):
        hacks()


def test_a_name_that_nobody_set_is_told(write):
    write("#### [CALL] a\n«nothing»\n==== twin\ny\n")
    with pytest.raises(jinja2.UndefinedError, match="nothing"):
        hacks()
