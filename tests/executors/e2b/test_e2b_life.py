"""Cancelling, closing, sweeping, forking; the key; and running without one."""

import asyncio
import logging
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import time
import traceback
import warnings

import pytest
from loopback_fixtures import e2b, executor, make  # noqa: F401  # Fixtures.

from code_env import ExecutorClosed, ExecutorError, Limits, Program, Status, make_executor
from code_env.executors.e2b.bundle import bundle
from code_env.executors.e2b.key import ApiKey
from e2b_server import Fault

SLEEPER = Program("import time; time.sleep(60)", limits=Limits(wall_s=50))


def until(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_cancelling_ends_the_sandbox(executor, e2b):
    future = executor.submit(SLEEPER)
    until(lambda: len(e2b.sandboxes) == 1)
    assert future.cancel()
    until(lambda: not e2b.sandboxes)


@pytest.mark.parametrize("fault", [None, Fault.UNANSWERED], ids=["answered", "unanswered"])
def test_cancelling_while_a_sandbox_is_made_leaves_none(fault, make, e2b):
    executor = make(request_timeout_s=1.0)
    if fault is not None:
        e2b.faults.add("create", fault)
    futures = [executor.submit(SLEEPER) for _ in range(4)]
    for future in futures:
        future.cancel()
    executor.close()
    assert e2b.sandboxes == []


def test_cancelling_an_asyncio_task_ends_the_sandbox(executor, e2b):
    async def session():
        task = asyncio.create_task(executor.arun(SLEEPER))
        await asyncio.to_thread(until, lambda: len(e2b.sandboxes) == 1)
        task.cancel()
        await asyncio.to_thread(until, lambda: not e2b.sandboxes)

    asyncio.run(session())


def test_no_more_sandboxes_than_allowed(make, e2b):
    executor = make(max_concurrency=2)
    most = 0
    futures = [executor.submit(Program("print(1)")) for _ in range(8)]
    while not all(future.done() for future in futures):
        most = max(most, len(e2b.sandboxes))
    assert {future.result().stdout for future in futures} == {"1\n"}
    assert 1 <= most <= 2


def test_closing_ends_sandboxes(make, e2b):
    executor = make()
    futures = [executor.submit(SLEEPER) for _ in range(3)]
    until(lambda: len(e2b.sandboxes) == 3)
    executor.close()
    assert e2b.sandboxes == []
    assert all(future.cancelled() for future in futures)
    with pytest.raises(ExecutorClosed):
        executor.submit(SLEEPER)
    with pytest.raises(ExecutorClosed):
        executor.sweep()


def test_closing_from_a_futures_callback_does_not_hang(make, e2b):
    executor = make()
    future = executor.submit(Program("print(1)"))
    future.add_done_callback(lambda _: executor.close())
    assert future.result().stdout == "1\n"
    until(lambda: not e2b.sandboxes)


def test_an_executor_that_is_forgotten_ends_its_sandboxes(e2b):
    executor = make_executor("e2b")
    executor.submit(SLEEPER)
    until(lambda: len(e2b.sandboxes) == 1)
    del executor
    until(lambda: not e2b.sandboxes)


def test_a_process_that_ends_leaves_no_sandbox(e2b):
    code = """
    from code_env import Program, make_executor
    import time
    executor = make_executor("e2b")
    executor.submit(Program("import time; time.sleep(60)"))
    time.sleep(1)
    """
    before = e2b.created
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60)
    assert (e2b.created, e2b.sandboxes) == (before + 1, [])


def test_sweeping_ends_what_is_left_over(make, e2b):
    from e2b_code_interpreter import Sandbox

    executor, other = make(), make()
    future = executor.submit(SLEEPER)
    until(lambda: len(e2b.sandboxes) == 1)
    left = Sandbox.create(timeout=60, metadata={"code_env_run": executor._holder._live._sandboxes.run_id})
    foreign = Sandbox.create(timeout=60, metadata={"code_env_run": "of another trainer"})
    others = Sandbox.create(timeout=60)
    assert executor.sweep() == 1
    assert not left.is_running()
    assert not future.done()
    assert other.sweep() == 0
    assert other.sweep(older_than_s=3600) == 0
    assert other.sweep(older_than_s=0) == 2  # The one that runs is none of its own.
    assert (foreign.is_running(), others.is_running()) == (False, True)
    others.kill()


def test_sandboxes_have_lifetimes_no_network_and_a_label(executor, e2b):
    future = executor.submit(SLEEPER)
    until(lambda: len(e2b.sandboxes) == 1)
    info = e2b.sandboxes[0]
    assert set(info.metadata) == {"code_env_run", "code_env_creation", "code_env_pid"}
    assert info.metadata["code_env_pid"] == str(os.getpid())
    future.cancel()
    until(lambda: not e2b.sandboxes)


def test_threads_may_share_it(executor):
    outputs = []
    threads = [
        threading.Thread(target=lambda n=n: outputs.append(executor.run(Program(f"print({n})")).stdout))
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outputs) == [f"{n}\n" for n in range(6)]


FORKS = """
import os, sys, warnings
from code_env import ExecutorError, Program, make_executor
warnings.simplefilter("ignore")
used = sys.argv[1] == "used"
executor = make_executor("e2b")
if used:
    assert executor.run(Program("print(1)")).stdout == "1\\n"
    running = executor.submit(Program("import time; time.sleep(3); print(2)"))
pid = os.fork()
if pid == 0:
    try:
        if used:
            try:
                executor.submit(Program("print(3)"))
            except ExecutorError as error:
                assert "do not survive a fork" in str(error)
            else:
                os._exit(3)
        else:
            assert executor.run(Program("print(4)")).stdout == "4\\n"
        executor.close()
        os._exit(0)
    finally:
        os._exit(2)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
if used:
    assert running.result().stdout == "2\\n"
assert executor.run(Program("print(5)")).stdout == "5\\n"
executor.close()
"""


@pytest.mark.parametrize("kind", ["used", "fresh"])
def test_a_fork_makes_its_own_or_says_why_not(kind, e2b):
    subprocess.run([sys.executable, "-c", FORKS, kind], check=True, timeout=120)


KEY = "e2b_" + "f00d" * 10


class TestTheKey:
    def test_it_is_shown_nowhere(self, e2b, caplog, monkeypatch):
        monkeypatch.delenv("E2B_API_KEY")
        caplog.set_level(logging.DEBUG)
        retry = {"first_wait_s": 0.02, "longest_wait_s": 0.05, "create_tries": 2}
        with make_executor("e2b", api_key=e2b.api_key, retry=retry) as executor:
            found = executor.run(Program("import os; print(dict(os.environ))\nraise ValueError"))
            e2b.faults.add("create", Fault.INTERNAL, times=2)
            failed = executor.run(Program("print(1)"))
            assert failed.status is Status.SANDBOX_ERROR
            e2b.faults.add("create", Fault.UNAUTHORIZED)
            with pytest.raises(ExecutorError) as refused:
                executor.run(Program("print(1)"))
            trace = "".join(traceback.TracebackException.from_exception(refused.value, capture_locals=True).format())
            assert refused.value.__context__ is None  # The SDK's frames hold it.
            texts = [repr(executor), repr(vars(executor)), repr(found), repr(failed), trace, str(executor.describe())]
            with pytest.raises(TypeError):
                pickle.dumps(executor)
        texts += [record.getMessage() for record in caplog.records]
        assert not [text for text in texts if e2b.api_key in text]
        assert "E2B_API_KEY" not in found.stdout
        assert e2b.api_key.encode() not in bundle()

    def test_a_pickle_reads_the_environment_of_who_opens_it(self, monkeypatch):
        pickled = pickle.dumps(ApiKey(KEY))
        assert KEY.encode() not in pickled
        monkeypatch.setenv("E2B_API_KEY", "another")
        assert pickle.loads(pickled).reveal() == "another"
        monkeypatch.delenv("E2B_API_KEY")
        with pytest.raises(LookupError, match="E2B_API_KEY"):
            pickle.loads(pickled)


class TestWithoutAKey:
    @pytest.fixture(autouse=True)
    def no_key(self, monkeypatch):
        monkeypatch.delenv("E2B_API_KEY", raising=False)

    def test_it_is_an_error_that_says_what_to_do(self):
        with pytest.raises(ExecutorError, match=r'E2B_API_KEY, pass api_key, or pass fallback="local"'):
            make_executor("e2b")

    def test_the_fallback_runs_programs_and_says_so(self):
        with pytest.warns(UserWarning, match="no key for E2B, so programs run on 'local' instead") as warned:
            executor = make_executor("e2b", fallback="local")
        with executor, make_executor("local") as local:
            assert executor.run(Program("print(1)")).stdout == "1\n"
            told, plain = executor.describe(), local.describe()
            assert (told.level, told.enforces) == (plain.level, plain.enforces)
            assert told.details == f"the fallback of e2b, since there is no key: {plain.details}"
            assert executor.sweep() == 0
        assert len(warned) == 1
        with pytest.raises(ExecutorClosed):
            executor.submit(Program("print(1)"))

    def test_a_fallback_to_itself_is_refused(self):
        with pytest.raises(ExecutorError, match="another executor than e2b"):
            make_executor("e2b", fallback="e2b")

    def test_with_a_key_the_fallback_is_not_used(self, e2b, monkeypatch):
        monkeypatch.setenv("E2B_API_KEY", e2b.api_key)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with make_executor("e2b", fallback="local") as executor:
                assert executor.describe().level == "machine"


def test_without_the_sdk_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "e2b_code_interpreter", None)
    with pytest.raises(ExecutorError, match=r"pip install 'code-exec-env\[e2b\]'"):
        make_executor("e2b", api_key="k")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_concurrency": 0}, "max_concurrency must be"),
        ({"max_concurrency": True}, "max_concurrency must be"),
        ({"template": ""}, "template must be a text"),
        ({"api_key": 3}, "^api_key must be a text that is not empty, or None$"),
        ({"allow_internet_access": "no"}, "allow_internet_access must be"),
        ({"request_timeout_s": 0}, "request_timeout_s must be"),
        ({"retry": 3}, "retry must be a RetryPolicy or a mapping; got int"),
        ({"retry": {"tries": 3}}, "retry: unknown 'tries'; known are create_tries"),
        ({"retry": {"reruns": 1.5}}, "retry: reruns must be a whole number of at least 0; got 1.5"),
        ({"retry": {"kill_tries": 0}}, "retry: kill_tries must be a whole number of at least 1; got 0"),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(ExecutorError, match=message):
        make_executor("e2b", **{"api_key": "k", **arguments})
