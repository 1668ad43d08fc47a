"""Tasks, their tests, and suites of them."""

from .comparison import Comparison
from .formats.code_env import row_from_task, save_suite
from .kinds import (
    AnyTest,
    AssertTest,
    CallTest,
    CellTest,
    CheckerTest,
    FileTest,
    HarborTest,
    InsightTest,
    OutputTest,
    StdinTest,
)
from .loading import load_suite
from .suite import Order, TaskOrder, TaskSuite
from .task import MAX_PROMPT_CHARS, Task

__all__ = [
    "MAX_PROMPT_CHARS",
    "AnyTest",
    "AssertTest",
    "CallTest",
    "CellTest",
    "CheckerTest",
    "Comparison",
    "FileTest",
    "HarborTest",
    "InsightTest",
    "Order",
    "OutputTest",
    "StdinTest",
    "Task",
    "TaskOrder",
    "TaskSuite",
    "load_suite",
    "row_from_task",
    "save_suite",
]
