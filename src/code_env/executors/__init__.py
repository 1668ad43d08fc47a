"""Executors run programs; this is the only place of the package that starts processes."""

from .base import Executor, Isolation
from .program import Limits, Program
from .registry import executor_names, make_executor
from .result import ErrorInfo, ExecutionResult, Status

__all__ = [
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
