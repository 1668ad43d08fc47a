"""Encodings of actions: each encoding turns the actions of a numeric policy into the answers of one environment."""

from __future__ import annotations

import abc
import string
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from code_env.errors import EncodingError, GrammarError

from .grammar import Grammar, load_grammar


class ActionEncoding(abc.ABC):
    """Turns actions into the answers of one environment."""

    action_space: spaces.Space[Any]
    """The space of the actions."""

    written_space: spaces.MultiDiscrete | None = None
    """The space of the tokens so far, which a policy sees; None if each answer takes only one action."""

    def require(self, task_ids: Iterable[str]) -> None:  # noqa: B027  # Most encodings can answer any task.
        """Check that there can be answers to these tasks.

        Raises:
            EncodingError: If a task cannot have an answer.
        """

    def begin(self, task_id: str) -> None:  # noqa: B027  # Most encodings need nothing here.
        """Begin an answer to a task."""

    @abc.abstractmethod
    def check(self, action: Any) -> None:
        """Refuse a wrong action.

        Raises:
            EncodingError: If the action is not in the action space.
        """

    @abc.abstractmethod
    def take(self, action: Any) -> str | None:
        """Take an action; return the answer if it is now complete, otherwise None.

        Raises:
            EncodingError: If the action is not in the action space.
        """

    def mask(self) -> npt.NDArray[np.bool_]:
        """Return which actions are allowed now, as one flag for each action."""
        raise EncodingError(f"{type(self).__name__} allows every action of {self.action_space} at any time")

    def written(self) -> npt.NDArray[np.int64]:
        """Return the tokens of the answer so far, as an element of `written_space`."""
        raise EncodingError(f"{type(self).__name__} writes each answer with one action")


class TokenEncoding(ActionEncoding):
    """Actions write an answer token by token; each action is a token of the grammar.

    If only one token is possible, it is written at once. An action that the mask does not allow ends the answer as it
    is at that point.

    Args:
        grammar: The grammar, or an argument for `load_grammar`.
        max_tokens: The largest number of tokens in an answer, including tokens that are written at once.

    Raises:
        GrammarError: If the grammar is not found, or all its programs have more than `max_tokens` tokens.

    Example:
        >>> encoding = TokenEncoding(Grammar("sum: 'a' more NEWLINE\\nmore: | '+' 'a' more"), max_tokens=4)
        >>> encoding.begin("any")
        >>> encoding.grammar.tokens, encoding.mask(), encoding.take(2), encoding.mask()
        (('a', 'NEWLINE', '+'), array([False,  True,  True]), 'a + a\\n', array([False, False, False]))
    """

    action_space: spaces.Discrete
    written_space: spaces.MultiDiscrete

    def __init__(self, grammar: Grammar | str | Path, max_tokens: int) -> None:
        self.grammar = grammar if isinstance(grammar, Grammar) else load_grammar(grammar)
        least = self.grammar.least(self.grammar.start)
        if type(max_tokens) is not int or max_tokens < least:
            raise GrammarError(
                f"max_tokens must be a whole number of at least {least}, the shortest program's tokens; "
                f"got {max_tokens!r}"
            )
        self._max_tokens = max_tokens
        self._numbers = {token: number for number, token in enumerate(self.grammar.tokens)}
        self.action_space = spaces.Discrete(len(self.grammar.tokens))
        self.written_space = spaces.MultiDiscrete([len(self.grammar.tokens) + 1] * max_tokens)
        self._tokens: list[str] = []
        self._rest = self.grammar.start
        self.begin("")
        if not self._rest:
            raise GrammarError(f"within {max_tokens} tokens the grammar leaves no choice: there is one program only")

    def begin(self, task_id: str) -> None:
        """Begin a new answer; the tokens do not depend on the task."""
        self._tokens, self._rest = [], self.grammar.start
        self._write_forced()

    def check(self, action: Any) -> None:
        """Refuse an action that is not the number of a token."""
        number_in(self.action_space, action)

    def take(self, action: Any) -> str | None:
        """Write a token; return the program if it is complete, or if the token is not allowed."""
        token = self.grammar.tokens[number_in(self.action_space, action)]
        if token not in self._allowed():
            return self.grammar.render(self._tokens)
        self._write(token)
        self._write_forced()
        return None if self._rest else self.grammar.render(self._tokens)

    def mask(self) -> npt.NDArray[np.bool_]:
        """Return which tokens are possible: with them, the program can still end within `max_tokens`."""
        mask = np.zeros(len(self.grammar.tokens), dtype=np.bool_)
        mask[[self._numbers[token] for token in self._allowed()]] = True
        return mask

    def written(self) -> npt.NDArray[np.int64]:
        """Return the tokens so far, each as its action plus 1; 0 for tokens that are not written yet."""
        written = np.zeros(self._max_tokens, dtype=np.int64)
        written[: len(self._tokens)] = [self._numbers[token] + 1 for token in self._tokens]
        return written

    def _allowed(self) -> list[str]:
        left = self._max_tokens - len(self._tokens) - 1
        return [token for token, least in self.grammar.next_tokens(self._rest) if least <= left]

    def _write(self, token: str) -> None:
        rest = self.grammar.after(self._rest, token)
        if rest is None:
            raise GrammarError(f"{token!r} may not come next")
        self._tokens.append(token)
        self._rest = rest

    def _write_forced(self) -> None:
        while len(allowed := self._allowed()) == 1:
            self._write(allowed[0])


class TemplateEncoding(ActionEncoding):
    """An answer is a template; an action fills its slots.

    Args:
        template: The text, with `$name` for each slot; `$$` is a dollar sign. See `string.Template`.
        slots: The texts that can fill each slot, by the name of the slot.

    Raises:
        EncodingError: If slots and template do not fit together.

    Example:
        >>> encoding = TemplateEncoding("def f(a, b): return a $op $x", {"op": ["+", "-"], "x": ["a", "b"]})
        >>> encoding.action_space, encoding.take([1, 1])
        (MultiDiscrete([2 2]), 'def f(a, b): return a - b')
    """

    action_space: spaces.MultiDiscrete

    def __init__(self, template: str, slots: Mapping[str, Sequence[str]]) -> None:
        self._template = string.Template(template)
        named = self._template.get_identifiers() if self._template.is_valid() else []
        if not slots or set(named) != set(slots):
            raise EncodingError(
                f"the template's slots ($name) and those that are filled must be the same; it has {sorted(named)}, "
                f"filled are {sorted(slots)}; a dollar sign of its own is written $$"
            )
        self._slots = {name: _texts(f"slots[{name!r}]", texts) for name, texts in slots.items()}
        self.action_space = spaces.MultiDiscrete([len(texts) for texts in self._slots.values()])

    def check(self, action: Any) -> None:
        """Refuse an action that does not fill each slot."""
        try:
            numbers = np.asarray(action)
        except ValueError:  # Nested lists have different lengths.
            numbers = np.array(None)
        if numbers.dtype.kind not in "iu" or not self.action_space.contains(numbers.astype(np.int64)):
            raise EncodingError(f"an action of {self.action_space} was expected; got {action!r}")

    def take(self, action: Any) -> str:
        """Return the template with its slots filled; the action has a number for each slot, in the order of `slots`."""
        self.check(action)
        filled = zip(self._slots.items(), np.asarray(action).tolist(), strict=True)
        return self._template.substitute({name: texts[number] for (name, texts), number in filled})


class CandidateEncoding(ActionEncoding):
    """An action chooses an answer from a given list.

    Args:
        candidates: The answers, or the answers to each task by its id; the same number for each task.

    Raises:
        EncodingError: If there are no answers, or tasks have different numbers of answers.

    Example:
        >>> encoding = CandidateEncoding(["def f(a): return a", "def f(a): return -a"])
        >>> encoding.action_space, encoding.take(1)
        (Discrete(2), 'def f(a): return -a')
    """

    action_space: spaces.Discrete

    def __init__(self, candidates: Sequence[str] | Mapping[str, Sequence[str]]) -> None:
        self._by_task = None
        if isinstance(candidates, Mapping):
            self._by_task = {key: _texts(f"candidates[{key!r}]", texts) for key, texts in candidates.items()}
            counts = {len(texts) for texts in self._by_task.values()}
            if not counts:
                raise EncodingError("candidates must be there for some task; there are none")
            if len(counts) != 1:
                raise EncodingError(f"each task needs as many candidates as the others; got {sorted(counts)}")
            self._candidates = next(iter(self._by_task.values()))
        else:
            self._candidates = _texts("candidates", candidates)
        self.action_space = spaces.Discrete(len(self._candidates))

    def require(self, task_ids: Iterable[str]) -> None:
        """Check that there are candidates for these tasks."""
        missing = [] if self._by_task is None else [repr(name) for name in task_ids if name not in self._by_task]
        if missing:
            raise EncodingError(f"there are no candidates for {', '.join(missing)}; give some, or filter the suite")

    def begin(self, task_id: str) -> None:
        """Use the candidates of a task.

        Raises:
            EncodingError: If the task has no candidates.
        """
        self.require([task_id])
        if self._by_task is not None:
            self._candidates = self._by_task[task_id]

    def check(self, action: Any) -> None:
        """Refuse an action that is not the number of a candidate."""
        number_in(self.action_space, action)

    def take(self, action: Any) -> str:
        """Return the candidate with this number."""
        return self._candidates[number_in(self.action_space, action)]


def number_in(space: spaces.Discrete, action: Any) -> int:
    """Return an action of a discrete space as an int.

    Raises:
        EncodingError: If the action is not in the space.
    """
    number = np.asarray(action)
    if number.shape != () or number.dtype.kind not in "iu" or not 0 <= number < space.n:
        raise EncodingError(f"an action of {space} was expected; got {action!r}")
    return int(number)


def _texts(name: str, texts: Any) -> tuple[str, ...]:
    if isinstance(texts, str) or not isinstance(texts, Sequence) or not texts:
        raise EncodingError(f"{name} must be a list of texts, at least one; got {texts!r}")
    if not all(isinstance(text, str) for text in texts):
        raise EncodingError(f"{name} must be a list of texts; got {texts!r}")
    return tuple(texts)
