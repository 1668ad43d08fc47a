"""One problem: a prompt, and the tests that decide whether a program solves it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from code_env import html
from code_env.checks import names_keywords, require_choice
from code_env.errors import TaskError
from code_env.executors.limits import Limits
from code_env.executors.program import check_files, check_image, main_file, python_packages
from code_env.extract.defined_names import before_definition, definition_of
from code_env.harness.wire.plain import encode, tags
from code_env.languages import PYTHON, canonical_name, find_language

from .kinds import AnyTest, AssertTest, CallTest, HarborTest
from .usual_imports import USUAL_IMPORTS, imports_for

MAX_PROMPT_CHARS = 65_536
"""The largest length of a prompt, in characters; every environment's observation space allows it. See `CodeText`."""

JudgeMode = Literal["blind", "objects", "shared"]
"""How a task is judged: `blind`; `objects` if tests use the program's objects; `shared` if tests run in its process."""

REFERENCE_CPU_S, REFERENCE_MEMORY_BYTES = "reference_cpu_s", "reference_memory_bytes"
"""Keys of a task's metadata for the CPU time and memory that its reference used on this host, in a whole judged run."""

LEAST_REFERENCE_CPU_S = 0.05
"""A smaller CPU time counts as this value, in seconds, because most of it is the start of a program."""

LEAST_REFERENCE_MEMORY_BYTES = 32 << 20
"""A smaller amount of memory counts as this value, in bytes, because most of it is the interpreter."""

_UNIVERSAL = frozenset(("t", "i", "f", "d", "s", "fs"))
"""Tags of values (`code_env.harness.wire.plain`) that other languages have too."""

_FUTURE_IMPORT = re.compile(
    r"^from[ \t]+__future__[ \t]+import[ \t]*(?:\([^()]*\)|[\w \t,]+)[ \t]*;?[ \t]*\n?", re.MULTILINE
)


@names_keywords
@dataclass(frozen=True)
class Task:
    """One problem. Tasks are compared by value and never change.

    Raises:
        TaskError: If a field is malformed; the message names the field.

    Example:
        >>> from code_env import CallTest
        >>> task = Task("add", "Write add(a, b).", (CallTest(args=(1, 2), expected=3),), entry_point="add")
        >>> task.program("def add(a, b): return a + b")
        'def add(a, b): return a + b'
    """

    id: str
    """Its name, unique in its suite."""
    prompt: str
    """The text that the policy gets."""
    tests: tuple[AnyTest, ...]
    """The tests that decide whether an answer is right; at least one."""
    entry_point: str | None = None
    """The function or class that `call` and `assert` tests call."""
    language: str = "python"
    """Language of the answer. Other names that `code_env.languages` knows are allowed, and are replaced by the
    language's name."""
    setup: str = ""
    """Trusted code that `assert` tests need. It runs before them, in the same place."""
    reference: str | None = None
    """A correct answer, if one is known."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files put into the program's working directory: relative path to content."""
    limits: Limits = field(default_factory=Limits)
    """The resources that a program may use."""
    judge: JudgeMode = "blind"
    """How the task is judged. It is always `shared` for `assert` tests in languages other than Python."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Any other data, such as difficulty, source and licence."""
    prefix: str = ""
    """Code that is put before every answer, as HumanEval does with its prompt."""
    packages: tuple[str, ...] = ()
    """Requirements of the packages that answers and tests find, such as `pandas>=2,<3`, in their normal form. They
    replace the packages of the executor's interpreter. `code-env prepare` installs them."""
    image: str = ""
    """The image that answers run in: the path of a directory with a root file system, of an OCI layout, of a tar of
    either, of what `docker save` wrote or of a build file, or a name that Podman or Docker knows. `code-env prepare`
    unpacks, builds or pulls it. Empty for the executor's own files."""

    def _repr_html_(self) -> str:
        """Called by notebooks."""
        rows = [(test.kind, "hidden" if test.hidden else "public", test.cases) for test in self.tests[: html.MOST_ROWS]]
        tests = html.table(("test", "shown to the policy", "cases"), rows, len(self.tests))
        return html.titled(f"{self.id} ({self.language}, judged {self.judge})", html.block(self.prompt), tests)

    def __post_init__(self) -> None:
        for name in ("id", "prompt", "language", "setup", "prefix"):
            if not isinstance(getattr(self, name), str):
                raise TaskError(f"{name} must be text; got {type(getattr(self, name)).__name__}")
        for name in ("entry_point", "reference"):
            if not isinstance(getattr(self, name), str | None):
                raise TaskError(f"{name} must be text or absent; got {type(getattr(self, name)).__name__}")
        if not self.id:
            raise TaskError("id must not be empty")
        if len(self.prompt) > MAX_PROMPT_CHARS:
            raise TaskError(f"prompt has {len(self.prompt)} characters; at most {MAX_PROMPT_CHARS} fit")
        if not isinstance(self.tests, list | tuple):
            raise TaskError(f"tests must be a sequence of tests; got {type(self.tests).__name__}")
        object.__setattr__(self, "tests", tuple(self.tests))
        if not self.tests:
            raise TaskError("tests must not be empty: without one, nothing decides")
        for index, test in enumerate(self.tests):
            if not isinstance(test, AnyTest):
                raise TaskError(f"tests[{index}] is a {type(test).__name__}, which is no kind of test")
            if isinstance(test, HarborTest):
                self._check_harbor(index)
            if isinstance(test, CallTest) and self.entry_point is None:
                raise TaskError(f"tests[{index}] calls the entry point, and entry_point is missing")
        object.__setattr__(self, "language", canonical_name(self.language))
        if self.packages:
            object.__setattr__(self, "packages", python_packages(self.packages, self.language))
        check_image(self.image, self.packages)
        self._check_language()
        require_choice("judge", self.judge, get_args(JudgeMode), TaskError)
        for name in ("files", "metadata"):
            if not isinstance(getattr(self, name), Mapping):
                raise TaskError(f"{name} must be a mapping; got {type(getattr(self, name)).__name__}")
        try:
            check_files(self.files, main_file(self.language))
        except TaskError as error:
            raise TaskError(f"files: {error}") from None
        if not isinstance(self.limits, Limits):
            raise TaskError(f"limits must be a Limits, such as Limits(cpu_s=1); got {type(self.limits).__name__}")

    def _check_harbor(self, index: int) -> None:
        """Check that the task has nothing but what a trial takes."""
        what = f"tests[{index}] is a test of kind {HarborTest.kind}"
        if len(self.tests) > 1:
            raise TaskError(f"{what}, which must be the only one of its task")
        if not self.image:
            raise TaskError(f"{what}, whose task needs the folder's image; load_suite('harbor:FOLDER') makes the task")
        if self.files or self.setup or self.prefix:
            raise TaskError(f"{what}, whose task has neither files nor setup nor prefix: the image has what it needs")

    def _check_language(self) -> None:
        """Check that the answer's language supports these kinds of test."""
        language = find_language(self.language)
        if language is None:  # The executor refuses it.
            return
        for index, test in enumerate(self.tests):
            if isinstance(test, CallTest | AssertTest) and not language.takes_calls:
                raise TaskError(
                    f"tests[{index}] is a test of kind {test.kind}, and functions in {language.name} cannot be called; "
                    "use stdin, output or checker tests"
                )
            if test.only_language not in ("", language.name):
                raise TaskError(
                    f"tests[{index}] is a test of kind {test.kind}, which is for answers in {test.only_language}"
                )
            if isinstance(test, CallTest) and test.kwargs and language is not PYTHON:
                raise TaskError(f"tests[{index}] has kwargs, and {language.name} has no keyword arguments; use args")
            if isinstance(test, CallTest) and language is not PYTHON:
                unknown = tags([encode(list(test.args)), encode(test.expected)]) - _UNIVERSAL
                if unknown:
                    raise TaskError(
                        f"tests[{index}] has values that only Python has (tagged {', '.join(sorted(unknown))}), and "
                        f"the answer is in {language.name}; use texts, numbers, lists, dicts and sets"
                    )
            if isinstance(test, AssertTest) and test.language != language.name:
                raise TaskError(
                    f"tests[{index}] is written in {test.language}, and the answer in {language.name}; "
                    f"give AssertTest(code, language={language.name!r}) tests in that language"
                )
            if isinstance(test, AssertTest) and language is not PYTHON and self.judge == "blind":
                object.__setattr__(self, "judge", "shared")

    def program(self, answer: str) -> str:
        """The program's code for an answer."""
        if not self.prefix:
            return answer
        if self.language != PYTHON.name and self.entry_point and definition_of(self.entry_point)(answer):
            # The function that the prefix begins would never be closed. In Python this is allowed: its docstring is its
            # body.
            return before_definition(self.prefix, self.entry_point) + answer
        # Python allows these imports only at the top of a file, and an answer may be a whole file.
        future = "".join(found.rstrip("; \t\n") + "\n" for found in _FUTURE_IMPORT.findall(answer))
        if future:
            answer = _FUTURE_IMPORT.sub("", answer)
        prefix = imports_for(answer) if self.prefix == USUAL_IMPORTS else self.prefix
        newline = "" if prefix.endswith("\n") or not prefix else "\n"
        return f"{future}{prefix}{newline}{answer}"
