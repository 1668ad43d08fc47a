"""Sandboxes from their creation to their confirmed end: how many at a time, how long they live, which are left over.

A sandbox costs money until it has ended. So each sandbox has a lifetime, after which E2B ends it, whatever happens to
this process. Each sandbox is ended as soon as its run is over, by a separate task, which is not cancelled with the run.
It counts as in use until E2B has confirmed its end. Each sandbox has the executor's id in its metadata: by that id a
sandbox is found if E2B created it, but the answer of the request was lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import os
import time
import uuid
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass
from typing import Any

from code_env.errors import E2BMisconfigured, ExecutorError
from code_env.executors.machines.faults import NoMachine, described
from code_env.executors.machines.loop import within
from code_env.executors.machines.machine import LAST_LOOK_S, Machine, Machines
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult

from .key import ApiKey
from .machine import E2BMachine
from .retrying import RetryPolicy, create_with_retries
from .sdk_errors import CreateFault, fault_of_create, may_have_created

RUN, CREATION, PROCESS = "code_env_run", "code_env_creation", "code_env_pid"
"""Keys of the metadata: the executor's id, the id of the request, and the pid of the trainer's process."""

_KILL_AGAIN_S = 5.0
"""The interval between later tries to end a sandbox, after the first tries have failed, in seconds."""

_KILL_WAIT_S = 0.2
"""The wait after the first failed try to end a sandbox, in seconds."""

_SWEEPS_S = (1.0, 5.0, 30.0)
"""The waits between looks for a sandbox after the answer about it was lost, in seconds: its creation may take time."""

_UPPER_SECONDS = 24 * 3600


@dataclass(frozen=True)
class Settings:
    """The settings that sandboxes are created with."""

    key: ApiKey
    template: str | None
    domain: str | None
    allow_internet_access: bool
    request_timeout_s: float

    def connection(self) -> dict[str, Any]:
        """Arguments for the SDK's calls."""
        given = {"api_key": self.key.reveal(), "request_timeout": self.request_timeout_s, "retries": 0}
        return given if self.domain is None else {**given, "domain": self.domain}


class Gate:
    """Limits how many tasks are inside at the same time, like a semaphore whose limit can change.

    Args:
        most: The largest limit.
        regrow_s: How long after the limit was lowered it may rise by 1 again, in seconds.
    """

    def __init__(self, most: int, regrow_s: float) -> None:
        self._most, self._limit, self._regrow_s = most, most, regrow_s
        self._narrowed = 0.0
        self._waiting: list[asyncio.Future[None]] = []
        self.inside = 0
        """How many tasks are inside."""

    async def enter(self) -> None:
        """Wait until this task may enter; tasks enter in the order in which they came."""
        if self.inside < self._limit and not self._waiting:
            self.inside += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn in self._waiting:
                self._waiting.remove(turn)
            elif turn.done() and not turn.cancelled():  # It was let in before it was cancelled.
                self.leave()
            raise

    def leave(self) -> None:
        """Leave, and let the next task in."""
        self.inside -= 1
        self._let_in()

    def narrow(self, most: int) -> None:
        """Lower the limit to `most`, because E2B has refused a sandbox for a task that is inside."""
        self._limit = max(1, min(self._limit, most))
        self._narrowed = time.monotonic()

    def found_a_place(self) -> None:
        """Raise the limit by 1, if it was lowered long ago: a task that is inside has got a sandbox."""
        if self._limit < self._most and time.monotonic() > self._narrowed + self._regrow_s:
            self._limit += 1
            self._narrowed = time.monotonic()
            self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self.inside < self._limit:
            turn = self._waiting.pop(0)
            if not turn.done():
                self.inside += 1
                turn.set_result(None)


class Sandboxes(Machines):
    """The sandboxes of one executor in one process. All its methods run in the event loop's thread.

    Args:
        settings: The settings that sandboxes are created with.
        policy: What is tried again, and how often.
        most: The largest number of sandboxes at a time.

    Raises:
        ExecutorError: In a fork of a process that has used E2B.
    """

    name = "E2B"

    def __init__(self, settings: Settings, policy: RetryPolicy, most: int) -> None:
        _refuse_fork()
        self.reruns, self.silence_s = policy.reruns, policy.silence_s
        self.request_timeout_s = settings.request_timeout_s
        self._settings, self._policy = settings, policy
        self._gate = Gate(most, policy.regrow_s)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._sweeps: set[asyncio.Task[Any]] = set()
        self._known: set[str] = set()
        self._asked = False
        self.run_id = uuid.uuid4().hex
        """The executor's id in the metadata."""

    @property
    def known(self) -> int:
        """The number of sandboxes whose end is not confirmed."""
        return len(self._known)

    @contextlib.asynccontextmanager
    async def one(self, lifetime_s: float) -> AsyncIterator[Machine]:
        """A new sandbox. When the context ends, the sandbox is ended in the background.

        Args:
            lifetime_s: The time after which E2B ends the sandbox, in seconds.

        Raises:
            E2BMisconfigured: If E2B refuses to create a sandbox.
            NoMachine: If no sandbox could be created in any of the tries.
        """
        await self._gate.enter()
        try:
            sandbox = await self._create(lifetime_s)
        except BaseException:
            self._gate.leave()
            raise
        self._gate.found_a_place()
        try:
            yield E2BMachine(sandbox, self.request_timeout_s)
        finally:
            self._begin(self._end(sandbox.sandbox_id, time.monotonic() + lifetime_s))

    async def run_notebook(self, machine: Machine, program: Program) -> ExecutionResult:
        """Run a program in the Jupyter kernel of a sandbox."""
        from .notebook_mode import run_notebook

        if not isinstance(machine, E2BMachine):
            raise TypeError(f"a sandbox was expected; got {type(machine).__name__}")
        return await run_notebook(machine.sandbox, program, self.request_timeout_s)

    def hide(self, text: str) -> str:
        """A text without the key."""
        return self._settings.key.without(text)

    async def _create(self, lifetime_s: float) -> Any:
        async def create() -> Any:
            # A request that was sent cannot be taken back. After a cancellation it continues, and its sandbox is ended.
            request = self._begin(self._create_once(lifetime_s))
            try:
                return await asyncio.shield(request)
            except asyncio.CancelledError:
                self._gate.inside += 1
                self._begin(self._end_when_created(request, time.monotonic() + lifetime_s))
                raise

        began = time.monotonic()
        try:
            return await create_with_retries(self._policy, create, lambda: self._gate.narrow(len(self._known)))
        except Exception as error:
            refused = fault_of_create(error) is CreateFault.CONFIGURATION
            text = described(error, self._settings.key.without)
        # Raised outside the `except` block, so that it has no context: frames of the SDK's exception hold the key.
        if refused:
            raise E2BMisconfigured(self._refusal(text))
        raise NoMachine(f"{text} (tried for {time.monotonic() - began:.0f} s)")

    def _refusal(self, text: str) -> str:
        return (
            f"E2B refuses to make a sandbox ({text}); check E2B_API_KEY or api_key, "
            f"template={self._settings.template!r} and the limits of programs, whose time the sandbox must live"
        )

    async def _create_once(self, lifetime_s: float) -> Any:
        from e2b_code_interpreter import AsyncSandbox

        creation = uuid.uuid4().hex
        settings = self._settings
        self._asked = True
        try:
            # In some versions, the SDK's own timeout comes only after twice the time.
            sandbox = await within(
                settings.request_timeout_s,
                AsyncSandbox.create(
                    settings.template,
                    timeout=min(_UPPER_SECONDS, int(lifetime_s) + 1),
                    metadata={RUN: self.run_id, CREATION: creation, PROCESS: str(os.getpid())},
                    secure=True,
                    allow_internet_access=settings.allow_internet_access,
                    lifecycle={"on_timeout": "kill"},
                    idempotency_key=creation,
                    **settings.connection(),
                ),
            )
        except Exception as error:
            if may_have_created(error):
                self._begin(self._sweep_again({CREATION: creation}), self._sweeps)
            if isinstance(error, TimeoutError):
                import httpx

                raise httpx.ReadTimeout(f"no sandbox within {settings.request_timeout_s:g} s") from None
            raise
        self._known.add(sandbox.sandbox_id)
        return sandbox

    async def _end_when_created(self, request: asyncio.Task[Any], expires: float) -> None:
        try:
            sandbox = await request
        except Exception:
            self._gate.leave()
            return
        await self._end(sandbox.sandbox_id, expires)

    async def _end(self, sandbox_id: str, expires: float) -> None:
        """End a sandbox, and leave the gate when its end is confirmed or its lifetime is over."""
        tries, wait_s = 0, _KILL_WAIT_S
        try:
            while time.monotonic() < expires:
                if await self._kill(sandbox_id):
                    self._known.discard(sandbox_id)
                    return
                tries += 1
                await asyncio.sleep(wait_s if tries < self._policy.kill_tries else _KILL_AGAIN_S)
                wait_s *= 2
            self._known.discard(sandbox_id)
        finally:
            self._gate.leave()

    async def _kill(self, sandbox_id: str) -> bool:
        """End a sandbox; return whether it has ended."""
        from e2b_code_interpreter import AsyncSandbox

        settings = self._settings
        try:
            # The SDK returns False if the sandbox does not exist any more: it has ended as well.
            await within(settings.request_timeout_s, AsyncSandbox.kill(sandbox_id, **settings.connection()))
        except Exception:
            return False
        return True

    async def _sweep_again(self, metadata: dict[str, str]) -> None:
        for wait_s in _SWEEPS_S:
            await asyncio.sleep(wait_s)
            with contextlib.suppress(Exception):  # It is tried again, and the lifetime ends the sandbox in any case.
                if await self.sweep(metadata):
                    return

    async def sweep(self, metadata: dict[str, str] | None = None, older_than_s: float | None = None) -> int:
        """End sandboxes that should not exist; return how many were ended. See `_sweep`."""
        return (await self._sweep(metadata, older_than_s))[0]

    async def _sweep(self, metadata: dict[str, str] | None, older_than_s: float | None) -> tuple[int, int]:
        """End sandboxes that should not exist.

        Args:
            metadata: End only sandboxes with this metadata; by default those of this executor that are not in use.
            older_than_s: If given, end the sandboxes of all executors that are older than this, in seconds.

        Returns:
            How many sandboxes were ended, and how many could not be ended.

        Raises:
            Exception: Any exception of the SDK, if the sandboxes cannot be listed.
        """
        from e2b_code_interpreter import AsyncSandbox

        query = {} if older_than_s is not None else {"query": _query(metadata or {RUN: self.run_id})}
        pages = AsyncSandbox.list(**query, **self._settings.connection())
        ended = left = 0
        while pages.has_next:
            for found in await pages.next_items():
                if found.sandbox_id in self._known or RUN not in (found.metadata or {}):
                    continue
                if older_than_s is None or _age_s(found.started_at) > older_than_s:
                    if await self._kill(found.sandbox_id):
                        ended += 1
                    else:
                        left += 1
        return ended, left

    async def close(self, patience_s: float) -> int:
        """Wait until all sandboxes have ended, and look for left-over ones.

        Returns:
            How many sandboxes are known to be left; they end when their lifetime is over.
        """
        until = time.monotonic() + patience_s
        while self._tasks and (left_s := until - time.monotonic()) > 0:  # A task may start another task.
            await asyncio.wait(set(self._tasks), timeout=left_s)
        for task in [*self._tasks, *self._sweeps]:
            task.cancel()
        if self._asked:  # Also if nothing failed: an answer of E2B may have been wrong.
            left = len(self._known)
            self._known.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LAST_LOOK_S):
                    for _ in range(self._policy.kill_tries):  # Look once more for sandboxes that E2B says it has ended.
                        try:
                            ended, left = await self._sweep(None, None)
                        except Exception:  # They could not be listed, perhaps because a connection was reset.
                            await asyncio.sleep(_KILL_WAIT_S)
                            continue
                        if not ended and not left:
                            break
            return left
        return 0

    def _begin(self, work: Coroutine[Any, Any, Any], among: set[asyncio.Task[Any]] | None = None) -> asyncio.Task[Any]:
        tasks = self._tasks if among is None else among
        task = asyncio.get_running_loop().create_task(work)
        tasks.add(task)

        def forget(_: object) -> None:
            tasks.discard(task)
            if not task.cancelled():
                task.exception()  # Marks the exception as retrieved; a waiting task gets it anyway.

        task.add_done_callback(forget)
        return task


_users_pid: int | None = None
"""The process that has used the SDK."""


def _refuse_fork() -> None:
    """Refuse to use E2B in a fork of a process that has used it.

    The SDK keeps one transport for each process. It does not work in a fork, where every request would wait forever.
    """
    global _users_pid
    if _users_pid not in (None, os.getpid()):
        raise ExecutorError(
            "this process was forked from one that had used E2B, and the SDK's connections do not survive a fork; "
            "start processes with 'spawn' or 'forkserver', or fork before the first program"
        )
    _users_pid = os.getpid()


def _query(metadata: dict[str, str]) -> Any:
    from e2b import SandboxQuery

    return SandboxQuery(metadata=metadata)


def _age_s(started: datetime.datetime) -> float:
    zone = started.tzinfo or datetime.UTC
    return (datetime.datetime.now(zone) - started.replace(tzinfo=zone)).total_seconds()
