"""`collect`: has episodes played, written down, counted and watched over."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gymnasium.vector import VectorEnv

from code_env.checks import require_whole
from code_env.envs.code_exec_vector import CodeExecVectorEnv
from code_env.errors import RolloutError
from code_env.tasks.suite import Order

from .plan import Plan
from .playing import Player, Policy
from .summary import Alarm, RolloutSummary, SandboxAlarm
from .trajectory_file import TrajectoryFile


def collect(
    vec_env: VectorEnv[Any, Any, Any],
    policy: Policy,
    episodes: int,
    path: str | Path | None = None,
    *,
    seed: int = 0,
    order: Order = "shuffle",
    group_size: int = 1,
    resume: bool = False,
    alarm_rate: float = 0.05,
    on_episode: Callable[[dict[str, Any]], None] | None = None,
    on_progress: Callable[[RolloutSummary], None] | None = None,
    on_alarm: Callable[[str], None] | None = None,
) -> RolloutSummary:
    """Have a policy play episodes, and write each as a JSON line when it has ended.

    A line holds `collection` (the same in all), `episode`, `task_id`, `seed`, `return`, `passed`, `valid` and `turns`.
    A turn has `observation`, `action`, `reward`, `reward_terms`, and under `programs` for each program `outcome`,
    `status`, `has_code`, `fraction`, `tests_passed` and `tests_total`.

    Args:
        vec_env: What `gym.make_vec("CodeExec-v0", ...)` gives, with wrappers around it or not.
        policy: Answers prompts.
        episodes: How many there are to be.
        path: The file; None to write none.
        seed: Decides which task each episode has.
        order: How tasks are drawn: `shuffle`, `sequential` or `random`.
        group_size: How many episodes in a row have the same task, in consecutive environments; divides their number.
        resume: Whether to go on with a file that there is. Without, that is an error.
        alarm_rate: Share of the last 100 episodes without a verdict above which there is an alarm.
        on_episode: Is given each line as a mapping.
        on_progress: Is told how far it is, after each step.
        on_alarm: Is told when the sandbox fails too often; a `SandboxAlarm` is warned of by default.

    Returns:
        What it came to.

    Raises:
        RolloutError: If the file is there and not to be gone on with, belongs to something else, is in use, or
            cannot be written; or if an argument or what the policy gives does not fit.

    Example:
        >>> import gymnasium as gym
        >>> env = gym.make_vec("code_env:CodeExec-v0", num_envs=4)
        >>> suite = env.unwrapped.suite
        >>> def references(prompts, infos):
        ...     return [suite.task(info["task_id"]).reference for info in infos]
        >>> summary = collect(env, references, episodes=6)
        >>> env.close()
        >>> summary.collected, summary.pass_rate, summary.statuses
        (6, 1.0, Counter({'ok': 6}))
    """
    base = vec_env.unwrapped
    if not isinstance(base, CodeExecVectorEnv):
        raise RolloutError(f"collect needs a CodeExecVectorEnv, as gym.make_vec gives it; got {vec_env}")
    require_whole("episodes", episodes, RolloutError, least=1)
    if type(group_size) is not int or group_size < 1 or base.num_envs % group_size or episodes % group_size:
        raise RolloutError(
            f"group_size must divide num_envs={base.num_envs} and episodes={episodes}; got {group_size!r}"
        )
    plan = Plan(vec_env, base, episodes, seed, order, group_size)
    alarm = Alarm(alarm_rate)
    summary = RolloutSummary(episodes)
    with contextlib.ExitStack() as stack:
        file = None if path is None else stack.enter_context(TrajectoryFile.opened(Path(path), resume, plan))
        found = [] if file is None else file.found
        for row in found:
            summary.add(row)
        summary.resumed = len(found)
        there = {row["episode"] for row in found}
        missing = [group for group in plan.groups() if group[0] not in there]
        player = Player(vec_env, base, policy, plan, missing)
        began = time.monotonic()
        for rows in player.play():
            if file is not None:
                file.write(rows)
            for row in rows:
                summary.add(row)
                summary.collected += 1
                message = alarm.message(row)
                if message is not None:
                    summary.alarms += 1
                    (on_alarm or _warn)(message)
                if on_episode is not None:
                    on_episode(row)
            summary.steps, summary.seconds = player.steps, time.monotonic() - began
            summary.timing = player.timing
            if on_progress is not None:
                on_progress(summary)
    return summary


def _warn(message: str) -> None:
    warnings.warn(message, SandboxAlarm, stacklevel=3)
