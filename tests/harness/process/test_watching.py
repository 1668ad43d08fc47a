"""What a watch makes of the figures that the kernel gives; each look takes some time, in which these change."""

import time

import pytest

from code_env.harness.process import watching
from code_env.harness.process.limits import ProcessLimits
from code_env.harness.process.memory import Memory
from code_env.harness.process.watching import CoreTimes, Watch

LIMITS = ProcessLimits(cpu_s=1.0, wall_s=10.0, memory_bytes=1 << 30, file_bytes=1 << 20)
PARENT, CHILD, REAPER, SLEEPER = 2, 3, 1, 4


class Kernel:
    """Figures of a program with one child. After so many questions the child ends and is waited for."""

    def __init__(self, waited_by, ends_after):
        self.waited_by, self.left = waited_by, ends_after
        self.used = {PARENT: 0.1, CHILD: 0.6}
        self.waited = {PARENT: 0.0, REAPER: 5.0}

    def _tick(self):
        self.left -= 1
        if self.left == 0:
            self.waited[self.waited_by] += self.used.pop(CHILD)

    def cpu_seconds(self, pid):
        self._tick()
        return self.used.get(pid)

    def waited_for_cpu_s(self, pid):
        self._tick()
        return self.waited.get(pid, 0.0)


@pytest.fixture
def now(monkeypatch):
    """The monotonic clock, as a list of one."""
    clock = [100.0]
    monkeypatch.setattr(watching, "_monotonic", lambda: clock[0])
    monkeypatch.setattr(watching, "core_times", lambda pid: CoreTimes(0.0, 0.0))
    monkeypatch.setattr(watching, "is_ready", lambda pid: False)
    monkeypatch.setattr(Watch, "_resident", lambda self, pids: 0)
    return clock


@pytest.mark.parametrize("waited_by", [PARENT, REAPER])
@pytest.mark.parametrize("ends_after", range(1, 8))
def test_a_child_that_ends_during_a_look_is_never_counted_twice(monkeypatch, now, waited_by, ends_after):
    kernel = Kernel(waited_by, 0)
    monkeypatch.setattr(watching, "cpu_seconds", kernel.cpu_seconds)
    monkeypatch.setattr(watching, "waited_for_cpu_s", kernel.waited_for_cpu_s)
    watch = Watch(lambda: [pid for pid in (PARENT, CHILD) if pid in kernel.used], LIMITS, reaper=REAPER)
    kernel.left = ends_after
    now[0] += 1.0
    assert watch.overrun() is None
    assert watch.cpu_s <= 0.7
    now[0] += 1.0
    assert watch.overrun() is None
    assert watch.cpu_s == pytest.approx(0.7)


def test_time_without_a_core_is_given_back_also_where_children_had_it(monkeypatch, now):
    """Each child waits two seconds for a core, and has ended by the next look but one."""
    child = [10]
    delays = {}
    monkeypatch.setattr(watching, "cpu_seconds", lambda pid: 0.0)
    monkeypatch.setattr(watching, "waited_for_cpu_s", lambda pid: 0.0)
    monkeypatch.setattr(watching, "core_times", lambda pid: CoreTimes(0.0, delays.get(pid, 0.0)))
    watch = Watch(lambda: [PARENT, child[0]], LIMITS, reaper=REAPER)
    for _ in range(10):
        for waited_s in (1.0, 2.0):
            delays[child[0]] = waited_s
            now[0] += 1.0
            assert watch.overrun() is None
        child[0] += 1
    for _ in range(10):
        now[0] += 1.0
        assert watch.overrun() is None
    now[0] += 1.0
    assert watch.overrun() == "timeout"


@pytest.mark.parametrize("processes", [1, 16])
@pytest.mark.parametrize("waiting", [1, 16])
def test_what_processes_wait_at_once_is_given_back_once(monkeypatch, now, processes, waiting):
    """In turn, one or all of them wait half of the time. All use a little of a core, and sleep the rest."""
    looks, times = 0, {}
    pids = range(10, 10 + processes)
    monkeypatch.setattr(watching, "cpu_seconds", lambda pid: times.get(pid, (0.0, 0.0))[0])
    monkeypatch.setattr(watching, "waited_for_cpu_s", lambda pid: 0.0)
    monkeypatch.setattr(watching, "core_times", lambda pid: CoreTimes(*times.get(pid, (0.0, 0.0))))
    watch = Watch(lambda: list(pids), LIMITS)
    while watch.overrun() is None:
        now[0] += 0.1
        looks += 1
        for pid in pids:
            had_s, waited_s = times.get(pid, (0.0, 0.0))
            waits = (pid - 10 + looks) % processes < waiting
            times[pid] = (had_s + 1e-5, waited_s + 0.05 * waits)
    most_s = 20.0 if waiting >= processes else 10.0 * 1.04  # One of 16: half a sixteenth.
    assert LIMITS.wall_s < now[0] - 100.0 < most_s + 0.5


def test_a_program_is_given_back_no_more_time_than_passed(monkeypatch, now):
    """Waits that begin at different times can be longer than the time in which they end."""
    times = {10: [0.0, 0.0], 11: [0.0, 0.0]}
    monkeypatch.setattr(watching, "cpu_seconds", lambda pid: times[pid][0])
    monkeypatch.setattr(watching, "core_times", lambda pid: CoreTimes(*times[pid]))
    watch = Watch(lambda: list(times), LIMITS)
    now[0] += 1.0
    assert watch.overrun() is None
    for one in times.values():
        one[0], one[1] = 0.01, 5.0
    now[0] += 0.5
    assert watch.overrun() is None
    now[0] += 9.9
    assert watch.overrun() is None
    now[0] += 0.2
    assert watch.overrun() == "timeout"


class Core:
    """A core for which a program of one thread waits; the kernel adds a wait when it ends."""

    def __init__(self, monkeypatch, now):
        self.now, self.had_s, self.waited_s, self.is_waiting = now, 0.0, 0.0, False
        monkeypatch.setattr(watching, "cpu_seconds", lambda pid: self.had_s)
        monkeypatch.setattr(watching, "core_times", lambda pid: CoreTimes(self.had_s, self.waited_s))
        monkeypatch.setattr(watching, "is_ready", lambda pid: self.is_waiting)
        self.watch = Watch(lambda: [PARENT], LIMITS)

    def wait(self, seconds):
        """The program waits for so long, while the watch looks every tick; what the last look found."""
        self.is_waiting = True
        found = self._look_for(seconds)
        self.waited_s += seconds
        self.is_waiting = False
        return found

    def have(self, seconds):
        self.had_s += seconds
        return self._look_for(seconds)

    def sleep(self, seconds):
        return self._look_for(seconds)

    def _look_for(self, seconds):
        end = self.now[0] + seconds
        while self.now[0] < end:
            self.now[0] += min(watching.TICK_S, end - self.now[0])
            if (found := self.watch.overrun()) is not None:
                return found
        return None


def test_a_wait_for_a_core_is_given_back_whole_however_many_looks_it_took(monkeypatch, now):
    core = Core(monkeypatch, now)
    for _ in range(9):
        assert core.wait(1.5) is None
        assert core.have(0.1) is None
    assert core.sleep(9.0) is None
    assert core.sleep(0.5) == "timeout"


def test_who_waits_for_a_core_when_time_is_over_is_judged_when_it_has_one(monkeypatch, now):
    core = Core(monkeypatch, now)
    assert core.sleep(9.5) is None
    assert core.wait(30.0) is None
    assert core.have(0.3) is None
    assert core.sleep(0.5) == "timeout"


def test_time_that_others_took_is_given_back(monkeypatch, now):
    core = Core(monkeypatch, now)
    for _ in range(9):
        assert core.sleep(1.0) is None
        now[0] += 5.0
        core.watch.excuse(5.0)
    assert core.sleep(0.9) is None
    assert core.sleep(0.2) == "timeout"


def test_time_in_which_a_partner_waits_for_a_core_is_given_back(monkeypatch, now):
    partner = Core(monkeypatch, now)
    for name, nothing in (("cpu_seconds", 0.0), ("core_times", CoreTimes(0.0, 0.0)), ("is_ready", False)):
        partners = getattr(watching, name)
        monkeypatch.setattr(
            watching, name, lambda pid, partners=partners, nothing=nothing: partners(pid) if pid == PARENT else nothing
        )
    sleeper = Watch(lambda: [SLEEPER], LIMITS)
    sleeper.partner = partner.watch
    partner.is_waiting = True
    now[0] += 30.0
    assert sleeper.overrun() is None
    partner.is_waiting, partner.waited_s = False, 30.0
    assert sleeper.overrun() is None  # Also before its partner's watch has looked.
    assert partner.watch.overrun() is None
    now[0] += 9.5
    assert sleeper.overrun() is None
    now[0] += 1.0
    assert sleeper.overrun() == "timeout"


def test_a_peak_decides_only_where_looks_could_not_see(monkeypatch):
    memory = [Memory(0, 1000, 0), Memory(0, 0, 0), Memory(0, 0, 0, is_known=False)]
    monkeypatch.setattr(watching, "memory_of", lambda pid: memory[pid])
    watch = Watch(list, LIMITS)
    watch._resident([0, 1])
    assert not watch.outgrew(LIMITS.memory_bytes + 1001)  # These are mapped files, by all that one knows.
    watch._resident([0, 1, 2])
    assert not watch.outgrew(LIMITS.memory_bytes + 1000)
    assert watch.outgrew(LIMITS.memory_bytes + 1001)


def test_a_wait_for_ones_own_threads_is_not_given_back(monkeypatch, now):
    """Two threads, one core: each waits while the other runs."""
    monkeypatch.setattr(watching, "cpu_seconds", lambda pid: (now[0] - 100.0) / 20)
    monkeypatch.setattr(watching, "core_times", lambda pid: CoreTimes((now[0] - 100.0) / 40, (now[0] - 100.0) / 40))
    watch = Watch(lambda: [PARENT], LIMITS)
    for _ in range(10):
        now[0] += 1.0
        assert watch.overrun() is None
    now[0] += 0.1
    assert watch.overrun() == "timeout"


def used_s(seconds):
    """Use so much CPU time of this thread."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


@pytest.mark.parametrize(("look_s", "rests"), [(0.0, False), (0.015, True), (0.1, True)])
def test_what_takes_long_to_be_looked_at_is_looked_at_less_often(now, look_s, rests):
    def pids():
        used_s(look_s)
        return []

    watch = Watch(pids, LIMITS)
    now[0] += 1.0
    assert watch.overrun() is None
    assert (watch.wait_s() > watching.TICK_S) is rests
    assert watch.wait_s() <= 0.2
