"""Forks and watches the children in which a serving process runs an answer.

The parent has compiled the answer. For `call` tests it has also run the answer's top level. The child runs the rest.
From outside the child, the parent limits wall time (by its own clock), CPU time (by the child's CPU clock), resident
memory and the size of the streams. Nothing in the child can lift these limits.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from .descriptors import LOCK_TEXT
from .forks import ForkGate
from .limits import BROKEN_EXIT_CODE, ProcessLimits, die_with_parent, set_limits
from .watching import Watch, descendants, how_it_ended, open_pidfd

DRAIN_S = 0.1
"""How long to read the streams of a child after its end, in seconds; a descendant can hold them open."""

_fork, _exit, _getpid, _pipe, _close = os.fork, os._exit, os.getpid, os.pipe, os.close
_read, _kill, _wait4, _clock, _poll = os.read, os.kill, os.wait4, time.monotonic, select.poll

POLLIN = select.POLLIN


def start_child(
    limits: ProcessLimits,
    body: Callable[..., NoReturn],
    pipes: int = 0,
    enter: Callable[[int], None] | None = None,
    gate: ForkGate | None = None,
    rlimits: Sequence[tuple[int, int, int]] = (),
) -> Child:
    """Fork a child.

    Args:
        limits: What the child may use.
        body: Called in the child with the child's ends of `pipes`; must not return.
        pipes: How many pipes from the child to create; the parent's ends are the `fds` of the returned `Child`.
        enter: Called in the child with the parent's pid, before `body`.
        gate: Counts the child's forks, if they are counted; `enter` gives it the listener.
        rlimits: The resource limits that the child sets on itself before `enter` and `body`.
    """
    ends = [_pipe() for _ in range(pipes)]
    parent = _getpid()
    if gate is not None:
        gate.open()
    pid = _fork_at_last()
    if pid == 0:
        try:
            for mine, _ in ends:
                _close(mine)
            set_limits(rlimits)
            if enter is not None:
                enter(parent)
            else:
                die_with_parent(parent)
            body(*[theirs for _, theirs in ends])
        finally:
            _exit(BROKEN_EXIT_CODE)
    for _, theirs in ends:
        _close(theirs)
    return Child(pid, limits, gate, fds=[mine for mine, _ in ends])


def _fork_at_last() -> int:
    while True:
        try:
            return _fork()
        except InterruptedError:  # A signal of the program's own can interrupt a fork that is counted; see `forks`.
            continue


class Child:
    """One forked child, and the descriptors that its parent serves while the child runs.

    Args:
        pid: The child's pid.
        limits: What the child may use.
        gate: Counts the child's forks, if they are counted.
        started: When the child was started, by the monotonic clock; now by default.
        fds: The parent's ends of pipes from the child, closed when the child has ended.
    """

    def __init__(
        self,
        pid: int,
        limits: ProcessLimits,
        gate: ForkGate | None = None,
        started: float | None = None,
        fds: Sequence[int] = (),
    ) -> None:
        self.pid, self.limits, self.fds = pid, limits, fds
        self._gate = gate
        self.reading_s = 0.0
        """CPU time that this process has spent on reading what the child sent, in seconds. The reader adds to it."""
        # With a gate, this process is the reaper of the child's orphans, so all its descendants belong to the child.
        if gate is None:
            self.clock = Watch(lambda: [pid], limits, started=started, beside_s=lambda: self.answering_s)
        else:
            parent = _getpid()
            self.clock = Watch(
                lambda: descendants(parent),
                limits,
                reaper=parent,
                started=started,
                beside_s=lambda: self.answering_s,
                text_bytes=lambda: LOCK_TEXT * gate.locks,
            )
        self._pidfd = open_pidfd(pid)
        self._has_ended = False
        self._poll = _poll()
        self._handlers: dict[int, Callable[[], bool]] = {}
        self._undrained: list[int] = []
        self._ended_for: str | None = None
        self.forks_tests = False
        """Whether the child forks children with limits of their own; if so, its peak memory is not checked."""
        self.spare: Callable[[str], bool] = lambda _: False
        """Called with the reason before the child is killed for exceeding a limit; returns whether to spare it."""
        listener = gate.take_over() if gate is not None else None
        if gate is not None and listener is not None:
            self.on_readable(listener, gate.answer, drain=False)

    @property
    def answering_s(self) -> float:
        """CPU time that this process has spent on the child's behalf and that the child is charged, in seconds."""
        return self.reading_s if self._gate is None else self.reading_s + self._gate.answering_s

    def on_readable(self, fd: int, handler: Callable[[], bool], *, drain: bool = True) -> None:
        """Call `handler` each time `fd` is readable, until `handler` returns False.

        Args:
            fd: The descriptor.
            handler: The function to call.
            drain: Whether to read the rest of the data after the child has ended.
        """
        self._handlers[fd] = handler
        self._poll.register(fd, POLLIN)
        if not drain:
            self._undrained.append(fd)

    def forget(self, fd: int) -> None:
        """Stop watching `fd`."""
        if self._handlers.pop(fd, None) is not None:
            self._poll.unregister(fd)

    def end(self, reason: str | None) -> None:
        """Kill the child; `reason` is the status to report, None if the child is not at fault."""
        self._ended_for = self._ended_for or reason
        with contextlib.suppress(ProcessLookupError):
            _kill(self.pid, signal.SIGKILL)

    def watch(self, clean: Callable[[], float] = lambda: 0.0) -> dict[str, Any]:
        """Serve the descriptors until the child has ended; return how it ended, see `how_it_ended`.

        Args:
            clean: Called after that. It kills the processes that the child left, and returns the CPU seconds that
                they had used.
        """
        (_, status, usage), ended_for = self.wait()
        cpu_s = usage.ru_utime + usage.ru_stime + self.answering_s + clean()
        return {
            **how_it_ended(status, cpu_s, self.limits, ended_for),
            "cpu_s": round(cpu_s, 6),
            "wall_s": round(self.clock.wall_s, 6),
        }

    def wait(self) -> tuple[tuple[int, int, Any], str | None]:
        """Serve the descriptors until the child has ended; return the result of `wait4` and why it was killed."""
        if self._pidfd is not None:
            self._poll.register(self._pidfd, POLLIN)
        ended: tuple[int, int, Any] = (0, 0, None)
        while ended[0] == 0:
            self._serve_once()
            ended = _wait4(self.pid, os.WNOHANG)
        if not self.forks_tests and self.clock.outgrew(1024 * ended[2].ru_maxrss):
            self._ended_for = self._ended_for or "memory"
        if self._pidfd is not None:
            self._poll.unregister(self._pidfd)
            _close(self._pidfd)
        for fd in self._undrained:
            self.forget(fd)
        if self._gate is not None:
            self._gate.close()
        drained_by = _clock() + DRAIN_S
        while self._handlers and _clock() < drained_by:
            self._serve(drained_by - _clock())
        for fd in self.fds:
            _close(fd)
        return ended, self._ended_for

    def serve_until(self, done: Callable[[], bool]) -> None:
        """Serve the descriptors and enforce the limits until `done` returns True, or until the child has ended.

        A process that the child left can keep its descriptors open. Where the kernel has no pidfds, `done` must return
        True when the child has ended.
        """
        if self._pidfd is not None:
            self._poll.register(self._pidfd, POLLIN)
        while not done() and not self._has_ended:
            self._serve_once()

    def _serve_once(self) -> None:
        self._serve(self.clock.wait_s())
        overrun = self.clock.overrun()
        if overrun is not None and not self.spare(overrun):
            self.end(overrun)

    def _serve(self, timeout_s: float) -> None:
        for fd, _ in self._poll.poll(max(0.0, timeout_s) * 1000):
            self._has_ended = self._has_ended or fd == self._pidfd
            handler = self._handlers.get(fd)
            if handler is not None and not handler():
                self.forget(fd)


def drain(fd: int, take: Callable[[bytes], None]) -> Callable[[], bool]:
    """Return a handler that reads `fd` until it is closed, and passes each piece of data to `take`."""

    def handler() -> bool:
        data = _read(fd, 65536)
        if data:
            take(data)
        return bool(data)

    return handler
