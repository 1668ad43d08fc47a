"""A queue that runs as many programs as it may, and those of sleepers besides."""

import contextlib
import threading
import time

from code_env import ExecutionResult, Program, Status
from code_env.executors.pool import Pool
from support import PATIENCE_S, wait_until


class Runs:
    """Runners whose programs go on until they are told to end."""

    def __init__(self):
        self.places, self.ended, self.opened, self.open = {}, {}, 0, 0

    @contextlib.contextmanager
    def opened_one(self):
        self.opened += 1
        self.open += 1
        yield self.run
        self.open -= 1

    def run(self, program, place):
        done = self.ended.setdefault(program.code, threading.Event())
        self.places[program.code] = place
        while not done.wait(0.005):
            if place.is_over():
                break
        return ExecutionResult(Status.OK, stdout=program.code)

    def end(self, name):
        self.ended.setdefault(name, threading.Event()).set()

    def wait_for(self, *names):
        wait_until(lambda: set(names) <= set(self.places), names)


def pool_of(workers, most=None):
    runs = Runs()
    return runs, Pool("test", workers, runs.opened_one, most)


def test_programs_run_in_order_and_no_more_than_may():
    runs, pool = pool_of(2)
    futures = [pool.submit(Program(name)) for name in "abcd"]
    runs.wait_for("a", "b")
    time.sleep(0.05)
    assert set(runs.places) == {"a", "b"}
    runs.end("b")
    runs.wait_for("c")
    assert "d" not in runs.places
    for name in "acd":
        runs.end(name)
    assert [future.result(PATIENCE_S).stdout for future in futures] == list("abcd")
    assert runs.opened == 2
    pool.close()
    assert runs.open == 0


def test_one_that_sleeps_lends_its_place_and_takes_it_back():
    runs, pool = pool_of(1, 8)
    futures = [pool.submit(Program(name)) for name in "abcd"]
    runs.wait_for("a")
    runs.places["a"].sleeps(True)
    runs.places["a"].sleeps(True)
    runs.wait_for("b")
    time.sleep(0.05)
    assert set(runs.places) == {"a", "b"}
    runs.places["a"].sleeps(False)
    runs.end("b")
    assert futures[1].result(PATIENCE_S).stdout == "b"
    time.sleep(0.05)
    assert set(runs.places) == {"a", "b"}
    runs.end("a")
    runs.wait_for("c")
    runs.places["c"].sleeps(True)
    runs.end("c")  # Its place is its own no more; it lends nothing after its end.
    runs.wait_for("d")
    late = pool.submit(Program("e"))
    time.sleep(0.05)
    assert "e" not in runs.places
    runs.end("d")
    runs.end("e")
    assert late.result(PATIENCE_S).stdout == "e"
    wait_until(lambda: runs.open <= 1)  # The thread that ran in a sleeper's place has nothing more to do.
    pool.close()
    assert runs.open == 0


def test_sleepers_are_bounded():
    runs, pool = pool_of(2, 16)
    for n in range(40):
        pool.submit(Program(str(n)))
    for n in range(16):
        runs.wait_for(str(n))
        runs.places[str(n)].sleeps(True)
    time.sleep(0.05)
    assert len(runs.places) == 16
    pool.close()


def test_closing_ends_what_runs_and_cancels_what_waits():
    runs, pool = pool_of(1)
    futures = [pool.submit(Program(name)) for name in "abc"]
    runs.wait_for("a")
    told = []
    futures[2].add_done_callback(told.append)
    pool.close()
    assert all(future.cancelled() for future in futures)
    assert told == [futures[2]]


def test_a_future_that_was_cancelled_in_the_queue_is_passed_over():
    runs, pool = pool_of(1)
    futures = [pool.submit(Program(name)) for name in "abc"]
    runs.wait_for("a")
    futures[1].cancel()
    for name in "abc":
        runs.end(name)
    assert futures[2].result(PATIENCE_S).stdout == "c"
    assert set(runs.places) == {"a", "c"}
    pool.close()


def test_where_no_thread_is_to_be_had_a_result_says_so(monkeypatch):
    runs, pool = pool_of(2)

    def refuse(self):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        result = pool.submit(Program("a")).result(PATIENCE_S)
        assert (result.status, result.error.message) == (Status.SANDBOX_ERROR, "RuntimeError: can't start new thread")
    first = pool.submit(Program("b"))
    runs.wait_for("b")
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        second = pool.submit(Program("c"))
    runs.end("b")
    runs.end("c")
    assert (first.result(PATIENCE_S).stdout, second.result(PATIENCE_S).stdout) == ("b", "c")
    pool.close()
