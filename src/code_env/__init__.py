"""A Gymnasium environment for reinforcement learning on code.

Importing this package registers `CodeExec-v0` and an environment for each folder in `envs/`::

    import gymnasium as gym
    import code_env

    env = gym.make("CodeExec-v0")
"""

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as _version

from code_env.envs import CodeExecEnv, CodeText
from code_env.errors import (
    CodeEnvError,
    DuplicateRewardTerm,
    ExecutorClosed,
    ExecutorError,
    ExecutorNotFound,
    IsolationUnavailable,
    RewardError,
    SuiteNotFound,
    TaskError,
    TaskNotFound,
    UnsupportedProgram,
)
from code_env.executors import (
    ErrorInfo,
    ExecutionResult,
    Executor,
    Isolation,
    Limits,
    Program,
    Status,
    executor_names,
    make_executor,
)
from code_env.extract import extract_code
from code_env.judging import (
    CaseResult,
    FindingKind,
    Outcome,
    Validation,
    ValidationFinding,
    Verdict,
    ajudge,
    ajudge_many,
    judge,
    judge_each,
    judge_many,
    validate,
)
from code_env.registration import register_environments
from code_env.rewards import PassAtK, mean_pass_at_k, output_similarity, pass_at_k, pass_fraction, similarity
from code_env.tasks import (
    AssertTest,
    CallTest,
    CheckerTest,
    Comparison,
    OutputTest,
    StdinTest,
    Task,
    TaskSuite,
    load_suite,
    row_from_task,
    save_suite,
)
from code_env.wrappers import ExecutionReward, OutputSimilarityReward, PassFractionReward, TermReward

try:
    __version__ = _version("code-exec-env")
except PackageNotFoundError:  # A checkout on the path that nobody installed.
    __version__ = "0+unknown"

__all__ = [
    "AssertTest",
    "CallTest",
    "CaseResult",
    "CheckerTest",
    "CodeEnvError",
    "CodeExecEnv",
    "CodeText",
    "Comparison",
    "DuplicateRewardTerm",
    "ErrorInfo",
    "ExecutionResult",
    "ExecutionReward",
    "Executor",
    "ExecutorClosed",
    "ExecutorError",
    "ExecutorNotFound",
    "FindingKind",
    "Isolation",
    "IsolationUnavailable",
    "Limits",
    "Outcome",
    "OutputSimilarityReward",
    "OutputTest",
    "PassAtK",
    "PassFractionReward",
    "Program",
    "RewardError",
    "Status",
    "StdinTest",
    "SuiteNotFound",
    "Task",
    "TaskError",
    "TaskNotFound",
    "TaskSuite",
    "TermReward",
    "UnsupportedProgram",
    "Validation",
    "ValidationFinding",
    "Verdict",
    "ajudge",
    "ajudge_many",
    "executor_names",
    "extract_code",
    "judge",
    "judge_each",
    "judge_many",
    "load_suite",
    "make_executor",
    "mean_pass_at_k",
    "output_similarity",
    "pass_at_k",
    "pass_fraction",
    "row_from_task",
    "save_suite",
    "similarity",
    "validate",
]

register_environments()
