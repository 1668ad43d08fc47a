"""Records the results of the cases of a suite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from ..wire.shown import brief
from .asserting import NO_CASES, Sources
from .handles import Handle, ProgramDied
from .held_changes import Moment
from .parts import part
from .required import Needed, is_met

MAX_MESSAGE = 2000
"""The longest message of a case, in characters. It is limited because the program can influence the message."""


@dataclass
class CaseRecord:
    """The record of one case."""

    sources: Sequence[str]
    index: int
    needed: Needed = 0
    """The `assert` statements that must be reached."""
    reached: set[int] = field(default_factory=set)
    """The numbers of the `assert` statements that were reached."""
    ran: bool = False
    message: str = ""
    """Why the case failed; empty if it has not failed."""
    unsettled: int = 0
    """How many runs of the case have begun and have no recorded end."""
    unfinished: bool = False
    """Whether an exception other than a failed assertion ended the case and the tests."""

    @property
    def source(self) -> str:
        """The source of the case, on one line."""
        return self.sources[self.index] if self.sources else NO_CASES

    def fail(self, message: str) -> None:
        """Record that the case has failed, and why, unless it has failed before."""
        if not self.message:
            self.message = " ".join(f"{self.source}: {message}"[:MAX_MESSAGE].split())

    @property
    def outcome(self) -> dict[str, Any]:
        """The result of the case, as plain data."""
        return {"ran": self.ran, "message": self.message, "unfinished": self.unfinished}


class Cases:
    """Records the results of the cases of one suite.

    Args:
        sources: From `compile_suite`.
        around: Told where the tests are in a statement that holds back changes.
        original: Returns the object that a value stands for where the tests check whether two values are one object.
        until_failure: Whether the first case that fails ends the tests.
    """

    def __init__(
        self,
        sources: Sources,
        around: Callable[[Moment], None],
        original: Callable[[Any], Any] = lambda value: value,
        *,
        until_failure: bool = False,
    ) -> None:
        self.until_failure = until_failure
        self.records = [CaseRecord(sources, index) for index in range(len(sources) or 1)]
        for record, needed in zip(self.records, sources.needed, strict=False):  # Test methods come last and have none.
            record.needed = needed
        self._sources = sources
        self._around = around
        self.original = original
        self.part = part
        self.held, self.returning = _Statement(around, Moment.END), _Statement(around, Moment.RETURN)
        """Context managers for a statement that holds back changes, and for a `return` that does."""
        self.program_is_dead: Callable[[], bool] = lambda: False
        self.hint_of: Callable[[BaseException], str] = lambda error: ""
        """Returns what to add to the text of an exception."""
        self.on_method_end: Callable[[int], None] = lambda index: None
        self._has_asserts = bool(sources)
        self._refused: str | None = None

    def case(self, index: int, number: int) -> _Case:
        """Return a context manager for one run of `assert` statement `number`, which belongs to case `index`."""
        return _Case(self, self.records[index], number, self._around)

    def attempt(self, index: int, number: int, caught: Callable[[], Any]) -> _Attempt:
        """Return a context manager for one run of an `assert` statement whose failure the tests catch.

        Args:
            index: The number of the case.
            number: The number of the statement.
            caught: Returns the kinds of exceptions that the tests catch.
        """
        return _Attempt(self, self.records[index], number, self._around, caught)

    @staticmethod
    def class_of(read: Callable[[Any], Any] | None, value: Any) -> Any:
        """Return the class of a value, for a comparison; for a handle, this is the handle of its object's class.

        Args:
            read: What the tests call `type`; None if they read `__class__`.
            value: The value.
        """
        if (read is type or read is None) and issubclass(type(value), Handle):
            return value._code_env_remote.operate("type", (value,))
        return value.__class__ if read is None else read(value)

    def source_of(self, number: int) -> str:
        """Return the source of an `assert` statement."""
        return self._sources.of_assert(number)

    def start_part(self) -> None:
        """Begin a part of a statement; `reading_order.py` says where."""
        self._around(Moment.PART)

    def let_go(self) -> None:
        """Make the changes that the present part holds back visible to the tests."""
        self._around(Moment.LET_GO)

    def ended(self, begun: None, value: Any) -> Any:
        """End a part, make its changes visible to the tests, and return its value."""
        self._around(Moment.END_OF_PART)
        return value

    def joined(self, begun: None, value: Any) -> Any:
        """End a part, whose changes its statement holds back from now on, and return its value."""
        self._around(Moment.JOIN)
        return value

    @staticmethod
    def leave(code: object = None) -> None:
        """End the tests at the exit that is the end of their text, as it is if the exit says success.

        Raises:
            SystemExit: If it says something else.
        """
        if code is not None and not (type(code) in (int, bool) and code == 0):
            raise SystemExit(code)

    def fail(self, number: int, message: object, *sides: Any) -> None:
        """End the run of `assert` statement `number` as failed; `sides` are the two sides of its comparison.

        Raises:
            AssertionError: Always; the case's context manager catches it.
        """
        text = self.source_of(number)
        if sides:
            text += f": left is {brief(sides[0])}, right is {brief(sides[1])}"
        if message is not None:
            text += f" ({message if isinstance(message, str) else brief(message)})"
        raise AssertionError(text)

    def brief(self, error: BaseException) -> str:
        """Return the type and the text of an exception that ended a case, with a hint if there is one."""
        return brief_error(error) + self.hint_of(error)

    def refuse(self, message: str) -> None:
        """Record that the tests tried what is refused to them: what is running fails, whatever they catch."""
        running = [record for record in self.records if record.unsettled]
        for record in running:
            record.fail(message)
        if not running:
            self._refused = self._refused or message

    def enter(self, record: CaseRecord) -> None:
        """Record that a case begins; it fails if something was refused to the statements before it."""
        record.unsettled += 1
        if self._refused is not None:
            record.fail(self._refused)
            self._refused = None

    def begin(self, index: int) -> None:
        """Record that a test method begins."""
        self.enter(self.records[index])

    def succeed(self, index: int) -> None:
        """Record that a test method has run to its end; it has passed if no failure was recorded."""
        self._end(index)

    def fail_method(self, index: int, message: str) -> None:
        """Record that a test method, or code that belongs to it, has failed; `message` says why."""
        self.records[index].fail(message)
        self._end(index)

    def _end(self, index: int) -> None:
        if self.program_is_dead():
            return
        self.records[index].ran = True
        self.records[index].unsettled = 0
        self.on_method_end(index)

    def finish(self, ended_by: str | None) -> None:
        """Record cases that were not reached or not finished, and make sure that an exception fails some case.

        Args:
            ended_by: The exception that ended the tests early, in words; None if they ran to their end.
        """
        if not self._has_asserts and ended_by is None:
            self.records[0].ran = True
        not_reached = "not reached" if ended_by is None else f"not reached: the tests ended early: {ended_by}"
        for record in self.records:
            if record.unsettled and not record.message:
                record.message = f"{record.source}: it did not come to an end"
                record.unfinished = True
            elif not record.ran and not record.message:
                record.message = not_reached
        if self._refused is not None:
            self.records[-1].fail(self._refused)
        if ended_by is not None and not any(record.message for record in self.records):
            self.records[-1].message = f"the tests ended early: {ended_by}"
            self.records[-1].unfinished = True


class _Statement:
    """A statement during which changes are held back, and how it ends."""

    def __init__(self, around: Callable[[Moment], None], end: Moment) -> None:
        self._around, self._end = around, end

    def __enter__(self) -> None:
        self._around(Moment.BEGIN)

    def __exit__(self, *_: object) -> None:
        self._around(self._end)


class _Case:
    """One run of a case. It counts as failed until it is known to have passed.

    The program might have made the exception that ends the run, so the exception is not trusted. If recording it fails,
    or the time is up before it is recorded, the case stays unsettled, and an unsettled case has failed.
    """

    def __init__(self, cases: Cases, record: CaseRecord, number: int, around: Callable[[Moment], None]) -> None:
        self._cases, self._record, self._number, self._around = cases, record, number, around

    def __enter__(self) -> None:
        self._cases.enter(self._record)
        self._around(Moment.BEGIN)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        record = self._record
        if error is not None:
            record.unfinished = not isinstance(error, AssertionError)
            if not record.message:
                source = self._cases.source_of(self._number)
                plain = type(error) is AssertionError or isinstance(error, ProgramDied)
                text = _text_of(error) if plain else self._cases.brief(error)
                whole = text if text.startswith(source) else f"{source}: {text}"
                record.message = " ".join(whole[:MAX_MESSAGE].split())
        self._around(Moment.END)
        if self._cases.program_is_dead():
            return False  # Tests that caught `ProgramDied` stop here, because later results are not about the program.
        record.reached.add(self._number)
        record.ran = record.ran or is_met(record.needed, record.reached)
        record.unsettled -= 1
        return error is not None and not record.unfinished and not self._cases.until_failure


class _Attempt(_Case):
    """One run of an `assert` statement whose failure the tests catch: it has no result then."""

    def __init__(
        self,
        cases: Cases,
        record: CaseRecord,
        number: int,
        around: Callable[[Moment], None],
        caught: Callable[[], Any],
    ) -> None:
        super().__init__(cases, record, number, around)
        self._caught = caught

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *trace: Any) -> bool:
        if error is None or not isinstance(error, self._caught()) or self._cases.program_is_dead():
            return super().__exit__(kind, error, *trace)
        self._around(Moment.END)
        self._record.unsettled -= 1
        return False


def _text_of(error: BaseException) -> str:
    """Return the text of an exception; its arguments can make the conversion to text fail."""
    try:
        return str(error)
    except Exception as failure:
        return f"<its text cannot be read: {type(failure).__name__}>"


def brief_error(error: BaseException) -> str:
    """Return the type and the text of an exception, on one line.

    >>> brief_error(ValueError("no"))
    'ValueError: no'
    """
    text = " ".join(_text_of(error)[:500].split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
