"""The base of executors that run each program on another machine, where all they can do is run commands.

A program and its inputs go to the machine, and data comes back. The machine runs the same code that `subprocess` runs
here (`bundle.py`, `supervisor.py`), so limits, statuses and outputs are the same. If a program has a peer, the peer
runs on this machine, in the jail of `local` (`judged.py`), so expected values never leave it.

All requests are made in the event loop of one thread (`loop.py`); other threads use it through this class.
"""

from __future__ import annotations

import abc
import logging
import os
import threading
import warnings
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import ClassVar

from code_env.errors import ExecutorClosed, ExecutorError, UnsupportedProgram
from code_env.executors.base import Executor
from code_env.executors.interpreters import refuse_unsupported
from code_env.executors.local.peer_host import PeerHost
from code_env.executors.pool import renew_lock_after_fork
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult
from code_env.languages import PYTHON

from .judged import SPARE_S
from .machine import Machines
from .submissions import Submissions

_log = logging.getLogger(__name__)

ENFORCED = frozenset({"cpu_s", "wall_s", "memory_bytes", "output_bytes", "file_bytes"})
"""The limits that the supervisor enforces on every machine; see `Isolation.enforces`."""


class MachineExecutor(Executor):
    """Runs each program on a machine. A subclass makes the machines and describes them.

    Sessions work by replay, on each machine. They are offered if `describe().sessions` is `replay`.

    Raises:
        ExecutorError: If an argument of the subclass is out of range.
    """

    name: ClassVar[str] = "machines"
    """The executor's name in messages."""
    languages: frozenset[str] = frozenset({PYTHON.name})
    """The languages that it runs; the machines have their interpreters."""
    notebooks: ClassVar[bool] = False
    """Whether its machines run notebooks, see `Machines.run_notebook`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        renew_lock_after_fork(self)
        self._closed = False
        self._holder = _Holder(self.left_over)
        # Without `close`, machines are ended when the executor is collected or Python exits: they may cost money.
        weakref.finalize(self, self._holder.close_unseen)

    @abc.abstractmethod
    def machines(self) -> Machines:
        """The machines of this executor; called once in each process that runs programs."""

    @staticmethod
    def left_over(count: int) -> str:
        """The text of a warning that machines could not be ended."""
        return f"{count} machine{'s' if count > 1 else ''} could not be ended in time"

    @property
    def runs_peers(self) -> bool:
        """Whether peers can run on this machine; starts a server to find out."""
        with self._lock:
            self._require_open()
            return self._holder.start_peers() is not None

    def submit(self, program: Program) -> Future[ExecutionResult]:
        """Start a program; see `Executor.submit`.

        Callbacks that were added before the future is done run one after another in a separate thread. They may run
        for a long time, and may use this executor.

        Raises:
            ExecutorMisconfigured: If there will never be a machine for this executor.
        """
        refuse_unsupported(program, self.name, self.languages, here=False)
        if program.notebook and program.history is None and not self.notebooks:
            raise UnsupportedProgram(f"the {self.name} executor runs no notebooks; others do, see describe().notebooks")
        with self._lock:
            self._require_open()
            if program.peer is not None and self._holder.start_peers() is None:
                raise UnsupportedProgram(
                    "a program with a peer needs the executor local on this machine, where the peer runs, and it does "
                    "not run here; code-env doctor says why"
                )
            return self._holder.submissions(self.machines).submit(program)

    def close(self) -> None:
        """End all programs that still run, and all machines. Idempotent: a call at the same time waits for the first.

        Warns:
            RuntimeWarning: If machines could not be ended; it says how many.
        """
        with self._lock:
            self._closed = True
        left = self._holder.close()
        if left:
            warnings.warn(self.left_over(left), RuntimeWarning, stacklevel=2)

    def _require_open(self) -> None:
        if self._closed:
            raise ExecutorClosed("this executor was closed; make a new one")

    def _submissions(self) -> Submissions:
        """The submissions of this process."""
        return self._holder.submissions(self.machines)


class _Holder:
    """What an executor has started. It is a separate object, so that it can be closed when the executor is gone."""

    def __init__(self, left_over: Callable[[int], str]) -> None:
        self._left_over = left_over
        self._submissions: Submissions | None = None
        """The part that runs in this process. It is kept after `close`, so that a second `close` can wait for it."""
        self._peers: PeerHost | None = None
        """The host that runs peers; None until a peer is needed for the first time."""
        self._no_peers = False

    def submissions(self, machines: Callable[[], Machines]) -> Submissions:
        """The part that runs in this process; it is made when needed."""
        if self._submissions is None or self._submissions.pid != os.getpid():  # A fork cannot use its parent's.
            self._submissions = Submissions(machines(), lambda: self._peers)
        return self._submissions

    def start_peers(self) -> PeerHost | None:
        """The host that runs peers; None if peers cannot run on this machine."""
        if self._peers is None and not self._no_peers:
            try:
                host = PeerHost(SPARE_S)
                host.level()
            except ExecutorError:
                self._no_peers = True
            else:
                self._peers = host
        return self._peers

    def close_unseen(self) -> None:
        """Close without an explicit call: when the process exits, or when the executor is collected."""
        left = self.close()
        if left:
            _log.warning("%s", self._left_over(left))

    def close(self) -> int:
        """End everything; return how many machines are left that no earlier call has returned."""
        submissions, left = self._submissions, 0
        if submissions is not None and submissions.pid == os.getpid():
            left = submissions.close()
        peers, self._peers = self._peers, None
        if peers is not None:
            peers.close()
        return left
