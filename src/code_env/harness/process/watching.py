"""Watches from outside what a process uses, and tells how it ended.

Whoever waits for a process reads its CPU clock, which is exact and which the process cannot touch,
and its resident memory. Nothing that the process does can lift these limits.
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

# Bound here because a program may share this process and replace them in their modules.
_clock_gettime, _monotonic, _thread_time = getattr(time, "clock_gettime", None), time.monotonic, time.thread_time
_pidfd_open: Callable[[int], int] | None = getattr(os, "pidfd_open", None)

TICK_S = 0.02
"""How often a running process's clock and memory are looked at, in seconds."""

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100

_DOZE_S = 0.1
"""How long one hardly uses a core until it is taken to be asleep, in seconds."""

_DOZING = 0.1
"""Which part of a time counts as hardly."""

_LITTLE_BYTES = 64 << 20
"""What a run that is asleep may hold of memory to be taken to be out of the way."""

_LOOKING = 0.1
"""Which part of a core those who look at a run may take for it, at the most: there may be very much to be looked at."""

_MOST_REST_S = 0.2
"""How long a run is not looked at for that reason, at the most, in seconds."""

_LEAST_TICK_S = 0.002
"""How long to wait at the least when hardly any CPU time is left, in seconds."""


def open_pidfd(pid: int) -> int | None:
    """A descriptor that can be read when a child has ended, where the kernel has such (Linux)."""
    if _pidfd_open is None:
        return None
    try:
        return _pidfd_open(pid)
    except OSError:
        return None


def cpu_seconds(pid: int) -> float | None:
    """CPU time that process `pid` has used so far, all threads, or None where unknown.

    On Linux a process's CPU clock has an id made from its pid (clock_getcpuclockid(3)).
    """
    if sys.platform != "linux" or _clock_gettime is None:
        return None
    try:
        return float(_clock_gettime(((~pid) << 3) | 2))
    except OSError:
        return None


class _Memory(NamedTuple):
    """What a process holds of the machine's memory, in bytes."""

    resident: int
    """Anonymous, shared, swapped out, and for its page tables."""
    files: int
    """Mapped from files, which the machine can read again; none of it is counted as resident."""
    elsewhere: int
    """The most that it may hold beside that: what is mapped, and neither its own data nor its stack (files, address
    space set aside, memory that may be shared), and what may wait in pipes and sockets."""
    is_known: bool = True
    """Whether these are its figures, not those of one that lives on and has none to be read."""


def _memory_of(pid: int) -> _Memory:
    """What a process holds; nothing where unknown, and of one that has ended."""
    kib = _memory_fields(pid)[1]
    if not kib:
        return _Memory(0, 0, 0, is_known=len(_threads(pid)) < 2)
    resident = kib[b"RssAnon"] + kib[b"RssShmem"] + kib[b"VmSwap"] + kib[b"VmPTE"]
    elsewhere = 1024 * (kib[b"VmSize"] - kib[b"VmData"] - kib[b"VmStk"]) + _IN_SOCKET_BYTES * kib[b"FDSize"]
    return _Memory(1024 * resident, 1024 * kib[b"RssFile"], elsewhere)


_MEMORY_FIELDS = (b"RssAnon", b"RssFile", b"RssShmem", b"VmSwap", b"VmPTE", b"VmSize", b"VmData", b"VmStk", b"FDSize")

_IN_SOCKET_BYTES, _IN_PIPE_BYTES = 256 << 10, 64 << 10
"""What may wait in one end of a pair of sockets, and in a pipe."""

_MAPPING_BYTES, _FEW_MAPPINGS = 1 << 10, 4096
"""What the kernel keeps for one mapping and its file, and how many mappings programs commonly have at the most."""

_FEW_BYTES = 4 << 20
"""What may wait in the pipes and sockets that programs commonly have."""


def directory_of(pid: int) -> str:
    """The directory in /proc that tells what a process holds, also where its first thread has ended.

    Then the process's own tells what that thread has: nothing. The others hold all of it, each the same.
    """
    return _memory_fields(pid)[0]


def _memory_fields(pid: int) -> tuple[str, dict[bytes, int]]:
    """The directory that tells of a process's memory, and its figures, in KiB where they are sizes.

    Of one that has ended there are none.
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
"""How often in a row one asks which threads there are, where those that there were have ended meanwhile."""


def _read_memory_fields(directory: str) -> dict[bytes, int]:
    try:
        with open(f"{directory}/status", "rb") as status:
            fields = dict(line.split(b":", 1) for line in status if b":" in line)
        return {name: int(fields[name].split()[0]) for name in _MEMORY_FIELDS}
    except (OSError, KeyError, ValueError):
        return {}


def _mapped_bytes(pid: int) -> int:
    """What the mappings of `pid` hold beside its resident memory.

    Memory that is mapped to be shared stays there also where the process has let go of its pages. Each mapping is a
    record in the kernel, and may keep a file open that is closed otherwise.
    """
    shared, mappings = 0, 0
    try:
        with open(f"{directory_of(pid)}/maps", "rb") as maps:
            for line in maps:
                mappings += 1
                if line.endswith(b" /dev/zero (deleted)\n"):  # So Linux calls it.
                    start, _, end = line.partition(b" ")[0].partition(b"-")
                    shared += int(end, 16) - int(start, 16)
    except (OSError, ValueError):
        pass
    return shared + _MAPPING_BYTES * max(0, mappings - _FEW_MAPPINGS)


def _waiting_bytes(pids: list[int]) -> int:
    """The most that may wait in pipes and sockets of these processes: nobody can look how much there is.

    Not counted is what programs commonly have.
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
    """Processes that descend from `pid`, dead ones that nobody has waited for included; none where unknown.

    Orphans are among them if `pid` is their reaper.
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
    """Processes that a thread has started, dead ones that nobody has waited for included; none where unknown."""
    try:
        with open(f"/proc/{thread}/task/{thread}/children", "rb") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []


def end_descendants() -> float:
    """Kill all processes that descend from this one, wait for them; the CPU seconds they had used.

    This process must be the reaper of their orphans. A process that is being killed starts no more.
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
    """CPU time of all children that a process has waited for, and of theirs, in seconds; 0 where unknown."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[13]) + int(fields[14])) / _TICKS
    except (OSError, IndexError, ValueError):
        return 0.0


class CoreTimes(NamedTuple):
    """What a process's first thread had of a core so far."""

    had_s: float
    """How long it had one, in seconds."""
    waited_s: float
    """How long it was ready to run and had none, in seconds. The kernel adds a wait when it ends."""


_NO_TIMES = CoreTimes(0.0, 0.0)


def core_times(pid: int) -> CoreTimes:
    """The first two fields of `schedstat` (proc_pid_schedstat(5)); zeros where unknown."""
    try:
        with open(f"/proc/{pid}/schedstat", "rb") as file:
            had, waited, _ = file.read().split()
        return CoreTimes(int(had) / 1e9, int(waited) / 1e9)
    except (OSError, ValueError):
        return _NO_TIMES


def is_ready(pid: int) -> bool:
    """Whether a process's first thread has a core or is ready to run; False where unknown."""
    return _state_of(pid) == b"R"


def is_stopped(pid: int) -> bool:
    """Whether a process was stopped by a signal; False where unknown."""
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
        pids: Gives the processes that belong to the run now, each after its parent.
        limits: What they may use together.
        held_bytes: Gives the memory that they hold beside their own, such as a file system in memory.
        reaper: A process that waits for orphans of the run, where it may start processes, and for other runs'.
        started: When the run began, by the monotonic clock; now by default.
        tick_s: How often to look, in seconds; less often where a look takes long.
        beside_s: Gives the CPU time that others have used on behalf of the run so far, in seconds.
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
        self._most_in_files, self._was_blind = 0, False
        self.cpu_s = 0.0
        self._started = self._last_look = _monotonic() if started is None else started
        self._patience_s = limits.wall_s
        self._had_s = self._slept_s = 0.0
        self._times: dict[int, CoreTimes] = {}
        self._coreless_s = self._excused_s = 0.0

    @property
    def wall_s(self) -> float:
        """Seconds since the start, or since `restart`."""
        return _monotonic() - self._started

    def restart(self) -> None:
        """Give the process its whole wall time anew."""
        self._started = _monotonic()
        self._patience_s = self.limits.wall_s
        self._slept_s = self._coreless_s = self._excused_s = 0.0

    def excuse(self, seconds: float) -> None:
        """Give back time that the run spent waiting for others; only one thread may call this."""
        self._excused_s += seconds

    @property
    def asleep(self) -> bool:
        """Whether the run has hardly wanted a core for a while, and holds little memory."""
        return self._slept_s >= _DOZE_S and self.peak_bytes <= _LITTLE_BYTES

    def begin_anew(self) -> None:
        """Measure from here on, for another run of the same processes."""
        self.restart()
        self.cpu_s = self._cpu_before_s = 0.0
        pids = self.pids()
        self._cpu_before_s = self._cpu_now(pids)
        self._times = {pid: core_times(pid) for pid in pids}
        self._had_s = 0.0
        self._last_look = self._started

    def wait_s(self) -> float:
        """How long one may wait before the next look."""
        left_s = max(_LEAST_TICK_S, self.limits.cpu_s - self.cpu_s)
        return max(0.0, min(max(self._rest_s, min(self._tick_s, left_s)), self._patience_s - self.wall_s))

    def overrun(self) -> str | None:
        """`timeout` or `memory` if the run has used more than it may, else None."""
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
            # Time without a core is the machine's doing; the program gets it back.
            waited_s = min(max(0.0, self._coreless_s) + self._excused_s, now - self._started)
            if now - self._started - waited_s <= self.limits.wall_s:
                self._patience_s = self.limits.wall_s + waited_s
            elif had_s == 0.0 and any(map(is_ready, pids)):
                self._patience_s = now - self._started + self._tick_s  # How long it waits is known when it has a core.
            else:
                return "timeout"
        resident = self._held_bytes() + self._resident(pids)
        self.cpu_s = max(self.cpu_s, cpu_s)
        self.peak_bytes = max(self.peak_bytes, resident)
        if self.cpu_s > self.limits.cpu_s:
            return "timeout"
        return "memory" if resident > self.limits.memory_bytes else None

    def outgrew(self, peak_bytes: int) -> bool:
        """Whether a process of the run has held more than it may, where looks could not see how much it held.

        Args:
            peak_bytes: The most that it has held, by the kernel's count (getrusage(2)). Mapped files are in it, and
                may be many: so where looks have seen all, they alone decide.
        """
        return self._was_blind and peak_bytes > self.limits.memory_bytes + self._most_in_files

    def _note_waits(self, pids: list[int], had_s: float, since_s: float) -> None:
        """Note for how long the run had no core since the last look, and whether it wanted none.

        Args:
            pids: The processes of the run.
            had_s: CPU time of all of them since the last look, in seconds.
            since_s: How long ago that was, in seconds.
        """
        before, self._times = self._times, {pid: core_times(pid) for pid in pids}
        # At each look anew: a child that has ended meanwhile says no more how long it had to wait.
        since = [CoreTimes(*map(sub, times, before.get(pid, _NO_TIMES))) for pid, times in self._times.items()]
        longest = max(since, key=attrgetter("waited_s"), default=_NO_TIMES)
        # Not what it waited for others of the run: these had the core.
        self._coreless_s += longest.waited_s - (had_s - longest.had_s)
        wanted_s = had_s + sum(times.waited_s for times in since)
        self._slept_s = self._slept_s + since_s if wanted_s < _DOZING * since_s else 0.0

    def _resident(self, pids: list[int]) -> int:
        memory = {pid: _memory_of(pid) for pid in pids}
        resident = sum(one.resident for one in memory.values())
        self._most_in_files = max(self._most_in_files, *(one.files for one in memory.values()), 0)
        self._was_blind = self._was_blind or not all(one.is_known for one in memory.values())
        # What is mapped or open is looked at only where it could make the difference: it takes much longer.
        if resident <= self.limits.memory_bytes < resident + sum(one.elsewhere for one in memory.values()):
            resident += sum(map(_mapped_bytes, pids)) + _waiting_bytes(pids)
        return resident

    def _cpu_now(self, pids: list[int]) -> float:
        """CPU time of those that live, and of those that were waited for.

        A process that is waited for meanwhile moves to who waits for it, which is above it. So who is above is asked
        first: it is missed until the next look then, and never counted twice.
        """
        used_s = self._beside_s() - self._cpu_before_s
        if self._reaper is not None:
            used_s += waited_for_cpu_s(self._reaper) - self._waited_before_s
        if len(pids) > 1 or self._reaper is not None:
            used_s += sum(map(waited_for_cpu_s, pids))
        return used_s + sum(cpu_seconds(pid) or 0.0 for pid in pids)


def how_it_ended(status: int, cpu_s: float, limits: ProcessLimits, ended_for: str | None) -> dict[str, Any]:
    """A wait status in the design's words: `status`, `exit_code`, `signal`.

    Args:
        status: What `waitpid` gave.
        cpu_s: CPU time that the process used, in seconds.
        limits: What it was allowed.
        ended_for: `timeout`, `memory` or `output_limit` if the waiter killed it for that.
    """
    exit_code = os.waitstatus_to_exitcode(status)
    number = -exit_code if exit_code < 0 else None
    # The kernel's own count, by which it kills, runs a few ms ahead of what it reports afterwards.
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
