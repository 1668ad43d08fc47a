"""The environments, the space of their observations and actions, and the metrics of a step."""

from .code_exec import CodeExecEnv
from .code_exec_vector import CodeExecVectorEnv
from .code_text import CodeText
from .metrics import metrics

__all__ = ["CodeExecEnv", "CodeExecVectorEnv", "CodeText", "metrics"]
