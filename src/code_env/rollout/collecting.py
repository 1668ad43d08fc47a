"""`collect`: plays episodes, writes and counts them, and warns when the sandbox fails too often."""

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
from code_env.models import ModelPolicy
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
    """Let a policy play episodes, and write each episode as a JSON line when it has ended.

    A line holds `collection` (the same in all lines), `episode`, `task_id`, `seed`, `return`, `passed`, `valid`,
    `messages`, `turns`, `model` (its name, None unless `policy` is a `ModelPolicy`), and `executor`, `level` and
    `version`. A turn has `observation`, `action`, `finish_reason` (why the model stopped, None unless `policy` is a
    `ModelPolicy`), `reward`, `reward_terms`, and `programs` with what a line of `code-env eval` says of a program too:
    docs/evaluating.md.

    Args:
        vec_env: The result of `gym.make_vec("CodeExec-v0", ...)`, with or without wrappers around it.
        policy: Answers prompts; see `Policy`.
        episodes: How many episodes to collect.
        path: The file; None to write no file.
        seed: Decides which task each episode has.
        order: How tasks are drawn: `shuffle`, `sequential` or `random`.
        group_size: How many episodes in a row have the same task, in consecutive environments. It must divide the
            number of environments and the number of episodes.
        resume: Whether to continue an existing file. If false, an existing file is an error. The file must be of the
            same collection: the same model and settings of it, prompts, limits, rewards and arguments. Other policies
            are not told apart.
        alarm_rate: If the share of episodes without a verdict among the last 100 is above this rate, there is an alarm.
        on_episode: Called with each line, as a mapping.
        on_progress: Called with the summary so far, after each step.
        on_alarm: Called with a message when the sandbox fails too often; by default a `SandboxAlarm` warning is issued.

    Returns:
        The summary of the collection.

    Raises:
        RolloutError: If the file exists and `resume` is false, or if the file belongs to something else, is in use, or
            cannot be written. Also if an argument is wrong, or the policy returns something wrong.

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
    model = policy.model if isinstance(policy, ModelPolicy) else None
    plan = Plan(vec_env, base, episodes, seed, order, group_size, model)
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
