"""`e2b`: each program in a fresh micro-VM of E2B's cloud, by today's SDK. The trainer's side.

What crosses this border is a program and its inputs one way, and data the other. In the sandbox runs the code that
`subprocess` runs here (`bundle.py`, `supervisor.py`), so limits, statuses and outputs are the same. A program with a
peer has that on this machine, in the jail of `local` (`judged.py`): expected values never leave it. Programs with
`notebook=True` run in the sandbox's Jupyter kernel (`notebook_mode.py`).

All requests are made in the event loop of one thread (`loop.py`); this class is what other threads see of that. What
goes wrong that is not the program's doing is tried again in a fresh sandbox, so a program may run more than once;
what remains is a `sandbox_error`, never a wrong answer. A program whose supervisor dies twice while its sandbox still
answers has killed it, and is held responsible.
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
from code_env.executors.local.peers import PeerHost
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
"""How long `close` waits for sandboxes to be ended, in seconds; what is left has its lifetime."""


class E2BExecutor(Executor):
    """Runs each program in a sandbox of its own in E2B's cloud; needs the extra `e2b` and a key.

    Args:
        api_key: E2B's key; the environment variable E2B_API_KEY by default.
        template: Name of the template that sandboxes are made from; E2B's for the code interpreter by default. It has
            Python 3.11 or newer, and Node.js for JavaScript.
        max_concurrency: How many sandboxes there are at once at the most.
        allow_internet_access: Whether programs reach the network.
        fallback: Name of the executor to run on where there is no key, such as `local`. Without one, no key is an
            error.
        domain: E2B's domain; the environment variable E2B_DOMAIN by default.
        retry: What is tried again, how often and when: a `RetryPolicy`, or a mapping of its fields.
        request_timeout_s: How long a single request may take, in seconds; the time of programs is not part of that.
        workers: `max_concurrency` by the name that other executors have for it, which counts if both are given; the
            fallback gets it too.

    Raises:
        ExecutorError: Without a key or the SDK, or for arguments out of range.

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
        # Who forgets to close it, or ends, leaves nothing running that costs money.
        weakref.finalize(self, self._holder.close_unseen)

    def describe(self) -> Isolation:
        """What sandboxes isolate, and what is enforced in them; what the fallback does, if it runs there.

        Raises:
            ExecutorClosed: If it was closed.
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

        Callbacks of the future that are there when its result comes run in a thread of their own, in their order. They
        may take their time, and use this executor.

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
        """End sandboxes that were left over; how many there were.

        Args:
            older_than_s: Those of all executors of this package on the account, in any process, that are older than
                this, in seconds. By default those of this executor that it does not use.

        Raises:
            ExecutorError: If E2B does not answer.
            ExecutorClosed: If it was closed.
        """
        with self._lock:
            if self._closed:
                raise ExecutorClosed("this executor was closed; make a new one")
            if self._instead is not None:
                return 0
            live = self._live()
        return live.sweep(older_than_s)

    def close(self) -> None:
        """End what still runs, and all sandboxes. Idempotent: one that comes meanwhile waits for the first.

        Warns:
            RuntimeWarning: If sandboxes could not be ended, with how many: their lifetime ends them.
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
    """What an executor has started; apart from it, so that it can be ended when the executor is gone."""

    def __init__(self) -> None:
        self._live: _Live | None = None
        """What there is in this process; kept when it was closed, so that whoever closes it again waits for that."""
        self.peers: PeerHost | None = None
        """Where peers run, once one was wanted."""
        self._no_peers = False

    def live(self, settings: Settings, policy: RetryPolicy, most: int) -> _Live:
        """What it has in this process."""
        if self._live is None or self._live.pid != os.getpid():  # A fork has none of its parent's.
            self._live = _Live(settings, policy, most, self)
        return self._live

    def start_peers(self) -> PeerHost | None:
        """Where peers run; None if they cannot on this machine."""
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
        """The same where nobody has asked for it: at the end of the process, or of an executor that was forgotten."""
        left = self.close()
        if left:
            _log.warning("%s", _left(left))

    def close(self) -> int:
        """End all of it; how many sandboxes are left that nobody was told of yet."""
        live, left = self._live, 0
        if live is not None and live.pid == os.getpid():
            left = live.close()
        peers, self.peers = self.peers, None
        if peers is not None:
            peers.close()
        return left


class _Live:
    """An executor in one process: its runs, and its sandboxes."""

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
        # The future stays pending until its result is there: only so can `cancel` reach a running one.
        future = ResultFuture(self._thread)
        self._thread.loop.call_soon_threadsafe(self._start, program, future, time.monotonic())
        return future

    def sweep(self, older_than_s: float | None) -> int:
        try:
            return int(self._wait_for(self._sandboxes.sweep(older_than_s=older_than_s)))
        except Exception as error:
            text = described(error, self._settings.key.without)
        # Not in there: the frames of the SDK's exception hold the key.
        raise ExecutorError(f"the account's sandboxes cannot be listed: {text}")

    def close(self) -> int:
        """End all of it; how many sandboxes are left, for the first who learns it."""
        with self._lock:
            if self._closed is None:
                self._closed = asyncio.run_coroutine_threadsafe(self._close(), self._thread.loop)
        if self._thread.is_current:  # Which must not wait for what it does itself.
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
        # A bug of ours: never the program's fault, and never a future that stays pending.
        except Exception as bug:
            result = sandbox_error(described(bug, self._settings.key.without), 0.0)
        if self._closing:
            future.cancel()  # `close` ended it, so its result says nothing of the program.
        if future.done() and not future.cancelled():
            return  # Told by somebody else.
        if not future.set_running_or_notify_cancel():
            return
        if error is not None:
            future.set_exception(error)
        elif result is not None:
            future.set_result(result)

    def _refuse_all(self, refusal: str) -> None:
        """Tell all that are under way that there is nothing to be had."""
        if self._refusal is not None:
            return
        self._refusal = refusal
        for task, future in list(self._runs.items()):
            if not future.done() and task is not asyncio.current_task():
                with contextlib.suppress(Exception):  # It is cancelled meanwhile.
                    future.set_exception(E2BMisconfigured(refusal))
                task.cancel()

    async def _run(self, program: Program, submitted: float) -> ExecutionResult:
        """Run a program, again while that fails and is not its own doing."""
        faults: list[str] = []
        deaths: list[str] = []
        queue_s: float | None = None
        while True:
            raise_if_cancelled()  # Nobody would end a further sandbox.
            came, began = await self._attempt(program)
            if began is not None and queue_s is None:
                queue_s = began - submitted
            waited_s = time.monotonic() - submitted if queue_s is None else queue_s
            match came:
                case ExecutionResult():
                    start_s = max(0.0, time.monotonic() - submitted - waited_s - came.wall_s)
                    return dataclasses.replace(came, queue_s=waited_s, start_s=start_s)
                # Errors that are raised are new ones: the frames of the old hold the sandbox, and that the key.
                case E2BMisconfigured():
                    raise E2BMisconfigured(self._settings.key.without(str(came)))
                case MissingInterpreter():
                    raise UnsupportedProgram(f"the sandbox's template cannot run this: {came}")
                case NoSandbox():  # That was tried often enough.
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
        """Run a program once: its result, or why there is none, without frames; and since when it had a sandbox."""
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
    """The result where E2B has failed as often as it may."""
    return sandbox_error(f"E2B failed in {len(faults) + len(deaths)} attempts: {'; '.join(faults)}", queue_s)
