"""`code-env run`: play episodes and show them."""

from __future__ import annotations

import contextlib
import itertools
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import typer

from code_env import evaluation
from code_env.envs.rendering import step_panels
from code_env.executors.result import Status
from code_env.tasks import TaskSuite

from .application import app
from .console import TimeoutOption, WorkersOption, limits_of, out, say, user_errors
from .environments import make_environment

_MOST_TOLD = 160
"""How many characters of a broken rule are shown in a line."""


@app.command()
def run(
    env: Annotated[str, typer.Argument(help="Name of an environment (`starter`), a Gymnasium id, or a file of tasks.")],
    samples: Annotated[
        Path | None, typer.Option("--samples", "-s", help="Play completions from this file of JSON lines.")
    ] = None,
    episodes: Annotated[int | None, typer.Option("--episodes", "-n", min=1, help="All by default.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the first reset.")] = 0,
    full: Annotated[bool, typer.Option("--full", help="Show prompt, program and every case.")] = False,
    executor: Annotated[
        str | None, typer.Option("--executor", "-e", help="Name of the executor; the environment's own by default.")
    ] = None,
    workers: WorkersOption = None,
    timeout: TimeoutOption = None,
) -> None:
    """Play episodes with the reference solutions, or with completions from a file."""
    with user_errors(), contextlib.closing(make_environment(env, executor, workers, limits_of(timeout))) as made:
        suite: TaskSuite = made.get_wrapper_attr("suite")
        chosen = evaluation.read_samples(samples, suite) if samples else evaluation.reference_samples(suite)
        rewards = []
        for number, sample in enumerate(itertools.islice(chosen, episodes)):
            made.reset(seed=seed if number == 0 else None, options={"task_id": sample.task_id})
            rewards.append(_play(made, sample.completion, full))
    count = "1 episode" if len(rewards) == 1 else f"{len(rewards)} episodes"
    say(f"{count}, mean reward {sum(rewards) / len(rewards):.3f}")


def _play(env: gym.Env[Any, Any], completion: str, full: bool) -> float:
    """Play one episode with the same completion in each turn, and show each step."""
    total, over = 0.0, False
    while not over:
        _, reward, terminated, truncated, info = env.step(completion)
        total, over = total + float(reward), terminated or truncated
        task = env.get_wrapper_attr("suite").task(info["task_id"])
        if full:
            out.print(step_panels(task, info))
            continue
        terms = " + ".join(f"{name} {value:.3f}" for name, value in info["reward_terms"].items())
        cases = f"{info['tests_passed']}/{info['tests_total']}"
        say(f"{task.id:<28} {info['outcome']:<12} {cases:>7}  reward {reward:.3f} = {terms or '0'}{_refusal(info)}")
    return total


def _refusal(info: dict[str, Any]) -> str:
    """The first rule that a refused program has broken, as the end of a line; empty for other programs."""
    ran = [verdict.execution for verdict in info.get("verdicts", ())]
    errors = [execution.error for execution in ran if execution.status is Status.REFUSED]
    told = next((error.message for error in errors if error is not None), "").partition("\n")[0]
    return f"  {told[:_MOST_TOLD]}" if told else ""
