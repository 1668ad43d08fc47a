"""Programs out of numbers: each encoding turns the actions of a numeric policy into the answers of one environment."""

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
    """The actions."""

    written_space: spaces.MultiDiscrete | None = None
    """What a policy is shown of an answer that takes several actions; None where one is enough."""

    def require(self, task_ids: Iterable[str]) -> None:  # noqa: B027  # Most answer any.
        """See that there can be answers to these tasks.

        Raises:
            EncodingError: If there cannot.
        """

    def begin(self, task_id: str) -> None:  # noqa: B027  # Most need nothing.
        """An answer to a task begins."""

    @abc.abstractmethod
    def check(self, action: Any) -> None:
        """Refuse what is no action.

        Raises:
            EncodingError: If it is none.
        """

    @abc.abstractmethod
    def take(self, action: Any) -> str | None:
        """The answer that an action completes; None if it completes none.

        Raises:
            EncodingError: If it is no such action.
        """

    def mask(self) -> npt.NDArray[np.bool_]:
        """Which actions are allowed now, for a space of as many."""
        raise EncodingError(f"{type(self).__name__} allows every action of {self.action_space} at any time")

    def written(self) -> npt.NDArray[np.int64]:
        """What is written of the answer, in `written_space`."""
        raise EncodingError(f"{type(self).__name__} writes each answer with one action")


class TokenEncoding(ActionEncoding):
    """An answer is written token by token; an action is a token of the grammar.

    Where the grammar leaves no choice, the token is written at once. An action outside the mask ends the answer as it
    stands.

    Args:
        grammar: The grammar, or what `load_grammar` takes.
        max_tokens: Most tokens of an answer, those without a choice included.

    Raises:
        GrammarError: If there is no such grammar, or no program that short.

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
        """Begin anew; what is to be written has nothing to do with the task."""
        self._tokens, self._rest = [], self.grammar.start
        self._write_forced()

    def check(self, action: Any) -> None:
        """Refuse what is no number of a token."""
        number_in(self.action_space, action)

    def take(self, action: Any) -> str | None:
        """Write a token; the program, if that is its last."""
        token = self.grammar.tokens[number_in(self.action_space, action)]
        if token not in self._allowed():
            return self.grammar.render(self._tokens)
        self._write(token)
        self._write_forced()
        return None if self._rest else self.grammar.render(self._tokens)

    def mask(self) -> npt.NDArray[np.bool_]:
        """Which tokens may come next, such that the program can still be brought to an end."""
        mask = np.zeros(len(self.grammar.tokens), dtype=np.bool_)
        mask[[self._numbers[token] for token in self._allowed()]] = True
        return mask

    def written(self) -> npt.NDArray[np.int64]:
        """The tokens so far, each one more than its action; 0 where there is none yet."""
        written = np.zeros(self._max_tokens, dtype=np.int64)
        written[: len(self._tokens)] = [self._numbers[token] + 1 for token in self._tokens]
        return written

    def _allowed(self) -> list[str]:
        left = self._max_tokens - len(self._tokens) - 1
        rests = [(token, self.grammar.after(self._rest, token)) for token in self.grammar.tokens]
        return [token for token, rest in rests if rest is not None and self.grammar.least(rest) <= left]

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
        template: The text, with `$name` where a slot is; `$$` is a dollar sign. See `string.Template`.
        slots: What may fill each slot, by its name.

    Raises:
        EncodingError: If slots and template do not fit.

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
        """Refuse what does not fill each slot."""
        try:
            numbers = np.asarray(action)
        except ValueError:  # Lists of unlike lengths.
            numbers = np.array(None)
        if numbers.dtype.kind not in "iu" or not self.action_space.contains(numbers.astype(np.int64)):
            raise EncodingError(f"an action of {self.action_space} was expected; got {action!r}")

    def take(self, action: Any) -> str:
        """The template with its slots filled, in the order of `slots`."""
        self.check(action)
        filled = zip(self._slots.items(), np.asarray(action).tolist(), strict=True)
        return self._template.substitute({name: texts[number] for (name, texts), number in filled})


class CandidateEncoding(ActionEncoding):
    """An answer is one of several that are given; an action says which.

    Args:
        candidates: The answers, or those to each task by its id, as many for each.

    Raises:
        EncodingError: If there are none, or not as many for each task.

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
        """See that there are candidates for these tasks."""
        missing = [] if self._by_task is None else [repr(name) for name in task_ids if name not in self._by_task]
        if missing:
            raise EncodingError(f"there are no candidates for {', '.join(missing)}; give some, or filter the suite")

    def begin(self, task_id: str) -> None:
        """Take the candidates of a task.

        Raises:
            EncodingError: If there are none for it.
        """
        self.require([task_id])
        if self._by_task is not None:
            self._candidates = self._by_task[task_id]

    def check(self, action: Any) -> None:
        """Refuse what is no number of a candidate."""
        number_in(self.action_space, action)

    def take(self, action: Any) -> str:
        """The candidate of that number."""
        return self._candidates[number_in(self.action_space, action)]


def number_in(space: spaces.Discrete, action: Any) -> int:
    """An action of a space of numbers from 0, as an int.

    Raises:
        EncodingError: If it is none.
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
