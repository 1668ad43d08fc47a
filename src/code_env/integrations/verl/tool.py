"""`CellTool`: a tool for verl's agent loop, with which a policy runs cells in a session and hands in solutions.

verl (0.9.1, `verl/experimental/agent_loop/tool_agent_loop.py`) calls `create`, `execute` and `release` for each call of
a tool, and gives `execute` the data of the trajectory. So a session belongs to the trajectory, and ends when verl drops
that data. Earlier versions call `create`, `calc_reward` and `release` once for each trajectory and give no such data;
there a session belongs to the instance. This module imports verl, which loads it by the tool's `class_name`.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from code_env.checks import names_keywords, require_whole
from code_env.errors import TaskError
from code_env.executors.limits import Limits

from .._common.cells import Cells, require_sessions
from .._common.runs import with_verdict
from .._common.scoring import require_settings
from .._common.shared_executor import executor_for
from .._common.submissions import Submissions
from .scores import task_of

try:
    from verl.tools.base_tool import BaseTool
    from verl.tools.schemas import OpenAIFunctionToolSchema, ToolResponse
    from verl.utils.rollout_trace import rollout_trace_op
except ImportError as error:
    raise ImportError(f"code_env.integrations.verl.tool needs verl, which cannot be imported ({error})") from error

__all__ = ["CellTool"]

_SCHEMA = {
    "type": "function",
    "function": {
        "name": "run_cell",
        "description": "Run a cell in a Python interpreter, which keeps variables, imports and files for the cells "
        "after it. Or hand in a solution, which is then tested on its own.",
        "parameters": {
            "type": "object",
            "properties": {
                "code": {
                    "type": "string",
                    "description": "The cell, or the whole solution. If a cell ends with an expression, its value is "
                    "shown.",
                },
                "submit": {
                    "type": "boolean",
                    "description": "Whether `code` is handed in as the solution. The last one counts.",
                },
            },
            "required": ["code"],
        },
    },
}


@names_keywords
@dataclass(frozen=True)
class _Config:
    type: str = "native"
    """verl's word for tools that are classes."""
    rewards: Mapping[str, Any] | None = None
    executor: str | None = None
    limits: Mapping[str, Any] | None = None
    max_submissions: int = 3


@dataclass(eq=False)
class _Instance:
    """What a trajectory has: its session, and what it has handed in."""

    cells: Cells
    submissions: Submissions | None
    of_trajectory: bool = False
    """Whether it stays when verl releases it after a call, because further calls of its trajectory may come."""


class CellTool(BaseTool):  # type: ignore[misc, unused-ignore]
    """A tool that runs cells, and judges what is handed in; verl makes it from its file of tools.

    A cell is run in a session of its own for each trajectory. A solution is judged in a fresh jail.

    Args:
        config: `rewards`, `executor` (a name) and `limits` as for `compute_score`; `max_submissions`, the number of
            solutions with a verdict that a policy may hand in, 3 by default; and verl's `type`.
        tool_schema: How the tool is described to the policy; by default as the function `run_cell(code, submit)`.

    Raises:
        TypeError: If the config has another key.
        CodeEnvError: If a value does not exist or does not fit, or the executor has no sessions.
    """

    def __init__(self, config: Mapping[str, Any], tool_schema: Any = None) -> None:
        self._config = _Config(**config)
        require_whole("max_submissions", self._config.max_submissions, TaskError, least=1)
        require_settings(self._config.rewards, self._config.executor, self._config.limits)
        require_sessions(self._config.executor)
        super().__init__(config, tool_schema)
        self._instances: dict[str, _Instance] = {}
        self._trajectories: weakref.WeakKeyDictionary[Any, _Instance] = weakref.WeakKeyDictionary()

    def get_openai_tool_schema(self) -> Any:
        """Return how the tool is described to the policy."""
        return OpenAIFunctionToolSchema.model_validate(_SCHEMA)

    async def create(
        self, instance_id: str | None = None, create_kwargs: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> tuple[str, Any]:
        """Begin an instance; its session begins with the first cell.

        Args:
            instance_id: Its id; a new one if None.
            create_kwargs: What the row of the data set has for it, in `tools_kwargs`: `ground_truth` as for
                `compute_score`. Without it, nothing can be handed in.
            kwargs: The same, from versions of verl that spread it.

        Raises:
            TaskError: If the ground truth is malformed.
        """
        given, config = {**kwargs, **(create_kwargs or {})}, self._config
        submissions, limits, files = None, Limits(), {}
        if (truth := given.get("ground_truth")) is not None:
            task = task_of(truth, given.get("extra_info"))
            limits, files = task.limits, dict(task.files)
            submissions = Submissions(task, config.max_submissions, config.rewards, config.executor, config.limits)
        instance_id = instance_id or str(uuid4())
        cells = Cells(executor_for(config.executor), limits.with_values(config.limits), files)
        self._instances[instance_id] = _Instance(cells, submissions)
        return instance_id, ToolResponse()

    @rollout_trace_op  # type: ignore[untyped-decorator, unused-ignore]
    async def execute(
        self, instance_id: str, parameters: Mapping[str, Any], agent_data: Any = None, **kwargs: Any
    ) -> tuple[Any, float | None, dict[str, float]]:
        """Run a cell, or judge a solution.

        Args:
            instance_id: An instance.
            parameters: What the policy wrote: `code`, and `submit`.
            agent_data: The trajectory's data, if verl gives it.
            kwargs: What else verl gives; not used.

        Returns:
            The reply to the policy; the reward of a solution, None if there is no verdict on it, and 0.0 for a cell;
            and numbers about a solution.

        Raises:
            CodeEnvError: If the executor is closed, or has no sessions.
        """
        instance, code = self._instance(instance_id, agent_data), parameters.get("code")
        if parameters.get("submit") is not True:
            return ToolResponse(text=await asyncio.to_thread(instance.cells.run, code)), 0.0, {}
        if instance.submissions is None:
            return ToolResponse(text="Nothing can be handed in with this tool; answer in words."), 0.0, {}
        told, one = await asyncio.to_thread(instance.submissions.hand_in, code)
        if one is None:
            return ToolResponse(text=told), 0.0, {}
        return ToolResponse(text=told), one.reward, one.metrics if one.valid else {}

    async def calc_reward(self, instance_id: str, **kwargs: Any) -> float:
        """Return the reward of the last solution that was handed in; 0.0 if there is none.

        Args:
            instance_id: An instance.
            kwargs: What else verl gives; not used.

        Raises:
            NoVerdict: If the sandbox failed when it was to be judged.
        """
        submissions = self._instances[instance_id].submissions
        if submissions is None or submissions.last is None:
            return 0.0
        with_verdict(submissions.last.verdict)
        return submissions.last.reward or 0.0

    async def release(self, instance_id: str, **kwargs: Any) -> None:
        """End an instance, and its session if that does not belong to a trajectory.

        Args:
            instance_id: An instance; an unknown one is no error.
            kwargs: What else verl gives; not used.
        """
        instance = self._instances.pop(instance_id, None)
        if instance is not None and not instance.of_trajectory:
            await asyncio.to_thread(instance.cells.close)

    def _instance(self, instance_id: str, agent_data: Any) -> _Instance:
        """Return the trajectory's instance, which takes the place of the one that was begun for this call."""
        instance = self._instances[instance_id]
        if agent_data is None:
            return instance
        known = self._trajectories.get(agent_data)
        if known is None:
            self._trajectories[agent_data] = known = instance
            instance.of_trajectory = True
            weakref.finalize(agent_data, instance.cells.close)
        self._instances[instance_id] = known
        return known
