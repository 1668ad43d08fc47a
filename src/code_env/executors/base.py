"""The contract of an executor: one basic method, `submit`; all other ways to run a program use it.

`submit` returns a future. Whatever the program does, the future's result says how the program ended. The
future raises only for misuse, never for what the program did. Third parties subclass `Executor`,
implement three methods, and check their class with `code_env.testing.check_executor`.
"""

from __future__ import annotations

import abc
import asyncio
import functools
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from code_env.checks import names_keywords, require_whole
from code_env.errors import ExecutorError, UnsupportedProgram
from code_env.languages import PYTHON

from .limits import Limits
from .program import Program, python_packages, require_program
from .result import ExecutionResult

if TYPE_CHECKING:
    from code_env.sessions.keeping import Keeper
    from code_env.sessions.session import Session


@names_keywords
@dataclass(frozen=True)
class Isolation:
    """What an executor isolates, and what it enforces. An executor must not claim more than it does."""

    level: Literal["none", "contained", "full", "container", "machine"]
    """`none`: a program has all the rights of the trainer's user. `contained` and `full`: the levels of `local`.
    `container`: each program has a container of its own. `machine`: each program has a machine of its own, which is not
    the trainer's."""
    peer: Literal["isolated", "same_machine", "none"]
    """`isolated`: a program cannot reach its peer's process; `same_machine`: it can; `none`: the executor runs no
    peers."""
    languages: frozenset[str] = frozenset({"python"})
    """Languages it runs."""
    enforces: frozenset[str] = frozenset()
    """Names of the `Limits` fields that it enforces."""
    network: bool = True
    """Whether a program can use the network."""
    notebooks: bool = False
    """Whether it runs programs with `notebook=True`."""
    sessions: Literal["fork", "replay", "none"] = "none"
    """How it keeps the state of a session, see `open_session`. `fork`: the interpreter stays, and a fork of it runs the
    next cell. `replay`: all cells are run again before each new one. `none`: it has no sessions."""
    packages: bool = False
    """Whether it runs programs with packages of their own, see `Program.packages`."""
    images: bool = False
    """Whether it runs programs in images, see `Program.image`."""
    policy: str = ""
    """Name of the policy that programs must follow, if there is a policy; other programs get the status `refused`."""
    details: str = ""
    """Other facts that a user should know, in one sentence."""


def require_executor(value: object) -> None:
    """Refuse what is not an executor.

    Raises:
        TypeError: If it is something else, such as the name of an executor.
    """
    if not isinstance(value, Executor):
        hint = f": with make_executor({value!r}) as executor: ..." if isinstance(value, str) else ""
        raise TypeError(f"executor must be an Executor; got {type(value).__name__}; make_executor makes one{hint}")


class Executor(abc.ABC):
    """Runs programs. It can be used as a context manager, from any thread, and from asyncio.

    A copy that crosses to another process, by pickle, is a new executor that is made with the same arguments. It has
    no state of this one, and no argument that `SECRETS` names.
    """

    SECRETS: ClassVar[frozenset[str]] = frozenset()
    """Names of keyword arguments that are never pickled, such as keys. The copy is made without them, and takes, for
    example, what the environment has."""

    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Keep the arguments, but not the secret ones."""
        self = super().__new__(cls)
        self._made_with = (args, {name: value for name, value in kwargs.items() if name not in cls.SECRETS})
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Called by pickle."""
        args, kwargs = self._made_with
        return partial(type(self), *args, **kwargs), ()

    @abc.abstractmethod
    def submit(self, program: Program) -> Future[ExecutionResult]:
        """Start a program; cancelling the future ends it.

        Raises:
            UnsupportedProgram: If the executor cannot do what the program asks.
            ExecutorClosed: If the executor was closed.
        """

    @abc.abstractmethod
    def describe(self) -> Isolation:
        """Return what this executor isolates and enforces."""

    @abc.abstractmethod
    def close(self) -> None:
        """End all programs that still run, and free all resources. Idempotent."""

    def run(self, program: Program) -> ExecutionResult:
        """Run a program and wait for its result."""
        return self.run_many([program])[0]

    def run_many(self, programs: Iterable[Program]) -> list[ExecutionResult]:
        """Run programs at the same time; the results are in the order of the programs.

        Raises:
            TypeError: If one of them is not a `Program`.
        """
        if isinstance(programs, Program):
            raise TypeError("run_many takes a list of programs; got one Program, which run takes")
        futures: list[Future[ExecutionResult]] = []
        try:
            for program in programs:
                require_program(program)
                futures.append(self.submit(program))
            wait(futures)  # Waits once for all: waking up for each future takes a measurable part of a short run.
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()  # Has no effect on futures that are done.

    async def arun(self, program: Program) -> ExecutionResult:
        """Like `run`, for asyncio; cancelling the task that awaits it ends the program."""
        require_program(program)
        return await asyncio.wrap_future(self.submit(program))

    async def arun_many(self, programs: Iterable[Program]) -> list[ExecutionResult]:
        """Like `run_many`, for asyncio."""
        return await asyncio.gather(*[self.arun(program) for program in programs])

    @functools.cached_property
    def _keeper(self) -> Keeper:
        from code_env.sessions.keeping import Keeper

        return Keeper()

    @property
    def max_sessions(self) -> int:
        """How many sessions may be open at a time, branches too; 1024 unless it is set."""
        return self._keeper.most

    @max_sessions.setter
    def max_sessions(self, most: int) -> None:
        self._keeper.most = require_whole("max_sessions", most, ExecutorError, least=1)

    def open_session(
        self,
        *,
        limits: Limits | None = None,
        files: Mapping[str, bytes] | None = None,
        packages: Iterable[str] = (),
        image: str = "",
        idle_s: float = 3600.0,
    ) -> Session:
        """Open a session: an interpreter of Python that keeps its state from cell to cell.

        Args:
            limits: The limits of each cell. `total_cpu_s` is that of all its cells together.
            files: The files that it begins with: relative path to content.
            packages: Requirements of packages that it finds, see `Program.packages`. That the executor has none, or
                that they are not prepared, is an error of the first cell.
            image: Path of the image that it runs in, see `Program.image`; errors as for packages.
            idle_s: After how long without use the session is closed, in seconds; its branches too. `math.inf` for
                never. A session that nobody refers to is closed in any case.

        Raises:
            UnsupportedProgram: If the executor has no sessions.
            TooManySessions: If `max_sessions` are open.
            ExecutorClosed: If the executor was closed.
        """
        from code_env.sessions.keeping import require_idle

        idle_s = require_idle(idle_s)
        if self.describe().sessions == "none":
            raise UnsupportedProgram(f"{type(self).__name__} has no sessions; others do, see describe().sessions")
        self._keeper.require_room(1)
        needed = python_packages(packages, PYTHON.name)
        first = Program("", limits=limits or Limits(), files=files or {}, packages=needed, image=image)
        return self._keeper.keep(self._new_session(first), idle_s)

    def _new_session(self, first: Program) -> Session:
        """Begin a session with the limits, the files, and the packages or the image of a program.

        An executor that keeps interpreters begins one of its own kind.
        """
        from code_env.sessions.replay import ReplaySession

        return ReplaySession(self, first)

    def __deepcopy__(self, memo: object) -> Self:
        # Gymnasium deep-copies an env's arguments for its spec; the copy must be the same executor.
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
