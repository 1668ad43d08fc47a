"""Kattis problem packages: a directory with `problem.yaml`, or a directory of such directories.

See https://www.kattis.com/problem-package-format. A package is read in this way:

* `data/sample/**/*.in` and `.ans` and `problem_statement/*_input.txt` and `_output.txt` (Google's
  archive): public tests; `data/secret/**`: hidden tests;
* `statement.txt`, or else the text in `problem_statement/` or `statement/`: the prompt;
* `limits` in `problem.yaml`: limits;
* `float_tolerance` and similar flags of the validator: how large the error of a number may be. Archives set this flag
  on all problems, so it counts only if an expected output has a number with a decimal point, or the statement allows an
  error; other numbers are compared exactly.

The words of an output are compared; white space does not matter, upper and lower case do. Problems with checkers and
interactive problems are refused.

A few lines of code read `problem.yaml`, not a YAML library: files in the archive contain lines such as `name: Steed 2:
Cruise Control`, which YAML forbids, and the settings needed here have one key per line.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from code_env.errors import TaskError
from code_env.executors.limits import Limits

from ..comparison import Comparison
from ..kinds import AnyTest
from ..task import Task
from .contest import limits_of, quantity, stdin_tests
from .fields import in_field, metadata
from .tolerance import stated_tolerance

_STATEMENT_SUFFIXES = (".txt", ".md", ".tex", ".html")
_WITH_POINT = re.compile(r"(?<![^\s,;:(\[])[+-]?(?:\d+\.\d*|\.\d+|\d+(?:\.\d*)?[eE][+-]?\d+)(?![^\s,;)\]])")


def is_directory(path: Path) -> bool:
    """Whether a directory is a problem package, or contains problem packages."""
    return bool(package_directories(path))


def package_directories(path: Path) -> list[Path]:
    """The problem packages in a directory, sorted by name: the directory itself, or the packages directly in it."""
    if (path / "problem.yaml").is_file():
        return [path]
    return sorted(file.parent for file in path.glob("*/problem.yaml"))


def tasks_from_directory(path: Path) -> Iterator[Task]:
    """The tasks that the problem packages in a directory describe.

    Raises:
        TaskError: If a package is malformed; the message names the file or directory.
    """
    for package in package_directories(path):
        try:
            yield task_from_package(package)
        except TaskError as error:
            raise TaskError(f"{package}: {error}") from None


def task_from_package(package: Path) -> Task:
    """The task that a problem package describes; its id is the directory's name.

    Raises:
        TaskError: If the package is malformed or needs a checker.
    """
    settings = in_field("problem.yaml", partial(read_settings, _read(package / "problem.yaml")))
    in_field("problem.yaml", lambda: _refuse_checkers(package, settings))
    statement = _statement(package)
    public, hidden = _public_cases(package), list(_cases(package / "data" / "secret"))
    if not public and not hidden:
        raise TaskError("data: tests (data/secret/*.in with *.ans) were expected; got none")
    compare = _rule(package, settings, statement, [answer for _, answer in public + hidden])
    return Task(
        id=package.resolve().name,
        prompt=statement,
        tests=(*_tests(public, compare, hidden=False), *_tests(hidden, compare, hidden=True)),
        limits=in_field("problem.yaml: limits", lambda: _limits(settings.get("limits"))),
        metadata=metadata(settings, "name", "source", "author", "license"),
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise TaskError(f"{path.name} is missing") from None
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(f"{path.name}: text in UTF-8 was expected; got {error}") from None


def _tests(cases: list[tuple[str, str]], compare: Comparison, hidden: bool) -> list[AnyTest]:
    return stdin_tests([stdin for stdin, _ in cases], [stdout for _, stdout in cases], compare, hidden)


def _cases(directory: Path) -> Iterator[tuple[str, str]]:
    for stdin in sorted(directory.rglob("*.in")):
        name = str(stdin.relative_to(directory.parents[1]))
        yield in_field(name, partial(_pair, stdin, stdin.with_suffix(".ans")))


def _pair(stdin: Path, stdout: Path) -> tuple[str, str]:
    return _read(stdin), _read(stdout)


def _public_cases(package: Path) -> list[tuple[str, str]]:
    """The samples, each only once: archives keep them with the data, with the statement, or in both places."""
    cases = dict(_cases(package / "data" / "sample"))
    for stdin in sorted((package / "problem_statement").glob("*_input.txt")):
        stdout = stdin.with_name(stdin.name.removesuffix("_input.txt") + "_output.txt")
        case = in_field("problem_statement", partial(_pair, stdin, stdout))
        if case[0].split() not in [known.split() for known in cases]:
            cases[case[0]] = case[1]
    return list(cases.items())


def _statement(package: Path) -> str:
    if (package / "statement.txt").is_file():
        return _read(package / "statement.txt")
    for directory in ("problem_statement", "statement"):
        files = [path for path in (package / directory).glob("problem*") if path.suffix in _STATEMENT_SUFFIXES]
        if files:
            # The English statement if there are several, such as `problem.en.tex` and `problem.da.tex`.
            return _read(min(files, key=lambda path: (".en." not in path.name, path.name)))
    raise TaskError("statement.txt, or a problem.* in problem_statement or statement, was expected; got neither")


def _refuse_checkers(package: Path, settings: dict[str, Any]) -> None:
    validation, kind = settings.get("validation", "default"), settings.get("type", "pass-fail")
    if validation != "default":
        raise TaskError(f"validation: default was expected, for checkers do not run here; got {validation!r}")
    # The format of 2023-07 has no key for it.
    if "validation" not in settings and (package / "output_validator").is_dir():
        raise TaskError("validation: no checker was expected, for checkers do not run here; got output_validator/")
    if kind not in ("pass-fail", "scoring"):
        raise TaskError(f"type: pass-fail or scoring was expected; got {kind!r}")


def _limits(limits: Any) -> Limits:
    if limits is None:
        return Limits()
    if not isinstance(limits, dict):
        raise TaskError(f"keys below it were expected; got {limits!r}")
    return limits_of(
        in_field("time_limit", lambda: quantity(limits.get("time_limit"), "seconds")),
        in_field("memory", lambda: quantity(limits.get("memory"), "bytes")),
    )


def _rule(package: Path, settings: dict[str, Any], statement: str, answers: list[str]) -> Comparison:
    flags = " ".join(_flags(package, settings)).split()
    stated = stated_tolerance(statement)
    granted = _granted(flags)
    if granted is not None and (stated is not None or any(map(_WITH_POINT.search, answers))):
        return granted
    return stated or Comparison("exact" if "space_change_sensitive" in flags else "tokens")


def _flags(package: Path, settings: dict[str, Any]) -> Iterator[str]:
    """The validator's flags for the whole problem, and for its data."""
    for found in (settings, *map(_group_settings, (package / "data", package / "data" / "secret"))):
        for key in ("validator_flags", "output_validator_flags", "output_validator_args"):
            if isinstance(found.get(key), str):
                yield found[key].strip("[]").replace(",", " ")


def _group_settings(directory: Path) -> dict[str, Any]:
    paths = [directory / name for name in ("testdata.yaml", "test_group.yaml")]
    return next((read_settings(_read(path)) for path in paths if path.is_file()), {})


def _granted(flags: list[str]) -> Comparison | None:
    """The tolerance in a validator's flags: `float_tolerance 1e-6`."""
    bounds = {"rel": 0.0, "abs": 0.0}
    for flag, value in itertools.pairwise(flags):
        for name, names in (("rel", "float_relative_tolerance"), ("abs", "float_absolute_tolerance")):
            if flag in (names, "float_tolerance"):
                bounds[name] = _bound(flag, value)
    return Comparison("numbers", **bounds) if any(bounds.values()) else None


def _bound(flag: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise TaskError(f"{flag}: a number was expected; got {value!r}") from None


_LINE = re.compile(r"(?P<indent>[ ]*)(?P<key>[\w.-]+):(?:[ \t]+(?P<value>.*))?")
_COMMENT = re.compile(r"(?:^|\s)#.*$")


def read_settings(yaml: str) -> dict[str, Any]:
    """The keys of a package's settings; a value is text, or an object with the keys that are indented below it.

    Lines without a key (list items, continued text) are skipped; no setting that is used here has such lines.

    Example:
        >>> read_settings("name: Steed 2: Cruise Control\\nlimits:\\n    memory: 1024")
        {'name': 'Steed 2: Cruise Control', 'limits': {'memory': '1024'}}

    Raises:
        TaskError: If the text has no key.
    """
    settings: dict[str, Any] = {}
    open_objects = [(-1, settings)]
    lines = [_COMMENT.sub("", line).rstrip() for line in yaml.splitlines()]
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        found = _LINE.fullmatch(line)
        if found is None:
            continue
        indent = len(found["indent"])
        while open_objects[-1][0] >= indent:
            open_objects.pop()
        below = len(following) - len(following.lstrip()) > indent
        if below and not found["value"]:
            inner: dict[str, Any] = {}
            open_objects[-1][1][found["key"]] = inner
            open_objects.append((indent, inner))
        else:
            open_objects[-1][1][found["key"]] = _scalar(found["value"] or "")
    if not settings and any(lines):
        raise TaskError("lines of the form `key: value` were expected; got none")
    return settings


def _scalar(value: str) -> str:
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
