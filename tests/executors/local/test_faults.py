"""What becomes of programs when something of ours fails: they get their results, once, and nothing is left.

Each fault is a real one: processes are killed and stopped, limits lowered, file systems full.
"""

import contextlib
import gc
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import pytest

import code_env.executors.local.file_watch as file_watch
import code_env.executors.local.server as trainers_side
from code_env import AssertTest, Limits, Program, Status, Task, judge_many
from code_env.harness.process.watching import children_of, descendants
from support import LEVELS, PATIENCE_S, ROOT, local, wait_until, workers_of

TASK = Task(
    id="double",
    prompt="",
    tests=(AssertTest("assert double(2) == 4\nassert double('a') == 'aa'"),),
    entry_point="double",
)


def servers_of(executor):
    return list(executor._live.servers._servers.values())


def guardian(executor, number):
    return number.choice([server._guardian.pid for server in servers_of(executor)])


def server(executor, number):
    return children_of(guardian(executor, number))[0]


def worker(executor, number):
    return number.choice([worker.pid for worker in workers_of(executor)])


def left_of(pids, directories):
    """What is left of an executor that was closed."""
    paths = [*(Path(f"/proc/{pid}") for pid in pids), *directories]
    wait_until(lambda: not any(path.exists() for path in paths), paths)
    return []


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("victim", [guardian, server, worker], ids=lambda victim: victim.__name__)
def test_killed_in_mid_batch(victim, level, monkeypatch):
    """Whatever dies, and however often, each program and each answer gets its result, and each just one."""
    number = random.Random(7)
    directories = []
    make_base = trainers_side.make_base
    monkeypatch.setattr(trainers_side, "make_base", lambda: directories.append(make_base()) or directories[-1])
    others = descendants(os.getpid())
    executor = local(level)

    def killed_meanwhile(batch):
        """Once only, since a program that is hit twice is held responsible."""

        def kill():
            time.sleep(0.02 + 0.2 * number.random())
            with contextlib.suppress(OSError, IndexError):  # Nobody is there to be killed just now.
                os.kill(victim(executor, number), signal.SIGKILL)
                kills.append(len(kills))

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            return batch()
        finally:
            killer.join()

    kills = []
    programs = [Program(f"import time\ntime.sleep(0.01)\nprint({n})") for n in range(30)]
    answers = [(TASK, f"def double(x): return x * 2  # {n}") for n in range(12)]
    with executor:
        executor.run_many([Program("print(1)"), Program("import csv")] * 4)
        while len(kills) < 2:
            results = killed_meanwhile(lambda: executor.run_many(programs))
            verdicts = killed_meanwhile(lambda: judge_many(answers, executor))
            faults = [(result.status, result.error) for result in results if result.status is not Status.OK]
            assert faults == []
            assert [result.stdout for result in results] == [f"{n}\n" for n in range(30)]
            assert [verdict.outcome for verdict in verdicts] == ["pass"] * 12, verdicts
        assert executor.run(Program("print('next')")).stdout == "next\n"
        pids = set(descendants(os.getpid())).difference(others)
    assert len(directories) >= (level == "contained")
    assert left_of(pids, directories) == []
    gc.collect()  # So that the warning, if there is one, is this test's.


def test_files_that_another_thread_removed_are_no_fault_of_the_sandbox(monkeypatch):
    """It ended the server, whose death it noticed first, just before this thread measures the program's files."""
    with local("contained", workers=1) as executor:
        executor.run(Program("print(1)"))
        looks = []

        def free_space_at(directory):
            if len(looks) == 2:
                executor._live.servers.drop(servers_of(executor)[0])
            looks.append(directory)
            return free_space_at_once(directory)

        free_space_at_once = file_watch.free_space_at
        monkeypatch.setattr(file_watch, "free_space_at", free_space_at)
        result = executor.run(Program("import time\ntime.sleep(0.5)\nprint('ran')"))
        assert (result.status, result.stdout) == (Status.OK, "ran\n"), result
        assert looks[2] != looks[-1]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("victim", [guardian, server, worker], ids=lambda victim: victim.__name__)
def test_frozen_in_mid_batch(victim, level):
    """One that is stopped is given up after a while, and what ran there is run again."""
    number, others = random.Random(3), descendants(os.getpid())
    with local(level, workers=1) as executor:
        executor.run(Program("print(1)"))
        future = executor.submit(Program("import time\ntime.sleep(0.5)\nprint('ran')", limits=Limits(wall_s=1)))
        time.sleep(0.2)
        os.kill(victim(executor, number), signal.SIGSTOP)
        result = future.result(timeout=PATIENCE_S)
        assert (result.status, result.stdout) == (Status.OK, "ran\n"), result
        assert executor.run(Program("print('next')")).stdout == "next\n"
        pids = set(descendants(os.getpid())).difference(others)
    assert left_of(pids, []) == []


def test_a_frozen_program_is_timed_out(jail):
    """Its own doing or not: who does not go on has used its wall time."""
    future = jail.submit(Program("import time\nprint('so far', flush=True)\ntime.sleep(0.5)", limits=Limits(wall_s=1)))
    children = wait_until(lambda: [pid for one in workers_of(jail) for pid in descendants(one.pid)])
    time.sleep(0.2)
    os.kill(children[0], signal.SIGSTOP)
    result = future.result(timeout=PATIENCE_S)
    assert (result.status, result.stdout) == (Status.TIMEOUT, "so far\n"), result


def script(level, body, *prefix):
    """Run code in a process of its own, with an executor at a level."""
    code = f"""
import os, resource, sys, time
sys.path.insert(0, {str(ROOT / "tests")!r})
from support import local
from code_env import Program, Status
def show(result):
    print(result.status, result.stdout.strip(), result.error.message if result.error else "", flush=True)
with local({level!r}, workers=1) as executor:
{textwrap.indent(textwrap.dedent(body), "    ")}
"""
    done = subprocess.run([*prefix, sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("level", LEVELS)
def test_no_descriptors_left_in_the_trainer(level):
    """The result says what was lacking; when there are some again, all goes on."""
    lines = script(
        level,
        """
        show(executor.run(Program("print('before')")))
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = max(map(int, os.listdir("/proc/self/fd")))
        for spare in range(0, 12, 3):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most + spare, hard))
            show(executor.run(Program("print('meanwhile')")))
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for n in range(3):
            show(executor.run(Program("print('after')")))
        """,
    )
    assert (lines[0].split(), lines[-3:]) == (["ok", "before"], ["ok after "] * 3), lines
    for line in lines[1:-3]:
        assert line == "ok meanwhile " or ("sandbox_error" in line and "Too many open files" in line), lines
    assert any("sandbox_error" in line for line in lines), lines


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may lower the limits of others")
def test_no_pids_left():
    """A worker that can start nothing is not the program's fault."""
    with local("full", workers=1) as executor:
        assert executor.run(Program("print('before')")).stdout == "before\n"
        for one in workers_of(executor):
            resource.prlimit(one.pid, resource.RLIMIT_NPROC, (0, 0))
        result = executor.run(Program("print('meanwhile')"))
        # Another server was started for it.
        assert (result.status, result.stdout) == (Status.OK, "meanwhile\n"), result
        assert executor.run(Program("print('after')")).stdout == "after\n"


@pytest.mark.parametrize("lacking", ["size=64k", "size=4m,nr_inodes=9"])
def test_no_space_left(lacking):
    """At `contained` programs write below the temporary directory, which may be full."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("no unshare command")
    with tempfile.TemporaryDirectory() as place:
        mount = f'mount -t tmpfs -o {lacking},mode=777 none {place} && TMPDIR={place} exec "$@"'
        lines = script(
            "contained",
            """
            show(executor.run(Program("print('before')")))
            fillers = []
            try:
                while True:
                    fillers.append(os.path.join(os.environ["TMPDIR"], f"filler-{len(fillers)}"))
                    with open(fillers[-1], "wb") as file:
                        file.write(bytes(4096))
            except OSError:
                pass
            show(executor.run(Program("print('meanwhile')")))
            for filler in fillers:
                if os.path.exists(filler):
                    os.remove(filler)
            for n in range(3):
                show(executor.run(Program("print('after')")))
            """,
            *(unshare, "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"),
        )
        assert (lines[0].split(), lines[-3:]) == (["ok", "before"], ["ok after "] * 3), lines
        assert "sandbox_error" in lines[1], lines
        assert "space" in lines[1], lines


FILLER = """
import os, time
for n in range(300):
    os.mkdir('d')
    os.chdir('d')
n = 0
while True:
    try:
        with open(f'{n}', 'wb') as file: file.write(bytes(1 << 20))
        n += 1
    except OSError: time.sleep(0.001)
"""


@pytest.mark.parametrize("may", [False, True], ids=["more than it may", "as much as it may"])
def test_who_fills_the_place_costs_no_neighbour_its_run(may):
    """It is ended soon; where it is within its limits, those that come wait for its end."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("no unshare command")
    with tempfile.TemporaryDirectory() as place:
        mount = f'mount -t tmpfs -o size=64m,mode=777 none {place} && TMPDIR={place} exec "$@"'
        lines = script(
            "contained",
            f"""
            import code_env
            limits = code_env.Limits(cpu_s=100, wall_s={1 if may else 1000}, file_bytes={1 << (30 if may else 23)})
            task = code_env.Task(id="t", prompt="", tests=(code_env.StdinTest("1", "1"),))
            with local("contained", workers=4) as beside:
                beside.run(Program("print('started')"))
                fillers = [beside.submit(Program({FILLER!r}, limits=limits)) for _ in range(6)]
                while {may} and os.statvfs(os.environ["TMPDIR"]).f_bfree:
                    time.sleep(0.01)
                for n in range(8):
                    show(executor.run(Program("print('neighbour')")))
                    print(code_env.judge(task, "print(input())", executor).outcome)
                for filler in fillers:
                    print(filler.result().status)
            """,
            *(unshare, "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"),
        )
    assert lines == ["ok neighbour ", "pass"] * 8 + ["timeout" if may else "error"] * 6


@pytest.mark.parametrize("jump_s", [-86_400.0, 86_400.0])
def test_a_clock_that_jumps(jump_s, jail, monkeypatch):
    """Nothing of ours asks for the time of day, so nobody's time is up, and nobody's is prolonged."""
    now = time.time
    future = jail.submit(Program("import time\ntime.sleep(0.3)\nprint('ran')", limits=Limits(wall_s=5)))
    loop = jail.submit(Program("while True: pass", limits=Limits(cpu_s=0.5)))
    monkeypatch.setattr(time, "time", lambda: now() + jump_s)
    assert future.result(timeout=PATIENCE_S).stdout == "ran\n"
    assert loop.result(timeout=PATIENCE_S).status is Status.TIMEOUT
