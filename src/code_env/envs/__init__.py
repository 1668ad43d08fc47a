"""The environments, and the space of their texts."""

from .code_exec import CodeExecEnv
from .code_exec_vector import CodeExecVectorEnv
from .code_text import CodeText
from .episodes import StepTiming

__all__ = ["CodeExecEnv", "CodeExecVectorEnv", "CodeText", "StepTiming"]
