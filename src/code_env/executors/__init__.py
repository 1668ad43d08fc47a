"""Executors run programs. No other code in the package starts processes from the trainer's process."""

from .base import Executor, Isolation
from .limits import Limits
from .program import Program
from .registry import executor_names, make_executor
from .result import CellResult, ErrorInfo, ExecutionResult, Status

__all__ = [
    "CellResult",
    "ErrorInfo",
    "ExecutionResult",
    "Executor",
    "Isolation",
    "Limits",
    "Program",
    "Status",
    "executor_names",
    "make_executor",
]
