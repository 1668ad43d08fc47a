"""How many sessions there may be, and that none stays: neither idle, nor forgotten, nor after its trainer's death."""

import copy
import gc
import json
import math
import pickle
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from code_env import ExecutorError, SessionDied, SessionState, TooManySessions, make_executor
from support import PATIENCE_S, is_alive, wait_until


@pytest.fixture
def two():
    """An executor that may have two sessions."""
    with make_executor("local", workers=1) as executor:
        executor.max_sessions = 2
        yield executor


def test_neither_a_session_nor_its_checkpoint_can_be_copied_or_pickled(two):
    with two.open_session() as session:
        for one in (session, session.checkpoint()):
            for copied in (copy.deepcopy, copy.copy, pickle.dumps):
                with pytest.raises(TypeError, match=r"cannot be copied or pickled.*`clone_state` an episode"):
                    copied(one)


def test_there_is_a_largest_number_and_the_error_says_what_to_do(two):
    first, second = two.open_session(), two.open_session()
    with pytest.raises(TooManySessions, match=r"2 sessions are open.*may have 2.*close those.*`executor.max_sessions`"):
        two.open_session()
    first.close()
    third = two.open_session()
    checkpoint = second.checkpoint()
    for more in (lambda: second.fork(1), checkpoint.restore):
        with pytest.raises(TooManySessions):
            more()
    two.max_sessions = 5
    branches = second.fork(2)
    assert [one.run("1").text for one in (second, third, *branches)] == ["1"] * 4
    with pytest.raises(TooManySessions, match="2 more are asked for"):
        second.fork(2)


def test_dead_and_forgotten_ones_do_not_count(two):
    kept = [two.open_session() for _ in range(2)]
    kept[0]._inner.close()  # As when its limits are used up.
    kept.append(two.open_session())
    del kept[1]
    gc.collect()
    two.open_session()


def test_one_that_nobody_refers_to_is_closed(two):
    session = two.open_session()
    session.run("x = 1")
    inner = session._inner
    branch = session.fork(1)[0]
    gone = weakref.ref(session)
    del session
    gc.collect()
    assert gone() is None
    wait_until(lambda: inner.state is SessionState.DEAD)
    assert branch.run("x").text == "1"


def test_a_checkpoint_that_nobody_refers_to_is_released(two):
    checkpoint = two.open_session().checkpoint()
    inner = checkpoint._inner
    inner.restore().close()
    del checkpoint
    gc.collect()

    def released():
        try:
            inner.restore().close()
        except SessionDied:
            return True
        return False

    wait_until(released)


def test_an_idle_one_is_closed_and_says_so(two):
    used, idle = two.open_session(), two.open_session(idle_s=0.05)
    wait_until(lambda: idle.state is SessionState.DEAD)
    wait_until(lambda: idle.ended.startswith("it was not used for 0.05 s"))
    with pytest.raises(SessionDied, match=r"it was not used for 0.05 s; `open_session\(idle_s=...\)` sets another"):
        idle.run("1")
    two.open_session()  # In its place.
    assert used.run("1").text == "1"


def test_one_that_runs_a_cell_is_not_idle(two):
    session = two.open_session(idle_s=0.2)
    assert session.run("import time\ntime.sleep(0.6)\n'done'").text == "'done'"
    wait_until(lambda: session.state is SessionState.DEAD)
    never = two.open_session(idle_s=math.inf)
    assert never.run("1").text == "1"


@pytest.mark.parametrize("idle_s", [0, -1, math.nan, "1", None])
def test_a_wrong_time_is_refused(two, idle_s):
    with pytest.raises(ExecutorError, match="idle_s must be a"):
        two.open_session(idle_s=idle_s)


def test_a_wrong_number_is_refused(two):
    with pytest.raises(ExecutorError, match="max_sessions must be a whole number of at least 1; got 0"):
        two.max_sessions = 0


def test_the_executor_is_not_kept_alive():
    executor = make_executor("local", workers=1)
    session = executor.open_session()
    gone, thread = weakref.ref(executor), executor._keeper._thread
    executor.close()
    del session, executor
    gc.collect()
    wait_until(lambda: gone() is None)
    wait_until(lambda: not thread.is_alive())


def test_nothing_is_left_of_a_trainer_that_is_killed():
    script = Path(__file__).with_name("killed_trainer_script.py")
    with subprocess.Popen([sys.executable, script, "local"], stdout=subprocess.PIPE, text=True) as trainer:
        started = json.loads(trainer.stdout.readline())
        trainer.kill()
        trainer.wait(PATIENCE_S)
    assert started
    wait_until(lambda: not any(map(is_alive, started)))
