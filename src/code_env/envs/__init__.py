"""The environments, the space of their observations and actions, and the metrics of a step."""

from .code_exec import CodeExecEnv
from .code_exec_vector import CodeExecVectorEnv
from .code_repl import CodeReplEnv
from .code_repl_vector import CodeReplVectorEnv
from .code_text import CodeText
from .metrics import metrics
from .states import EpisodeState

__all__ = [
    "CodeExecEnv",
    "CodeExecVectorEnv",
    "CodeReplEnv",
    "CodeReplVectorEnv",
    "CodeText",
    "EpisodeState",
    "metrics",
]
