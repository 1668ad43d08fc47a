"""The kinds of test that a task may have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from code_env.checks import require_choice, require_number, require_whole
from code_env.errors import TaskError
from code_env.executors.program import check_path
from code_env.harness.judge.asserting import case_sources, compile_suite
from code_env.harness.judge.checker import compile_checker
from code_env.harness.judge.comparing import TEXT_RULES, VALUE_RULES
from code_env.harness.judge.mentions import FIND_RULES, MAX_CHARS
from code_env.harness.wire.plain import NotPlain, encode
from code_env.harness.wire.shown import brief
from code_env.languages import PYTHON, canonical_name

from .javascript import find_cases

_MISSING = object()
"""Stands for an expected value that was not given; None is a value."""

_FIND_CASES = {"javascript": find_cases}
"""Finds the cases of test code, by its language, where that is not Python."""


@dataclass(frozen=True)
class Comparison:
    """How an actual output or value is compared with the expected one.

    The rules are described in `code_env.harness.judge.comparing`.

    Raises:
        TaskError: If a tolerance is not a finite number of at least 0.

    Example:
        >>> Comparison("close", rel=1e-3).abs
        1e-06
    """

    rule: str
    """For text `lines`, `exact`, `trailing`, `tokens`, `numbers` or `unordered`; for values `equal`, `exact`, `close`,
    `unordered` or `multiset`."""
    rel: float = 1e-6
    """Relative tolerance, for the rules that have one."""
    abs: float = 1e-6
    """Absolute tolerance, for the rules that have one."""

    def __post_init__(self) -> None:
        for name in ("rel", "abs"):
            require_number(f"compare.{name}", getattr(self, name), TaskError, least=0)

    @classmethod
    def of(cls, value: Comparison | str | Mapping[str, Any], rules: tuple[str, ...]) -> Comparison:
        """A comparison from its rule's name, a mapping or a `Comparison`, checked against `rules`.

        Raises:
            TaskError: If it is none of these, or the rule is not among `rules`.
        """
        if isinstance(value, str):
            value = cls(value)
        elif isinstance(value, Mapping):
            try:
                value = cls(**value)
            except TypeError:
                raise TaskError(f"compare takes rule, rel and abs; got {value!r}") from None
        if not isinstance(value, Comparison):
            raise TaskError(f"compare must be the name of a rule, a mapping or a Comparison; got {brief(value)}")
        require_choice("compare", value.rule, rules, TaskError)
        return value


@dataclass(frozen=True, kw_only=True)
class _Common:
    hidden: bool = True
    """Whether the policy may not see its input and expected value."""
    weight: float = 1.0
    """Its share of the pass fraction, relative to the other tests; split evenly among its cases."""

    def __post_init__(self) -> None:
        if not isinstance(self.hidden, bool):
            raise TaskError(f"hidden must be true or false; got {self.hidden!r}")
        require_number("weight", self.weight, TaskError, above=0)

    @property
    def cases(self) -> int:
        """How many cases it is judged as; does not depend on the program."""
        return 1

    def _require_text(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if not isinstance(value, str):
                raise TaskError(f"{name} must be text; got {type(value).__name__}")

    def _set_comparison(self, rules: tuple[str, ...]) -> None:
        # The dataclass is frozen; this is still its construction.
        object.__setattr__(self, "compare", Comparison.of(getattr(self, "compare"), rules))  # noqa: B009


@dataclass(frozen=True)
class StdinTest(_Common):
    """The program runs with this standard input; its standard output is compared.

    Example:
        >>> StdinTest(stdin="2 3", stdout="5").compare.rule
        'lines'
    """

    kind: ClassVar[str] = "stdin"
    stdin: str
    """What the program reads."""
    stdout: str
    """What it must write."""
    compare: Comparison | str | Mapping[str, Any] = "lines"
    """Rule for text; kept as a `Comparison`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_text("stdin", "stdout")
        self._set_comparison(TEXT_RULES)


@dataclass(frozen=True)
class OutputTest(_Common):
    """The program runs without input; its standard output is compared.

    Example:
        >>> OutputTest("hello").hidden
        True
    """

    kind: ClassVar[str] = "output"
    expected: str
    """What it must write."""
    compare: Comparison | str | Mapping[str, Any] = "lines"
    """Rule for text; kept as a `Comparison`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_text("expected")
        self._set_comparison(TEXT_RULES)


@dataclass(frozen=True)
class CallTest(_Common):
    """The task's entry point is called; what it returns is compared.

    Arguments and expected value are plain data: see `code_env.harness.wire.plain`.

    Raises:
        TaskError: If `expected` is missing, or a value is not plain data.

    Example:
        >>> CallTest(args=(1, 2), expected=3).compare.rule
        'equal'
    """

    kind: ClassVar[str] = "call"
    args: tuple[Any, ...] = ()
    """Positional arguments."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments."""
    expected: Any = _MISSING
    """What the call must return; must be given, if only as None."""
    compare: Comparison | str | Mapping[str, Any] = "equal"
    """Rule for values; kept as a `Comparison`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.expected is _MISSING:
            raise TaskError("expected is missing: what must the call return?")
        if not isinstance(self.args, list | tuple):
            raise TaskError(f"args must be a list; got {type(self.args).__name__}")
        if not isinstance(self.kwargs, Mapping) or not all(isinstance(k, str) for k in self.kwargs):
            raise TaskError("kwargs must be an object with text keys")
        object.__setattr__(self, "args", tuple(self.args))
        for name in ("args", "kwargs", "expected"):
            value = getattr(self, name)
            try:
                encode(dict(value) if name == "kwargs" else value)
            except NotPlain as error:
                raise TaskError(f"{name} must be plain data, which {error} is not") from None
        self._set_comparison(VALUE_RULES)


@dataclass(frozen=True)
class AssertTest(_Common):
    """Test code with `assert` statements runs against the program's entry point.

    The code calls the entry point by its name or as `candidate`, or defines `check(candidate)`. Each
    `assert` whose test is not a constant is one case. In another language than Python the tests run beside the
    program, and each call of `assert` is one case.

    Raises:
        TaskError: If the code is Python and does not compile, or there are no such tests in its language.

    Example:
        >>> AssertTest("assert add(1, 2) == 3\\nassert add(0, 0) == 0").cases
        2
    """

    kind: ClassVar[str] = "assert"
    code: str
    """The test code. Trusted: it runs apart from the program, in the peer, if it is Python."""
    language: str = PYTHON.name
    """Language of the test code, which must be the answer's."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_text("code", "language")
        object.__setattr__(self, "language", canonical_name(self.language))
        if self.language in _FIND_CASES:
            return
        if self.language != PYTHON.name:
            known = ", ".join([PYTHON.name, *_FIND_CASES])
            raise TaskError(f"language: there are assert tests in {known}, not in {self.language!r}")
        try:
            compile_suite(self.code, "<tests>")
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            hint = f"; tests in another language say so: language={next(iter(_FIND_CASES))!r}"
            raise TaskError(f"code must be Python: {error or type(error).__name__}{hint}") from None

    @property
    def cases(self) -> int:
        """How many cases it is judged as: its `assert` statements, or one for its end."""
        return len(self.case_sources)

    @property
    def case_sources(self) -> tuple[str, ...]:
        """What each case expects: the source of its `assert` statement, or the name of its test method."""
        if self.language in _FIND_CASES:
            return _FIND_CASES[self.language](self.code).sources
        return case_sources(self.code)


@dataclass(frozen=True)
class CheckerTest(_Common):
    """The program runs with this standard input; a checker decides whether its standard output is right.

    For tasks with many right answers. The checker is trusted Python code that defines `check(stdin, stdout, answer)`
    and returns True or False; it runs where tests run, apart from the program.

    Example:
        >>> checker = "def check(stdin, stdout, answer): return sorted(stdout.split()) == sorted(stdin.split())"
        >>> CheckerTest(stdin="b a", checker=checker).answer
        ''
    """

    kind: ClassVar[str] = "checker"
    stdin: str
    """What the program reads."""
    checker: str
    """The checker's code."""
    answer: str = ""
    """What the checker gets as `answer`: one right output, or whatever it needs."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_text("stdin", "checker", "answer")
        try:
            compile_checker(self.checker)
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            raise TaskError(f"checker: {error or type(error).__name__}") from None


@dataclass(frozen=True)
class CellTest(_Common):
    """Code that runs after the program, in its names; what it gives is compared.

    All of a task's cells run in their order, as cells of a notebook do, so each finds what those before it have left.
    What a cell gives is its last expression, else what it prints, else the variable `result` if it sets that. A text
    may be expected with or without quotes. The code is run in the program's process and is no secret from it.

    Example:
        >>> CellTest("result = add_numbers(2, 3)", expected="5").compare.rule
        'lines'
    """

    kind: ClassVar[str] = "cell"
    code: str
    """What is run."""
    expected: str
    """What it must give, as text."""
    compare: Comparison | str | Mapping[str, Any] = "lines"
    """Rule for text; kept as a `Comparison`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_text("code", "expected")
        self._set_comparison(TEXT_RULES)


@dataclass(frozen=True)
class FileTest(_Common):
    """The program leaves a file, in its working directory or below.

    It is looked at when the program and all cells have ended. A link or a directory is no file.

    Raises:
        TaskError: If the path leaves the working directory.

    Example:
        >>> FileTest("output.txt", content="hello").hidden
        True
    """

    kind: ClassVar[str] = "file"
    path: str
    """Where, relative to the working directory."""
    content: str | None = None
    """What it must hold, as text in UTF-8; None if it need only be there."""
    compare: Comparison | str | Mapping[str, Any] = "lines"
    """Rule for text; kept as a `Comparison`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_text("path", *([] if self.content is None else ["content"]))
        check_path(self.path)
        if self.path == PYTHON.file:
            raise TaskError(
                f"path must not be {PYTHON.file!r}: the program itself lies there, so the file is never missing"
            )
        self._set_comparison(TEXT_RULES)


@dataclass(frozen=True)
class InsightTest(_Common):
    """The program's output mentions a finding: what it prints, or the value of its last expression.

    Example:
        >>> InsightTest("mean price is 12.5").max_chars
        4000
    """

    kind: ClassVar[str] = "insight"
    insight: str
    """What must be mentioned."""
    find: str = "mention"
    """How it is looked for: `mention`, or RewardKit's `rewardkit_substring`, which can be bought; see
    `code_env.harness.judge.mentions`."""
    max_chars: int = MAX_CHARS
    """How much of the output is searched, in characters, with `mention`: what is printed beyond counts for nothing."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_text("insight", "find")
        if not self.insight.strip():
            raise TaskError("insight must not be blank: anything mentions nothing")
        require_choice("find", self.find, FIND_RULES, TaskError)
        require_whole("max_chars", self.max_chars, TaskError, least=1)


AnyTest = StdinTest | OutputTest | CallTest | AssertTest | CheckerTest | CellTest | FileTest | InsightTest
"""Any kind of test."""
