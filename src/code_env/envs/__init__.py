"""The environments, and the space of their observations and actions."""

from .code_exec import CodeExecEnv
from .code_exec_vector import CodeExecVectorEnv
from .code_text import CodeText

__all__ = ["CodeExecEnv", "CodeExecVectorEnv", "CodeText"]
