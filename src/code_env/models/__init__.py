"""Language models behind an OpenAI-compatible chat endpoint: they answer tasks, and play episodes."""

from .chat import ChatModel, Completion
from .generating import generate
from .policy import ModelPolicy

__all__ = ["ChatModel", "Completion", "ModelPolicy", "generate"]
