"""The kinds of test that a task may have.

A kind is one class: its fields with their form in rows of JSON, what the judge is told of it, and how prompts and
feedback show it. What judges it is in `code_env.harness.judge`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from code_env.checks import names_keywords, require_choice, require_whole
from code_env.errors import TaskError
from code_env.executors.program import check_path
from code_env.harness.judge.asserting import case_sources, compile_suite
from code_env.harness.judge.checker import compile_checker
from code_env.harness.judge.comparing import TEXT_RULES, VALUE_RULES
from code_env.harness.judge.mentions import FIND_RULES, MAX_CHARS
from code_env.harness.wire.plain import NotPlain, encode
from code_env.harness.wire.shown import brief
from code_env.languages import PYTHON, Language, canonical_name
from code_env.text import clip

from .base import DERIVED, MAX_SHOWN_CHARS, PLAIN, REQUIRED, BaseTest
from .comparison import Comparison
from .javascript import find_cases
from .one_number import exact, one_number

_MISSING = object()
"""Stands for an expected value that was not given; None is a value."""

_FIND_CASES = {"javascript": find_cases}
"""Finds the cases of test code, by its language, where that is not Python."""


@names_keywords
@dataclass(frozen=True)
class StdinTest(BaseTest):
    """The program runs with this standard input; its standard output is compared.

    Example:
        >>> StdinTest(stdin="2 3", stdout="5").compare.rule
        'lines'
    """

    kind: ClassVar[str] = "stdin"
    keeps_output: ClassVar[bool] = True
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

    def _job(self, language: Language | None) -> dict[str, Any]:
        return {"stdin": self.stdin, "expected": self.stdout, "compare": self._rule()}

    def example(self, entry_point: str) -> str:
        """Its input and its output."""
        return f"Input:\n{self.stdin.rstrip()}\nOutput:\n{self.stdout.rstrip()}"

    def feedback(self, entry_point: str, actual: str) -> str:
        """Its input, and what the program wrote."""
        return _input_and_output(self.stdin, actual)


@names_keywords
@dataclass(frozen=True)
class OutputTest(BaseTest):
    """The program runs without input; its standard output is compared.

    Example:
        >>> OutputTest("hello").hidden
        True
    """

    kind: ClassVar[str] = "output"
    keeps_output: ClassVar[bool] = True
    expected: str
    """What it must write."""
    compare: Comparison | str | Mapping[str, Any] = "lines"
    """Rule for text; kept as a `Comparison`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_text("expected")
        self._set_comparison(TEXT_RULES)

    def _job(self, language: Language | None) -> dict[str, Any]:
        return {"kind": StdinTest.kind, "stdin": "", "expected": self.expected, "compare": self._rule()}

    def example(self, entry_point: str) -> str:
        """Its output."""
        return f"Output:\n{self.expected.rstrip()}"


@names_keywords
@dataclass(frozen=True)
class CallTest(BaseTest):
    """The task's entry point is called; what it returns is compared.

    Arguments and expected value are plain data: builtin types, and some of the standard library and of NumPy.
    docs/task-format.md lists them.

    Raises:
        TaskError: If `expected` is missing, or a value is not plain data.

    Example:
        >>> CallTest(args=(1, 2), expected=3).compare.rule
        'equal'
    """

    kind: ClassVar[str] = "call"
    args: tuple[Any, ...] = field(default=(), metadata={PLAIN: list, REQUIRED: True})
    """Positional arguments."""
    kwargs: Mapping[str, Any] = field(default_factory=dict, metadata={PLAIN: dict})
    """Keyword arguments."""
    expected: Any = field(default=_MISSING, metadata={PLAIN: None, REQUIRED: True})
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

    def _job(self, language: Language | None) -> dict[str, Any]:
        args, expected = [encode(arg) for arg in self.args], encode(self.expected)
        if language is not None and language.has_one_number:
            args, expected = [exact(arg) for arg in args], one_number(expected)
        kwargs = {name: encode(arg) for name, arg in self.kwargs.items()}
        return {"args": args, "kwargs": kwargs, "expected": expected, "compare": self._rule()}

    def example(self, entry_point: str) -> str:
        """The call and what it returns."""
        return f"{self._call(entry_point, repr)} gives {self.expected!r}"

    def feedback(self, entry_point: str, actual: str) -> str:
        """The call."""
        return f"{self._call(entry_point, brief)}: "

    def _call(self, entry_point: str, shown: Callable[[object], str]) -> str:
        args = [shown(arg) for arg in self.args] + [f"{name}={shown(arg)}" for name, arg in self.kwargs.items()]
        return f"{entry_point}({', '.join(args)})"


@names_keywords
@dataclass(frozen=True)
class AssertTest(BaseTest):
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
    language: str = field(default=PYTHON.name, metadata={DERIVED: True})
    """Language of the test code, which must be the answer's."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_text("code", "language")
        object.__setattr__(self, "language", canonical_name(self.language))
        if self.language in _FIND_CASES:
            return
        if self.language != PYTHON.name:
            known = ", ".join([PYTHON.name, *_FIND_CASES])
            raise TaskError(
                f"language: assert tests are for {known}, not for {self.language!r}; for another language that the "
                "executor runs, use stdin, output or checker tests"
            )
        try:
            compile_suite(self.code, "<tests>")
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            hint = f"; for tests in another language give language={next(iter(_FIND_CASES))!r}"
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

    def _job(self, language: Language | None) -> dict[str, Any]:
        return {"code": self.code} if self.language == PYTHON.name else _FIND_CASES[self.language](self.code)._asdict()

    def example(self, entry_point: str) -> str:
        """Its code."""
        return self.code.strip()


@names_keywords
@dataclass(frozen=True)
class CheckerTest(BaseTest):
    """The program runs with this standard input; a checker decides whether its standard output is right.

    For tasks with many right answers. The checker is trusted Python code that defines `check(stdin, stdout, answer)`
    and returns True or False; it runs where tests run, apart from the program.

    Example:
        >>> checker = "def check(stdin, stdout, answer): return sorted(stdout.split()) == sorted(stdin.split())"
        >>> CheckerTest(stdin="b a", checker=checker).answer
        ''
    """

    kind: ClassVar[str] = "checker"
    keeps_output: ClassVar[bool] = True
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

    def _job(self, language: Language | None) -> dict[str, Any]:
        return {"stdin": self.stdin, "checker": self.checker, "answer": self.answer}

    def example(self, entry_point: str) -> str:
        """Its input: `answer` is what its checker needs, whatever that is."""
        return f"Input:\n{self.stdin.rstrip()}"

    def feedback(self, entry_point: str, actual: str) -> str:
        """Its input, and what the program wrote."""
        return _input_and_output(self.stdin, actual)


@names_keywords
@dataclass(frozen=True)
class CellTest(BaseTest):
    """Code that runs after the program, in its names; what it gives is compared.

    All of a task's cells run in their order, as cells of a notebook do, so each finds what those before it have left.
    What a cell gives is its last expression, else what it prints, else the variable `result` if it sets that. A text
    may be expected with or without quotes. The code is run in the program's process and is no secret from it.

    Example:
        >>> CellTest("result = add_numbers(2, 3)", expected="5").compare.rule
        'lines'
    """

    kind: ClassVar[str] = "cell"
    only_language: ClassVar[str] = PYTHON.name
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

    def _job(self, language: Language | None) -> dict[str, Any]:
        return {"code": self.code, "expected": self.expected, "compare": self._rule()}

    def example(self, entry_point: str) -> str:
        """Its code and what that gives."""
        return f"{self.code.strip()} gives {self.expected}"

    def feedback(self, entry_point: str, actual: str) -> str:
        """Its code, and what that gave."""
        return f"Cell {clip(self.code, MAX_SHOWN_CHARS)!r}, gave {clip(actual, MAX_SHOWN_CHARS)!r}: "


@names_keywords
@dataclass(frozen=True)
class FileTest(BaseTest):
    """The program leaves a file, in its working directory or below.

    It is looked at when the program and all cells have ended. A link or a directory is no file.

    Raises:
        TaskError: If the path leaves the working directory.

    Example:
        >>> FileTest("output.txt", content="hello").hidden
        True
    """

    kind: ClassVar[str] = "file"
    only_language: ClassVar[str] = PYTHON.name
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

    def _job(self, language: Language | None) -> dict[str, Any]:
        return {"path": self.path, "expected": self.content, "compare": self._rule()}

    def example(self, entry_point: str) -> str:
        """The file and what it must hold."""
        return f"It writes {self.path}." if self.content is None else f"It writes {self.path}:\n{self.content.rstrip()}"

    def feedback(self, entry_point: str, actual: str) -> str:
        """The file."""
        return f"File {self.path!r}: "


@names_keywords
@dataclass(frozen=True)
class InsightTest(BaseTest):
    """The program's output mentions a finding: what it prints, or the value of its last expression.

    Example:
        >>> InsightTest("mean price is 12.5").max_chars
        4000
    """

    kind: ClassVar[str] = "insight"
    only_language: ClassVar[str] = PYTHON.name
    insight: str
    """What must be mentioned."""
    find: str = "mention"
    """How it is looked for: `mention`, or RewardKit's `rewardkit_substring`, which a program passes by printing enough;
    see docs/task-format.md."""
    max_chars: int = MAX_CHARS
    """How much of the output is searched, in characters, with `mention`: what is printed beyond counts for nothing."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_text("insight", "find")
        if not self.insight.strip():
            raise TaskError("insight must not be blank: anything mentions nothing")
        require_choice("find", self.find, FIND_RULES, TaskError)
        require_whole("max_chars", self.max_chars, TaskError, least=1)

    def _job(self, language: Language | None) -> dict[str, Any]:
        return {"expected": self.insight, "find": self.find, "max_chars": self.max_chars}

    def example(self, entry_point: str) -> str:
        """The finding."""
        return f"It finds: {self.insight}"


@names_keywords
@dataclass(frozen=True)
class HarborTest(BaseTest):
    """The program is a shell script that does the work of the agent of a task in Harbor's folder.

    It runs in a box on the folder's image, and the folder's verifier says in another what that is worth, from 0 to 1:
    see `code_env.harbor.Trial`. A test of this kind is the only one of its task, whose image is the folder's.

    Raises:
        TaskError: If the path is empty.

    Example:
        >>> HarborTest("tasks/fix-a-bug").weight
        1.0
    """

    kind: ClassVar[str] = "harbor"
    only_language: ClassVar[str] = "bash"
    folder: str
    """The path of the folder."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_text("folder")
        if not self.folder:
            raise TaskError("folder must not be empty: it is the path of a task's folder")

    def _job(self, language: Language | None) -> dict[str, Any]:
        raise TypeError("no judge is told of a verifier, which judges by itself")

    def example(self, entry_point: str) -> str:
        """Nothing: a verifier is never shown."""
        return ""


AnyTest = StdinTest | OutputTest | CallTest | AssertTest | CheckerTest | CellTest | FileTest | InsightTest | HarborTest
"""Any kind of test."""


def _input_and_output(stdin: str, actual: str) -> str:
    return f"Input {clip(stdin, MAX_SHOWN_CHARS)!r}, output {clip(actual, MAX_SHOWN_CHARS)!r}: "
