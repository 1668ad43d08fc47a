"""Watches the time and memory of a program's processes from outside, and tells how a process ended.

The watching process reads the CPU clock of each process, which is exact and which the program cannot change, and the
memory that it holds. Nothing that the program does can lift these limits.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from operator import attrgetter, sub
from typing import Any, NamedTuple

from .descriptors import NOTHING_SEEN, descriptor_bytes, most_text_bytes
from .held_files import held_files
from .limits import MAX_TASKS, ProcessLimits
from .mappings import depths, mapping_bytes, most_link_bytes
from .memory import memory_of, threads_of

# Bound here because a program can share this process and replace them in their modules.
_clock_gettime, _monotonic, _thread_time = getattr(time, "clock_gettime", None), time.monotonic, time.thread_time
_pidfd_open: Callable[[int], int] | None = getattr(os, "pidfd_open", None)

TICK_S = 0.02
"""The time between two checks of a running process's clock and memory, in seconds."""

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100

_DOZE_S = 0.1
"""A run that has hardly used a core for this long counts as asleep, in seconds."""

_DOZING = 0.1
"""The share of a time span below which use of a core counts as hardly any."""

_LITTLE_BYTES = 64 << 20
"""The most memory that a sleeping run can hold and still let another run take its place, in bytes."""

_LOOKING = 0.1
"""The largest share of a core that the checks of one run can use: a run can have very much to check."""

_MOST_REST_S = 0.2
"""The longest pause between checks that this share can cause, in seconds."""

_LEAST_TICK_S = 0.002
"""The shortest wait between checks when hardly any CPU time is left, in seconds."""


def open_pidfd(pid: int) -> int | None:
    """Return a descriptor that becomes readable when the child ends, or None where the kernel has no pidfds."""
    if _pidfd_open is None:
        return None
    try:
        return _pidfd_open(pid)
    except OSError:
        return None


def cpu_seconds(pid: int) -> float | None:
    """Return the CPU time that all threads of process `pid` have used so far, in seconds, or None where unknown.

    On Linux a process's CPU clock has an id made from its pid (clock_getcpuclockid(3)).
    """
    if sys.platform != "linux" or _clock_gettime is None:
        return None
    try:
        return float(_clock_gettime(((~pid) << 3) | 2))
    except OSError:
        return None


def descendants(pid: int) -> list[int]:
    """Return the processes that descend from `pid`, including zombies; none where unknown.

    Orphans are included if `pid` is their reaper. Of a process with more threads than a program may have, not all are
    asked: with twenty thousand, that would delay its end.
    """
    found: list[int] = []
    parents = [pid]
    while parents:
        threads = threads_of(parents.pop())[: MAX_TASKS + 1]
        children = [child for thread in threads for child in children_of(thread)]
        found += children
        parents += children
    return found


def children_of(thread: int) -> list[int]:
    """Return the processes that a thread has started, including zombies; none where unknown."""
    try:
        with open(f"/proc/{thread}/task/{thread}/children", "rb") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []


def end_descendants() -> float:
    """Kill all descendants of this process, wait for them, and return the CPU seconds that they had used.

    This process must be the reaper of their orphans. A process that is being killed starts no further processes.
    """
    cpu_s = 0.0
    while True:
        try:
            pid, _, usage = os.wait4(-1, os.WNOHANG)
            if pid == 0:
                for pid in descendants(os.getpid()):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                _, _, usage = os.wait4(-1, 0)
        except ChildProcessError:
            return cpu_s
        cpu_s += usage.ru_utime + usage.ru_stime


def waited_for_cpu_s(pid: int) -> float:
    """Return the CPU time of all children that a process has waited for, and of theirs, in seconds; 0 where unknown."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[13]) + int(fields[14])) / _TICKS
    except (OSError, IndexError, ValueError):
        return 0.0


class CoreTimes(NamedTuple):
    """How long a process's first thread has had a core so far, and has waited for a core."""

    had_s: float
    """How long it had a core, in seconds."""
    waited_s: float
    """How long it was ready to run and had no core, in seconds. The kernel adds a wait when the wait ends."""


_NO_TIMES = CoreTimes(0.0, 0.0)


def mean_wait_s(times: list[CoreTimes]) -> float:
    """Return how long those processes that had or wanted a core waited for it on average, in seconds.

    The waits of processes that wait at once are one delay of their program, however many they are.
    """
    waits = [one.waited_s for one in times if any(one)]
    return sum(waits) / len(waits) if waits else 0.0


def core_times(pid: int) -> CoreTimes:
    """Return the first two fields of `schedstat` (proc_pid_schedstat(5)); zeros where unknown."""
    try:
        with open(f"/proc/{pid}/schedstat", "rb") as file:
            had, waited, _ = file.read().split()
        return CoreTimes(int(had) / 1e9, int(waited) / 1e9)
    except (OSError, ValueError):
        return _NO_TIMES


def is_ready(pid: int) -> bool:
    """Return whether a process's first thread has a core or is ready to run; False where unknown."""
    return _state_of(pid) == b"R"


def is_stopped(pid: int) -> bool:
    """Return whether a process was stopped by a signal; False where unknown."""
    return _state_of(pid) == b"T"


def has_ended(pid: int) -> bool:
    """Return whether a process, with all its threads, has ended and was not waited for; False where unknown."""
    fields = stat_of(pid)
    return fields[:1] == [b"Z"] and fields[_THREADS : _THREADS + 1] == [b"1"]


_THREADS = 17
"""Where `stat` has the number of threads, counted from the state. The first thread of a process can end before others,
and is a zombie then."""


def _state_of(pid: int) -> bytes:
    return b"".join(stat_of(pid)[:1])


def stat_of(pid: int) -> list[bytes]:
    """Return the fields of `stat` (proc_pid_stat(5)) from the state on; none where unknown."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


class Watch:
    """Watches from outside what the processes of one run use.

    Args:
        pids: Returns the processes that belong to the run now, each after its parent.
        limits: What the processes may use together.
        held_bytes: Returns the memory that the run holds outside its processes, for example in a tmpfs, in bytes.
        reaper: If the run may start processes, the process that waits for its orphans, and for those of other runs.
        started: When the run began, by the monotonic clock; now by default.
        tick_s: The time between checks, in seconds; longer if a check takes long.
        beside_s: Returns the CPU time that other processes have used on behalf of the run so far, in seconds.
        text_bytes: Returns the length of the longest text that a file in /proc can have because of the run's files and
            locks, in bytes.
        serves: Whether the first process serves tests, and waits for the orphans of these.
    """

    def __init__(
        self,
        pids: Callable[[], list[int]],
        limits: ProcessLimits,
        held_bytes: Callable[[], int] = lambda: 0,
        reaper: int | None = None,
        started: float | None = None,
        tick_s: float = TICK_S,
        beside_s: Callable[[], float] = lambda: 0.0,
        text_bytes: Callable[[], int] = lambda: 0,
        serves: bool = False,
    ) -> None:
        self.pids, self.limits, self._held_bytes, self._reaper = pids, limits, held_bytes, reaper
        self._beside_s, self._text_bytes, self._serves = beside_s, text_bytes, serves
        self._cpu_before_s = beside_s()
        self._tick_s, self._rest_s = tick_s, 0.0
        self._waited_before_s = 0.0 if reaper is None else waited_for_cpu_s(reaper)
        self.peak_bytes = 0
        self.threads = 0
        """How many threads the run had at the last check."""
        self._most_in_files, self._seen, self._was_blind = 0, NOTHING_SEEN, False
        self.cpu_s = 0.0
        self._started = self._last_look = _monotonic() if started is None else started
        self._patience_s = limits.wall_s
        self._had_s = self._slept_s = 0.0
        self._times: dict[int, CoreTimes] = {}
        self._coreless_s = self._excused_s = self._idle_s = 0.0
        self.partner: Watch | None = None
        """The watch of the run that this run talks with. Time in which the other run waits for a core is given back."""

    @property
    def wall_s(self) -> float:
        """The time since the start, or since `restart`, in seconds."""
        return _monotonic() - self._started

    def restart(self) -> None:
        """Give the run its whole wall time again."""
        self._started = _monotonic()
        self._patience_s = self.limits.wall_s
        self._slept_s = self._coreless_s = self._excused_s = self._idle_s = 0.0

    def excuse(self, seconds: float) -> None:
        """Give back time that the run spent waiting for others; only one thread may call this."""
        self._excused_s += seconds

    @property
    def asleep(self) -> bool:
        """Whether the run has hardly wanted a core for a while, and has never held much memory."""
        return self._slept_s >= _DOZE_S and self.peak_bytes <= _LITTLE_BYTES

    def begin_anew(self) -> None:
        """Start all measurements again, for another run of the same processes."""
        self.restart()
        self.cpu_s = self._cpu_before_s = 0.0
        pids = self.pids()
        self._cpu_before_s = self._cpu_now(pids)
        self._times = {pid: core_times(pid) for pid in pids}
        self._had_s = 0.0
        self._last_look = self._started

    def wait_s(self) -> float:
        """Return how long the caller can wait before the next check, in seconds."""
        left_s = max(_LEAST_TICK_S, self.limits.cpu_s - self.cpu_s)
        return max(0.0, min(max(self._rest_s, min(self._tick_s, left_s)), self._patience_s - self.wall_s))

    def overrun(self) -> str | None:
        """Return `timeout` or `memory` if the run has exceeded a limit, else None."""
        now = _monotonic()
        out_of_time = now - self._started > self._patience_s
        wait_s = max(self._rest_s, min(self._tick_s, self.limits.cpu_s - self.cpu_s))
        if not out_of_time and now - self._last_look < wait_s:
            return None
        since_s, self._last_look = now - self._last_look, now
        began_s = _thread_time()
        try:
            return self._look(now, since_s, out_of_time)
        finally:
            self._rest_s = min(_MOST_REST_S, (_thread_time() - began_s) / _LOOKING)

    def _look(self, now: float, since_s: float, out_of_time: bool) -> str | None:
        pids = self.pids()
        cpu_s = self._cpu_now(pids)
        had_s, self._had_s = cpu_s - self._had_s, cpu_s
        self._note_waits(pids, had_s, since_s)
        if out_of_time:
            # The program is not to blame for time without a core, so it gets that time back.
            partners_s, partners = (0.0, []) if self.partner is None else self.partner._waits()
            waited_s = min(max(0.0, self._coreless_s) + partners_s + self._excused_s, now - self._started)
            if now - self._started - waited_s <= self.limits.wall_s:
                self._patience_s = self.limits.wall_s + waited_s
            elif had_s == 0.0 and any(map(is_ready, [*pids, *partners])):
                self._patience_s = now - self._started + self._tick_s  # The kernel counts a wait only when it ends.
            else:
                return "timeout"
        resident = self._held_bytes() + self._resident(pids)
        self.cpu_s = max(self.cpu_s, cpu_s)
        self.peak_bytes = max(self.peak_bytes, resident)
        if self.cpu_s > self.limits.cpu_s:
            return "timeout"
        return "memory" if resident > self.limits.memory_bytes else None

    def _waits(self) -> tuple[float, list[int]]:
        """Return how long the run has waited for a core until now, in seconds, and its processes."""
        pids = self.pids()
        since = self._since({pid: core_times(pid) for pid in pids})
        most_s = self._idle_s + _monotonic() - self._last_look
        return max(0.0, self._coreless_s) + min(mean_wait_s(since), most_s), pids

    def _since(self, times: dict[int, CoreTimes]) -> list[CoreTimes]:
        """Return how long each process has had and wanted a core since the last check."""
        return [CoreTimes(*map(sub, now, self._times.get(pid, _NO_TIMES))) for pid, now in times.items()]

    def outgrew(self, peak_bytes: int) -> bool:
        """Return whether a process has held more memory than it may, if a check could not read how much it held.

        Args:
            peak_bytes: The most that it has held, by the kernel's count (getrusage(2)). This count includes mapped
                files, which can be large. So if all checks could read the memory, only the checks decide.
        """
        return self._was_blind and peak_bytes > self.limits.memory_bytes + self._most_in_files

    def _note_waits(self, pids: list[int], had_s: float, since_s: float) -> None:
        """Note how long the run waited for a core since the last check, and whether it hardly wanted one.

        Args:
            pids: The processes of the run.
            had_s: CPU time of all these processes since the last check, in seconds.
            since_s: The time since the last check, in seconds.
        """
        # Computed at each check, because a child that has ended since no longer shows how long it waited.
        times = {pid: core_times(pid) for pid in pids}
        since, self._times = self._since(times), times
        longest = max(since, key=attrgetter("waited_s"), default=_NO_TIMES)
        # The kernel adds a wait when it ends. So it can have begun at earlier checks that saw nothing of the run.
        most_s, self._idle_s = self._idle_s + since_s, 0.0 if any(map(any, since)) else self._idle_s + since_s
        # Without the time in which other processes of the run had the core.
        self._coreless_s += min(longest.waited_s - (had_s - longest.had_s), mean_wait_s(since), most_s)
        wanted_s = had_s + sum(times.waited_s for times in since)
        # One that still waits for a core seems to sleep.
        sleeps = wanted_s < _DOZING * since_s and not any(map(is_ready, pids))
        self._slept_s = self._slept_s + since_s if sleeps else 0.0

    def _resident(self, pids: list[int]) -> int:
        memory = {pid: memory_of(pid) for pid in pids}
        resident = sum(one.resident for one in memory.values())
        self.threads = sum(one.threads for one in memory.values())
        self._most_in_files = max(self._most_in_files, *(one.files for one in memory.values()), 0)
        self._was_blind = self._was_blind or not all(one.is_known for one in memory.values())
        # Mappings and descriptors are read only if they can decide the outcome: reading them takes much longer.
        text = max(self._text_bytes(), self._seen.text)
        elsewhere = sum(one.elsewhere + most_text_bytes(one, text) for one in memory.values())
        depth = depths({pid: one.parent for pid, one in memory.items()}, serves=self._serves)
        if resident <= self.limits.memory_bytes < resident + elsewhere + most_link_bytes(depth):
            held, too_much = held_files(memory.items()), self.limits.memory_bytes + 1
            open_bytes, self._seen = descriptor_bytes(pids, too_much, held, self._seen, text)
            resident += mapping_bytes(list(memory), depth, too_much) + open_bytes
        return resident

    def _cpu_now(self, pids: list[int]) -> float:
        """Return the CPU time of the living processes, and of the processes that were waited for, in seconds.

        When a process is waited for, its CPU time moves to the process that waited, which is above it. So the figures
        of the processes above are read first: such a time is missed until the next check, and never counted twice.
        """
        used_s = self._beside_s() - self._cpu_before_s
        if self._reaper is not None:
            used_s += waited_for_cpu_s(self._reaper) - self._waited_before_s
        used_s += sum(map(waited_for_cpu_s, pids))
        return used_s + sum(cpu_seconds(pid) or 0.0 for pid in pids)


def how_it_ended(status: int, cpu_s: float, limits: ProcessLimits, ended_for: str | None) -> dict[str, Any]:
    """Return how a process ended, as the `status`, `exit_code` and `signal` of a result.

    Args:
        status: The wait status from `waitpid`.
        cpu_s: CPU time that the process used, in seconds.
        limits: The limits of the process.
        ended_for: `timeout`, `memory` or `output_limit` if the watching process killed it for that reason.
    """
    exit_code = os.waitstatus_to_exitcode(status)
    number = -exit_code if exit_code < 0 else None
    # The kernel kills by a count of its own, which runs a few ms ahead of the time that it reports afterwards.
    kernel_timeout = number in (signal.SIGXCPU, signal.SIGKILL) and cpu_s >= 0.9 * limits.cpu_s
    if ended_for is not None:
        word = ended_for
    elif kernel_timeout or cpu_s > limits.cpu_s:
        word = "timeout"
    elif number is not None:
        word = "signal"
    else:
        word = "ok" if exit_code == 0 else "error"
    return {"status": word, "exit_code": None if number else exit_code, "signal": number}
