"""`e2b`: each program runs in a new micro-VM of E2B's cloud, through the current SDK. This is the trainer's side.

A program and its inputs go to the sandbox, and data comes back. The sandbox runs the same code that `subprocess` runs
here (`bundle.py`, `supervisor.py`), so limits, statuses and outputs are the same. If a program has a peer, the peer
runs on this machine, in the jail of `local` (`judged.py`), so expected values never leave it. Programs with
`notebook=True` run in the sandbox's Jupyter kernel (`notebook_mode.py`).

All requests are made in the event loop of one thread (`loop.py`); other threads use it through this class. After a
failure that is not the program's fault, the program is tried again in a new sandbox, so a program may run more than
once. If the tries fail too, the status is `sandbox_error`; the failure never counts as a wrong answer. If a program's
supervisor dies twice while its sandbox still answers, the program has killed it, and is held responsible.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import os
import re
import threading
import time
import warnings
import weakref
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from typing import Any

from code_env.checks import require_flag, require_number, require_whole
from code_env.errors import E2BMisconfigured, ExecutorClosed, ExecutorError, ExecutorNotFound, UnsupportedProgram
from code_env.executors.base import Executor, Isolation
from code_env.executors.interpreters import refuse_unsupported
from code_env.executors.local.peer_host import PeerHost
from code_env.executors.pool import renew_lock_after_fork
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult, sandbox_error, sandbox_killed

from .faults import MissingInterpreter, NoSandbox, SupervisorDied, described
from .futures import ResultFuture
from .judged import SPARE_S, run_judged
from .key import VARIABLE, ApiKey
from .loop import LoopThread, loop_thread, raise_if_cancelled
from .process_mode import lifetime_s, run_plain
from .retrying import RetryPolicy
from .sandboxes import LAST_SWEEP_S, Sandboxes, Settings

_log = logging.getLogger(__name__)

LANGUAGES = frozenset(("python", "javascript", "bash"))

_DOMAIN = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?")

_CLOSE_S = 30.0
"""How long `close` waits for sandboxes to end, in seconds; E2B ends the others when their lifetime is over."""


class E2BExecutor(Executor):
    """Runs each program in its own sandbox in E2B's cloud; needs the extra `e2b` and an API key.

    Args:
        api_key: E2B's key; the environment variable E2B_API_KEY by default.
        template: Name of the template that sandboxes are made from; E2B's for the code interpreter by default. It must
            have Python 3.11 or newer, and Node.js for JavaScript.
        max_concurrency: The largest number of sandboxes at a time.
        allow_internet_access: Whether programs can use the network.
        fallback: Name of the executor to use if there is no key, such as `local`. Without a fallback, a missing key is
            an error.
        domain: E2B's domain; the environment variable E2B_DOMAIN by default.
        retry: What is tried again, how often and when: a `RetryPolicy`, or a mapping of its fields.
        request_timeout_s: How long a single request may take, in seconds, without the time that the program runs.
        workers: The name that other executors use for `max_concurrency`. If both are given, `workers` is used; the
            fallback gets it too.

    Raises:
        ExecutorError: If there is no key or no SDK, or an argument is out of range.

    Example:
        >>> E2BExecutor(max_concurrency=0)
        Traceback (most recent call last):
        code_env.errors.ExecutorError: max_concurrency must be a whole number of at least 1; got 0
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        template: str | None = None,
        max_concurrency: int = 16,
        allow_internet_access: bool = False,
        fallback: str | None = None,
        domain: str | None = None,
        retry: RetryPolicy | Mapping[str, Any] | None = None,
        request_timeout_s: float = 60.0,
        workers: int | None = None,
    ) -> None:
        for name, text in (("api_key", api_key), ("template", template), ("fallback", fallback), ("domain", domain)):
            if text is not None and (not isinstance(text, str) or not text):
                got = "" if name == "api_key" else f"; got {text!r}"
                raise ExecutorError(f"{name} must be a text that is not empty, or None{got}")
        if template is not None and (not template.isprintable() or template != template.strip()):
            raise ExecutorError(f"template must be a name of printable characters; got {template!r}")
        if domain is not None and not _DOMAIN.fullmatch(domain):
            raise ExecutorError(f"domain must be the name of a host, such as 'e2b.dev'; got {domain!r}")
        if workers is not None:
            require_whole("workers", workers, ExecutorError, least=1)
        require_whole("max_concurrency", max_concurrency, ExecutorError, least=1)
        require_flag("allow_internet_access", allow_internet_access, ExecutorError)
        require_number("request_timeout_s", request_timeout_s, ExecutorError, above=0, unit="seconds")
        _check_fallback(fallback)
        policy = RetryPolicy.of(retry)
        key = ApiKey.find(api_key)
        self._instead: Executor | None = None
        if key is None:
            self._instead = _fallback(fallback, workers)
        else:
            _require_sdk()
            settings = Settings(key, template, domain, allow_internet_access, float(request_timeout_s))
            self._settings, self._policy, self._most = settings, policy, workers or max_concurrency
        self._lock = threading.Lock()
        renew_lock_after_fork(self)
        self._closed = False
        self._holder = _Holder()
        # Without `close`, the sandboxes are ended when the executor is collected or Python exits: they cost money.
        weakref.finalize(self, self._holder.close_unseen)

    def describe(self) -> Isolation:
        """What sandboxes isolate and enforce; if programs run on the fallback, the description of the fallback.

        Raises:
            ExecutorClosed: If the executor was closed.
        """
        with self._lock:
            if self._closed:
                raise ExecutorClosed("this executor was closed; make a new one")
            peers = None if self._instead is not None else self._holder.start_peers()
        if self._instead is not None:
            told = self._instead.describe()
            return dataclasses.replace(told, details=f"the fallback of e2b, since there is no key: {told.details}")
        return Isolation(
            level="machine",
            peer="none" if peers is None else "isolated",
            languages=LANGUAGES,
            enforces=frozenset({"cpu_s", "wall_s", "memory_bytes", "output_bytes", "file_bytes"}),
            network=self._settings.allow_internet_access,
            notebooks=True,
            details="each program has a micro-VM to itself, whose cores and memory are its template's; cpu_s and "
            "memory_bytes hold for a program's main process, file_bytes for each of its files; in notebooks wall_s "
            "holds and cpu_s does not",
        )

    def submit(self, program: Program) -> Future[ExecutionResult]:
        """Start a program; see `Executor.submit`.

        Callbacks that were added before the future is done run one after another in a separate thread. They may run
        for a long time, and may use this executor.

        Raises:
            E2BMisconfigured: If E2B has refused the key, the template or another setting.
        """
        if self._instead is not None:
            return self._instead.submit(program)
        refuse_unsupported(program, "e2b", here=False)
        with self._lock:
            if self._closed:
                raise ExecutorClosed("this executor was closed; make a new one")
            if program.peer is not None and self._holder.start_peers() is None:
                raise UnsupportedProgram(
                    "a program with a peer needs the executor local on this machine, where the peer runs, and it does "
                    "not run here; code-env doctor says why"
                )
            return self._live().submit(program)

    def sweep(self, older_than_s: float | None = None) -> int:
        """End sandboxes that are left over; return how many were ended.

        Args:
            older_than_s: If given, end the sandboxes that are older than this, in seconds: those of all executors of
                this package on the account, in any process. By default, end those of this executor that it does not
                use.

        Raises:
            ExecutorError: If E2B does not answer.
            ExecutorClosed: If the executor was closed.
        """
        with self._lock:
            if self._closed:
                raise ExecutorClosed("this executor was closed; make a new one")
            if self._instead is not None:
                return 0
            live = self._live()
        return live.sweep(older_than_s)

    def close(self) -> None:
        """End all programs that still run, and all sandboxes. Idempotent: a call at the same time waits for the first.

        Warns:
            RuntimeWarning: If sandboxes could not be ended; it says how many. E2B ends them after their lifetime.
        """
        with self._lock:
            self._closed = True
        left = self._holder.close()
        if self._instead is not None:
            self._instead.close()
        if left:
            warnings.warn(_left(left), RuntimeWarning, stacklevel=2)

    def _live(self) -> _Live:
        return self._holder.live(self._settings, self._policy, self._most)


def _require_sdk() -> None:
    try:
        import e2b_code_interpreter  # noqa: F401
        import tenacity  # noqa: F401
    except ImportError as error:
        raise ExecutorError(
            f"the executor e2b needs E2B's SDK ({error}); install it by: pip install 'code-exec-env[e2b]'"
        ) from error


def _check_fallback(name: str | None) -> None:
    from code_env.executors.registry import executor_names

    if name == "e2b":
        raise ExecutorError("fallback must be another executor than e2b")
    if name is not None and name not in executor_names():
        raise ExecutorNotFound(f"fallback: no executor is named {name!r}; known are {', '.join(executor_names())}")


def _left(count: int) -> str:
    return (
        f"{count} sandbox{'es' if count > 1 else ''} of E2B could not be ended in time; E2B ends what is left when its "
        "lifetime is over, and sweep(older_than_s=...) of another executor may before"
    )


def _fallback(name: str | None, workers: int | None) -> Executor:
    from code_env.executors.registry import make_executor

    if name is None:
        raise ExecutorError(
            f'E2B needs a key: set the environment variable {VARIABLE}, pass api_key, or pass fallback="local" to run '
            "programs on this machine where there is none"
        )
    made = make_executor(name, **({} if workers is None else {"workers": workers}))
    warnings.warn(f"there is no key for E2B, so programs run on {name!r} instead", UserWarning, stacklevel=4)
    return made


class _Holder:
    """What an executor has started. It is a separate object, so that it can be closed when the executor is gone."""

    def __init__(self) -> None:
        self._live: _Live | None = None
        """The part that runs in this process. It is kept after `close`, so that a second `close` can wait for it."""
        self.peers: PeerHost | None = None
        """The host that runs peers; None until a peer is needed for the first time."""
        self._no_peers = False

    def live(self, settings: Settings, policy: RetryPolicy, most: int) -> _Live:
        """The part that runs in this process; it is made when needed."""
        if self._live is None or self._live.pid != os.getpid():  # A fork cannot use its parent's.
            self._live = _Live(settings, policy, most, self)
        return self._live

    def start_peers(self) -> PeerHost | None:
        """The host that runs peers; None if peers cannot run on this machine."""
        if self.peers is None and not self._no_peers:
            try:
                host = PeerHost(SPARE_S)
                host.level()
            except ExecutorError:
                self._no_peers = True
            else:
                self.peers = host
        return self.peers

    def close_unseen(self) -> None:
        """Close without an explicit call: when the process exits, or when the executor is collected."""
        left = self.close()
        if left:
            _log.warning("%s", _left(left))

    def close(self) -> int:
        """End everything; return how many sandboxes are left that no earlier call has returned."""
        live, left = self._live, 0
        if live is not None and live.pid == os.getpid():
            left = live.close()
        peers, self.peers = self.peers, None
        if peers is not None:
            peers.close()
        return left


class _Live:
    """The part of an executor that belongs to one process: its runs, and its sandboxes."""

    def __init__(self, settings: Settings, policy: RetryPolicy, most: int, holder: _Holder) -> None:
        self.pid = os.getpid()
        self._settings, self._policy, self._holder = settings, policy, holder
        self._thread: LoopThread = loop_thread()
        self._sandboxes = Sandboxes(settings, policy, most)
        self._runs: dict[asyncio.Task[None], Future[ExecutionResult]] = {}
        self._refusal: str | None = None
        self._closing = False
        self._lock = threading.Lock()
        renew_lock_after_fork(self)
        self._closed: Future[int] | None = None
        self._was_told = False

    def submit(self, program: Program) -> Future[ExecutionResult]:
        if self._refusal is not None:
            raise E2BMisconfigured(self._refusal)
        # The future stays pending until the result is there: a future in state "running" could not be cancelled.
        future = ResultFuture(self._thread)
        self._thread.loop.call_soon_threadsafe(self._start, program, future, time.monotonic())
        return future

    def sweep(self, older_than_s: float | None) -> int:
        try:
            return int(self._wait_for(self._sandboxes.sweep(older_than_s=older_than_s)))
        except Exception as error:
            text = described(error, self._settings.key.without)
        # Raised outside the `except` block, so that it has no context: frames of the SDK's exception hold the key.
        raise ExecutorError(f"the account's sandboxes cannot be listed: {text}")

    def close(self) -> int:
        """End everything; return how many sandboxes are left. Only the first call returns that number, later ones 0."""
        with self._lock:
            if self._closed is None:
                self._closed = asyncio.run_coroutine_threadsafe(self._close(), self._thread.loop)
        if self._thread.is_current:  # The loop's thread must not wait for its own work.
            return 0
        try:
            left = self._closed.result(2 * _CLOSE_S + LAST_SWEEP_S)
        except TimeoutError:
            left = self._sandboxes.known
        with self._lock:
            was_told, self._was_told = self._was_told, True
        return 0 if was_told else left

    def _wait_for(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._thread.loop).result()

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
        except E2BMisconfigured as refused:
            error = refused
            self._refuse_all(str(refused))
        except ExecutorError as refused:
            error = refused
        # This package has a bug: it is not the program's fault, and the future must not stay pending.
        except Exception as bug:
            result = sandbox_error(described(bug, self._settings.key.without), 0.0)
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

    def _refuse_all(self, refusal: str) -> None:
        """Let all other runs fail, because E2B refuses to make sandboxes."""
        if self._refusal is not None:
            return
        self._refusal = refusal
        for task, future in list(self._runs.items()):
            if not future.done() and task is not asyncio.current_task():
                with contextlib.suppress(Exception):  # The caller may cancel it at the same time.
                    future.set_exception(E2BMisconfigured(refusal))
                task.cancel()

    async def _run(self, program: Program, submitted: float) -> ExecutionResult:
        """Run a program; run it again after a failure that is not its own fault."""
        faults: list[str] = []
        deaths: list[str] = []
        queue_s: float | None = None
        while True:
            raise_if_cancelled()  # After a cancellation no new sandbox must be made.
            came, began = await self._attempt(program)
            if began is not None and queue_s is None:
                queue_s = began - submitted
            waited_s = time.monotonic() - submitted if queue_s is None else queue_s
            match came:
                case ExecutionResult():
                    start_s = max(0.0, time.monotonic() - submitted - waited_s - came.wall_s)
                    return dataclasses.replace(came, queue_s=waited_s, start_s=start_s)
                # Raise new exceptions: frames of the old ones hold the sandbox, and the sandbox holds the key.
                case E2BMisconfigured():
                    raise E2BMisconfigured(self._settings.key.without(str(came)))
                case MissingInterpreter():
                    raise UnsupportedProgram(f"the sandbox's template cannot run this: {came}")
                case NoSandbox():  # Creation has been tried often enough already.
                    faults.append(str(came))
                    return _failed(faults, deaths, waited_s)
                case SupervisorDied():
                    deaths.append(str(came))
                    if len(deaths) == 2:
                        return sandbox_killed(deaths[-1], with_peer=program.peer is not None, queue_s=waited_s)
                case _:
                    faults.append(described(came, self._settings.key.without))
                    if len(faults) > self._policy.reruns:
                        return _failed(faults, deaths, waited_s)

    async def _attempt(self, program: Program) -> tuple[ExecutionResult | Exception, float | None]:
        """Run a program once.

        Returns:
            The result, or the exception without its frames; and the time when the sandbox was there, if it ever was.
        """
        began: float | None = None
        try:
            async with self._sandboxes.one(lifetime_s(program, self._settings.request_timeout_s)) as sandbox:
                began = time.monotonic()
                return await self._run_in(sandbox, program), began
        except Exception as error:
            error.__cause__ = error.__context__ = None
            return error.with_traceback(None), began

    async def _run_in(self, sandbox: Any, program: Program) -> ExecutionResult:
        timeout_s, silence_s = self._settings.request_timeout_s, self._policy.silence_s
        if program.notebook:
            from .notebook_mode import run_notebook

            return await run_notebook(sandbox, program, timeout_s)
        if program.peer is None:
            return await run_plain(sandbox, program, timeout_s, silence_s)
        peers = self._holder.peers
        if peers is None:
            raise ExecutorClosed("this executor was closed meanwhile")
        return await run_judged(sandbox, program, peers, timeout_s, silence_s)

    async def _close(self) -> int:
        self._closing = True
        for task in list(self._runs):
            task.cancel()
        if self._runs:
            await asyncio.wait(list(self._runs), timeout=_CLOSE_S)
        return await self._sandboxes.close(_CLOSE_S)


def _failed(faults: list[str], deaths: list[str], queue_s: float) -> ExecutionResult:
    """The result after E2B has failed too often."""
    return sandbox_error(f"E2B failed in {len(faults) + len(deaths)} attempts: {'; '.join(faults)}", queue_s)
