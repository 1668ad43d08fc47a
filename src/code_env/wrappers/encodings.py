"""Wrappers that give numeric policies numbers: for programs as actions, for prompts as observations.

They go around the rewards, `EncodedObservation` first. `code_env.wrappers.vector` has them for vector environments,
under the same names and with the same arguments.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs

from code_env.encodings import ActionEncoding, CandidateEncoding, Grammar, TemplateEncoding, TextEncoding, TokenEncoding
from code_env.envs.code_text import CodeText
from code_env.errors import EncodingError

from .ledger import ledger_names


class EncodedActions(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Turns numbers into answers, one environment's; what an answer is made of is the encoding's matter."""

    def _wrap(self, env: gym.Env[Any, Any], encoding: ActionEncoding, observe_prompt: bool = True) -> None:
        require_text(env.action_space, "actions", env)
        encoding.require(task.id for task in env.get_wrapper_attr("suite"))
        gym.Wrapper.__init__(self, env)
        self._encoding, self._observe_prompt = encoding, observe_prompt
        self.action_space = encoding.action_space
        self.observation_space = space_with(encoding, env.observation_space, observe_prompt)
        nothing = dict.fromkeys(ledger_names(env), 0.0)
        self._unfinished = {"pending": True, "reward_terms": nothing, "reward_raw": nothing}
        self._inner: Any = None
        self._info: dict[str, Any] = {}
        self._over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        self._inner, info = self.env.reset(seed=seed, options=options)
        self._info, self._over = dict(info), False
        self._encoding.begin(info["task_id"])
        return self._observation(), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action; the answer is judged with the action that completes it.

        Until then the reward is 0.0, as is each entry of its ledger, and `info["pending"]` is True.

        Raises:
            ResetNeeded: If the episode is over.
            EncodingError: If the action is not of this space.
        """
        if self._over:
            raise ResetNeeded("this episode is over, or none has begun; call reset() before step()")
        answer = self._encoding.take(action)
        if answer is None:
            return self._observation(), 0.0, False, False, self._info | copy.deepcopy(self._unfinished)
        self._inner, reward, terminated, truncated, info = self.env.step(answer)
        self._info = {key: info[key] for key in self._info}
        self._over = terminated or truncated
        if not self._over:
            self._encoding.begin(info["task_id"])
        return self._observation(), float(reward), terminated, truncated, info

    def _observation(self) -> Any:
        if self._encoding.written_space is None:
            return self._inner
        return observation_with(self._encoding.written(), self._inner, self._observe_prompt)


class TokenActions(EncodedActions):
    """A program written token by token, by a grammar; an action is a token.

    An observation is `{"prompt": ..., "tokens": ...}`: what the env shows, and the tokens so far. Tokens without a
    choice are written at once. `action_masks()` says which tokens may come next such that the program can still be
    brought to an end within `max_tokens`; sb3-contrib's MaskablePPO finds it by this name. An action that it does not
    allow ends the program where it stands, and what stands there is judged.

    What is written is an answer like any other: where tokens hold fences or thinking tags, make the env with
    `extract="raw"`.

    Args:
        env: The env to wrap, with text as actions.
        grammar: Name of an environment whose folder has a `grammar.txt`, a path, or a `Grammar`, with which `env.spec`
            does not survive JSON.
        max_tokens: Most tokens of a program.
        observe_prompt: Whether the observation holds what the env shows; if not, it is the tokens alone.

    Raises:
        EncodingError: If the env's actions are not text.
        GrammarError: If there is no such grammar, or no program that short.

    Example:
        >>> env = TokenActions(gym.make("code_env:CodeExec-v0", suite="functions"), "functions", observe_prompt=False)
        >>> tokens, info = env.reset(seed=0)
        >>> terminated = False
        >>> while not terminated:
        ...     action = int(env.action_masks().argmax())
        ...     tokens, reward, terminated, truncated, info = env.step(action)
        >>> print(info["verdicts"][0].code.strip())
        def f(a, b):
            return a
        >>> env.close()
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        grammar: Grammar | str | Path,
        max_tokens: int = 32,
        observe_prompt: bool = True,
    ) -> None:
        encoding = TokenEncoding(grammar, max_tokens)
        RecordConstructorArgs.__init__(self, grammar=grammar, max_tokens=max_tokens, observe_prompt=observe_prompt)
        self._wrap(env, encoding, observe_prompt)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Which tokens may come next."""
        return self._encoding.mask()


class TemplateActions(EncodedActions):
    """A program is a template whose slots an action fills.

    Args:
        env: The env to wrap, with text as actions.
        template: The text, with `$name` where a slot is; `$$` is a dollar sign.
        slots: What may fill each slot, by its name.

    Raises:
        EncodingError: If slots and template do not fit, or the env's actions are not text.

    Example:
        >>> env = gym.make("code_env:CodeExec-v0", suite="functions")
        >>> env = TemplateActions(env, "def f(a, b):\\n    return a $op $x", {"op": ["+", "*"], "x": ["a", "b", "1"]})
        >>> env.action_space
        MultiDiscrete([2 3])
        >>> env.close()
    """

    def __init__(self, env: gym.Env[Any, Any], template: str, slots: Mapping[str, Sequence[str]]) -> None:
        encoding = TemplateEncoding(template, slots)
        RecordConstructorArgs.__init__(self, template=template, slots={name: list(slots[name]) for name in slots})
        self._wrap(env, encoding)


class CandidateActions(EncodedActions):
    """A program is one of several that are given.

    Args:
        env: The env to wrap, with text as actions.
        candidates: The programs, or those for each task by its id, as many for each.

    Raises:
        EncodingError: If there are none, or not as many for each task, or the env's actions are not text.

    Example:
        >>> env = gym.make("code_env:CodeExec-v0", suite="functions")
        >>> env = CandidateActions(env, ["def f(a, b): return a", "def f(a, b): return b"])
        >>> env.action_space
        Discrete(2)
        >>> env.close()
    """

    def __init__(self, env: gym.Env[Any, Any], candidates: Sequence[str] | Mapping[str, Sequence[str]]) -> None:
        encoding = CandidateEncoding(candidates)
        RecordConstructorArgs.__init__(self, candidates=candidates)
        self._wrap(env, encoding)


class EncodedObservation(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Shows prompts as numbers: their bytes, or the ids that a tokenizer gives them.

    Shorter text is filled up, and of longer text the middle is left out.

    Args:
        env: The env to wrap, with text as observations.
        length: How many numbers an observation has.
        encode: Turns text into token ids of at least 0, such as a tokenizer's `encode`; None for the bytes of UTF-8.
        vocabulary: How many ids there are, if `encode` is given.
        pad: The number behind shorter text.

    Raises:
        EncodingError: If an argument is out of range, or the env's observations are not text.

    Example:
        >>> env = EncodedObservation(gym.make("code_env:CodeExec-v0", suite="functions"), length=100)
        >>> observation, info = env.reset(seed=0)
        >>> bytes(observation[:17]).decode(), observation in env.observation_space
        ('Write a function ', True)
        >>> env.close()
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        length: int = 512,
        encode: Callable[[str], Sequence[int]] | None = None,
        vocabulary: int | None = None,
        pad: int = 0,
    ) -> None:
        self._encoding = TextEncoding(length, encode, vocabulary, pad)
        # A tokenizer may hold what cannot be copied.
        RecordConstructorArgs.__init__(
            self, length=length, encode=encode, vocabulary=vocabulary, pad=pad, _disable_deepcopy=True
        )
        require_text(env.observation_space, "observations", env)
        gym.Wrapper.__init__(self, env)
        self.observation_space = self._encoding.space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._encoding(observation), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step, and encode what the env shows."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._encoding(observation), float(reward), terminated, truncated, info


def require_text(space: spaces.Space[Any], what: str, env: Any) -> None:
    """Refuse an environment whose actions or observations are not text.

    Raises:
        EncodingError: If they are not.
    """
    if not isinstance(space, CodeText):
        raise EncodingError(
            f"text is encoded, and the {what} of {env} are {space}; an encoding goes around the env and its rewards, "
            "once for actions and, before that, once for observations; samples_per_step must be 1"
        )


def space_with(encoding: ActionEncoding, inner: spaces.Space[Any], observe_prompt: bool) -> spaces.Space[Any]:
    """The space of observations with what is written of an answer, where it takes several actions."""
    if encoding.written_space is None:
        return inner
    if not observe_prompt:
        return encoding.written_space
    return spaces.Dict({"prompt": inner, "tokens": encoding.written_space})


def observation_with(written: npt.NDArray[np.int64], inner: Any, observe_prompt: bool) -> Any:
    """An observation with what is written of an answer; new each time, since each may be kept."""
    if not observe_prompt:
        return written
    return {"prompt": inner.copy() if isinstance(inner, np.ndarray) else inner, "tokens": written}
