"""The info of a step as a flat dict of numbers, which is the form that trackers of experiments take.

Each number is a mean over answers. What is unknown is left out of its mean and never counted as 0.0: an answer without
a verdict neither passed nor failed, and a step without any verdict has no reward. The number is NaN if nothing is
known, so the keys stay the same from step to step.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from code_env.executors.result import Status
from code_env.judging.timing import StepTiming
from code_env.judging.verdict import Outcome, Verdict

from .infos import info_of_one

_READ = ("pending", "verdicts", "valid", "turn", "timing", "reward_terms", "reward_raw")
_SHARES = (*(f"outcome/{one}" for one in Outcome), *(f"status/{one}" for one in Status))
_TIMES = tuple(f"time/{field.name}" for field in dataclasses.fields(StepTiming))
_OF_VERDICTS = ("passed", "score", "tests_passed", "tests_total", "no_code")
_KEYS = ("reward", *_OF_VERDICTS, "valid", "turn", *_SHARES, *_TIMES)


def metrics(info: Mapping[str, Any]) -> dict[str, float]:
    """Return what a tracker shows of a step, as means over the answers whose verdicts came in this step.

    In a vector environment, these are the answers of all environments; for an episode that ended in this step, they are
    read from `info["final_info"]`. An environment whose verdict has not come yet (`info["pending"]`) is left out.
    docs/training.md explains each key. The keys stay the same from step to step; a value is NaN if nothing is known,
    for example `passed` if no answer has a verdict.

    Args:
        info: The info that `step` of `CodeExec-v0`, or of a vector environment of it, has returned.

    Raises:
        TypeError: If it is another info.

    Example:
        >>> import gymnasium as gym
        >>> env = gym.make_vec("code_env:CodeExec-v0", num_envs=2)
        >>> _, info = env.reset(seed=0)
        >>> reference = env.unwrapped.suite.task(info["task_id"][0]).reference
        >>> _, _, _, _, info = env.step((reference, "I cannot do that."))
        >>> found = metrics(info)
        >>> found["passed"], found["reward/tests"], found["no_code"], found["status/timeout"]
        (0.5, 0.5, 0.5, 0.0)
        >>> env.close()
    """
    mean = MetricsMean()
    mean.add(info)
    return mean.values()


class MetricsMean:
    """The means of `metrics` over several steps, in which each answer counts as much as any other."""

    def __init__(self) -> None:
        self.answers = 0
        """The number of answers so far, with or without a verdict; those that are pending are not counted."""
        self._totals = dict.fromkeys(_KEYS, 0.0)
        self._counts = dict.fromkeys(_KEYS, 0)

    def add(self, info: Mapping[str, Any]) -> None:
        """Add the answers of a step.

        Args:
            info: See `metrics`.

        Raises:
            TypeError: If it is another info.
        """
        for one in _each(info):
            for key in _reward_values(one):  # They are known before the first verdict.
                self._totals.setdefault(key, 0.0)
                self._counts.setdefault(key, 0)
            if one["pending"] or "verdicts" not in one:
                continue
            of_step = _of_step(one)
            for verdict in one["verdicts"]:
                self.answers += 1
                for key, value in {**of_step, **_of_answer(verdict)}.items():
                    self._totals[key] += value
                    self._counts[key] += 1

    def values(self) -> dict[str, float]:
        """Return the mean of each key over what is known; NaN if nothing is known."""
        return {
            key: total / self._counts[key] if self._counts[key] else math.nan for key, total in self._totals.items()
        }


def _each(info: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The info of each environment's step, in which an episode may have ended."""
    if not isinstance(info, Mapping) or "pending" not in info:
        what = type(info).__name__
        if isinstance(info, Mapping):
            what = f"a dict with the keys {', '.join(map(str, info))}" if info else "an empty dict"
        raise TypeError(
            "the info of a step of CodeExec-v0, or of a vector environment of it, is expected, which has the key "
            f"'pending'; got {what}. If a wrapper replaces the info, call metrics() on the info of the env inside it"
        )
    if not isinstance(info["pending"], np.ndarray):
        yield info
        return
    final, has_ended = info.get("final_info"), info.get("_final_info")
    count = len(info["pending"])
    ended = np.zeros(count, dtype=bool) if final is None or has_ended is None else has_ended
    going_on, ended_now = _read(info), _read(final or {})
    for index in range(count):
        yield info_of_one(ended_now if ended[index] else going_on, index)


def _read(info: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a vector environment's info that is read here, with its masks."""
    return {key: info[key] for name in _READ for key in (name, f"_{name}") if key in info}


def _reward_values(info: Mapping[str, Any]) -> dict[str, float]:
    terms, raw = info.get("reward_terms", {}), info.get("reward_raw", {})
    return {
        **{f"reward/{name}": float(value) for name, value in terms.items()},
        **{f"reward_raw/{name}": float(value) for name, value in raw.items()},
    }


def _of_step(info: Mapping[str, Any]) -> dict[str, float]:
    """What the answers of one environment's step have in common."""
    timing = dataclasses.astuple(info["timing"])
    known = {"turn": float(info["turn"]), **dict(zip(_TIMES, timing, strict=True))}
    if info["valid"]:
        known |= {"reward": math.fsum(info["reward_terms"].values()), **_reward_values(info)}
    return known


def _of_answer(verdict: Verdict) -> dict[str, float]:
    known = dict.fromkeys(_SHARES, 0.0)
    known[f"outcome/{verdict.outcome}"] = known[f"status/{verdict.execution.status}"] = 1.0
    known["valid"] = float(verdict.valid)
    if verdict.fraction is not None:
        numbers = verdict.passed, verdict.fraction, verdict.tests_passed, verdict.tests_total, not verdict.has_code
        known |= zip(_OF_VERDICTS, map(float, numbers), strict=True)
    return known
