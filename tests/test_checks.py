import dataclasses
import typing

import gymnasium as gym
import pytest

from code_env import (
    CallTest,
    CodeExecEnv,
    CodeExecVectorEnv,
    Comparison,
    ExecutionResult,
    Isolation,
    Limits,
    Program,
    RewardError,
    Task,
    TaskError,
    load_suite,
)
from code_env.checks import (
    meant,
    names_keywords,
    require_choice,
    require_flag,
    require_known,
    require_number,
    require_whole,
)
from code_env.envs.rules import EpisodeOptions, EpisodeRules
from code_env.registration import make_code_exec, make_code_exec_vec


@pytest.mark.parametrize("value", [0, 65, True, 2.0, "2", None])
def test_a_whole_number_is_within_bounds(value):
    with pytest.raises(TaskError, match=r"^count must be a whole number from 1 to 64; got "):
        require_whole("count", value, TaskError, least=1, most=64)
    assert require_whole("count", 64, TaskError, least=1, most=64) == 64


@pytest.mark.parametrize("value", [-1, True, "1", None, float("nan"), float("inf"), 10**400])
def test_a_number_is_finite_and_within_bounds(value):
    with pytest.raises(RewardError, match=r"^wait must be a (finite )?number of seconds of at least 0; got "):
        require_number("wait", value, RewardError, least=0, unit="seconds")
    assert require_number("wait", 0, RewardError, least=0) == 0.0


@pytest.mark.parametrize(
    ("bounds", "words"),
    [({"above": 0}, "a number above 0"), ({"least": 0, "most": 1}, "a number from 0 to 1"), ({}, "a number")],
)
def test_the_bounds_of_a_number_are_told(bounds, words):
    with pytest.raises(TaskError, match=f"^rate must be {words}; got 'x'$"):
        require_number("rate", "x", TaskError, **bounds)


@pytest.mark.parametrize("value", [0, 1, "yes", None])
def test_a_flag_is_true_or_false(value):
    with pytest.raises(TaskError, match=r"^strict must be True or False; got "):
        require_flag("strict", value, TaskError)


@pytest.mark.parametrize("value", ["fast", None, 3, []])
def test_a_choice_is_among_those_there_are(value):
    with pytest.raises(TaskError, match=r"^speed must be one of slow, quick; got [^;]*$"):
        require_choice("speed", value, ["slow", "quick"], TaskError)


def test_what_was_meant_is_named():
    with pytest.raises(TypeError, match=r"^no field 'colour'; known are color, size; did you mean 'color'\?$"):
        require_known("no field", ["size", "colour"], ["color", "size"], TypeError)
    assert meant("weight", ["color", "size"]) == meant(3, ["color"]) == ""


def test_a_hint_takes_the_place_of_the_nearest_name():
    with pytest.raises(TypeError, match=r"^no field 'colour'; known are color; paint it$"):
        require_known("no field", ["colour"], ["color"], TypeError, {"colour": "paint it"})


@pytest.mark.parametrize(
    ("make", "name", "nearest"),
    [
        (Limits, "cpu_sec", "cpu_s"),
        (Program, "cod", "code"),
        (Task, "promt", "prompt"),
        (CallTest, "arg", "args"),
        (CallTest, "hiden", "hidden"),
        (Comparison, "rules", "rule"),
        (Isolation, "peers", "peer"),
        (ExecutionResult, "exitcode", "exit_code"),
    ],
)
def test_a_misspelt_field_is_named(make, name, nearest):
    with pytest.raises(TypeError) as refused:
        make(**{name: 1})
    assert str(refused.value).startswith(f"{make.__name__}() has no argument {name!r}; known are ")
    assert str(refused.value).endswith(f"; did you mean {nearest!r}?")
    assert refused.value.__context__ is None


def test_other_errors_of_a_class_that_names_keywords_stay():
    @names_keywords
    @dataclasses.dataclass
    class Point:
        x: int

        def __post_init__(self):
            if self.x == 0:
                raise TypeError("x is 0")

    assert Point(1) == dataclasses.replace(Point(2), x=1)
    with pytest.raises(TypeError, match=r"^x is 0$"):
        Point(x=0)
    with pytest.raises(TypeError, match="missing 1 required"):
        Point()


def test_a_huge_value_is_shown_in_brief():
    with pytest.raises(TaskError) as refused:
        require_whole("count", -(10**10_000), TaskError, least=1)
    assert len(str(refused.value)) < 400


def test_the_options_are_what_the_rules_have():
    """One is for type checkers, the other says what each means."""
    rules = {item.name: item.type for item in dataclasses.fields(EpisodeRules) if item.name != "suite"}
    first_of_call = EpisodeRules.__post_init__.__annotations__
    rules |= {name: kind for name, kind in first_of_call.items() if name != "return"}
    declared = {name: kind.__forward_arg__ for name, kind in EpisodeOptions.__annotations__.items()}
    assert declared == rules
    assert typing.get_type_hints(EpisodeOptions)
    assert EpisodeRules(load_suite("starter"), limits={"cpu_s": 1}).suite.task("starter/xor-seal").limits.cpu_s == 1.0


@pytest.mark.parametrize(
    ("make", "name", "meant_name"),
    [
        (lambda **kwargs: gym.make("CodeExec-v0", **kwargs), "reward", "rewards"),
        (lambda **kwargs: gym.make("CodeRepair-v0", **kwargs), "max_turn", "max_turns"),
        (lambda **kwargs: gym.make_vec("CodeExec-v0", num_envs=2, **kwargs), "deadline", "deadline_s"),
        (make_code_exec, "sampels_per_step", "samples_per_step"),
        (make_code_exec_vec, "num_env", "num_envs"),
        (CodeExecEnv, "limit", "limits"),
        (CodeExecVectorEnv, "example", "examples"),
    ],
)
def test_a_misspelt_option_of_an_environment_is_named(make, name, meant_name):
    with pytest.raises(TypeError, match=rf"\(\) has no argument '{name}'; known are .*; did you mean '{meant_name}'\?"):
        make(**{name: 1})


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("timeout", r"limits=\{'cpu_s': \.\.\.\}"),
        ("memory_limit", r"limits=\{'memory_bytes': \.\.\.\}"),
        ("wall_s", r"limits=\{'wall_s': \.\.\.\}"),
        ("workers", r"executor_kwargs=\{'workers': \.\.\.\}"),
    ],
)
def test_an_argument_that_belongs_elsewhere_is_told_where(name, hint):
    for make in (make_code_exec, make_code_exec_vec, CodeExecEnv, CodeExecVectorEnv):
        with pytest.raises(TypeError, match=f"has no argument '{name}'; known are .* is given as {hint}"):
            make(**{name: 3})
