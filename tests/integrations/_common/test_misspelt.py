import inspect

import pytest

from code_env.integrations._common.misspelt import refuse_further, reject_misspelt
from code_env.integrations.code_eval import compute
from code_env.integrations.eval_framework import execute_python_code_with_tests


@refuse_further
def reward(response, expected_output="x"):
    """Documented."""
    return response == expected_output


def test_it_passes_on_what_is_taken():
    assert reward("x") is reward(response="y", expected_output="y") is True
    assert (reward.__name__, reward.__doc__) == ("reward", "Documented.")
    assert list(inspect.signature(reward).parameters) == ["response", "expected_output"]


def test_what_is_not_taken_is_refused_with_what_is():
    with pytest.raises(TypeError, match=r"^reward\(\) has no argument 'answer'; known are response, expected_output$"):
        reward("x", answer="x")
    with pytest.raises(TypeError, match=r"known are response, expected_output; did you mean 'expected_output'\?$"):
        reward("x", expectd_output="x")


def test_others_may_pass():
    reject_misspelt(["task_id", "response"], reward)
    with pytest.raises(TypeError, match="did you mean 'response'"):
        reject_misspelt(["responses"], reward)


def test_functions_that_are_no_rewards_name_what_they_take_too():
    with pytest.raises(TypeError, match="no argument 'policies'; known are predictions, references, k"):
        compute([["x = 1"]], ["assert True"], policies="x")
    with pytest.raises(TypeError, match=r"no argument 'timeouts'; .*did you mean 'timeout'"):
        execute_python_code_with_tests("x = 1", "assert x", {}, timeouts=3)
