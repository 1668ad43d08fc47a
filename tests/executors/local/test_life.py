"""How an executor lives and dies, and what it leaves behind: nothing."""

import asyncio
import contextlib
import dataclasses
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import code_env
import code_env.executors.local.executor as local_executor
import code_env.executors.local.peer as local_peer
from code_env import ExecutorClosed, Limits, Program, Status, make_executor
from code_env.harness.process.watching import descendants
from support import LEVELS, PATIENCE_S, is_alive, local, wait_until, workers_of

SLEEP = Program("import time; time.sleep(60)", limits=Limits(wall_s=50))


def jails():
    """Processes of jails that this process has started."""
    found = subprocess.run(["pgrep", "-f", "jail/boot.py"], capture_output=True, text=True).stdout.split()
    mine = set(descendants(os.getpid()))
    return {int(pid) for pid in found} & mine


def gone(pids):
    """Wait until processes have ended."""
    wait_until(lambda: not any(is_alive(pid) for pid in pids), pids)
    return True


def test_nothing_starts_before_the_first_program():
    before = jails()
    with make_executor("local") as executor:
        assert jails() == before
        executor.run(Program("print(1)"))
        assert jails() > before
    assert jails() == before


@pytest.mark.parametrize("level", ["full", "contained"])
def test_closing_ends_all_and_leaves_no_descriptor(level):
    with local(level) as warm:
        warm.run(Program("print(1)"))
    descriptors = len(os.listdir("/proc/self/fd"))
    processes = set(descendants(os.getpid()))
    for _ in range(3):
        executor = local(level)
        executor.run_many([Program("print(1)", collect=("main.py",)) for _ in range(4)])
        pending = executor.submit(SLEEP)
        executor.close()
        executor.close()
        assert pending.cancelled()
        with pytest.raises(ExecutorClosed):
            executor.submit(SLEEP)
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert set(descendants(os.getpid())) == processes


HOST = """
import time
from code_env import Limits, Program, make_executor
from code_env.executors.local.stocks import LEAN
executor = make_executor("local", workers=2, max_isolation={level!r})
daemon = "import os, time\\nif os.fork() == 0:\\n    os.setsid()\\n    while True: time.sleep(0.1)\\ntime.sleep(60)"
futures = [executor.submit(Program(daemon, limits=Limits(processes=4, wall_s=50))) for _ in range(2)]
time.sleep(1)
print("up", flush=True)
{end}
"""


@pytest.mark.parametrize("level", ["full", "contained"])
@pytest.mark.parametrize("end", ["time.sleep(60)", "import os; os._exit(3)", "sys.exit()", "1 / 0"])
def test_nothing_survives_the_host(level, end):
    code = HOST.format(level=level, end=end)
    host = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with host:
        assert host.stdout.readline() == "up\n", host.stderr.read()
        below = descendants(host.pid)
        if end == "time.sleep(60)":
            wait_until(lambda: len(descendants(host.pid)) >= 6, "not all daemons have begun")
            below = descendants(host.pid)
            host.send_signal(signal.SIGKILL)
        host.wait(PATIENCE_S)
    assert gone(below)


def test_the_host_that_is_killed_leaves_no_directory():
    code = HOST.format(level="contained", end="time.sleep(60)")
    code = code.replace('print("up"', "print(executor._live.servers.get(LEAN)._base").replace(
        "time.sleep(1)", "time.sleep(0.5)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as host:
        base = Path(host.stdout.readline().strip())
        wait_until(lambda: list(base.glob("worker-*/run/**/main.py")), "no program has begun")
        host.kill()
    wait_until(lambda: not base.exists())


def test_after_a_fork_of_the_host_the_child_has_its_own(jail):
    assert jail.run(Program("print(1)")).stdout == "1\n"
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            result = jail.run(Program("print('child')"))
            os.write(write_fd, result.stdout.encode())
            jail.close()
            code = 0
        finally:
            os._exit(code)
    os.close(write_fd)
    with open(read_fd) as answer:
        assert answer.read() == "child\n"
    assert os.waitpid(pid, 0)[1] == 0
    # And the parent's goes on.
    assert jail.run(Program("print(2)")).stdout == "2\n"


def in_a_daemonic_worker(_):
    with make_executor("local", workers=1) as executor:
        return executor.run(Program("print('daemonic')")).stdout


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_it_works_in_daemonic_workers(method):
    # A daemonic process may have no children by multiprocessing; the jail uses none of that.
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.map(in_a_daemonic_worker, [0]) == ["daemonic\n"]


def test_it_works_from_threads_and_asyncio_at_once(jail):
    async def many():
        return await asyncio.gather(*[jail.arun(Program(f"print({n})")) for n in range(5)])

    with ThreadPoolExecutor(4) as threads:
        futures = [threads.submit(asyncio.run, many()) for _ in range(4)]
        for future in futures:
            assert [result.stdout for result in future.result()] == [f"{n}\n" for n in range(5)]


def test_programs_of_a_server_that_dies_are_run_again(jail):
    """A server that is killed from outside costs its programs nothing but time."""
    slow = "import time; time.sleep(1); print('ran')"
    futures = [jail.submit(Program(slow)) for _ in range(2)]
    time.sleep(0.4)
    for worker in workers_of(jail):
        os.kill(worker.pid, signal.SIGKILL)
    assert [future.result().stdout for future in futures] == ["ran\n", "ran\n"]
    assert jail.run(Program("print('next')")).stdout == "next\n"


def test_a_program_under_which_the_sandbox_dies_twice_is_held_responsible(jail, monkeypatch):
    """Whatever kills its sandbox each time, its result is an error, not a fault of the sandbox."""
    watch, deaths = local_executor.watch, 0

    def deadly(programs, place):
        nonlocal deaths
        deaths += 1
        timer = threading.Timer(0.2, os.kill, (programs[0]._worker.pid, signal.SIGKILL))
        timer.start()
        try:
            watch(programs, place)
        finally:
            timer.join()

    monkeypatch.setattr(local_executor, "watch", deadly)
    result = jail.run(Program("import time; time.sleep(20)"))
    assert (result.status, result.error.name, deaths) == (Status.ERROR, "SandboxKilled", 2), result
    monkeypatch.undo()
    assert jail.run(Program("print('next')")).stdout == "next\n"


def test_an_executor_that_is_forgotten_ends_its_processes():
    code = textwrap.dedent(
        """
        import gc, os, time
        from code_env import Program, make_executor
        from code_env.harness.process.watching import descendants
        executor = make_executor("local", workers=1)
        executor.run(Program("print(1)"))
        assert descendants(os.getpid())
        del executor
        gc.collect()
        assert descendants(os.getpid()) == []
        """
    )
    subprocess.run([sys.executable, "-X", "dev", "-W", "error", "-c", code], check=True, timeout=PATIENCE_S)


def test_many_programs_leave_everything_flat(jail):
    def measure():
        return len(os.listdir("/proc/self/fd")), len(descendants(os.getpid())), threading.active_count()

    # On each kind of server, and long enough for each thread to get some.
    plain = [Program(f"{imports}sum(range(10**6))") for imports in ("", "import csv\n") for _ in range(8)]
    jail.run_many(plain)
    before = measure()
    jail.run_many(
        [
            Program("open('f', 'w').write('x')", collect=("f",))
            if n % 3
            else Program("1/0", stdin="x", files={"a/b": b"c"})
            for n in range(120)
        ]
    )
    jail.run_many(plain)
    # Where a busy machine starves a program, another takes its place for a while, and ends some seconds later.
    wait_until(lambda: all(now <= then for now, then in zip(measure(), before, strict=True)), f"more than {before}")
    for worker in workers_of(jail):
        with contextlib.suppress(PermissionError):
            assert len(os.listdir(f"/proc/{worker.pid}/fd")) < 16


def test_a_worker_that_was_given_up_answers_for_no_other_program(jail, monkeypatch):
    """Where something of ours fails while a program runs, its late answer must not become the next one's."""
    jail.run_many([Program("print(1)")] * 4)
    failures = 2
    watch = local_executor.watch

    def failing(programs, place):
        nonlocal failures
        if failures:
            failures -= 1
            time.sleep(0.05)
            raise OSError(24, "Too many open files")
        watch(programs, place)

    monkeypatch.setattr(local_executor, "watch", failing)
    slow = Program("import time; time.sleep(0.5); print('slow')")
    results = jail.run_many([slow] * 2)
    assert {result.status for result in results} == {Status.SANDBOX_ERROR}
    for n in range(6):
        assert jail.run(Program(f"print({n})")).stdout == f"{n}\n"


@pytest.mark.parametrize(("module", "half"), [(local_peer, "JailedPeer"), (local_executor, "JailedProgram")])
def test_a_judged_run_of_which_one_half_cannot_be_started_costs_nothing(module, half, jail, monkeypatch):
    start, calls = getattr(module, half), 0

    def failing(*args):
        nonlocal calls
        calls += 1
        if calls == 1:
            raise OSError(24, "Too many open files")
        return start(*args)

    monkeypatch.setattr(module, half, failing)
    task = code_env.Task(id="t", prompt="", tests=(code_env.StdinTest("a", "a\n"),))
    assert code_env.judge(task, "print(input())", jail).passed
    assert calls == 2


SURROUNDINGS = {
    "an ignored SIGCHLD": "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "a blocked signal": "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD, signal.SIGTERM])",
    "a low hard limit": "import resource; resource.setrlimit(resource.RLIMIT_DATA, (1 << 31, 1 << 31))",
    "a strict umask": "import os; os.umask(0o077)",
    "closed standard streams": "import os; [os.close(fd) for fd in (0, 1)]",
    "another directory": "import os; os.chdir('/proc/self')",
}


AT_BOTH = ("a low hard limit", "a strict umask")
"""What each level does in its own way: it limits processes, and makes directories."""


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_the_trainers_surroundings_make_no_difference(name):
    """At both levels in one process, as its start takes longer than what it does."""
    levels = LEVELS if name in AT_BOTH else LEVELS[:1]
    code = f"""
import sys
import code_env
{SURROUNDINGS[name]}
for level in {levels}:
    with code_env.make_executor("local", workers=1, max_isolation=level) as executor:
        program = code_env.Program("open('f', 'w').write('x'); print(input())", stdin="given", collect=("f",))
        result = executor.run(program)
        task = code_env.Task(id="t", prompt="", tests=(code_env.CallTest(args=(1,), expected=2),), entry_point="f")
        verdict = code_env.judge(task, "def f(x): return x + 1", executor)
        sys.stderr.write(f"{{result.stdout!r}} {{dict(result.files)}} {{verdict.passed}}; ")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.stderr == "'given\\n' {'f': b'x'} True; " * len(levels)


@pytest.mark.parametrize("level", ["full", "contained"])
def test_a_limit_that_the_trainer_changes_later_makes_no_difference(level):
    code = f"""
import resource, sys
import code_env
program = code_env.Program("open('f', 'wb').write(bytes(1000)); print(input())", stdin="given")
task = code_env.Task(id="t", prompt="", tests=(code_env.StdinTest("1", "2"),))
fills = code_env.Program("import numpy\\nopen('f', 'wb').write(bytes(20 << 20))")
statuses = []
with code_env.make_executor("local", workers=1, max_isolation={level!r}, preload=["numpy"]) as executor:
    def look(name):
        verdict = code_env.judge(task, f"import {{name}}\\nprint(int(input()) + 1)", executor)
        statuses.append((str(executor.run(program).status), str(executor.run(fills).status), verdict.passed))
    executor.run(program)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 20, 8 << 20))
    look("numpy")
    try: resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    except ValueError: pass
    look("numpy")
sys.stderr.write(repr(statuses))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.stderr == repr([("ok", "error", True)] * 2)


def test_an_interrupted_call_ends_its_program(jail):
    main = threading.main_thread().ident

    def interrupt():
        wait_until(lambda: jail._live.pool is not None and jail._live.pool._running)
        signal.pthread_kill(main, signal.SIGINT)

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        jail.run(Program("import time; time.sleep(100_000)", limits=Limits(wall_s=100_000)))
    interrupter.join()
    wait_until(lambda: not jail._live.pool._running, "the program goes on")


def test_it_may_be_closed_from_a_callback():
    executor = make_executor("local", workers=1)
    closed = threading.Event()

    def close(_):
        executor.close()
        closed.set()

    executor.submit(Program("print(1)")).add_done_callback(close)
    assert closed.wait(PATIENCE_S)
    with pytest.raises(ExecutorClosed):
        executor.submit(Program("print(1)"))


def test_a_broken_module_to_preload_is_no_fault_of_a_program(tmp_path):
    library = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(library)], check=True)
    packages = next((library / "lib").glob("python*")) / "site-packages"
    (packages / "broken_module.py").write_text("raise ImportError('its library is missing')")
    with make_executor("local", workers=1, python=str(library / "bin/python"), preload=["broken_module"]) as executor:
        assert executor.run(Program("# broken_module\nprint(1)")).stdout == "1\n"
        result = executor.run(Program("import broken_module"))
    assert (result.status, result.error.message) == (Status.ERROR, "its library is missing")


def test_a_judged_program_that_may_fork_leaves_nothing_behind(jail):
    code = "import os, signal, time\nif os.fork() == 0:\n    os.setsid()\n    while True: pass\nprint('x' * (20 << 20))"
    task = code_env.Task(
        id="t", prompt="", limits=Limits(processes=4, cpu_s=1, wall_s=5), tests=(code_env.StdinTest("", "x"),)
    )
    assert not code_env.judge(task, code, jail).passed
    for _ in range(4):
        assert jail.run(Program("x = sum(range(10**6)); print(x > 0)", limits=Limits(cpu_s=1))).stdout == "True\n"


# A peer that is kept


def judge_pid(jail):
    """The process of the judge that the only worker keeps, None if it keeps none."""
    keeper = next(iter(jail._live.slots[0]._keepers.values()))
    return None if keeper is None or keeper._peer is None else next(iter(descendants(keeper.worker.pid)))


@pytest.fixture(scope="module", params=LEVELS)
def shared_single(request):
    with local(request.param, workers=1) as executor:
        yield executor


@pytest.fixture(params=LEVELS)
def single(request):
    """For tests that want no judge to be kept: one that another test has left would be."""
    with local(request.param, workers=1) as executor:
        yield executor


def adding(name, expected):
    return code_env.Task(name, "p", (code_env.AssertTest(f"assert add(1, 2) == {expected}"),), entry_point="add")


def test_one_judge_serves_all_answers_to_all_tasks(shared_single):
    first, second = adding("first", 3), adding("second", 4)
    seen = set()
    for task, answer in [
        (first, "a + b"),
        (first, "0"),
        (first, "a+b"),
        (second, "4"),
        (second, "3"),
        (first, "a + b"),
    ]:
        verdict = code_env.judge(task, f"def add(a, b): return {answer}", shared_single)
        assert verdict.passed is (answer not in ("0", "3"))
        seen.add(judge_pid(shared_single))
    assert len(seen - {None}) == 1 == len(seen)


def test_a_judge_has_the_limits_of_its_tasks(shared_single):
    first = adding("first", 3)
    code_env.judge(first, "def add(a, b): return a + b", shared_single)
    pid = judge_pid(shared_single)
    other = dataclasses.replace(adding("second", 3), limits=Limits(cpu_s=33))
    assert code_env.judge(other, "def add(a, b): return a + b", shared_single).passed
    assert judge_pid(shared_single) not in (pid, None)
    assert not os.path.exists(f"/proc/{pid}")


def test_what_the_tests_of_one_task_may_leave_does_not_reach_those_of_another(shared_single):
    leaving = code_env.Task(
        "leaving", "", (code_env.AssertTest("import math\nmath.tau = 3\nassert add(1, 2) == 3"),), entry_point="add"
    )
    looking = code_env.Task(
        "looking", "", (code_env.AssertTest("import math\nassert add(math.tau, 0) > 6"),), entry_point="add"
    )
    for task in (leaving, looking, leaving, looking):
        assert code_env.judge(task, "def add(a, b): return a + b", shared_single).passed


@pytest.mark.parametrize("code", ["def add(a, b):\n    while True: pass", "def add(a, b): import os; os._exit(0)"])
def test_a_judge_that_did_not_get_to_its_end_is_not_used_again(code, single):
    task = adding("t", 3)
    task = dataclasses.replace(task, limits=Limits(cpu_s=0.5, wall_s=5))
    assert code_env.judge(task, code, single).fraction == 0.0
    assert judge_pid(single) is None
    assert code_env.judge(task, "def add(a, b): return a + b", single).passed


def test_a_judge_that_died_while_it_was_kept_is_replaced_and_nothing_else(shared_single):
    task = adding("t", 3)
    assert code_env.judge(task, "def add(a, b): return a + b", shared_single).passed
    pid, workers = judge_pid(shared_single), {worker.pid for worker in workers_of(shared_single)}
    os.kill(pid, signal.SIGKILL)
    verdict = code_env.judge(task, "def add(a, b): return b + a", shared_single)
    assert verdict.passed
    assert judge_pid(shared_single) != pid
    assert {worker.pid for worker in workers_of(shared_single)} == workers


LEAVING = {
    "environment": "import os\nassert 'seen' not in os.environ\nos.environ['seen'] = '1'\nassert add(1, 2) == 3",
    "patch": "import math, unittest.mock as m\nassert math.floor(1.5) == 1\n"
    "m.patch('math.floor', lambda x: 7).start()\nassert add(1, 2) == 3",
}


@pytest.mark.parametrize("code", LEAVING.values(), ids=LEAVING)
def test_tests_that_may_leave_something_behind_have_a_judge_each(code, single):
    task = dataclasses.replace(adding("t", 3), tests=(code_env.AssertTest(code),))
    for _ in range(3):
        assert code_env.judge(task, "def add(a, b): return a + b", single).passed
        assert judge_pid(single) is None


def test_a_closed_executor_leaves_no_judge():
    before = set(descendants(os.getpid()))
    executor = local("full", workers=2)
    tasks = [(adding(f"t{n}", 3), "def add(a, b): return a + b") for n in range(4)]
    assert all(verdict.passed for verdict in code_env.judge_many(tasks, executor))
    assert len(set(descendants(os.getpid())) - before) > 4
    executor.close()
    assert set(descendants(os.getpid())) <= before
