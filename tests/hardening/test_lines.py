import pytest

from code_env.hardening.lines import Counts

COUNTING = {
    "lines": (["2\na\nb\n", "3\na\nb\nc\n"], "1\nz\n", "2\nz\n"),
    "words of the next line": (["2 9\n5 6\n1\n", "3 9\n1 2 3\n1\n"], "1 7\n4\n2\n", "2 7\n4\n2\n"),
    "characters": (["3\nabc\n", "1\nx\n"], "2\nxy\n", "2\nxyz\n"),
    "words after it": (["4\n1 2\n3 4\n", "2\n1\n5\n"], "3\n1\n2 3\n", "2\n1\n2 3\n"),
    "the second number": (["7 2\n1 2\n", "7 1\n5\n"], "9 3\n1 2 3\n", "3 9\n1 2 3\n"),
}


@pytest.mark.parametrize("name", COUNTING)
def test_a_number_that_counts_goes_on_counting(name):
    examples, fits, does_not = COUNTING[name]
    counts = Counts(examples)
    assert all(map(counts.allows, [*examples, fits]))
    assert not counts.allows(does_not)


def test_numbers_that_count_nothing_are_free():
    assert Counts(["5\n1 2\n", "2\n1 2\n"]).allows("1\n1 2 3\n")


def test_one_count_is_no_rule():
    """A single example, or the same count each time, can be chance."""
    assert Counts(["2\n5 6\n"]).allows("3\n5 6\n")
    assert Counts(["2\n5 6\n", "2\n7 8\n"]).allows("3\n7 8\n")
