"""Wrappers for numeric policies: actions are numbers instead of programs, observations are numbers instead of prompts.

Put them around the reward wrappers, and put `EncodedObservation` inside the wrapper for actions.
`code_env.wrappers.vector` has the same wrappers for vector environments, with the same names and arguments.
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
    """Turns the actions of one environment into answers, by an encoding."""

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
        """Take an action; if it completes the answer, the answer is judged.

        Otherwise, the reward and each entry of its ledger are 0.0, and `info["pending"]` is True.

        Raises:
            ResetNeeded: If the episode is over.
            EncodingError: If the action is not in the action space.
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
    """Actions write a program token by token, by a grammar; each action is a token.

    An observation is `{"prompt": ..., "tokens": ...}`: the env's observation, and the tokens so far. If only one token
    is possible, it is written at once. `action_masks()` returns which tokens are possible: with them, the program can
    still end within `max_tokens`. sb3-contrib's MaskablePPO finds the method by this name. An action that the mask does
    not allow ends the program, and the program is judged as it is at that point.

    The text of the program is an answer like any other. If tokens contain fences or thinking tags, make the env with
    `extract="raw"`.

    Args:
        env: The env to wrap, with text as actions.
        grammar: The name of an environment whose folder has a `grammar.txt`, a path, or a `Grammar`. With a `Grammar`,
            `env.spec` cannot be stored as JSON.
        max_tokens: The largest number of tokens in a program.
        observe_prompt: Whether the observation contains the env's observation; if not, it is only the tokens.

    Raises:
        EncodingError: If the env's actions are not text.
        GrammarError: If the grammar is not found, or all its programs have more than `max_tokens` tokens.

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
        """Return which tokens are possible now."""
        return self._encoding.mask()


class TemplateActions(EncodedActions):
    """A program is a template; an action fills its slots.

    Args:
        env: The env to wrap, with text as actions.
        template: The text, with `$name` for each slot; `$$` is a dollar sign.
        slots: The texts that can fill each slot, by the name of the slot.

    Raises:
        EncodingError: If slots and template do not fit together, or the env's actions are not text.

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
    """An action chooses a program from a given list.

    Args:
        env: The env to wrap, with text as actions.
        candidates: The programs, or the programs for each task by its id; the same number for each task.

    Raises:
        EncodingError: If there are no programs, tasks have different numbers of programs, or the env's actions are not
            text.

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
    """Shows prompts as numbers: as their bytes, or as the token ids that a tokenizer returns.

    Shorter text is padded at its end, and longer text loses its middle.

    Args:
        env: The env to wrap, with text as observations.
        length: How many numbers an observation has.
        encode: Turns text into token ids of at least 0, like a tokenizer's `encode`; None for the bytes of UTF-8.
        vocabulary: The number of token ids, if `encode` is given.
        pad: The number that is appended to shorter text.

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
        # Some tokenizers cannot be copied.
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
        """Step, and encode the observation."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._encoding(observation), float(reward), terminated, truncated, info


def require_text(space: spaces.Space[Any], what: str, env: Any) -> None:
    """Refuse an environment whose actions or observations are not text.

    Raises:
        EncodingError: If they are not text.
    """
    if not isinstance(space, CodeText):
        raise EncodingError(
            f"text is encoded, and the {what} of {env} are {space}; an encoding goes around the env and its rewards, "
            "once for actions and, before that, once for observations; samples_per_step must be 1"
        )


def space_with(encoding: ActionEncoding, inner: spaces.Space[Any], observe_prompt: bool) -> spaces.Space[Any]:
    """Return the observation space; it includes the tokens so far if an answer takes several actions."""
    if encoding.written_space is None:
        return inner
    if not observe_prompt:
        return encoding.written_space
    return spaces.Dict({"prompt": inner, "tokens": encoding.written_space})


def observation_with(written: npt.NDArray[np.int64], inner: Any, observe_prompt: bool) -> Any:
    """Return an observation with the tokens so far. It is a new object each time, because the caller can keep it."""
    if not observe_prompt:
        return written
    return {"prompt": inner.copy() if isinstance(inner, np.ndarray) else inner, "tokens": written}
