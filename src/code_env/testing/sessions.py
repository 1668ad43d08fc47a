"""Checks of sessions: state from cell to cell, ends of cells, limits, files, checkpoints and branches."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from code_env.errors import SessionBusy, SessionDied, TaskError, UnsupportedProgram
from code_env.executors import Executor, Limits, Status
from code_env.sessions import Session, SessionState

from .contract import ConformanceFailure, Declared, check, equal, expect, need_limit

_SHORT = Limits(cpu_s=0.5, wall_s=10)


def _session(executor: Executor, limits: Limits | None = None, files: Mapping[str, bytes] | None = None) -> Session:
    """Open a session; end the check if the executor has none, which is allowed: it must then refuse to open one."""
    if executor.describe().sessions != "none":
        return executor.open_session(limits=limits, files=files)
    try:
        executor.open_session()
    except UnsupportedProgram as error:
        raise Declared(f"has no sessions: {error}") from None
    raise ConformanceFailure("a session was opened, though describe() says that there are none")


def _gives(session: Session, cell: str, text: str) -> None:
    """Run a cell, and fail unless it ends with this text."""
    result = session.run(cell)
    equal((result.status, result.text), (Status.OK, text), f"status and text of {cell!r} (error: {result.error})")


def _raises(session: Session, cell: str, name: str) -> None:
    """Run a cell, and fail unless this exception ends it."""
    result = session.run(cell)
    equal((result.status, result.error and result.error.name), (Status.ERROR, name), f"status and error of {cell!r}")


@check
def a_session_keeps_names(executor: Executor) -> None:
    """A cell finds the names that the cells before it made, functions and modules too."""
    with _session(executor) as session:
        session.run("import math\nx = [1]\ndef add(n):\n    x.append(n)\n    return x")
        _gives(session, "add(2)", "[1, 2]")
        _gives(session, "math.floor(x[-1] + 0.5)", "2")


@check
def a_cell_gives_what_it_prints_and_shows(executor: Executor) -> None:
    """The output of a cell is that of this cell alone; its last expression is its result."""
    with _session(executor) as session:
        session.run("print('before')")
        result = session.run("import sys\nprint('out')\nsys.stderr.write('err')\n[1]")
        equal((result.stdout, result.stderr, result.text), ("out\n", "err", "[1]"), "output, error output and text")


@check
def a_cell_without_a_value_gives_its_variable(executor: Executor) -> None:
    """A cell that shows and prints nothing gives the variable `result`, if it sets it."""
    with _session(executor) as session:
        _gives(session, "result = 6 * 7", "42")


@check
def a_session_goes_on_after_an_exception(executor: Executor) -> None:
    """A cell that raises names the exception, and what it did before that stays."""
    with _session(executor) as session:
        result = session.run("x = 1\nprint('so far')\nx / 0\nx = 2")
        name = result.error and result.error.name
        equal((result.status, result.stdout, name), (Status.ERROR, "so far\n", "ZeroDivisionError"), "the result")
        _gives(session, "x", "1")


@check
def a_cell_that_is_no_python_is_an_error(executor: Executor) -> None:
    """A syntax error is the cell's error, and the session goes on."""
    with _session(executor) as session:
        _raises(session, "def broken(:", "SyntaxError")
        _gives(session, "1", "1")


@check
def an_exit_ends_only_its_cell(executor: Executor) -> None:
    """`sys.exit()` in a cell is an exception of that cell."""
    with _session(executor) as session:
        _raises(session, "x = 3\nimport sys\nsys.exit(2)", "SystemExit")
        _gives(session, "x", "3")


@check
def a_cell_that_ends_its_process_leaves_the_state_before_it(executor: Executor) -> None:
    """After `os._exit` the session is as before that cell, and the result says what happened."""
    with _session(executor) as session:
        session.run("x = 1")
        result = session.run("x = 2\nimport os\nos._exit(0)")
        expect(result.status is not Status.OK, f"a cell that ended its interpreter has the status {result.status}")
        _gives(session, "x", "1")


@check
def a_cell_that_kills_itself_leaves_the_state_before_it(executor: Executor) -> None:
    """A cell that a signal ended leaves nothing, and the session goes on."""
    with _session(executor) as session:
        session.run("x = 1")
        result = session.run("x = 2\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
        expect(result.status in (Status.SIGNAL, Status.ERROR), f"the status of a killed cell is {result.status}")
        _gives(session, "x", "1")


@check
def a_cell_that_loops_reaches_its_limit(executor: Executor) -> None:
    """A cell that loops has the status `timeout` and keeps what it had written; the session goes on."""
    with _session(executor, _SHORT) as session:
        if "cpu_s" not in executor.describe().enforces:
            raise Declared("does not enforce cpu_s")
        session.run("x = 1")
        result = session.run("print('begun', flush=True)\nx = 2\nwhile True: pass")
        equal((result.status, result.stdout), (Status.TIMEOUT, "begun\n"), "status and output")
        _gives(session, "x", "1")


@check
def the_cells_have_a_limit_together(executor: Executor) -> None:
    """With `total_cpu_s`, a session whose cells have used it is dead, and says why."""
    need_limit(executor, "cpu_s")
    with _session(executor, Limits(cpu_s=5, wall_s=20, total_cpu_s=0.4)) as session:
        result = session.run("while True: pass")
        equal(result.status, Status.TIMEOUT, "status of a cell that used all of it")
        equal(session.state, SessionState.DEAD, "state")
        expect("CPU time" in session.ended, f"why it is dead: {session.ended!r}")
        _dies(session)


@check
def a_cell_cannot_hold_more_memory_than_its_limit(executor: Executor) -> None:
    """A cell that takes too much memory has the status `memory`, and the session goes on."""
    need_limit(executor, "memory_bytes")
    with _session(executor, Limits(memory_bytes=128 << 20)) as session:
        equal(session.run("x = bytearray(b'x') * (512 << 20)").status, Status.MEMORY, "status")
        _gives(session, "'on'", "'on'")


@check
def a_cell_has_no_input(executor: Executor) -> None:
    """`input()` raises `EOFError` at once."""
    with _session(executor) as session:
        equal(getattr(session.run("input()").error, "name", None), "EOFError", "the exception")


@check
def a_cell_may_close_or_replace_its_output(executor: Executor) -> None:
    """A cell that closes or replaces standard output spoils only its own output."""
    with _session(executor) as session:
        session.run("import sys, io\nsys.stdout = io.StringIO()\nprint('lost')\nsys.stdout = sys.__stdout__")
        session.run("x = 5")
        _gives(session, "print(x)", "5\n")


@check
def files_stay_from_cell_to_cell(executor: Executor) -> None:
    """Cells share a directory, in which the files that the session began with are."""
    with _session(executor, files={"data.txt": b"one"}) as session:
        session.run("open('more.txt', 'w').write(open('data.txt').read() + ' two')")
        _gives(session, "open('more.txt').read()", "'one two'")


@check
def files_can_be_read_and_written_from_outside(executor: Executor) -> None:
    """`write` puts a file where cells find it, and `read` brings back what a cell wrote."""
    with _session(executor) as session:
        session.write("folder/in.bin", bytes(range(256)))
        session.run("data = open('folder/in.bin', 'rb').read()\nopen('out.bin', 'wb').write(data[::-1])")
        equal(session.read("out.bin"), bytes(range(255, -1, -1)), "the file")


@check
def a_file_is_written_whatever_the_cells_have_done(executor: Executor) -> None:
    """Paths are relative to where the session began, and no name of a cell is in the way."""
    with _session(executor, Limits(file_bytes=100_000)) as session:
        session.run("import os\nos.mkdir('sub')\nos.chdir('sub')\nopen = exec = __import__ = os.makedirs = None")
        session.write("a/b/new.txt", b"new")
        equal(session.read("a/b/new.txt"), b"new", "file")
        _gives(session, "os.path.exists('../a/b/new.txt')", "True")
        try:
            session.write("large", bytes(100_001))
        except TaskError:
            return
        expect(False, "a file that is larger than limits.file_bytes was taken")


@check
def a_session_stays_in_its_working_directory(executor: Executor) -> None:
    """Also in a branch, and in one that was restored."""
    with _session(executor) as session:
        session.run("import os\nos.mkdir('sub')\nos.chdir('sub')\nfile = open('here', 'w').close()")
        look = "print(os.path.basename(os.getcwd()), os.listdir('.'))"
        _gives(session, look, "sub ['here']\n")
        (branch,) = session.fork(1)
        with branch:
            _gives(branch, look, "sub ['here']\n")
        _gives(session, "os.chdir('..')\nos.path.isdir('sub')", "True")
        _gives(session, "os.path.isdir('sub')", "True")


@check
def a_file_that_is_not_there_is_an_error(executor: Executor) -> None:
    """`read` of a missing file raises `FileNotFoundError`, and a path outside is refused."""
    with _session(executor) as session:
        try:
            session.read("missing")
        except FileNotFoundError:
            pass
        else:
            raise ConformanceFailure("a file was read that is not there")
        for act in (lambda: session.read("../x"), lambda: session.write("/x", b"")):
            try:
                act()
            except TaskError:
                continue
            raise ConformanceFailure("a path outside the session's directory was accepted")


@check
def a_checkpoint_can_be_restored_many_times(executor: Executor) -> None:
    """Each session that is restored begins in the state of the checkpoint, whatever the others did."""
    with _session(executor) as session:
        session.run("x = [1]\nopen('f', 'w').write('a')")
        checkpoint = session.checkpoint()
        session.run("x.append(2)\nopen('f', 'w').write('b')")
        for _ in range(2):
            with checkpoint.restore() as restored:
                _gives(restored, "x.append(3)\nx, open('f').read()", "([1, 3], 'a')")
        _gives(session, "x, open('f').read()", "([1, 2], 'b')")


@check
def a_released_checkpoint_cannot_be_restored(executor: Executor) -> None:
    """After `release`, which may be called twice, `restore` raises `SessionDied`."""
    with _session(executor) as session:
        checkpoint = session.checkpoint()
        checkpoint.release()
        checkpoint.release()
        try:
            checkpoint.restore()
        except SessionDied:
            return
        raise ConformanceFailure("a checkpoint that was released was restored")


@check
def branches_do_not_see_each_other(executor: Executor) -> None:
    """Branches of one state have names and files of their own."""
    with _session(executor) as session:
        session.run("x = 0")
        one, other = session.fork(2)
        with one, other:
            one.run("x = 1\nopen('f', 'w').write('one')")
            _gives(other, "import os\nx, os.path.exists('f')", "(0, False)")
            _gives(one, "x, open('f').read()", "(1, 'one')")
        _gives(session, "x", "0")


@check
def a_branch_of_a_branch_has_its_state(executor: Executor) -> None:
    """A branch can be forked again."""
    with _session(executor) as session:
        session.run("x = 1")
        (child,) = session.fork(1)
        with child:
            child.run("x += 1")
            (grandchild,) = child.fork(1)
            with grandchild:
                _gives(grandchild, "x + 1", "3")


@check
def branches_draw_alike_unless_reseeded(executor: Executor) -> None:
    """Without `reseed` branches draw the same random numbers, and with seeds others."""
    draw = "import random\nrandom.random()"
    with _session(executor) as session:
        session.run("import random")
        same = [branch.run(draw).text for branch in session.fork(2)]
        seeded = [branch.run(draw).text for branch in session.fork(2, reseed=[1, 2])]
        equal(same[0], same[1], "what two branches drew")
        expect(seeded[0] != seeded[1], "two branches with different seeds drew the same")


@check
def cells_that_do_not_depend_on_chance_give_the_same_again(executor: Executor) -> None:
    """A restored session gives what the first one gave."""
    cells = ("rows = [{'n': n, 'sq': n * n} for n in range(5)]", "sum(row['sq'] for row in rows)", "rows.pop()['n']")
    with _session(executor) as session:
        checkpoint = session.checkpoint()
        for begun in (session, checkpoint.restore()):
            equal([begun.run(cell).text for cell in cells], ["", "30", "4"], "texts of the cells")


@check
def a_cell_can_be_interrupted(executor: Executor) -> None:
    """`interrupt` ends the cell that runs with `KeyboardInterrupt`, and the session goes on."""
    with _session(executor, Limits(cpu_s=60, wall_s=60)) as session:
        session.run("x = 1")
        ended = threading.Event()
        interrupting = threading.Thread(target=_interrupt_when_busy, args=(session, ended))
        interrupting.start()
        try:
            result = session.run("while True: pass")
        finally:
            ended.set()
            interrupting.join()
        equal(getattr(result.error, "name", None), "KeyboardInterrupt", "the error")
        _gives(session, "x", "1")


def _interrupt_when_busy(session: Session, ended: threading.Event) -> None:
    while session.state is not SessionState.BUSY and not ended.is_set():
        pass
    session.interrupt()


@check
def one_cell_runs_at_a_time(executor: Executor) -> None:
    """While a cell runs the session is busy, and refuses another cell."""
    with _session(executor, Limits(cpu_s=60, wall_s=60)) as session:
        running = threading.Thread(target=session.run, args=("while True: pass",))
        running.start()
        while session.state is not SessionState.BUSY and running.is_alive():
            pass
        try:
            session.run("1")
        except SessionBusy:
            pass
        else:
            raise ConformanceFailure("a second cell was taken while one ran")
        finally:
            session.interrupt()
            running.join()


@check
def a_session_counts_what_it_spends(executor: Executor) -> None:
    """`spent` counts cells and their time; a branch begins with what led to it."""
    with _session(executor) as session:
        session.run("sum(range(10**6))")
        spent = session.spent
        equal(spent.cells, 1, "cells")
        expect(spent.wall_s > 0, "no time was counted")
        (branch,) = session.fork(1)
        with branch:
            equal(branch.spent, spent, "what a new branch has spent")


@check
def a_closed_session_is_dead(executor: Executor) -> None:
    """After `close`, which may be called twice, a session is dead and takes no cell."""
    session = _session(executor)
    session.close()
    session.close()
    equal(session.state, SessionState.DEAD, "state")
    expect(bool(session.ended), "a dead session does not say why")
    _dies(session)


def _dies(session: Session) -> None:
    try:
        session.run("1")
    except SessionDied:
        return
    raise ConformanceFailure("a dead session took a cell")
