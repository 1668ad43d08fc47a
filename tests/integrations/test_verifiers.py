"""verifiers wants an older openai than the rest, so it is called in an environment of its own."""

from code_env import load_suite
from own_environment import own_environment


def test_its_own_code_loads_and_scores_a_suite():
    with own_environment(["verifiers>=0.4"]) as call:
        told = call("integrations/verifiers_script.py")
    suite = load_suite("starter")
    assert (told["taskset"], told["keys"]) == ("CodeTaskset", [task.id for task in suite])
    assert told["prompt"] == suite[0].prompt
    right = {"passed": 1.0, "tests_passed": 1.0, "no_code": 0.0}
    wrong = {"passed": 0.0, "tests_passed": 0.0, "no_code": 0.0}
    assert told["right"] == {"reward": 1.5, "rewards": ["pass@1", "tests"], "metrics": right}
    assert told["wrong"] == {"reward": 0.0, "rewards": ["pass@1", "tests"], "metrics": wrong}
    assert told["no code"]["metrics"] == wrong | {"no_code": 1.0}
    assert told["valid"] is True
    assert "NoVerdict: there is no verdict" in told["fault"]
