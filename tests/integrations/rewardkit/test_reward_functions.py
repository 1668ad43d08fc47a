import pytest

from code_env.integrations.rewardkit.reward_functions import reward_function
from code_env.integrations.rewardkit.reward_outputs import RewardOutput


@reward_function
def bare(response, expected_output="x"):
    return response == expected_output


@reward_function(id="called", requirements="numpy")
def called(messages, **kwargs):
    """Documented."""
    return RewardOutput(0.5, reason=", ".join(kwargs))


def test_it_works_bare_and_called():
    assert bare("x") == 1.0
    assert type(bare("x")) is float
    assert called([], a=1, b=2) == RewardOutput(0.5, reason="a, b")
    assert (called.__name__, called.__doc__, called.reward_id) == ("called", "Documented.", "called")
    assert called.reward_requirements == "numpy"


def test_keywords_that_it_does_not_take_are_left_out():
    assert bare(response="y", expected_output="y", task_id=3, prompt="p") == 1.0


def test_a_misspelt_keyword_is_refused():
    with pytest.raises(TypeError, match=r"bare\(\) has no argument 'expectedoutput'; did you mean 'expected_output'"):
        bare("x", expectedoutput="y")


@pytest.mark.parametrize(("value", "error"), [(None, TypeError), ("much", TypeError), (float("nan"), ValueError)])
def test_what_is_no_number_is_an_error(value, error):
    with pytest.raises(error, match="must give a"):
        reward_function(lambda response: value)("x")


def test_options_that_there_are_none_of_are_refused():
    with pytest.raises(TypeError):
        reward_function(ids="x")


async def awaited(response):
    return 1.0


@pytest.mark.parametrize(
    ("decorate", "message"),
    [
        (lambda: reward_function(awaited), r"not awaited; got the coroutine function awaited\(\)"),
        (lambda: reward_function(id="x")(awaited), "not awaited"),
        (lambda: reward_function(mode="batch"), "mode must be 'pointwise'.*got 'batch'"),
        (lambda: reward_function(resources=["a model"]), "no model is deployed here"),
        (lambda: reward_function(ids="x"), "has no argument 'ids'; .*did you mean 'id'"),
    ],
)
def test_what_is_not_done_is_refused_at_decoration(decorate, message):
    with pytest.raises(TypeError, match=message):
        decorate()


def test_what_is_done_may_be_named():
    assert reward_function(mode="pointwise", resources=None)(lambda response: 1)("x") == 1.0
