"""The environments, and the space of their texts."""

from .code_exec import CodeExecEnv
from .code_text import CodeText

__all__ = ["CodeExecEnv", "CodeText"]
