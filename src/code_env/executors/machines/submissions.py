"""The runs of one executor in one process: from `submit` to a result, over machines that may fail.

A program is tried again on another machine after a failure that is not its fault, so a program may run more than once.
If the tries fail too, the status is `sandbox_error`; the failure never counts as a wrong answer. If a program's
supervisor dies twice while its machine still answers, the program has killed it, and is held responsible.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TypeVar

from code_env.errors import ExecutorClosed, ExecutorError, ExecutorMisconfigured, UnsupportedProgram
from code_env.executors.local.peer_host import PeerHost
from code_env.executors.pool import renew_lock_after_fork
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult, sandbox_error, sandbox_killed

from .faults import MissingInterpreter, NoMachine, SupervisorDied, described
from .futures import ResultFuture
from .judged import run_judged
from .loop import loop_thread, raise_if_cancelled
from .machine import LAST_LOOK_S, Machine, Machines
from .machine_run import lifetime_s, run_plain

T = TypeVar("T")

_CLOSE_S = 30.0
"""How long `close` waits for runs and machines to end, in seconds."""


class Submissions:
    """The runs of one executor in one process.

    Args:
        machines: Where programs run.
        peers: Gives the host of peers; None if the executor was closed.
    """

    def __init__(self, machines: Machines, peers: Callable[[], PeerHost | None]) -> None:
        self.pid = os.getpid()
        self._machines, self._peers = machines, peers
        self._thread = loop_thread()
        self._runs: dict[asyncio.Task[None], Future[ExecutionResult]] = {}
        self._refusal: ExecutorMisconfigured | None = None
        self._closing = False
        self._lock = threading.Lock()
        renew_lock_after_fork(self)
        self._closed: Future[int] | None = None
        self._was_told = False

    def submit(self, program: Program) -> Future[ExecutionResult]:
        """Start a program; see `Executor.submit`."""
        if self._refusal is not None:
            raise _again(self._refusal)
        # The future stays pending until the result is there: a future in state "running" could not be cancelled.
        future = ResultFuture(self._thread)
        self._thread.loop.call_soon_threadsafe(self._start, program, future, time.monotonic())
        return future

    def wait_for(self, work: Coroutine[object, object, T]) -> T:
        """Do other work in the event loop's thread, and wait for its result."""
        return asyncio.run_coroutine_threadsafe(work, self._thread.loop).result()

    def close(self) -> int:
        """End everything; return how many machines are left. Only the first call returns that number, later ones 0."""
        with self._lock:
            if self._closed is None:
                self._closed = asyncio.run_coroutine_threadsafe(self._close(), self._thread.loop)
        if self._thread.is_current:  # The loop's thread must not wait for its own work.
            return 0
        try:
            left = self._closed.result(2 * _CLOSE_S + LAST_LOOK_S)
        except TimeoutError:
            left = self._machines.known
        with self._lock:
            was_told, self._was_told = self._was_told, True
        return 0 if was_told else left

    def _start(self, program: Program, future: ResultFuture, submitted: float) -> None:
        if self._closing or future.cancelled():
            future.cancel()
            future.set_running_or_notify_cancel()
            return
        task = self._thread.loop.create_task(self._carry_out(program, future, submitted))
        self._runs[task] = future
        task.add_done_callback(lambda _: self._runs.pop(task, None))

        def end(done: Future[ExecutionResult]) -> None:
            if done.cancelled():
                self._thread.loop.call_soon_threadsafe(task.cancel)

        future.when_done(end)

    async def _carry_out(self, program: Program, future: Future[ExecutionResult], submitted: float) -> None:
        result: ExecutionResult | None = None
        error: Exception | None = None
        try:
            result = await self._run(program, submitted)
        except asyncio.CancelledError:
            future.cancel()
        except ExecutorMisconfigured as refused:
            error = refused
            self._refuse_all(refused)
        except ExecutorError as refused:
            error = refused
        # This package has a bug: it is not the program's fault, and the future must not stay pending.
        except Exception as bug:
            result = sandbox_error(described(bug, self._machines.hide), 0.0)
        if self._closing:
            future.cancel()  # `close` ended the run, so its result says nothing about the program.
        if future.done() and not future.cancelled():
            return  # `_refuse_all` has completed it.
        if not future.set_running_or_notify_cancel():
            return
        if error is not None:
            future.set_exception(error)
        elif result is not None:
            future.set_result(result)

    def _refuse_all(self, refusal: ExecutorMisconfigured) -> None:
        """Let all other runs fail, because there will be no machine for them."""
        if self._refusal is not None:
            return
        self._refusal = refusal
        for task, future in list(self._runs.items()):
            if not future.done() and task is not asyncio.current_task():
                with contextlib.suppress(Exception):  # The caller may cancel it at the same time.
                    future.set_exception(_again(refusal))
                task.cancel()

    async def _run(self, program: Program, submitted: float) -> ExecutionResult:
        """Run a program; run it again after a failure that is not its own fault."""
        faults: list[str] = []
        deaths: list[str] = []
        queue_s: float | None = None
        while True:
            raise_if_cancelled()  # After a cancellation no new machine must be made.
            came, began = await self._attempt(program)
            if began is not None and queue_s is None:
                queue_s = began - submitted
            waited_s = time.monotonic() - submitted if queue_s is None else queue_s
            match came:
                case ExecutionResult():
                    start_s = max(0.0, time.monotonic() - submitted - waited_s - came.wall_s)
                    return dataclasses.replace(came, queue_s=waited_s, start_s=start_s)
                # Raise new exceptions: frames of the old ones hold the machine, and the machine may hold a key.
                case ExecutorMisconfigured():
                    raise type(came)(self._machines.hide(str(came)))
                case MissingInterpreter():
                    raise UnsupportedProgram(f"the machine cannot run this: {came}")
                case NoMachine():  # It has been tried often enough already.
                    faults.append(str(came))
                    return self._failed(faults, deaths, waited_s)
                case SupervisorDied():
                    deaths.append(str(came))
                    if len(deaths) == 2:
                        return sandbox_killed(deaths[-1], with_peer=program.peer is not None, queue_s=waited_s)
                case _:
                    faults.append(described(came, self._machines.hide))
                    if len(faults) > self._machines.reruns:
                        return self._failed(faults, deaths, waited_s)

    def _failed(self, faults: list[str], deaths: list[str], queue_s: float) -> ExecutionResult:
        """The result after machines have failed too often."""
        tries = len(faults) + len(deaths)
        attempts = f"{tries} attempt{'s' if tries > 1 else ''}"
        return sandbox_error(f"{self._machines.name} failed in {attempts}: {'; '.join(faults)}", queue_s)

    async def _attempt(self, program: Program) -> tuple[ExecutionResult | Exception, float | None]:
        """Run a program once.

        Returns:
            The result, or the exception without its frames; and the time when the machine was there, if it ever was.
        """
        began: float | None = None
        try:
            async with self._machines.one(lifetime_s(program, self._machines.request_timeout_s)) as machine:
                began = time.monotonic()
                return await self._run_on(machine, program), began
        except Exception as error:
            error.__cause__ = error.__context__ = None
            return error.with_traceback(None), began

    async def _run_on(self, machine: Machine, program: Program) -> ExecutionResult:
        timeout_s, silence_s = self._machines.request_timeout_s, self._machines.silence_s
        if program.notebook and program.history is None:  # The harness runs the cells of sessions.
            return await self._machines.run_notebook(machine, program)
        if program.peer is None:
            return await run_plain(machine, program, timeout_s, silence_s)
        peers = self._peers()
        if peers is None:
            raise ExecutorClosed("this executor was closed meanwhile")
        return await run_judged(machine, program, peers, timeout_s, silence_s)

    async def _close(self) -> int:
        self._closing = True
        for task in list(self._runs):
            task.cancel()
        if self._runs:
            await asyncio.wait(list(self._runs), timeout=_CLOSE_S)
        return await self._machines.close(_CLOSE_S)


def _again(refusal: ExecutorMisconfigured) -> ExecutorMisconfigured:
    """A new exception that says the same."""
    return type(refusal)(str(refusal))
