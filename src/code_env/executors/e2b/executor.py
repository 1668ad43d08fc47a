"""`e2b`: each program runs in a new micro-VM of E2B's cloud, through the current SDK. This is the trainer's side.

A sandbox is a machine (`executors/machines/`), which says how programs run there, and what happens when one fails.
Programs with `notebook=True` run in the sandbox's Jupyter kernel (`notebook_mode.py`), cells of sessions do not.
"""

from __future__ import annotations

import dataclasses
import re
import warnings
from collections.abc import Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from code_env.checks import require_flag, require_number, require_whole
from code_env.errors import ExecutorError, ExecutorNotFound
from code_env.executors.base import Executor, Isolation
from code_env.executors.machines import ENFORCED, MachineExecutor
from code_env.executors.machines.faults import described
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult

from .key import VARIABLE, ApiKey
from .retrying import RetryPolicy
from .sandboxes import Sandboxes, Settings

if TYPE_CHECKING:
    from code_env.sessions.session import Session

_DOMAIN = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?")


class E2BExecutor(MachineExecutor):
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

    name = "e2b"
    languages = frozenset(("python", "javascript", "bash"))
    notebooks = True

    SECRETS = frozenset({"api_key"})

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
        super().__init__()

    def machines(self) -> Sandboxes:
        """The sandboxes of this process."""
        self._sandboxes = Sandboxes(self._settings, self._policy, self._most)
        return self._sandboxes

    @staticmethod
    def left_over(count: int) -> str:
        """The text of a warning that sandboxes could not be ended."""
        return (
            f"{count} sandbox{'es' if count > 1 else ''} of E2B could not be ended in time; E2B ends what is left when "
            "its lifetime is over, and sweep(older_than_s=...) of another executor may before"
        )

    def describe(self) -> Isolation:
        """What sandboxes isolate and enforce; if programs run on the fallback, the description of the fallback.

        Raises:
            ExecutorClosed: If the executor was closed.
        """
        if self._instead is not None:
            with self._lock:
                self._require_open()
            told = self._instead.describe()
            return dataclasses.replace(told, details=f"the fallback of e2b, since there is no key: {told.details}")
        return Isolation(
            level="machine",
            peer="isolated" if self.runs_peers else "none",
            languages=self.languages,
            enforces=ENFORCED,
            network=self._settings.allow_internet_access,
            notebooks=self.notebooks,
            sessions="replay",
            details="each program has a micro-VM to itself, whose cores and memory are its template's; cpu_s and "
            "memory_bytes hold for a program's main process, file_bytes for each of its files; in notebooks wall_s "
            "holds and cpu_s does not",
        )

    def submit(self, program: Program) -> Future[ExecutionResult]:
        """Start a program; see `MachineExecutor.submit`.

        Raises:
            E2BMisconfigured: If E2B has refused the key, the template or another setting.
        """
        return super().submit(program) if self._instead is None else self._instead.submit(program)

    def _new_session(self, first: Program) -> Session:
        return super()._new_session(first) if self._instead is None else self._instead._new_session(first)

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
            self._require_open()
            if self._instead is not None:
                return 0
            submissions, sandboxes = self._submissions(), self._sandboxes
        try:
            return submissions.wait_for(sandboxes.sweep(older_than_s=older_than_s))
        except Exception as error:
            text = described(error, self._settings.key.without)
        # Raised outside the `except` block, so that it has no context: frames of the SDK's exception hold the key.
        raise ExecutorError(f"the account's sandboxes cannot be listed: {text}")

    def close(self) -> None:
        """End all programs that still run, and all sandboxes; see `MachineExecutor.close`.

        E2B ends sandboxes that could not be ended when their lifetime is over.
        """
        super().close()
        if self._instead is not None:
            self._instead.close()


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
