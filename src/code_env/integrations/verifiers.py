"""verifiers: `CodeTaskset`, the tasks of a suite for verifiers (v1) and prime-rl.

A taskset loads tasks, and each task scores the trace of a rollout: https://github.com/PrimeIntellect-ai/verifiers,
`verifiers/v1/task.py` and `taskset.py` (0.4). verifiers finds a taskset by the name of a module that exports one:

    # my_tasks.py
    from code_env.integrations.verifiers import CodeTaskset

    __all__ = ["CodeTaskset"]

If there is no verdict, an exception is recorded in the trace, and trainers leave the rollout out. This module needs the
extra `verifiers`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from code_env.tasks.loading import load_suite
from code_env.tasks.trainer_rows import task_from_text

from ._common.runs import with_verdict
from ._common.scoring import ascore, refuse_groups

try:
    import verifiers.v1 as vf  # type: ignore[import-not-found, unused-ignore]
except ImportError as error:
    raise ImportError(
        f"code_env.integrations.verifiers needs verifiers: pip install code-exec-env[verifiers] ({error})"
    ) from error

__all__ = ["CodeTask", "CodeTaskConfig", "CodeTaskData", "CodeTaskset", "CodeTasksetConfig"]


class CodeTaskConfig(vf.TaskConfig):  # type: ignore[misc, unused-ignore]
    """How answers are scored, under `--env.taskset.task.*`."""

    code_rewards: dict[str, Any] | None = None
    """As `rewards` of `gym.make_vec`; the default is the share of tests passed."""
    executor: str | None = None
    """The name of the executor where programs run; the default executor if None."""
    limits: dict[str, float] | None = None
    """Limits that replace the tasks' own, for example `{"cpu_s": 1}`; see `Limits` for their names."""


class CodeTasksetConfig(vf.TasksetConfig):  # type: ignore[misc, unused-ignore]
    """Which tasks there are, under `--env.taskset.*`."""

    suite: str = "starter"
    """The name of a suite, or a path; see `load_suite`."""
    format: str | None = None
    """The format of the suite's file; found out if None."""
    task: CodeTaskConfig = CodeTaskConfig()


class CodeTaskData(vf.TaskData):  # type: ignore[misc, unused-ignore]
    """What verifiers sends and records of a task."""

    task: str
    """The task as JSON text, as `TaskSuite.to_rows` writes it."""


class CodeTask(vf.Task[CodeTaskData, vf.State, CodeTaskConfig]):  # type: ignore[misc, unused-ignore]
    """One task. It scores the last message of the policy."""

    @property
    def key(self) -> str:
        """The task's id, which is unique in its suite."""
        return str(self.data.id)

    @vf.reward  # type: ignore[untyped-decorator, unused-ignore]
    async def code(self, trace: vf.Trace) -> dict[str, float]:
        """Return the rewards by their names, and record `passed`, `tests_passed` and `no_code` as metrics.

        Raises:
            NoVerdict: If the sandbox failed. The failure says nothing about the answer.
            CodeEnvError: If the rewards, the limits or the executor do not exist or do not fit.
        """
        refuse_groups(self.config.code_rewards, "verifiers scores each sample alone")
        task = task_from_text(self.data.task)
        settings = self.config.code_rewards, self.config.executor, self.config.limits
        (judged,) = await ascore([task], [trace.last_reply], *settings)
        with_verdict(judged.verdict)
        trace.record_metrics(judged.metrics)
        return dict(judged.terms)

    async def validate(self, runtime: vf.Runtime) -> bool | None:
        """Return whether the task's reference passes; None if it has none."""
        task = task_from_text(self.data.task)
        if not task.reference:
            return None
        (judged,) = await ascore([task], [task.reference], None, self.config.executor, self.config.limits)
        return with_verdict(judged.verdict).passed


class CodeTaskset(vf.Taskset[CodeTask, CodeTasksetConfig]):  # type: ignore[misc, unused-ignore]
    """The tasks of a suite."""

    def load(self) -> Iterator[CodeTask]:
        """Yield the tasks."""
        suite = load_suite(self.config.suite, format=self.config.format)
        for task, row in zip(suite, suite.to_rows("trl"), strict=True):
            data = CodeTaskData(id=task.id, name=task.id, prompt=task.prompt, task=row["task"])
            yield CodeTask(data, self.config.task)
