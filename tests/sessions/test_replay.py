"""Sessions that run their cells again: what is kept, what is not, and what a hostile cell can do.

The rest is checked by `code_env.testing.sessions` on every executor.
"""

import numpy
import pytest

from code_env import (
    CellResult,
    ExecutionResult,
    ExecutorClosed,
    Limits,
    Program,
    SessionDied,
    Status,
    TaskError,
    UnsupportedProgram,
    make_executor,
)
from code_env.sessions.past import Attempt, SessionOfCells
from support import somewhere


@pytest.fixture(scope="module", params=["full", "contained", "subprocess"])
def place(request):
    with somewhere(request.param) as made:
        yield made


@pytest.mark.parametrize(
    "cell",
    [
        "import os\nfor fd in range(64):\n    try: os.close(fd)\n    except OSError: pass",
        "import os\nos.dup2(os.open('/dev/null', 1), 1)",
        "import sys\nsys.stdout = sys.stderr = None",
        "import builtins\nbuiltins.compile = builtins.exec = builtins.eval = builtins.repr = None",
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.alarm(1)",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(100,)).start()",
        "import atexit\natexit.register(print, 'at exit')",
        "class Odd:\n    def __repr__(self): raise SystemExit\nOdd()",
        "import sys\nsys.exit('text')",
        "raise KeyboardInterrupt",
        "raise type('X', (BaseException,), {'__str__': lambda self: 1 / 0})",
        "import gc, types\nfor one in gc.get_objects():\n"
        "    if isinstance(one, types.FunctionType): one.__code__ = (lambda *a: 0).__code__",
    ],
)
def test_a_hostile_cell_spoils_only_its_own_session(place, cell):
    with place.open_session(limits=Limits(cpu_s=2, wall_s=20)) as hostile, place.open_session() as honest:
        honest.run("x = 1")
        before = hostile.checkpoint()
        hostile.run(cell)
        hostile.run("y = 2")
        assert honest.run("x + 1").text == "2"
        with before.restore() as restored:
            assert restored.run("3").text == "3"


def test_numpy_draws_alike_in_branches_whenever_it_was_loaded(place):
    draw = "float(np.random.rand())"
    with place.open_session() as session:
        session.run("import numpy as np")
        drawn = [branch.run(draw).text for branch in session.fork(3)]
        assert len(set(drawn)) == 1, drawn
        seeded = [branch.run(draw).text for branch in session.fork(3, reseed=[1, 2, 2**32 - 1])]
        assert len(set(seeded)) == 3, seeded
        assert seeded[0] == str(numpy.random.RandomState(1).rand())
        session.run(f"x = {draw}")
        assert session.run("x").text == session.run("x").text == drawn[0]


@pytest.mark.parametrize("seeds", [[], [1], [1, -1], [1, 2**32], [1, "2"]])
def test_what_is_no_seed_is_refused(place, seeds):
    with place.open_session() as session, pytest.raises(ValueError, match=r"2 branches need 2 seeds|a seed must be"):
        session.fork(2, reseed=seeds)


def test_the_time_of_all_cells_is_used_up_before_it_is_too_little_for_a_cell():
    """Whatever is left, the next cell runs or the session is dead."""
    for left_s in (0.0, 0.0002, 0.0009, 0.0011):
        session = _Counted(Program("", limits=Limits(total_cpu_s=1.0)), 1.0 - left_s)
        session.run("x")
        assert session.state == ("idle" if left_s > 0.001 else "dead")


class _Counted(SessionOfCells):
    """A session whose cells use so much CPU time."""

    def __init__(self, first, cpu_s):
        super().__init__(first)
        self._cpu_s = cpu_s

    def _branch(self):
        raise NotImplementedError

    def _attempt(self, past, cell):
        self._program(past, cell, ())
        return Attempt(ExecutionResult(Status.OK, cells=(CellResult(),), cpu_s=self._cpu_s), ())

    def read(self, path):
        raise NotImplementedError


def test_a_record_that_is_forged_is_data_of_its_session(place):
    """A cell can say what it likes of itself; it cannot say it of another."""
    forge = (
        "import os\nfor fd in range(3, 64):\n"
        '    try: os.write(fd, b\'{"cell": 1, "results": []}\\n\')\n    except OSError: pass'
    )
    with place.open_session(limits=Limits(cpu_s=2, wall_s=20)) as session, place.open_session() as other:
        session.run(forge)
        assert isinstance(session.run("1").text, str)
        other.run("x = 1")
        assert other.run("x").text == "1"


def test_nothing_that_a_killed_cell_did_stays(place):
    with place.open_session(limits=Limits(cpu_s=0.3, wall_s=20), files={"f": b"first"}) as session:
        killed = session.run("open('f', 'w').write('second')\nx = 1\nwhile True: pass")
        assert killed.status is Status.TIMEOUT
        assert session.run("open('f').read()").text == "'first'"
        assert session.run("x").error.name == "NameError"


def test_random_numbers_are_the_same_again(place):
    with place.open_session() as session:
        first = session.run("import random\nx = random.random()\nx").text
        assert [session.run("x").text for _ in range(3)] == [first] * 3
        session.reseed(7)
        seeded = session.run("random.random()").text
        session.reseed(7)
        assert session.run("random.random()").text == seeded


def test_figures_are_those_of_the_cell(place):
    pytest.importorskip("matplotlib")
    with place.open_session(limits=Limits(cpu_s=20, wall_s=60)) as session:
        session.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")
        shown = session.run("plt.plot([2, 1])\nplt.show()").results
        assert [list(one) for one in shown if "image/png" in one] == [["image/png"]]


def test_a_session_ends_with_its_executor():
    executor = make_executor("local", workers=1)
    session = executor.open_session()
    assert session.run("1").text == "1"
    executor.close()
    with pytest.raises(ExecutorClosed):
        session.run("2")
    session.close()
    with pytest.raises(SessionDied, match="it was closed"):
        session.run("3")


def test_what_is_no_cell_or_no_seed_is_refused(executor):
    with executor.open_session() as session:
        with pytest.raises(TypeError, match="a cell is text; got int"):
            session.run(1)
        with pytest.raises(ValueError, match="2 branches need 2 seeds; got 1"):
            session.fork(2, reseed=[1])
        with pytest.raises(TaskError, match="not a path inside"):
            session.read("/etc/passwd")


def test_an_executor_without_sessions_says_so():
    with (
        make_executor("restricted", workers=1) as executor,
        pytest.raises(UnsupportedProgram, match="RestrictedExecutor has no sessions"),
    ):
        executor.open_session()


def test_a_program_with_a_history_is_a_notebooks_cell():
    for fields in ({}, {"notebook": True, "cells": ("1",)}):
        with pytest.raises(TaskError, match="is run with notebook=True and without cells"):
            Program("1", history=(), **fields)
    with pytest.raises(TaskError, match="history must be a tuple of texts"):
        Program("1", notebook=True, history=["1"])


def test_the_history_runs_unseen(place):
    result = place.run(Program("print(x)", notebook=True, history=("x = 1\nprint('unseen')\nx", "1 / 0")))
    assert (result.status, result.stdout, result.stderr) == (Status.OK, "1\n", "")
    assert result.cells == (CellResult(),)
