"""The input of an executor: a program and its limits."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from code_env.checks import require_known
from code_env.errors import TaskError
from code_env.languages import PYTHON, canonical_name, find_language

MAX_LIMIT = 1 << 50
"""Largest limit on a size or count: far below what the kernel's counters can hold."""

MAX_SECONDS = 1_000_000
"""Longest time limit, in seconds: as milliseconds it still fits into the timeout of poll(2)."""


_MAX_NAME_BYTES = 255


@dataclass(frozen=True)
class Limits:
    """The limits of one run of a program.

    In a judged run they hold for each `stdin` or `call` test, and for each `assert` suite as a
    whole; the judged run itself may take ten times as much. If a test exceeds its CPU time, all later tests together
    may use `cpu_s` once more; if one of these tests times out too, no further test is run. `total_cpu_s` limits all
    tests of an answer together, from the first test on.

    Raises:
        TaskError: If a limit is not a positive number (`processes`: not negative).

    Example:
        >>> Limits(cpu_s=1.0).wall_s
        15.0
    """

    cpu_s: float = 5.0
    """CPU time of all its processes together, in seconds. Normally this is the limit that ends a slow program."""
    wall_s: float = 15.0
    """Wall time, in seconds: a precaution against programs that wait."""
    memory_bytes: int = 512 * 1024 * 1024
    """Resident anonymous, shared and tmpfs memory of all its processes together, in bytes."""
    output_bytes: int = 64 * 1024
    """How many bytes of each stream are kept at its head, and the same number at its tail; the middle is dropped."""
    file_bytes: int = 16 * 1024 * 1024
    """Size of all files that it writes, added up, in bytes."""
    processes: int = 0
    """How many processes it may have besides its main process. The main process's threads do not count."""
    total_cpu_s: float | None = None
    """CPU time that all tests of an answer may use together, in seconds; None if only each test has a limit."""

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            if value is None and item.name == "total_cpu_s":
                continue
            whole = not item.name.endswith("_s")
            least = 0 if item.name == "processes" else 1 if whole else 1e-3
            number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
            most = MAX_LIMIT if whole else MAX_SECONDS
            if not number or not least <= value <= most:
                kind = "a whole number" if whole else "a number of seconds"
                raise TaskError(f"limits.{item.name} must be {kind} from {least} to {most}; got {_brief(value)}")
            # NumPy's numbers pass this check too, but cannot be sent to another process as plain data.
            object.__setattr__(self, item.name, int(value) if whole else float(value))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Limits:
        """Make limits from plain data, with defaults for the fields that are not named.

        Raises:
            TaskError: If a name is unknown or a value is out of range.
        """
        return cls().with_values(values)

    def with_values(self, values: Mapping[str, Any] | None) -> Limits:
        """Copy these limits, with new values for the fields that are named; None changes nothing.

        Raises:
            TaskError: If `values` is not a mapping, a name is unknown, or a value is out of range.

        Example:
            >>> Limits(memory_bytes=1 << 30).with_values({"cpu_s": 1}).cpu_s
            1.0
        """
        if not isinstance(values, Mapping | None):
            raise TaskError(f"limits must be a mapping, such as {{'cpu_s': 1}}; got {type(values).__name__}")
        known = [item.name for item in dataclasses.fields(self)]
        require_known("unknown limit", values or (), known, TaskError)
        return dataclasses.replace(self, **dict(values)) if values else self


@dataclass(frozen=True)
class Program:
    """A program to run, with its input and its limits.

    Raises:
        TaskError: If a path leaves the working directory, or a peer has a peer.

    Example:
        >>> Program("print(input())", stdin="hello").language
        'python'
    """

    code: str
    """Its source text. Untrusted: nothing in the trainer's process parses or compiles it."""
    language: str = "python"
    """Name of its language, or an alias that `code_env.languages` knows; an alias is replaced by the name."""
    stdin: str = ""
    """What it reads on standard input."""
    argv: tuple[str, ...] = ()
    """Its command-line arguments, without its own name."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files to write into its working directory: relative path to content."""
    collect: tuple[str, ...] = ()
    """Relative paths of files to bring back when it has ended; files that do not exist are left out."""
    limits: Limits = field(default_factory=Limits)
    """Its limits."""
    notebook: bool = False
    """Whether it is run like a cell of a notebook: the value of its last expression and the matplotlib figures that it
    shows are brought back in `ExecutionResult.results`."""
    cells: tuple[str, ...] = ()
    """With `notebook`: further cells, which are run after it in the same namespace; their results are in
    `ExecutionResult.cells`. If a cell fails, the next cells still run; if the program itself fails, no cell is run."""
    peer: Program | None = None
    """A second, trusted program in its own sandbox, joined to this program by a channel: one duplex file descriptor.

    With a peer, `code` is not simply run: the harness in the program's process serves the peer's requests to
    run `code` or to call into it (`code_env.harness`). The peer is run as a normal program. It finds the number of its
    file descriptor in the environment variable `CODE_ENV_CHANNEL`, and its result is `ExecutionResult.peer`.
    """
    one_process: bool = False
    """With a peer: whether a single process loads the code, once, and answers the peer itself.

    If true, the limits hold for that process. If false, a process that never runs the code starts a child for each run
    or load that the peer asks for, and the limits hold for each child.
    """
    imports: tuple[str, ...] = ()
    """Modules that will be imported in its process, although its text does not name them: a hint for executors that
    keep processes with imported modules ready."""

    def __post_init__(self) -> None:
        for name in ("code", "language", "stdin"):
            if not isinstance(getattr(self, name), str):
                raise TaskError(f"{name} must be text; got {type(getattr(self, name)).__name__}")
        if not isinstance(self.argv, tuple) or not all(isinstance(a, str) and "\0" not in a for a in self.argv):
            raise TaskError(f"argv must be a tuple of texts without NUL; got {self.argv!r}")
        if not isinstance(self.imports, tuple) or not all(isinstance(name, str) for name in self.imports):
            raise TaskError(f"imports must be a tuple of names; got {self.imports!r}")
        if not isinstance(self.cells, tuple) or not all(isinstance(cell, str) for cell in self.cells):
            raise TaskError(f"cells must be a tuple of texts; got {_brief(self.cells)}")
        if self.cells and not self.notebook:
            raise TaskError("cells are run after a program with notebook=True, and this one has notebook=False")
        if self.notebook and self.peer is not None:
            raise TaskError("a program with a peer is no notebook: its peer asks for what it runs")
        object.__setattr__(self, "language", canonical_name(self.language))
        check_files(self.files, main_file(self.language))
        for path in self.collect:
            check_path(path)
        if self.one_process and self.peer is None:
            raise TaskError("one_process says how a peer is answered, and there is none")
        if self.peer is not None and self.peer.peer is not None:
            raise TaskError("a peer cannot have a peer of its own")


def _brief(value: object) -> str:
    # Imported here, because only an error message needs it, and the import takes time.
    from code_env.harness.wire.shown import brief

    return brief(value)


def check_path(path: str) -> None:
    """Check that a path leads to a file inside the working directory.

    Raises:
        TaskError: If it does not.
    """
    pure = PurePosixPath(path) if isinstance(path, str) else None
    inside = pure is not None and not pure.is_absolute() and ".." not in pure.parts and bool(pure.parts)
    if not inside or not str(path).isprintable():
        raise TaskError(f"{path!r} is not a path inside the working directory; use a relative, printable one")
    if pure is not None and any(len(part.encode()) > _MAX_NAME_BYTES for part in pure.parts):
        raise TaskError(f"{path[:50]!r}... has a part of more than {_MAX_NAME_BYTES} bytes, which no file system takes")


def main_file(language: str) -> str:
    """Name of the file with the program's code in its working directory, for a language."""
    return (find_language(language) or PYTHON).file


def check_files(files: Mapping[str, bytes], main: str) -> None:
    """Check the files that an executor will write into a program's working directory.

    Args:
        files: Their contents, by path.
        main: Path of the file with the program's code.

    Raises:
        TaskError: If a path is not inside the working directory, a path is used both as a file and as a directory, a
            path is that of the program, or a content is not bytes.
    """
    if not isinstance(files, Mapping):
        raise TaskError(f"files must be a mapping; got {type(files).__name__}")
    for path, content in files.items():
        check_path(path)
        if not isinstance(content, bytes):
            raise TaskError(f"files[{path!r}] must be bytes; got {type(content).__name__}")
    paths = {PurePosixPath(path) for path in files}
    program = PurePosixPath(main)
    for pure in paths | {program}:
        if pure in {program} & paths or not paths.isdisjoint(pure.parents):
            raise TaskError(f"files: {str(pure)!r} is taken, by the program or as a directory of another file")
