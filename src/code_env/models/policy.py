"""A model as the policy of a collection of trajectories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .chat import ChatModel


class ModelPolicy:
    """Answers the prompts of `collect` by a model, all prompts of a step at the same time.

    Args:
        model: The model.
    """

    def __init__(self, model: ChatModel) -> None:
        self.model = model
        """The model."""
        self.prompt_tokens = self.completion_tokens = 0
        """Tokens of all conversations and of all answers so far."""
        self.finish_reasons: list[str | None] = []
        """Why the model stopped, for each answer of the last call; see `Completion.finish_reason`."""

    def __call__(self, observations: Sequence[str], infos: Sequence[dict[str, Any]]) -> list[str]:
        """Return one answer for each prompt. The model gets the conversation in `info["messages"]`.

        Raises:
            ModelError: If the model gives no answer.
        """
        answers = [""] * len(infos)
        self.finish_reasons = [None] * len(infos)
        for number, completion in self.model.complete_each(info["messages"] for info in infos):
            answers[number] = completion.text
            self.finish_reasons[number] = completion.finish_reason
            self.prompt_tokens += completion.prompt_tokens
            self.completion_tokens += completion.completion_tokens
        return answers
