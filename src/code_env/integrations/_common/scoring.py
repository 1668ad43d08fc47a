"""Computes the rewards for the reward functions of trainers, by one step of a vector environment.

A trainer passes tasks and responses. They become the tasks and the actions of a `CodeExecVectorEnv` with one turn. So,
for any `rewards`, a reward is the same as that of `env.step` for the same response. A response without a verdict has no
reward; each integration reports this to its trainer in the trainer's own way.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from code_env.envs.code_exec_vector import MAX_ENVS
from code_env.errors import (
    ExecutorClosed,
    ExecutorError,
    ExecutorMisconfigured,
    ExecutorNotFound,
    IsolationUnavailable,
    RewardError,
    TooManySessions,
    UnsupportedProgram,
)
from code_env.executors.base import Executor, Isolation
from code_env.executors.program import Program
from code_env.executors.registry import executor_names, make_executor
from code_env.executors.result import ErrorInfo, ExecutionResult, Status
from code_env.judging.report import no_verdict
from code_env.judging.verdict import Verdict
from code_env.registration import DEFAULT_REWARDS, make_code_exec_vec
from code_env.tasks.kinds import FileTest, InsightTest, OutputTest
from code_env.tasks.suite import TaskSuite
from code_env.tasks.task import REFERENCE_CPU_S, REFERENCE_MEMORY_BYTES, Task

from .runs import tell_of_missing_code, why_no_verdict
from .shared_executor import executor_for

_log = logging.getLogger(__name__)

_REST_OF_THE_DATA = Task(
    "the rest of the data",
    "",
    (OutputTest(""), FileTest("x"), InsightTest("x")),
    reference="x",
    metadata={REFERENCE_CPU_S: 1.0, REFERENCE_MEMORY_BYTES: 1},
)
"""A task that stands for the tasks of other batches. An environment refuses a reward if no task of its suite has the
data that the reward needs, and it is chance whether a batch has a task with this data. No response is for this task."""

MISUSE = (
    *(ExecutorClosed, ExecutorMisconfigured, ExecutorNotFound),
    *(IsolationUnavailable, TooManySessions, UnsupportedProgram),
)
"""Errors about the setup, whose messages say how to correct it. Going on without rewards would only hide them."""


@dataclass(frozen=True)
class Score:
    """The score of a response."""

    reward: float | None
    """The reward that `env.step` gives for the response; None if there is no verdict."""
    terms: Mapping[str, float]
    """The part of the reward that comes from each entry of `rewards`; empty if there is no verdict."""
    verdict: Verdict
    """The judge's verdict."""

    @property
    def valid(self) -> bool:
        """Whether there is a verdict."""
        return self.verdict.valid

    @property
    def metrics(self) -> dict[str, float]:
        """What a trainer logs of the verdict: `passed`, `tests_passed` (the share of tests) and `no_code`."""
        return {
            "passed": float(self.verdict.passed),
            "tests_passed": float(self.verdict.fraction or 0.0),
            "no_code": float(not self.verdict.has_code),
        }


def score(
    tasks: Sequence[Task],
    responses: Sequence[str],
    rewards: Mapping[str, Any] | None = None,
    executor: Executor | str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> list[Score]:
    """Return the score of each response.

    Args:
        tasks: The task of each response. Different tasks can have the same id, for example if they are from two data
            sets.
        responses: The texts that the policy wrote.
        rewards: As for `gym.make_vec`; the default is the share of tests passed. The samples of a group, for
            `group_pass@k`, must be consecutive.
        executor: Where programs run: an executor, which the caller must close, the name of an executor, or None for the
            default executor, which all calls share.
        limits: Limits that replace the tasks' own limits, for example `{"cpu_s": 1}`; see `Limits` for their names.

    Raises:
        CodeEnvError: If the rewards, the limits or the executor do not exist or do not fit. `schedule` never fits.
        TypeError: If a response is not text.
        ValueError: If the numbers of tasks and responses differ.

    Example:
        >>> from code_env import OutputTest
        >>> task = Task("one", "Print 1.", (OutputTest("1"),))
        >>> [one.reward for one in score([task, task], ["print(1)", "print(2)"])]
        [1.0, 0.0]
    """
    if len(tasks) != len(responses):
        raise ValueError(f"each response needs one task; got {len(responses)} responses and {len(tasks)} tasks")
    for response in responses:
        if not isinstance(response, str):
            raise TypeError(f"a response is text (str); got {type(response).__name__}")
    rewards = checked_rewards(rewards)
    runs_on = executor_for(executor)
    size = _most_at_once(rewards)
    scores: list[Score] = []
    for first in range(0, len(tasks), size):
        part = slice(first, first + size)
        scores += _scored(tasks[part], responses[part], rewards, runs_on, limits)
    tell_of_missing_code([one.verdict for one in scores])
    missing = [one.verdict for one in scores if not one.valid]
    if missing:
        _log.warning("%d of %d responses have no verdict: %s", len(missing), len(scores), why_no_verdict(missing[0]))
    return scores


async def ascore(
    tasks: Sequence[Task],
    responses: Sequence[str],
    rewards: Mapping[str, Any] | None = None,
    executor: Executor | str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> list[Score]:
    """Return the same as `score`, without blocking the event loop."""
    return await asyncio.to_thread(score, tasks, responses, rewards, executor, limits)


def checked_rewards(rewards: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the given rewards, or the default rewards for None.

    Raises:
        RewardError: If they are not a mapping, or contain `schedule`, which depends on the number of steps: a reward
            function has no steps.
    """
    if rewards is None:
        return DEFAULT_REWARDS
    if not isinstance(rewards, Mapping):
        raise RewardError(
            f"rewards must be a mapping from name to weight, such as {{'tests': 1.0}}; got {type(rewards).__name__}"
        )
    if "schedule" in rewards:
        raise RewardError(
            "'schedule' changes a weight from step to step of an environment, and a reward function has no steps; give "
            "the weight of the phase of training instead, with a function for each"
        )
    return rewards


def refuse_groups(rewards: Mapping[str, Any] | None, why: str) -> None:
    """Refuse rewards that compare samples, because the trainer scores one sample at a time.

    Raises:
        RewardError: If a reward compares samples.
    """
    for name in rewards if isinstance(rewards, Mapping) else ():
        if str(name).startswith("group_"):
            raise RewardError(f"reward {name!r} compares samples for one task, and {why}; pass@1 rewards a pass")


def require_settings(
    rewards: Mapping[str, Any] | None, executor: Executor | str | None, limits: Mapping[str, Any] | None = None
) -> None:
    """Check that the rewards, the executor and the limits exist and fit, for samples that are scored one at a time.

    Raises:
        CodeEnvError: If they do not exist or do not fit.
        TypeError: If `executor` is neither an executor, nor the name of an executor, nor None.
    """
    refuse_groups(rewards, "each is scored alone here")
    suite = TaskSuite("settings", [_REST_OF_THE_DATA])
    try:
        made = make_code_exec_vec(1, suite, executor_for(executor), rewards=checked_rewards(rewards), limits=limits)
        made.close()
    except MISUSE:
        raise
    except ExecutorError as error:  # Not an error of the settings: if the sandbox fails, there are only no verdicts.
        _log.warning("the executor cannot be asked what it isolates: %s", error)


def require_rewards(
    rewards: Mapping[str, Any] | None, executor: Executor | str | None, limits: Mapping[str, Any] | None = None
) -> None:
    """Check that the rewards and the limits exist and fit, and that the executor has a known name. Starts nothing.

    Raises:
        CodeEnvError: If they do not exist or do not fit.
    """
    rewards = checked_rewards(rewards)
    suite = TaskSuite("settings", [_REST_OF_THE_DATA])
    make_code_exec_vec(_group_of(rewards), suite, _NotRun(), rewards=rewards, limits=limits).close()
    if isinstance(executor, str) and executor not in executor_names():
        make_executor(executor)  # Its message says which names are known.


class _NotRun(Executor):
    """Stands for any executor while settings are checked."""

    def submit(self, program: Program) -> Future[ExecutionResult]:
        raise UnsupportedProgram("this executor runs nothing")

    def describe(self) -> Isolation:
        return Isolation(level="none", peer="isolated")

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


def _scored(
    tasks: Sequence[Task],
    responses: Sequence[str],
    rewards: Mapping[str, Any],
    executor: Executor,
    limits: Mapping[str, Any] | None,
) -> list[Score]:
    suite, ids = _suite(tasks)
    try:
        # New episodes begin after the step, but nobody plays them. `random` draws their tasks at the least cost.
        env = make_code_exec_vec(len(tasks), suite, executor, rewards=rewards, order="random", limits=limits)
        try:
            env.reset(seed=0, options={"task_ids": ids})
            _, values, _, _, infos = env.step(tuple(responses))
        finally:
            env.close()
    except MISUSE:
        raise
    except ExecutorError as error:  # The executor's server cannot be started, so nothing was judged.
        fault = ExecutionResult(Status.SANDBOX_ERROR, error=ErrorInfo(type(error).__name__, str(error)))
        return [
            Score(None, {}, no_verdict(task, response, "", fault))
            for task, response in zip(tasks, responses, strict=True)
        ]
    final = infos["final_info"]
    terms = {name: added for name, added in final["reward_terms"].items() if f"_{name}" in final["reward_terms"]}
    return [
        Score(float(values[index]), {name: float(added[index]) for name, added in terms.items()}, verdict)
        if verdict.valid
        else Score(None, {}, verdict)
        for index, (verdict,) in enumerate(final["verdicts"])
    ]


def _suite(tasks: Sequence[Task]) -> tuple[TaskSuite, list[str]]:
    """Return a suite that has each task once, under a unique id, and the id of each given task."""
    named = {_REST_OF_THE_DATA.id: _REST_OF_THE_DATA}
    ids = []
    for task in tasks:
        name, number = task.id, 1
        while (known := named.setdefault(name, task)) is not task and known != task:
            number += 1
            name = f"{task.id} ({number})"
        ids.append(name)
    own = (task if task.id == name else dataclasses.replace(task, id=name) for name, task in named.items())
    return TaskSuite("batch", own), ids


def _most_at_once(rewards: Mapping[str, Any]) -> int:
    """Return how many responses one environment takes: as many as fit without splitting a group."""
    whole = _group_of(rewards)
    return MAX_ENVS // whole * whole


def _group_of(rewards: Mapping[str, Any]) -> int:
    """Return the least number of responses that all groups divide; an environment refuses groups that are too large."""
    sizes = [given.get("group_size") for given in rewards.values() if isinstance(given, Mapping)]
    whole = math.lcm(*(size for size in sizes if type(size) is int and size > 0), 2)
    return whole if whole <= MAX_ENVS else MAX_ENVS
