"""`code-env run`: play episodes and show them."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import typer

from code_env import evaluation
from code_env.envs.rendering import step_panels
from code_env.executors.result import Status
from code_env.extract import answer_fence, as_answer, extract_code
from code_env.judging.verdict import Outcome, Verdict
from code_env.tasks import Task, TaskSuite
from code_env.text import first_line

from .application import app
from .console import (
    JsonOption,
    TimeoutOption,
    WorkersOption,
    limits_of,
    note_isolation,
    out,
    print_json,
    say,
    user_errors,
)
from .environments import make_environment

_MOST_TOLD = 160
"""How many characters of the reason are shown in a line."""


@app.command()
def run(
    env: Annotated[str, typer.Argument(help="Name of an environment (`starter`), a Gymnasium id, or a file of tasks.")],
    samples: Annotated[
        Path | None, typer.Option("--samples", "-s", help="Play completions from this file of JSON lines.")
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option(
            "--episodes", "-n", min=1, help="How many episodes to play; by default one for each task or sample."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the first reset.")] = 0,
    full: Annotated[bool, typer.Option("--full", help="Show prompt, program and every case.")] = False,
    executor: Annotated[
        str | None, typer.Option("--executor", "-e", help="Name of the executor; the environment's own by default.")
    ] = None,
    workers: WorkersOption = None,
    timeout: TimeoutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play episodes with the reference solutions, or with completions from a file.

    Example: code-env run starter --episodes 3
    """
    with user_errors(), contextlib.closing(make_environment(env, executor, workers, limits_of(timeout))) as made:
        note_isolation(made.unwrapped.executor)
        suite: TaskSuite = made.get_wrapper_attr("suite")
        chosen = evaluation.read_samples(samples, suite) if samples else evaluation.reference_samples(suite)
        steps: list[dict[str, Any]] = []
        played = 0
        for sample in itertools.islice(chosen, episodes):
            made.reset(seed=None if played else seed, options={"task_id": sample.task_id})
            played += 1
            for task, reward, info in _play(made, sample.completion):
                steps.append(_step_row(task, reward, info))
                if not as_json:
                    _show(task, steps[-1], info, full)
    mean = sum(step["reward"] for step in steps) / played
    if as_json:
        print_json({"episodes": played, "mean_reward": mean, "steps": steps})
        return
    count = "1 episode" if played == 1 else f"{played} episodes"
    say(f"{count}, mean reward {mean:.3f}")


def _play(env: gym.Env[Any, Any], completion: str) -> Iterator[tuple[Task, float, dict[str, Any]]]:
    """Play one episode with the same completion in each turn; yield the task, the reward and the info of each step.

    Where there is a session, the completion is the answer, and no cell is run.
    """
    over, rules = False, env.get_wrapper_attr("rules")
    if rules.needs_sessions and answer_fence(completion) is None:
        completion = as_answer(extract_code(completion, extract=rules.extract))
    while not over:
        _, reward, terminated, truncated, info = env.step(completion)
        over = terminated or truncated
        yield env.get_wrapper_attr("suite").task(info["task_id"]), float(reward), info


def _step_row(task: Task, reward: float, info: dict[str, Any]) -> dict[str, Any]:
    return {
        "task_id": task.id,
        "outcome": info["outcome"],
        "tests_passed": info["tests_passed"],
        "tests_total": info["tests_total"],
        "reward": reward,
        "reward_terms": {name: float(value) for name, value in info["reward_terms"].items()},
        "why": _why(info["verdicts"][0]),
    }


def _show(task: Task, step: dict[str, Any], info: dict[str, Any], full: bool) -> None:
    if full:
        out.print(step_panels(task, info))
        return
    terms = " + ".join(f"{name} {value:.3f}" for name, value in step["reward_terms"].items())
    cases = f"{step['tests_passed']}/{step['tests_total']}"
    line = f"{task.id:<28} {step['outcome']:<12} {cases:>7}  reward {step['reward']:.3f} = {terms or '0'}"
    say(
        f"{line}  {step['why']}".rstrip(),
        {Outcome.PASS: "green", Outcome.NO_VERDICT: "yellow"}.get(step["outcome"], "red"),
    )


def _why(verdict: Verdict) -> str:
    """Why a program did not pass, in a line; empty if it passed."""
    error = verdict.execution.error
    if verdict.execution.status is Status.REFUSED and error is not None:
        told = error.message  # The first rule that it broke.
    else:
        told = next((case.message for case in verdict.cases if not case.passed), error.message if error else "")
    return first_line(told, _MOST_TOLD)
