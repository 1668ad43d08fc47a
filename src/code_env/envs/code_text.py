"""The space of prompts and programs: any text up to a fixed length."""

from __future__ import annotations

import reprlib
import string
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import CustomSpaceError
from gymnasium.vector.utils import create_shared_memory

from code_env.tasks.task import MAX_PROMPT_CHARS

_SAMPLE_CHARS = string.ascii_letters + string.digits + " \n()=:+-*,."
_LONGEST_SAMPLE = 256


class CodeText(spaces.Text):
    """Text of any characters, up to `max_length` of them.

    `spaces.Text` needs a charset: its default has no space character, and a charset with all of Unicode takes seconds
    to build. This space checks only the length, because real prompts and programs may contain any character. Samples
    are short and consist of plain characters.

    Args:
        max_length: The largest number of characters, inclusive.
        seed: Seed for sampling.

    Example:
        >>> "print('λ')" in CodeText(), CodeText(3)
        (True, CodeText(3))
    """

    def __init__(self, max_length: int = MAX_PROMPT_CHARS, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length, min_length=0, charset=_SAMPLE_CHARS, seed=seed)

    def contains(self, x: Any) -> bool:
        """Whether `x` is text of an allowed length."""
        return isinstance(x, str) and len(x) <= self.max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A short random text."""
        if mask is not None or probability is not None:
            return str(super().sample(mask, probability))
        length = int(self.np_random.integers(min(self.max_length, _LONGEST_SAMPLE) + 1))
        return "".join(self.np_random.choice(list(_SAMPLE_CHARS), size=length))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CodeText) and self.max_length == other.max_length

    __hash__ = None  # type: ignore[assignment]  # As for every space, which holds a generator.

    def __repr__(self) -> str:
        return f"CodeText({self.max_length})"


# A flattened text has its code points plus one, and then zeros. Gymnasium's functions for `spaces.Text` know only the
# characters of the charset, which here are the characters of samples.


@spaces.flatten_space.register(CodeText)
def _flat_space(space: CodeText) -> spaces.Box:
    return spaces.Box(0, sys.maxunicode + 1, (space.max_length,), np.int32)


@spaces.flatten.register(CodeText)
def _flattened(space: CodeText, x: str) -> npt.NDArray[np.int32]:  # type: ignore[misc]  # As Gymnasium's own for `Text`.
    if x not in space:
        raise ValueError(f"text of at most {space.max_length} characters was expected; got {reprlib.repr(x)}")
    flat = np.zeros(space.max_length, np.int32)
    flat[: len(x)] = [ord(character) + 1 for character in x]
    return flat


@spaces.unflatten.register(CodeText)
def _unflattened(space: CodeText, x: npt.NDArray[Any]) -> str:  # type: ignore[misc]
    return "".join(chr(number - 1) for number in x.tolist() if number)


@create_shared_memory.register(CodeText)
def _refuse_shared_memory(space: CodeText, n: int = 1, ctx: Any = None) -> Any:
    # Gymnasium decodes shared text only once, when the vector env is built, and never updates it.
    raise CustomSpaceError(
        "CodeText cannot be kept in shared memory; build AsyncVectorEnv with shared_memory=False, or call gym.make_vec "
        "with vector_kwargs={'shared_memory': False}"
    )
