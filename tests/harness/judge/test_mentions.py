import pytest

from code_env.harness.judge.mentions import mentions


@pytest.mark.parametrize(
    ("text", "insight"),
    [
        ("mean price is 12.50", "mean price is 12.5"),
        ("Average: 1.00", "average: 1.0"),
        ("price 12.5", "price 12.50"),
        ("mean: 3", "mean: 3.0"),
        ("mean: 3.0", "mean: 3"),
        ("50.0%", "50%"),
        ("total 1,234", "1234"),
        ("total 1234.0", "1,234"),
        ("[1,5,6]", "5"),
        ("best...Electronics", "electronics"),
        ("a=3", "a = 3"),
        ("the mean is 5", "The mean is 5."),
        ("the mean is 5.", "mean is 5"),
        ("Zu\u0308rich", "Z\u00fcrich"),
        ("\u22125 degrees", "-5 degrees"),
        ("on 2024-03-05 with 459.90", "2024-03-05 with 459.9"),
        ("maths-physics: 0.94", "maths-physics: 0.94"),
        ("1e3 items", "1000 items"),
        ("$5", "5"),
        ("***", "**"),
    ],
)
def test_what_says_the_same_is_a_mention(text, insight):
    assert mentions(text, insight)


@pytest.mark.parametrize(
    ("text", "insight"),
    [
        ("change: -12.5%", "12.5%"),
        ("-5", "5"),
        ("total 1,234", "234"),
        ("5.0e10", "5"),
        ("12:30", "30"),
        ("1/2", "2"),
        ("1.5.2", "1.5"),
        ("3.05", "3"),
        ("mean is 35", "mean is 3"),
        ("x5", "5"),
        ("50", "50%"),
        ("x" * 3990 + " mean 12.57", "mean 12.5"),
        ("x" * 4000 + " mean", "mean"),
        ("mean price", "mean  price is"),
        ("", "x"),
    ],
)
def test_what_says_something_else_is_none(text, insight):
    assert not mentions(text, insight)


def test_numbers_of_any_length_take_no_time():
    assert mentions("9" * 3000, "9" * 3000)
    assert not mentions("9" * 3000, "9" * 2999)


def test_an_unknown_rule_is_refused():
    with pytest.raises(ValueError, match="rule must be one of mention, rewardkit_substring; got 'regex'"):
        mentions("x", "x", "regex")
