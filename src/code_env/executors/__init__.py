"""Executors run programs; nowhere else does the trainer's process start others."""

from .base import Executor, Isolation
from .program import Limits, Program
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
