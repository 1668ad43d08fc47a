"""eval-framework's metrics for code, judged by this package's judge.

The protocol is that of https://github.com/Aleph-Alpha-Research/eval-framework, in `src/eval_framework`:
`metrics/completion/code_execution_pass_at_one.py`, `metrics/completion/code_assertion.py` and `tasks/utils.py`. A
completion is a program, not a response, so no code is extracted from it.

eval-framework merges completion and tests into one program, and a parse function searches the output of this program
for success. Here the tests run apart from the completion, unless the context has its own functions for merging and
parsing. Only in that case **success depends on what the program prints**, and a completion can print the same text.
"""

from .assertion import CodeCompletionAssertion
from .contexts import (
    CallableSerializer,
    CodeExecutionBaseContext,
    CodeExecutionPassAtOneContext,
    Completion,
    Error,
    ExecutionResult,
    MetricResult,
    RealtimeCodeExectionContext,
)
from .metrics import CodeExecutionPassAtOne, CodeExecutionPassAtOneWithCodebench, estimate_pass_at_k
from .preparing import BIG_CODE_BENCH_PACKAGE_MAPPING, prepare_packages
from .running import execute_python_code_with_tests

__all__ = [
    "BIG_CODE_BENCH_PACKAGE_MAPPING",
    "CallableSerializer",
    "CodeCompletionAssertion",
    "CodeExecutionBaseContext",
    "CodeExecutionPassAtOne",
    "CodeExecutionPassAtOneContext",
    "CodeExecutionPassAtOneWithCodebench",
    "Completion",
    "Error",
    "ExecutionResult",
    "MetricResult",
    "RealtimeCodeExectionContext",
    "estimate_pass_at_k",
    "execute_python_code_with_tests",
    "prepare_packages",
]
