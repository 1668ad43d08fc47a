"""The wrappers of `encodings.py` for vector environments; `vector.py` exports them under the same names.

An environment whose answer is not complete gets None in a step, and waits; see `CodeExecVectorEnv.step_async`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from code_env.encodings import ActionEncoding, CandidateEncoding, Grammar, TemplateEncoding, TextEncoding, TokenEncoding
from code_env.errors import EncodingError

from .encodings import observation_with, require_text, space_with
from .ledger import StepVectorWrapper


class EncodedActionsOfMany(StepVectorWrapper):
    """Turns actions into answers; each environment has an encoding of its own.

    Args:
        env: The vector environment.
        make_encoding: Makes the encoding of one environment.
        observe_prompt: See `TokenActions`.
    """

    def __init__(
        self, env: VectorEnv[Any, Any, Any], make_encoding: Callable[[], ActionEncoding], observe_prompt: bool = True
    ) -> None:
        _require_many(env)
        require_text(env.single_action_space, "actions", env)
        if env.metadata.get("autoreset_mode") is not AutoresetMode.SAME_STEP:
            raise EncodingError(f"an environment that begins anew in the same step is expected (SAME_STEP); got {env}")
        VectorWrapper.__init__(self, env)
        self._encodings = [make_encoding() for _ in range(env.num_envs)]
        self._encodings[0].require(task.id for task in env.unwrapped.suite)  # type: ignore[attr-defined]
        self._observe_prompt = observe_prompt
        encoding = self._encodings[0]
        self.single_action_space = encoding.action_space
        self.action_space = batch_space(encoding.action_space, env.num_envs)
        self.single_observation_space = space_with(encoding, env.single_observation_space, observe_prompt)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)
        self._judged = [False] * env.num_envs
        """For each environment, whether its answer was sent and has no verdict yet."""

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin episodes; see `CodeExecVectorEnv.reset`."""
        mask = (options or {}).get("reset_mask")
        observations, info = super().reset(seed=seed, options=options)
        for index, encoding in enumerate(self._encodings):
            if mask is None or mask[index]:
                encoding.begin(info["task_id"][index])
                self._judged[index] = False
        return self._observations(observations), info

    def step(self, actions: Any) -> Any:
        """Take an action for each environment; see `TokenActions.step`."""
        return self.after(self.env.step(self._answers(actions)))

    def step_async(self, actions: Any) -> None:
        """Begin a step; see `CodeExecVectorEnv.step_async`."""
        super().step_async(self._answers(actions))

    def after(self, step: Any) -> Any:
        """Return the step, with the tokens so far in each observation."""
        observations, rewards, terminated, truncated, info = step
        ended = terminated | truncated
        if ended.any() and self._encodings[0].written_space is not None:
            final = info["final_obs"]
            for index in np.flatnonzero(ended).tolist():
                written = self._encodings[index].written()
                final[index] = observation_with(written, final[index], self._observe_prompt)
        for index, encoding in enumerate(self._encodings):
            if self._judged[index] and (ended[index] or not info["pending"][index]):
                self._judged[index] = False
                encoding.begin(info["task_id"][index])
        return self._observations(observations), rewards, terminated, truncated, info

    def _answers(self, actions: Any) -> list[str | None]:
        count = self.num_envs
        if not isinstance(actions, list | tuple | np.ndarray) or np.shape(actions)[:1] != (count,):
            raise EncodingError(
                f"actions must be num_envs={count} actions of {self.single_action_space}; got {actions!r}"
            )
        for encoding, action in zip(self._encodings, actions, strict=True):
            encoding.check(action)  # All actions are checked first, so that a wrong action changes nothing.
        answers: list[str | None] = []
        for index, encoding in enumerate(self._encodings):
            answer = None if self._judged[index] else encoding.take(actions[index])
            self._judged[index] = self._judged[index] or answer is not None
            answers.append(answer)
        return answers

    def _observations(self, inner: Any) -> Any:
        if self._encodings[0].written_space is None:
            return inner
        written = np.stack([encoding.written() for encoding in self._encodings])
        return observation_with(written, inner, self._observe_prompt)


class TokenActions(EncodedActionsOfMany):
    """As `code_env.wrappers.TokenActions`, for vector environments."""

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        grammar: Grammar | str | Path,
        max_tokens: int = 32,
        observe_prompt: bool = True,
    ) -> None:
        read = TokenEncoding(grammar, max_tokens).grammar
        super().__init__(env, lambda: TokenEncoding(read, max_tokens), observe_prompt)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return which tokens are possible now, in one row for each environment.

        If a program is complete and has no verdict yet, its row allows every token, because the action is ignored.
        """
        return np.stack(
            [encoding.mask() | judged for encoding, judged in zip(self._encodings, self._judged, strict=True)]
        )


class TemplateActions(EncodedActionsOfMany):
    """As `code_env.wrappers.TemplateActions`, for vector environments."""

    def __init__(self, env: VectorEnv[Any, Any, Any], template: str, slots: Mapping[str, Sequence[str]]) -> None:
        super().__init__(env, lambda: TemplateEncoding(template, slots))


class CandidateActions(EncodedActionsOfMany):
    """As `code_env.wrappers.CandidateActions`, for vector environments."""

    def __init__(self, env: VectorEnv[Any, Any, Any], candidates: Sequence[str] | Mapping[str, Sequence[str]]) -> None:
        super().__init__(env, lambda: CandidateEncoding(candidates))


class EncodedObservation(StepVectorWrapper):
    """As `code_env.wrappers.EncodedObservation`, for vector environments."""

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        length: int = 512,
        encode: Callable[[str], Sequence[int]] | None = None,
        vocabulary: int | None = None,
        pad: int = 0,
    ) -> None:
        _require_many(env)
        require_text(env.single_observation_space, "observations", env)
        VectorWrapper.__init__(self, env)
        self._encoding = TextEncoding(length, encode, vocabulary, pad)
        self.single_observation_space = self._encoding.space
        self.observation_space = batch_space(self._encoding.space, env.num_envs)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin episodes; see `CodeExecVectorEnv.reset`."""
        observations, info = super().reset(seed=seed, options=options)
        return self._encoded(observations), info

    def after(self, step: Any) -> Any:
        """Return the step, with encoded observations."""
        observations, rewards, terminated, truncated, info = step
        if "final_obs" in info:
            for index in np.flatnonzero(terminated | truncated).tolist():
                info["final_obs"][index] = self._encoding(info["final_obs"][index])
        return self._encoded(observations), rewards, terminated, truncated, info

    def _encoded(self, texts: Sequence[str]) -> npt.NDArray[Any]:
        return np.stack([self._encoding(text) for text in texts])


def _require_many(env: Any) -> None:
    if not isinstance(env, VectorEnv):
        raise EncodingError(f"this wraps a vector environment; got {env}; its twin in code_env.wrappers wraps that")
