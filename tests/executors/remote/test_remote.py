"""`remote` over real servers, which come, go, and differ."""

import contextlib
import os
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from code_env import (
    CallTest,
    ExecutorError,
    Limits,
    Program,
    Status,
    Task,
    UnsupportedProgram,
    judge_as_completed,
    judge_many,
    load_suite,
    make_executor,
)
from code_env.executors.remote import RemoteExecutor
from code_env.executors.remote.queue import weakest
from code_env.harness.process.watching import descendants
from code_env.testing import CHECKS, LIFE_CHECKS
from serving.server_process import served
from support import wait_until
from tiers import sample


@pytest.fixture(scope="module")
def server():
    with served("--workers", 2) as one:
        yield one


@pytest.fixture(scope="module")
def remote(server):
    with RemoteExecutor(server.address) as executor:
        yield executor


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_conforms(check, remote):
    assert check(remote) is None


@pytest.mark.parametrize("check", LIFE_CHECKS, ids=lambda check: check.__name__)
def test_its_life_conforms(check, server):
    with RemoteExecutor(server.address) as executor:
        assert check(executor) is None


def test_verdicts_are_those_of_local(remote, executor):
    suite = load_suite("starter")
    answers = [(task, task.reference) for task in suite]
    some = sample(suite, 4, lambda task: task.id)
    answers += [(task, wrong) for task in some for wrong in ("x = 1", "1/0", "def f(")]
    assert judge_many(answers, remote) == judge_many(answers, executor)


def test_servers_are_killed_and_restarted(tmp_path):
    """Three servers, of which two are killed and one comes back: each answer is judged right, and once."""
    task = Task("double", "", (CallTest(args=(3,), expected=6),), entry_point="double")
    answers = [(task, f"def double(x): return x * {2 + n % 2}  # {n}") for n in range(600)]
    paths = [tmp_path / f"{n}.sock" for n in range(3)]
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(served("--workers", 1, "--unix", path)) for path in paths]
        executor = stack.enter_context(RemoteExecutor([server.address for server in servers]))
        assert executor.describe().level in ("full", "contained")
        verdicts = {}
        for number, verdict in judge_as_completed(answers, executor):
            assert number not in verdicts
            verdicts[number] = verdict
            if len(verdicts) in (120, 240):
                servers[len(verdicts) // 120].process.kill()
            if len(verdicts) == 360:
                servers[1].process.wait()
                servers.append(stack.enter_context(served("--workers", 1, "--unix", paths[1])))
        done = [server.process.poll() for server in servers]
    assert [verdicts[n].outcome for n in range(600)] == ["pass", "fail"] * 300
    assert done == [None, -signal.SIGKILL, -signal.SIGKILL, None]


def test_a_program_whose_servers_are_all_lost_has_no_result():
    with served("--workers", 1) as server, RemoteExecutor(server.address, give_up_s=0.5) as executor:
        assert executor.run(Program("print(1)")).stdout == "1\n"
        futures = [
            executor.submit(Program("import time\ntime.sleep(100)", limits=Limits(wall_s=200))) for _ in range(9)
        ]
        wait_until(lambda: "code_env_running" in server.send("GET", "/metrics")[1])
        server.process.kill()
        results = [future.result() for future in futures]
    assert {result.status for result in results} == {Status.SANDBOX_ERROR}
    assert all("no server could be reached for 0.5 s: " in result.error.message for result in results)


def test_a_server_that_freezes_is_left():
    """It takes programs and answers nothing, not even the connection's tests."""
    with served("--workers", 1) as frozen, served("--workers", 1) as other:
        with RemoteExecutor([frozen.address, other.address]) as executor:
            executor.describe()
            os.kill(frozen.process.pid, signal.SIGSTOP)
            results = executor.run_many([Program(f"print({n})") for n in range(20)])
            assert [result.stdout for result in results] == [f"{n}\n" for n in range(20)]
        os.kill(frozen.process.pid, signal.SIGCONT)


def test_cancelling_ends_a_program(server, remote):
    futures = [remote.submit(Program("while True: pass", limits=Limits(cpu_s=1000, wall_s=1000))) for _ in range(20)]
    wait_until(lambda: "code_env_running 8.0" in server.send("GET", "/metrics")[1])
    assert all(future.cancel() for future in futures)
    assert remote.run(Program("print(1)")).stdout == "1\n"
    wait_until(lambda: "code_env_running 0.0" in server.send("GET", "/metrics")[1])


def test_it_is_closed_while_programs_run(server):
    executor = RemoteExecutor(server.address)
    futures = [executor.submit(Program("while True: pass", limits=Limits(cpu_s=1000, wall_s=1000))) for _ in range(20)]
    wait_until(lambda: "code_env_running 8.0" in server.send("GET", "/metrics")[1])
    executor.close()
    assert all(future.cancelled() for future in futures)
    wait_until(lambda: "code_env_running 0.0" in server.send("GET", "/metrics")[1])


def test_threads_share_one_executor(remote):
    with ThreadPoolExecutor(8) as threads:
        told = threads.map(lambda n: remote.run(Program(f"print({n})")).stdout, range(200))
        assert list(told) == [f"{n}\n" for n in range(200)]


def test_ranks_share_a_server_by_a_unix_socket(tmp_path):
    path = tmp_path / "socket"
    with served("--unix", path, "--workers", 2, token="secret") as server:
        assert path.stat().st_mode & 0o777 == 0o600
        with (
            RemoteExecutor(server.address, token="secret") as one,
            RemoteExecutor(server.address, token="secret") as two,
        ):
            assert [ex.run(Program("print(2)")).stdout for ex in (one, two)] == ["2\n", "2\n"]
        with RemoteExecutor(server.address) as third, pytest.raises(ExecutorError, match="HTTP 401"):
            third.describe()


def test_levels_that_differ_are_refused_unless_allowed():
    with served("--executor", "subprocess") as none, served("--workers", 1) as local:
        urls = [none.address, local.address]
        with (
            RemoteExecutor(urls) as executor,
            pytest.raises(ExecutorError, match=r"different levels of isolation: .* none"),
        ):
            executor.describe()
        with RemoteExecutor(urls, mixed_levels=True) as executor:
            isolation = executor.describe()
            assert (isolation.level, isolation.peer) == ("none", "same_machine")
            assert "processes" not in isolation.enforces
            assert executor.run(Program("print(1)")).stdout == "1\n"


def test_a_server_that_isolates_less_is_not_used_later(tmp_path):
    path = tmp_path / "socket"
    with served("--workers", 1) as local, RemoteExecutor([local.address, f"unix:{path}"]) as executor:
        level = executor.describe().level
        with served("--executor", "subprocess", "--unix", path):
            link = executor._queue().links[1]
            wait_until(lambda: "isolates less" in link.fault)
            assert executor.describe().level == level
            assert link.room == 0


def test_what_a_server_cannot_run_is_refused(remote):
    with served("--max-body", 1) as small, RemoteExecutor(small.address) as executor:
        programs = [Program("print(1)", files={"a": bytes(size)}) for size in (10, 1 << 20, 10)]
        futures = [executor.submit(program) for program in programs]
        with pytest.raises(UnsupportedProgram, match="takes 1048576; start it with a larger --max-body"):
            futures[1].result()
        assert [futures[n].result().stdout for n in (0, 2)] == ["1\n", "1\n"]
    with pytest.raises(UnsupportedProgram, match=r"the remote executor runs .* not 'cobol'"):
        remote.submit(Program("x", language="cobol"))


def test_no_server_is_an_error_that_says_how_to_start_one(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    words = rf"no server can be reached: .*{port}: .*start one with `code-env serve`"
    with RemoteExecutor(f"http://127.0.0.1:{port}") as executor, pytest.raises(ExecutorError, match=words):
        executor.describe()
    monkeypatch.delenv("CODE_ENV_SERVERS", raising=False)
    with pytest.raises(ExecutorError, match=r"pass urls, such as http://127.0.0.1:8080, or set CODE_ENV_SERVERS"):
        make_executor("remote")
    with pytest.raises(ExecutorError, match=r"the address of a server is .* got 'localhost:80'"):
        make_executor("remote", urls="localhost:80")


def test_addresses_come_from_the_environment(server, monkeypatch):
    monkeypatch.setenv("CODE_ENV_SERVERS", f"{server.address} {server.address}")
    with make_executor("remote") as executor:
        assert executor.run(Program("print(1)")).stdout == "1\n"
        assert len(executor._queue().links) == 2


def test_nothing_is_left(server):
    threads = threading.active_count()
    before = descendants(os.getpid())
    for _ in range(3):
        with RemoteExecutor(server.address) as executor:
            executor.run(Program("print(1)"))
    forgotten = RemoteExecutor(server.address)
    forgotten.run(Program("print(1)"))
    del forgotten
    wait_until(lambda: threading.active_count() <= threads)
    assert descendants(os.getpid()) == before


def test_the_weakest_of_several(executor):
    strong = executor.describe()
    with make_executor("subprocess") as other:
        weak = other.describe()
    for both in ([strong, weak], [weak, strong]):
        common = weakest(both)
        assert (common.level, common.peer, common.network) == ("none", "same_machine", True)
        assert common.enforces == strong.enforces & weak.enforces
