"""The input of an executor: a program and its limits."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from code_env.checks import names_keywords
from code_env.errors import TaskError
from code_env.harness.wire.shown import brief
from code_env.languages import PYTHON, canonical_name, find_language

from .limits import Limits

_MAX_NAME_BYTES = 255


@names_keywords
@dataclass(frozen=True)
class Program:
    """A program to run, with its input and its limits.

    Raises:
        TaskError: If a field is malformed; the message names it.

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
    history: tuple[str, ...] | None = None
    """With `notebook`: the cells of a session so far. They are run again before it, for what they leave in its
    namespace and its directory; what they write and raise is dropped. Then `code` is run as the next cell. If it ends
    without ending its process, its result is the only one of `ExecutionResult.cells`, an exit included, and what it
    wrote is in `stdout` and `stderr`. None if it is not a cell of a session; see `code_env.sessions`."""
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
    packages: tuple[str, ...] = ()
    """Requirements of packages that it finds, in place of those of the executor's interpreter, such as `pandas>=2`;
    they must be prepared (`code_env.packages`). Without any it finds what the interpreter has. A peer has those of its
    program, or none."""
    image: str = ""
    """Path or name of the image whose files it sees and whose interpreter runs it: a directory with a root file system,
    or what is prepared (`code_env.images`); empty for the machine's own. A peer has none."""
    trial: str = ""
    """The folder of a Harbor task; this program, in bash, does the agent's work there. It runs in a box on `image`, and
    `peer` of its result is the report on what the folder's verifier says; see `code_env.harbor.Trial`. Of its limits
    only `wall_s`, `memory_bytes` and `output_bytes` count. Empty for any other program."""

    @functools.cached_property
    def digest(self) -> str:
        """The SHA-256 of all that it holds; programs with the same digest are equal."""
        # Machines import this module before each program, and need no digest: OpenSSL takes a tenth of that start.
        import hashlib

        return hashlib.sha256(repr(self).encode()).hexdigest()

    def __post_init__(self) -> None:
        for name in ("code", "language", "stdin"):
            if not isinstance(getattr(self, name), str):
                raise TaskError(f"{name} must be text; got {type(getattr(self, name)).__name__}")
        if not isinstance(self.argv, tuple) or not all(isinstance(a, str) and "\0" not in a for a in self.argv):
            raise TaskError(f"argv must be a tuple of texts without NUL; got {self.argv!r}")
        if not isinstance(self.imports, tuple) or not all(isinstance(name, str) for name in self.imports):
            raise TaskError(f"imports must be a tuple of names; got {self.imports!r}")
        if not isinstance(self.cells, tuple) or not all(isinstance(cell, str) for cell in self.cells):
            raise TaskError(f"cells must be a tuple of texts; got {brief(self.cells)}")
        if self.cells and not self.notebook:
            raise TaskError("cells are run after a program with notebook=True, and this one has notebook=False")
        for cell in self.history or ():
            if not isinstance(cell, str) or not isinstance(self.history, tuple):
                raise TaskError(f"history must be a tuple of texts, or None; got {brief(self.history)}")
        if self.history is not None and (self.cells or not self.notebook):
            raise TaskError("a cell of a session, which has a history, is run with notebook=True and without cells")
        if self.notebook and self.peer is not None:
            raise TaskError("a program with a peer is no notebook: its peer asks for what it runs")
        if not isinstance(self.limits, Limits):
            raise TaskError(f"limits must be a Limits, such as Limits(cpu_s=1); got {type(self.limits).__name__}")
        if not isinstance(self.peer, Program | None):
            raise TaskError(f"peer must be a Program or None; got {type(self.peer).__name__}")
        object.__setattr__(self, "language", canonical_name(self.language))
        if self.packages:
            object.__setattr__(self, "packages", python_packages(self.packages, self.language))
        check_image(self.image, self.packages)
        if self.trial and (self.peer is not None or self.language != "bash" or not self.image):
            raise TaskError("the program of a trial is in bash and has an image, and its peer is the folder's verifier")
        check_files(self.files, main_file(self.language))
        for path in self.collect:
            check_path(path)
        if self.one_process and self.peer is None:
            raise TaskError("one_process says how a peer is answered, and there is none")
        if self.peer is not None and self.peer.peer is not None:
            raise TaskError("a peer cannot have a peer of its own")
        if self.peer is not None and self.peer.image:
            raise TaskError("a peer runs on this machine, in no image")
        if self.peer is not None and self.peer.packages not in ((), self.packages):
            raise TaskError(f"a peer has the packages of its program, or none; got {self.peer.packages!r}")


def python_packages(packages: Iterable[str], language: str) -> tuple[str, ...]:
    """Requirements in their normal form.

    Raises:
        TaskError: If one is malformed, or the language is not Python.
    """
    # Not above: this file runs on machines that have only the standard library, and programs there have no packages.
    from code_env.requirements import normal_requirements

    if language != PYTHON.name:
        raise TaskError(f"packages are for programs in {PYTHON.name}, not {language!r}")
    return normal_requirements(packages)


def check_image(image: object, packages: tuple[str, ...]) -> None:
    """Check the name of an image.

    Raises:
        TaskError: If it is no path, or there are packages too.
    """
    if not isinstance(image, str) or "\0" in image:
        raise TaskError(f"image must be the path or the name of an image, as text; got {image!r}")
    if image and packages:
        raise TaskError(f"an image has its own packages, and there are packages too: {', '.join(packages)}")


def require_program(value: object) -> None:
    """Refuse what is not a program.

    Raises:
        TypeError: If it is something else.
    """
    if not isinstance(value, Program):
        hint = "; make one of its text: Program(code)" if isinstance(value, str) else ""
        raise TypeError(f"an executor runs a Program; got {type(value).__name__}{hint}")


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
    if not files:
        return
    for path, content in files.items():
        check_path(path)
        if not isinstance(content, bytes):
            raise TaskError(f"files[{path!r}] must be bytes; got {type(content).__name__}")
    paths = {PurePosixPath(path) for path in files}
    program = PurePosixPath(main)
    for pure in paths | {program}:
        if pure in {program} & paths or not paths.isdisjoint(pure.parents):
            raise TaskError(f"files: {str(pure)!r} is taken, by the program or as a directory of another file")
