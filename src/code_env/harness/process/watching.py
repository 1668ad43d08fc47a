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

from .limits import ProcessLimits

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


class _Memory(NamedTuple):
    """How much of the machine's memory a process holds, in bytes."""

    resident: int
    """Anonymous memory, shared memory, swapped memory, page tables, and the kernel's memory for threads."""
    files: int
    """Pages of mapped files, which the machine can read again. `resident` does not include them."""
    elsewhere: int
    """The most that the process can hold in addition: mappings other than its own data and stack (files, reserved
    address space, memory that can be shared), and data that can wait in pipes and sockets."""
    threads: int = 0
    """How many threads it has."""
    is_known: bool = True
    """False if the process still lives, but its figures cannot be read."""


def _memory_of(pid: int) -> _Memory:
    """Return what a process holds; zeros if it has ended or its figures cannot be read."""
    kib = _memory_fields(pid)[1]
    if not kib:
        return _Memory(0, 0, 0, is_known=len(_threads(pid)) < 2)
    threads = kib[b"Threads"]
    resident = 1024 * (kib[b"RssAnon"] + kib[b"RssShmem"] + kib[b"VmSwap"] + kib[b"VmPTE"])
    resident += _THREAD_BYTES * (threads - 1)
    elsewhere = 1024 * (kib[b"VmSize"] - kib[b"VmData"] - kib[b"VmStk"]) + _IN_SOCKET_BYTES * kib[b"FDSize"]
    return _Memory(resident, 1024 * kib[b"RssFile"], elsewhere, threads)


_MEMORY_FIELDS = (
    *(b"RssAnon", b"RssFile", b"RssShmem", b"VmSwap", b"VmPTE", b"VmSize", b"VmData", b"VmStk"),
    *(b"FDSize", b"Threads"),
)

_THREAD_BYTES = 32 << 10
"""Kernel memory for one thread: its stack and its records, in bytes."""

_IN_SOCKET_BYTES, _IN_PIPE_BYTES = 256 << 10, 64 << 10
"""The most data that can wait in one end of a socket pair, and in a pipe, in bytes."""

_MAPPING_BYTES, _FEW_MAPPINGS = 1 << 10, 4096
"""Kernel memory for one mapping and its file, in bytes, and the most mappings that programs commonly have."""

_FEW_BYTES = 4 << 20
"""The most data that can wait in the pipes and sockets that programs commonly have, in bytes."""


def directory_of(pid: int) -> str:
    """Return the directory in /proc that shows what a process holds.

    If the first thread has ended, the process's own directory shows nothing. The directory of each other thread then
    shows all that the process holds.
    """
    return _memory_fields(pid)[0]


def _memory_fields(pid: int) -> tuple[str, dict[bytes, int]]:
    """Return the directory that shows a process's memory, and the figures there; sizes are in KiB.

    There are no figures if the process has ended. Two of them are no sizes: `FDSize` and `Threads`.
    """
    own = f"/proc/{pid}"
    fields = _read_memory_fields(own)
    for _ in range(0 if fields else _MOST_LISTS):
        threads = [thread for thread in _threads(pid) if thread != pid]
        for thread in threads:
            if fields := _read_memory_fields(directory := f"{own}/task/{thread}"):
                return directory, fields
        if not threads:
            break
    return own, fields


_MOST_LISTS = 10
"""How many times in a row to list a process's threads, if all listed threads have ended before they were read."""


def _read_memory_fields(directory: str) -> dict[bytes, int]:
    try:
        with open(f"{directory}/status", "rb") as status:
            fields = dict(line.split(b":", 1) for line in status if b":" in line)
        return {name: int(fields[name].split()[0]) for name in _MEMORY_FIELDS}
    except (OSError, KeyError, ValueError):
        return {}


def _mapped_bytes(pid: int) -> int:
    """Return how many bytes the mappings of `pid` hold in addition to its resident memory.

    The memory of a shared mapping stays in use even after the process has released its pages. Each mapping is a record
    in the kernel, and can keep a file open that is closed otherwise.
    """
    shared, mappings = 0, 0
    try:
        with open(f"{directory_of(pid)}/maps", "rb") as maps:
            for line in maps:
                mappings += 1
                if line.endswith(b" /dev/zero (deleted)\n"):  # Linux's name for shared memory.
                    start, _, end = line.partition(b" ")[0].partition(b"-")
                    shared += int(end, 16) - int(start, 16)
    except (OSError, ValueError):
        pass
    return shared + _MAPPING_BYTES * max(0, mappings - _FEW_MAPPINGS)


def _waiting_bytes(pids: list[int]) -> int:
    """Return the most bytes that can wait in pipes and sockets of these processes; the real number cannot be read.

    The amount that programs commonly have is not counted.
    """
    sockets, pipes = set(), set()
    for pid in pids:
        directory = f"{directory_of(pid)}/fd"
        with contextlib.suppress(OSError):
            for name in os.listdir(directory):
                with contextlib.suppress(OSError):
                    target = os.readlink(f"{directory}/{name}")
                    if target.startswith("socket:"):
                        sockets.add(target)
                    elif target.startswith("pipe:"):
                        pipes.add(target)
    return max(0, _IN_SOCKET_BYTES * len(sockets) + _IN_PIPE_BYTES * len(pipes) - _FEW_BYTES)


def descendants(pid: int) -> list[int]:
    """Return the processes that descend from `pid`, including zombies; none where unknown.

    Orphans are included if `pid` is their reaper.
    """
    found: list[int] = []
    parents = [pid]
    while parents:
        children = [child for thread in _threads(parents.pop()) for child in children_of(thread)]
        found += children
        parents += children
    return found


def _threads(pid: int) -> list[int]:
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


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


def _state_of(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return b""


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
    ) -> None:
        self.pids, self.limits, self._held_bytes, self._reaper = pids, limits, held_bytes, reaper
        self._beside_s = beside_s
        self._cpu_before_s = beside_s()
        self._tick_s, self._rest_s = tick_s, 0.0
        self._waited_before_s = 0.0 if reaper is None else waited_for_cpu_s(reaper)
        self.peak_bytes = 0
        self.threads = 0
        """How many threads the run had at the last check."""
        self._most_in_files, self._was_blind = 0, False
        self.cpu_s = 0.0
        self._started = self._last_look = _monotonic() if started is None else started
        self._patience_s = limits.wall_s
        self._had_s = self._slept_s = 0.0
        self._times: dict[int, CoreTimes] = {}
        self._coreless_s = self._excused_s = 0.0

    @property
    def wall_s(self) -> float:
        """The time since the start, or since `restart`, in seconds."""
        return _monotonic() - self._started

    def restart(self) -> None:
        """Give the run its whole wall time again."""
        self._started = _monotonic()
        self._patience_s = self.limits.wall_s
        self._slept_s = self._coreless_s = self._excused_s = 0.0

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
            waited_s = min(max(0.0, self._coreless_s) + self._excused_s, now - self._started)
            if now - self._started - waited_s <= self.limits.wall_s:
                self._patience_s = self.limits.wall_s + waited_s
            elif had_s == 0.0 and any(map(is_ready, pids)):
                self._patience_s = now - self._started + self._tick_s  # The kernel counts a wait only when it ends.
            else:
                return "timeout"
        resident = self._held_bytes() + self._resident(pids)
        self.cpu_s = max(self.cpu_s, cpu_s)
        self.peak_bytes = max(self.peak_bytes, resident)
        if self.cpu_s > self.limits.cpu_s:
            return "timeout"
        return "memory" if resident > self.limits.memory_bytes else None

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
        before, self._times = self._times, {pid: core_times(pid) for pid in pids}
        # Computed at each check, because a child that has ended since no longer shows how long it waited.
        since = [CoreTimes(*map(sub, times, before.get(pid, _NO_TIMES))) for pid, times in self._times.items()]
        longest = max(since, key=attrgetter("waited_s"), default=_NO_TIMES)
        # Without the time in which other processes of the run had the core.
        self._coreless_s += longest.waited_s - (had_s - longest.had_s)
        wanted_s = had_s + sum(times.waited_s for times in since)
        self._slept_s = self._slept_s + since_s if wanted_s < _DOZING * since_s else 0.0

    def _resident(self, pids: list[int]) -> int:
        memory = {pid: _memory_of(pid) for pid in pids}
        resident = sum(one.resident for one in memory.values())
        self.threads = sum(one.threads for one in memory.values())
        self._most_in_files = max(self._most_in_files, *(one.files for one in memory.values()), 0)
        self._was_blind = self._was_blind or not all(one.is_known for one in memory.values())
        # Mappings and descriptors are read only if they can decide the outcome: reading them takes much longer.
        if resident <= self.limits.memory_bytes < resident + sum(one.elsewhere for one in memory.values()):
            resident += sum(map(_mapped_bytes, pids)) + _waiting_bytes(pids)
        return resident

    def _cpu_now(self, pids: list[int]) -> float:
        """Return the CPU time of the living processes, and of the processes that were waited for, in seconds.

        When a process is waited for, its CPU time moves to the process that waited, which is above it. So the figures
        of the processes above are read first: such a time is missed until the next check, and never counted twice.
        """
        used_s = self._beside_s() - self._cpu_before_s
        if self._reaper is not None:
            used_s += waited_for_cpu_s(self._reaper) - self._waited_before_s
        if len(pids) > 1 or self._reaper is not None:
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
