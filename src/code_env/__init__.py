"""A Gymnasium environment for reinforcement learning on code.

Importing this package registers `CodeExec-v0`, `CodeRepair-v0` and an environment for each folder in `envs/`::

    import gymnasium as gym
    import code_env

    env = gym.make("CodeExec-v0")
"""

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as _version

from code_env.envs import CodeExecEnv, CodeExecVectorEnv, CodeText, StepTiming
from code_env.errors import (
    CodeEnvError,
    DuplicateRewardTerm,
    ExecutorClosed,
    ExecutorError,
    ExecutorNotFound,
    IsolationUnavailable,
    NoVerdict,
    RewardError,
    SuiteNotFound,
    TaskError,
    TaskNotFound,
    UnsupportedProgram,
)
from code_env.executors import (
    CellResult,
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
    Stage,
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
from code_env.rewards import (
    PassAtK,
    brevity,
    estimate_pass_at_k,
    max_at_k_rewards,
    mean_pass_at_k,
    output_similarity,
    pass_at_k,
    pass_at_k_bounds,
    pass_at_k_rewards,
    pass_at_k_standard_error,
    pass_fraction,
    similarity,
    well_formed,
)
from code_env.tasks import (
    AssertTest,
    CallTest,
    CellTest,
    CheckerTest,
    Comparison,
    FileTest,
    InsightTest,
    OutputTest,
    StdinTest,
    Task,
    TaskSuite,
    load_suite,
    row_from_task,
    save_suite,
)
from code_env.wrappers import (
    ClipReward,
    ExecutionReward,
    FormatReward,
    GateReward,
    LengthReward,
    OutputSimilarityReward,
    PassAtKReward,
    PassFractionReward,
    PotentialReward,
    RecordPassAtK,
    ScheduledReward,
    TermReward,
)

try:
    __version__ = _version("code-exec-env")
except PackageNotFoundError:  # A checkout on the path that nobody installed.
    __version__ = "0+unknown"

__all__ = [
    "AssertTest",
    "CallTest",
    "CaseResult",
    "CellResult",
    "CellTest",
    "CheckerTest",
    "ClipReward",
    "CodeEnvError",
    "CodeExecEnv",
    "CodeExecVectorEnv",
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
    "FileTest",
    "FindingKind",
    "FormatReward",
    "GateReward",
    "InsightTest",
    "Isolation",
    "IsolationUnavailable",
    "LengthReward",
    "Limits",
    "NoVerdict",
    "Outcome",
    "OutputSimilarityReward",
    "OutputTest",
    "PassAtK",
    "PassAtKReward",
    "PassFractionReward",
    "PotentialReward",
    "Program",
    "RecordPassAtK",
    "RewardError",
    "ScheduledReward",
    "Stage",
    "Status",
    "StdinTest",
    "StepTiming",
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
    "brevity",
    "estimate_pass_at_k",
    "executor_names",
    "extract_code",
    "judge",
    "judge_each",
    "judge_many",
    "load_suite",
    "make_executor",
    "max_at_k_rewards",
    "mean_pass_at_k",
    "output_similarity",
    "pass_at_k",
    "pass_at_k_bounds",
    "pass_at_k_rewards",
    "pass_at_k_standard_error",
    "pass_fraction",
    "row_from_task",
    "save_suite",
    "similarity",
    "validate",
    "well_formed",
]

register_environments()
