"""Each environment of this package: its tasks are sound, its references earn all there is to earn."""

import dataclasses
import re

import gymnasium as gym
import pytest

from code_env import CodeExecEnv, judge, load_suite, validate
from code_env.environments.definitions import environment_names, environments_directory, load_definition
from code_env.registration import environment_id

SHIPPED = [name for name in environment_names() if load_definition(name).source is None]


VALIDATED_BY_A_DOCUMENT = {"javascript", "starter"}
"""Those for which a document has the command `code-env validate`, which `test_examples.py` runs."""


@pytest.mark.parametrize("name", [name for name in SHIPPED if name not in VALIDATED_BY_A_DOCUMENT])
def test_its_tasks_are_sound(name, executor):
    validation = validate(load_suite(name), executor, repetitions=1)
    assert validation.sound, validation.errors


@pytest.mark.parametrize("name", SHIPPED)
def test_no_two_of_its_tasks_are_told_in_the_same_words(name):
    assert len({task.prompt for task in load_suite(name)}) == len(load_suite(name))


@pytest.mark.parametrize("name", SHIPPED)
def test_its_references_earn_all(name):
    suite, definition = load_suite(name), load_definition(name)
    with gym.make(environment_id(name)) as env:
        assert env.unwrapped.rules.max_turns == definition.max_turns
        for task in suite:
            env.reset(seed=0, options={"task_id": task.id})
            tag = "answer" if env.unwrapped.rules.needs_sessions else task.language
            _, reward, terminated, truncated, info = env.step(f"```{tag}\n{task.reference}```")
            assert (reward, terminated, truncated) == (pytest.approx(1.0), True, False), (task.id, info)


@pytest.mark.parametrize("name", environment_names())
def test_its_folder_says_what_it_is(name):
    readme = (environments_directory() / name / "README.md").read_text()
    assert readme.startswith(f"# {name}\n")
    assert environment_id(name) in readme
    if name in SHIPPED:
        assert str(len(load_suite(name))) in readme.split(",")[0]


def test_a_plot_makes_up_for_an_insight_that_is_missing():
    """The documented three: insights, insights with a plot, neither."""
    plot = "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()\n"
    answers = {
        "print('lamp: 6, desk: 3, chair: 6, shelf: 1')": 1.0,
        "print('lamp: 6, desk: 3, chair: 6')": 0.75,
        plot + "print('lamp: 6, desk: 3, chair: 6')": 0.875,
        plot + "print('lamp: 6, desk: 3, chair: 6, shelf: 1')": 1.0,
        "print('I do not know')": 0.0,
    }
    with gym.make(environment_id("data_analysis")) as env:
        for code, worth in answers.items():
            env.reset(seed=0, options={"task_id": "data_analysis/products"})
            _, reward, _, _, info = env.step(code)
            assert reward == pytest.approx(worth)
            images = [shown for shown in info["verdicts"][0].execution.results if "image/png" in shown]
            assert len(images) == ("plt" in code)


@pytest.mark.parametrize("task", load_suite("repair"), ids=lambda task: task.id)
def test_a_program_that_is_to_be_repaired_is_wrong(task, executor):
    faulty = re.search(r"```python\n(.*?)```", task.prompt, re.DOTALL)[1]
    # One of them loops, and would in each test.
    hasty = dataclasses.replace(task, limits=task.limits.with_values({"cpu_s": 0.5}))
    verdict = judge(hasty, faulty, executor)
    assert not verdict.passed
    assert verdict.valid
    public = [case for case in verdict.cases if not case.hidden]
    assert not public or not all(case.passed for case in public)


def test_feedback_shows_the_public_tests_of_a_repair():
    env = CodeExecEnv("repair", max_turns=4)
    env.reset(seed=0, options={"task_id": "repair/leap-year"})
    observation = env.step("def is_leap(year): return year % 4 == 0 and year % 100 != 0")[0]
    assert "is_leap(2000): expected True, got False" in observation
    assert "1900" not in observation
    env.close()
