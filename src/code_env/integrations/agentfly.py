"""AgentFly's reward `code_reward_test`: 1.0 for a program that runs without a fault, else 0.0.

The protocol is that of https://github.com/Agent-One-Lab/AgentFly, `src/agentfly/rewards/code_reward.py`. The reward
does not check what the program does, so it is not useful as the only reward. AgentFly's decorator `reward` removes the
keywords that the function does not take; without the decorator, the function refuses them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from code_env.executors.base import Executor
from code_env.executors.limits import Limits
from code_env.extract import extract_code
from code_env.judging.judge import ajudge
from code_env.rewards.terms import execution
from code_env.text import clip

from ._common.misspelt import refuse_further
from ._common.runs import output_task, why_ended, with_verdict
from ._common.shared_executor import executor_for

__all__ = ["CodeReward", "code_reward_test"]

LIMITS = Limits(cpu_s=8, wall_s=10, memory_bytes=1 << 30)
"""The limits for a program on AgentFly's Python server."""

_STDOUT_CHARS = 16_384
_STDERR_CHARS = 8_192


class CodeReward(TypedDict):
    """The return value of `code_reward_test`."""

    reward: float
    """1.0 if the program ran without a fault, else 0.0."""
    output: str
    """The program's output; if it had a fault, the exception or the reason why it ended."""


@refuse_further
async def code_reward_test(
    prediction: str,
    context: Any = None,
    *,
    executor: Executor | str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> CodeReward:
    """Run a program and reward it if it runs without a fault.

    Each run is a new process, so no state is left from the runs of a tool or of another reward. Many calls can be
    awaited at once; they share one executor.

    Args:
        prediction: A program, or a response that contains a program: see `extract_code`.
        context: The context of the rollout. If it has an `executor`, as an attribute or a key, programs run there.
        executor: Where the program runs if the context has no executor: an executor, or the name of an executor.
        limits: Limits that replace those of AgentFly's Python server, for example `{"cpu_s": 1}`; see `Limits` for
            their names.

    Raises:
        NoVerdict: If the sandbox failed. The reward is not 0.0 then, because the failure says nothing about the
            program.
        TaskError: If a limit is unknown or out of range.
        TypeError: If the prediction is not text, or a keyword is not an argument of this function.

    Example:
        >>> import asyncio
        >>> asyncio.run(code_reward_test("print('Hello, World!')"))
        {'reward': 1.0, 'output': 'Hello, World!'}
        >>> asyncio.run(code_reward_test("print(undefined_variable)"))
        {'reward': 0.0, 'output': "NameError: name 'undefined_variable' is not defined"}
    """
    carried = context.get("executor") if isinstance(context, Mapping) else getattr(context, "executor", None)
    runs_on = executor_for(executor if carried is None else carried)
    task = output_task("", LIMITS.with_values(limits))
    verdict = with_verdict(await ajudge(task, extract_code(prediction), runs_on, response=prediction))
    result = verdict.execution
    reward = execution(task, verdict)
    if reward:
        parts = clip(result.stdout.strip(), _STDOUT_CHARS), clip(result.stderr.strip(), _STDERR_CHARS)
        return {"reward": reward, "output": "\n".join(part for part in parts if part)}
    why = why_ended(result)
    if result.error is None and result.stderr.strip():  # `sys.exit("why")` writes its text there.
        why += f"\n{result.stderr.strip()}"
    return {"reward": reward, "output": clip(why, _STDERR_CHARS)}
