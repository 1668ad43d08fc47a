"""Language models behind an OpenAI-compatible chat endpoint: they answer tasks, and play episodes."""

from code_env.field_docs import show_fields

from .chat import ChatModel, Completion
from .generating import generate
from .policy import ModelPolicy

__all__ = ["ChatModel", "Completion", "ModelPolicy", "generate"]

for _name in __all__:
    show_fields(globals()[_name])
