"""Tasks, their tests, and suites of them."""

from .kinds import AnyTest, AssertTest, CallTest, Comparison, OutputTest, StdinTest
from .loading import load_suite
from .suite import Order, TaskOrder, TaskSuite
from .task import MAX_PROMPT_CHARS, Task

__all__ = [
    "MAX_PROMPT_CHARS",
    "AnyTest",
    "AssertTest",
    "CallTest",
    "Comparison",
    "Order",
    "OutputTest",
    "StdinTest",
    "Task",
    "TaskOrder",
    "TaskSuite",
    "load_suite",
]
