"""What `subprocess` promises beyond the contract that all executors share."""

import contextlib
import copy
import os
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from code_env import ExecutorError, Limits, Program, Status, make_executor
from code_env.executors.subprocess import UnisolatedSubprocessExecutor
from support import PATIENCE_S, wait_until


@pytest.fixture(scope="module")
def executor():
    with make_executor("subprocess", workers=2) as made:
        yield made


def processes_with(marker):
    """Pids of processes whose command line or environment holds a text."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def leftovers():
    return set(Path(os.environ.get("TMPDIR", "/tmp")).glob("code_env-*"))


def test_it_says_that_it_isolates_nothing(executor):
    assert type(executor).__name__ == "UnisolatedSubprocessExecutor"
    described = executor.describe()
    assert (described.level, described.peer, described.network) == ("none", "same_machine", True)
    assert "processes" not in described.enforces


@pytest.mark.parametrize("kwargs", [{"workers": 0}, {"workers": 1.5}, {"workers": True}, {"python": "/no/such/python"}])
def test_arguments_are_checked(kwargs):
    with pytest.raises(ExecutorError):
        make_executor("subprocess", **kwargs)


def test_another_interpreter_can_be_named():
    with make_executor("subprocess", python=sys.executable, workers=1) as executor:
        assert executor.run(Program("import sys; print(sys.executable)")).stdout.strip() == sys.executable


def test_the_whole_group_dies_with_a_timeout(executor):
    marker = f"code_env-marker-{os.getpid()}"
    code = (
        "import os, time\nfor _ in range(3):\n    if os.fork() == 0:\n"
        f"        os.execv('/bin/sh', ['sh', '-c', 'sleep 50; : {marker}'])\ntime.sleep(60)"
    )
    result = executor.run(Program(code, limits=Limits(wall_s=1)))
    assert result.status is Status.TIMEOUT
    wait_until(lambda: processes_with(marker) == [])


def test_nothing_is_left_in_the_temporary_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", None)
    with make_executor("subprocess", workers=2) as executor:
        executor.run_many(
            [
                Program("import os; os.mkdir('d'); open('d/f', 'w').close(); os.chmod('d', 0)"),
                Program("while True: pass", limits=Limits(cpu_s=0.2)),
                Program("1/0"),
            ]
        )
    assert list(tmp_path.iterdir()) == []


def test_descriptors_and_threads_stay_flat():
    def count():
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

    with make_executor("subprocess", workers=2) as executor:
        executor.run_many([Program("print(1)")] * 4)
        before = count()
        executor.run_many([Program("print(1)"), Program("1/0"), Program("x")] * 10)
        # What other tests have left may end meanwhile.
        assert all(now <= then for now, then in zip(count(), before, strict=True)), (count(), before)


def test_cells_may_be_longer_than_an_argument(executor):
    """Linux takes no argument of 128 KiB; the cells of a session are sent again with each new one."""
    long = f"len({'x' * 40_000!r})"
    result = executor.run(Program(long, notebook=True, cells=(long,) * 6))
    assert (result.status, len(result.cells)) == (Status.OK, 6), result.error
    with executor.open_session() as session:
        session.write("data", bytes(200_000))
        assert [session.run(long).text for _ in range(4)] == ["40000"] * 4
        assert session.run("len(open('data').read())").text == "200000"


def test_a_copy_is_the_same_executor(executor):
    assert copy.deepcopy({"executor": executor})["executor"] is executor


def test_no_more_programs_run_at_once_than_there_are_workers(tmp_path):
    code = f"import os, time\nopen({str(tmp_path)!r} + '/' + str(os.getpid()), 'w')\ntime.sleep(30)"
    with make_executor("subprocess", workers=2) as executor:
        futures = [executor.submit(Program(code)) for _ in range(4)]
        wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
        time.sleep(0.5)
        assert len(list(tmp_path.iterdir())) == 2
        assert all(future.cancel() for future in futures)


def test_waiting_for_a_worker_counts_against_no_limit():
    with make_executor("subprocess", workers=1) as executor:
        programs = [Program("import time; time.sleep(3)", limits=Limits(wall_s=5)) for _ in range(3)]
        results = executor.run_many(programs)
    assert [result.status for result in results] == [Status.OK] * 3
    assert results[-1].queue_s > 5


def test_no_descriptor_left_is_a_fault_of_the_sandbox():
    code = textwrap.dedent("""
        import resource
        from code_env import Program, make_executor
        with make_executor("subprocess", workers=1) as executor:
            assert executor.run(Program("print(1)")).stdout == "1\\n"
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (8, hard))
            result = executor.run(Program("print(1)"))
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            print(result.status, "Errno 24" in result.error.message, executor.run(Program("print(1)")).status)
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.stdout, done.stderr) == ("sandbox_error True ok\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills a process with its parent")
@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "os._exit(0)", "sys.exit()"])
def test_programs_end_with_the_trainer_however_it_ends(end, tmp_path):
    marker = f"marker{os.getpid()}{abs(hash(end))}"
    code = textwrap.dedent(f"""
        import os, sys, time
        from code_env import Program, make_executor
        executor = make_executor("subprocess", workers=2)
        for _ in range(2):
            executor.submit(Program("import time; time.sleep(60)", argv=("{marker}",)))
        time.sleep(1.5)
        {end}
    """)
    # A trainer that is killed leaves its programs' directories behind: here, where they are removed.
    surroundings = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], timeout=PATIENCE_S, check=False, env=surroundings)
    wait_until(lambda: processes_with(marker) == [])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills a process with its parent")
@pytest.mark.parametrize("test", ["StdinTest('', 'x')", "CallTest((), {}, 1)", "AssertTest('assert f() == 1')"])
@pytest.mark.parametrize("number", [9, 15])
def test_judged_answers_end_with_the_trainer(test, number, tmp_path):
    marker = f"judged{os.getpid()}x{abs(hash(test))}x{number}"
    code = textwrap.dedent(f"""
        import os, threading, time
        from code_env import *
        answer = "import os, time\\nopen('/proc/self/comm', 'w').write('{marker[:15]}')\\ntime.sleep(60)"
        task = Task("t", "p", ({test},), entry_point="f")
        executor = make_executor("subprocess", workers=1)
        threading.Thread(target=judge, args=(task, answer, executor), daemon=True).start()
        time.sleep(2)
        os.kill(os.getpid(), {number})
    """)
    # A trainer that is killed leaves its programs' directories behind: here, where they are removed.
    surroundings = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], timeout=PATIENCE_S, check=False, env=surroundings)
    wait_until(lambda: processes_named(marker[:15]) == [])


def processes_named(name):
    found = []
    for entry in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if entry.read_text().strip() == name:
                found.append(entry.parent.name)
    return found


def test_close_in_the_middle_is_no_failure_of_the_program():
    from concurrent.futures import CancelledError, wait

    executor = make_executor("subprocess", workers=1)
    futures = [executor.submit(Program("import time; time.sleep(60)")) for _ in range(3)]
    time.sleep(0.5)
    executor.close()
    assert wait(futures, timeout=PATIENCE_S).not_done == set()
    for future in futures:
        with pytest.raises(CancelledError):
            future.result()


@pytest.mark.parametrize(
    "code",
    [
        "import os\nfor i in range(1500): os.mkdir('d'); os.chdir('d')",
        "import os; os.mkdir('d'); open('d/f', 'w').close(); os.chmod('d', 0)",
        "import os; os.symlink('a', 'a'); os.mkfifo('b'); os.symlink('/', 'c')",
    ],
    ids=["deep", "unreadable", "links"],
)
def test_whatever_a_program_leaves_behind_is_removed_and_no_reason_to_fail(code, tmp_path, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with make_executor("subprocess", workers=1) as executor:
        assert executor.run(Program(code, collect=("a", "b", "c/etc/hostname"))).status is Status.OK
    assert list(tmp_path.iterdir()) == []


def test_it_works_beside_thousands_of_descriptors():
    code = textwrap.dedent("""
        import os, resource
        from code_env import Program, make_executor
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
        kept = [os.open("/dev/null", os.O_RDONLY) for _ in range(1500)]
        with make_executor("subprocess", workers=1) as executor:
            print(executor.run(Program("print(1)")).stdout, end="")
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_a_fork_of_the_trainer_gets_workers_of_its_own():
    code = textwrap.dedent("""
        import os, warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of every fork with threads.
        from code_env import Program, make_executor
        executor = make_executor("subprocess", workers=1)
        executor.run(Program("print(1)"))
        pid = os.fork()
        output = executor.run(Program("print(2)")).stdout
        if pid == 0:
            os._exit(output != "2\\n")
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), output, end="")
        executor.close()
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.stdout, done.stderr) == ("0 2\n", "")


def test_a_program_cannot_pass_for_a_fault_of_the_sandbox(executor):
    closes_everything = "import os\nos.closerange(0, 100)\nos._exit(1)"
    writes_everywhere = (
        "import os\nfor fd in range(3, 50):\n    try: os.write(fd, b'\\n{\\n')\n    except OSError: pass"
    )
    assert executor.run(Program(closes_everything)).status is Status.ERROR
    assert executor.run(Program(writes_everywhere)).status is Status.OK


def test_it_can_be_used_from_a_pool_of_threads(executor):
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda n: executor.run(Program(f"print({n})")).stdout, range(8)))
    assert results == [f"{n}\n" for n in range(8)]


def test_it_refuses_to_be_built_without_posix(monkeypatch):
    monkeypatch.delattr(os, "fork")
    with pytest.raises(ExecutorError, match="POSIX"):
        UnisolatedSubprocessExecutor()
