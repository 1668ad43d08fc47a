"""Holds back the changes that the program makes to arguments, until a statement of the tests has ended.

In `assert f(x) == sorted(x)`, `sorted` must get `x` as it was before `f` changed it. So while a statement runs, the
object of the tests stays as it is, and the change is made to a copy. If `f` returns `x` or a part of it, the tests get
the copy. The next call with `x` sends the copy, so that the program finds the changes that it has made. When the
statement has ended, all its changes are made to the objects of the tests, in order.

A change belongs to the innermost statement that made the call: if a helper of the tests called the program, to the
statement in the helper. The changes of `return f(x)` pass to the statement that called the helper. If a running
statement already holds back changes to one of the arguments, it also holds back all changes of the new call. A call
that returns None is made for its effect, so its changes are made at once. `holding.py` finds the statements that hold
back changes; others, such as `f(x)` alone, do not.

A part of a statement can hold back the changes of its own calls, which are made before the statement ends. Changes that
the statement already holds back are not made with them. `reading_order.py` finds these parts. All this runs in the
judge's process.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from types import FrameType
from typing import Any

from ..wire.containers import Containers
from .attributes_set import TRUSTED_CODE

_MOST_COPIES = 10_000
"""How many copies are remembered before those that the tests hold no longer are forgotten."""


class Moment(Enum):
    """Where the tests are in a statement that holds back changes."""

    BEGIN = auto()
    """It begins."""
    END = auto()
    """It has ended, and its changes are made."""
    RETURN = auto()
    """It has ended, and the statement that called the function holds back its changes."""
    PART = auto()
    """A part of it begins."""
    LET_GO = auto()
    """The changes of the present part, or of the whole statement if there is no part, are made."""
    END_OF_PART = auto()
    """A part has ended, and its changes are made."""
    JOIN = auto()
    """A part has ended, and what surrounds it holds back its changes."""


@dataclass(eq=False)
class Scope:
    """A statement, or a part of one, that runs and holds back changes."""

    frame: FrameType | None
    """The frame of the tests that it runs in."""
    is_part: bool = False


@dataclass
class _Copy:
    value: Any
    original: Any
    """The object of the tests; None for a new container, which came with a change that is held back."""
    scope: Scope


@dataclass
class _Entry:
    """One reply with changes that are held back."""

    reply: dict[str, Any]
    known: Containers
    """The copies, then the new containers in the reply."""
    count: int
    """The number of copies."""
    origin: Any
    scope: Scope
    seen: int
    """How many of the containers are among the copies that are looked up."""


class HeldChanges:
    """The changes that are held back from the tests of one answer.

    Args:
        apply: Makes the changes of a reply, given it, the containers of its exchange and the origin of its value.
    """

    def __init__(self, apply: Callable[[dict[str, Any], Containers, Any], Any]) -> None:
        self._apply = apply
        self._scopes: list[Scope] = []
        self._entries: list[_Entry] = []
        self._copies: dict[int, _Copy] = {}
        self.instead: dict[int, Any] = {}
        """The copy of each object of the tests that has one, by the object's id."""
        self.stands_for: dict[int, tuple[Any, Any]] = {}
        """Pairs of a copy and its original, by the copy's id, as long as the tests can hold the copy."""

    def containers(self) -> Containers:
        """Return the containers for a new exchange, which sends copies in place of their originals."""
        known = Containers()
        known.instead = self.instead
        return known

    def at(self, moment: Moment) -> list[tuple[Scope, Scope | None]]:
        """Hold back changes or let them go.

        Returns:
            Pairs of a statement or a part that holds nothing back any more, and the one that holds its changes now, or
            None if they have been made.
        """
        frame = _frame_of_tests()
        present = self._scope_of(frame)
        if moment is Moment.BEGIN or (moment is Moment.PART and present is not None):
            self._scopes.append(Scope(frame, is_part=moment is Moment.PART))
            return []
        if present is None or moment is Moment.PART:
            return []
        if moment is Moment.LET_GO:
            return [self._hand_over(present, None)]
        if moment is Moment.END_OF_PART or moment is Moment.JOIN:
            self._scopes.remove(present)
            return [self._hand_over(present, self._scope_of(frame) if moment is Moment.JOIN else None)]
        return self._end(present, frame, returns=moment is Moment.RETURN)

    def _end(self, present: Scope, frame: FrameType | None, *, returns: bool) -> list[tuple[Scope, Scope | None]]:
        handed = []
        self._scopes.remove(present)
        while present.is_part:  # An exception has ended it.
            part, present = present, next(one for one in reversed(self._scopes) if one.frame is frame)
            handed.append(self._hand_over(part, present))
            self._scopes.remove(present)
        caller = self._scope_of(_frame_of_tests_from(frame.f_back)) if returns and frame is not None else None
        handed.append(self._hand_over(present, caller))
        if self.stands_for:
            self._forget_copies()
        return handed

    def _hand_over(self, scope: Scope, holder: Scope | None) -> tuple[Scope, Scope | None]:
        if holder is not None:
            self._move({scope}, holder)
        elif self._entries:
            self._release(scope)
        return scope, holder

    def represent(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Let values stand for objects of the tests; `pairs` has both."""
        for value, original in pairs:
            self.stands_for.setdefault(id(value), (value, original))
        if len(self.stands_for) > _MOST_COPIES:
            self._forget_copies()

    def _forget_copies(self) -> None:
        """Forget the copies that the tests hold no longer."""
        # Two references are that of the pair and that of the call.
        kept = {key: pair for key, pair in self.stands_for.items() if sys.getrefcount(pair[0]) > 2}
        self.stands_for.clear()
        self.stands_for.update(kept)

    def scope(self) -> Scope | None:
        """Return the statement that makes the present call, if it holds back changes."""
        if not self._scopes:
            return None
        frame = _frame_of_tests()
        return self._scopes[-1] if frame is None else self._scope_of(frame)  # A thread may have no frame of the tests.

    def place(self, reply: dict[str, Any], known: Containers, origin: Any) -> Containers:
        """Return the containers that get the changes of a reply: the originals, or copies if they are held back."""
        scope = self.scope()
        if self._entries:
            self._look_up_new()
        touched = {self._copies[id(value)].scope for value in known.values if id(value) in self._copies}
        if reply.get("value") is None or (scope is None and not touched):
            resolved: dict[int, Any] = {}
            for one in [scope for scope in self._scopes if scope in touched]:
                resolved |= self._release(one)
            return Containers.of(resolved.get(id(value), value) for value in known.values) if touched else known
        holding = next(one for one in self._scopes if one is scope or one in touched)
        self._move(touched, holding)
        copies = Containers.of([self._copy(value, holding) for value in known.values])
        count = len(copies.values)
        self._entries.append(_Entry(reply, copies, count, origin, holding, count))
        return copies

    def _scope_of(self, frame: FrameType | None) -> Scope | None:
        return next((one for one in reversed(self._scopes) if one.frame is frame), None)

    def _copy(self, value: Any, scope: Scope) -> Any:
        if id(value) in self._copies:
            return value
        known = self.instead.get(id(value))
        if known is None:
            known = self.instead[id(value)] = copy.copy(value)
            self._copies[id(known)] = _Copy(known, value, scope)
            self.stands_for[id(known)] = known, value
        return known

    def _look_up_new(self) -> None:
        """Add the containers that came with a held change to the known copies: the tests may hand them over again."""
        for entry in self._entries:
            for value in entry.known.values[entry.seen :]:
                self._copies.setdefault(id(value), _Copy(value, None, entry.scope))
            entry.seen = len(entry.known.values)

    def _move(self, scopes: set[Scope], holding: Scope) -> None:
        for entry in self._entries:
            if entry.scope in scopes:
                entry.scope = holding
        for one in self._copies.values():
            if one.scope in scopes:
                one.scope = holding

    def _release(self, scope: Scope) -> dict[int, Any]:
        """Make the changes that a statement holds back; return the objects that copies stood for, by the copies' ids.

        Raises:
            HandleMisuse: If they do not fit the originals.
        """
        mine = [one for one in self._entries if one.scope is scope]
        self._entries = [one for one in self._entries if one.scope is not scope]
        copies = [one for one in self._copies.values() if one.scope is scope]
        resolved = {id(one.value): one.original for one in copies if one.original is not None}
        for one in copies:
            del self._copies[id(one.value)]
            self.instead.pop(id(one.original), None)
        for entry in mine:
            known = Containers.of(resolved.get(id(value), value) for value in entry.known.values[: entry.count])
            self._apply(entry.reply, known, entry.origin)
            new = zip(entry.known.values[entry.count :], known.values[entry.count :], strict=False)
            resolved |= {id(value): original for value, original in new}
        return resolved


_PARTS_OF_STATEMENTS = frozenset(("<lambda>", "<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"))


def _frame_of_tests() -> FrameType | None:
    """Return the innermost frame of the tests that runs statements; None if there is none."""
    return _frame_of_tests_from(sys._getframe(1))


def _frame_of_tests_from(frame: FrameType | None) -> FrameType | None:
    while frame is not None:
        code = frame.f_code
        if code.co_filename in TRUSTED_CODE and code.co_name not in _PARTS_OF_STATEMENTS:
            break
        frame = frame.f_back
    return frame
