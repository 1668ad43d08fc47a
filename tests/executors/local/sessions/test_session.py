"""Live sessions: what a fork keeps, what it refuses, and what happens when an interpreter is lost."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator

import pytest

from code_env import Limits, make_executor
from code_env.errors import CheckpointRefused, ExecutorClosed, ExecutorError
from code_env.executors import Executor, Status
from code_env.executors.local.sessions import tree
from code_env.harness.process.watching import cpu_seconds, descendants
from code_env.sessions import Session, SessionState


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    with make_executor("local") as one:
        if one.describe().sessions != "fork":
            pytest.skip("this machine does not grant level `full`, so sessions are kept by replay")
        yield one


@pytest.fixture
def session(executor: Executor) -> Iterator[Session]:
    with executor.open_session(limits=Limits(cpu_s=2)) as one:
        yield one


def text(session: Session, cell: str) -> str:
    result = session.run(cell)
    assert result.status is Status.OK, result
    return result.text


def test_a_cell_does_not_run_the_cells_before_it_again(session: Session) -> None:
    session.run("import os, time\nstarted = time.monotonic_ns(), os.getpid()")
    assert text(session, "started") == text(session, "started")


def test_a_checkpoint_costs_no_process(session: Session) -> None:
    session.run("import os\nbefore = os.getpid()")
    checkpoint = session.checkpoint()
    with checkpoint.restore() as one, checkpoint.restore() as other:
        assert text(one, "before") == text(other, "before") == text(session, "before")
        assert text(one, "os.getpid()") != text(other, "os.getpid()")


def test_files_are_those_of_the_state(session: Session) -> None:
    session.run(
        "import os\nos.mkdir('d')\nopen('d/a', 'w').write('1')\nos.symlink('a', 'd/link')\nos.chmod('d/a', 0o400)"
    )
    checkpoint = session.checkpoint()
    session.run("os.unlink('d/a')")
    looks = "sorted(os.listdir('d')), open('d/link').read(), os.stat('d/a').st_mode & 0o777"
    with checkpoint.restore() as branch:
        assert text(branch, looks) == "(['a', 'link'], '1', 256)"
    assert text(session, "os.listdir('d')") == "['link']"


@pytest.mark.parametrize(
    "cell",
    [
        "os.chmod('.', 0)",
        "os.chmod('..', 0)",
        "os.rmdir(os.getcwd())",
        "os.rename(os.getcwd(), os.getcwd() + '2')",
        "here = os.getcwd()\nos.rmdir(here)\nopen(here, 'w').close()",
        "os.chdir('..')\nos.rmdir('work')",
        "os.makedirs('a/b')\nos.chdir('a/b')\nos.rmdir('../b')",
    ],
)
def test_a_cell_can_do_what_it_likes_with_its_directory(session: Session, cell: str) -> None:
    session.run(f"import os\nx = 1\n{cell}")
    for _ in range(3):
        assert session.run("x += 1").status is Status.OK
    assert text(session, "x") == "4"
    assert session.spent.cells == 5


def test_a_directory_that_a_cell_has_renamed_stays_the_cells_directory(session: Session) -> None:
    session.run("import os\nos.mkdir('a')\nos.chdir('a')\nos.rename('../../work', '../../other')")
    assert text(session, "os.getcwd().endswith('/other/a')") == "True"


def test_a_file_is_written_where_the_session_began_even_if_that_was_removed(session: Session) -> None:
    session.run("import os\nos.rmdir(os.getcwd())")
    session.write("a/b", b"1")
    assert session.read("a/b") == b"1"


def test_a_cell_that_is_ended_leaves_no_files(session: Session) -> None:
    session.run("import os\nopen('a', 'w').write('1')")
    assert session.run("open('a', 'w').write('2'); open('b', 'w'); os._exit(0)").error is not None
    assert text(session, "os.listdir('.'), open('a').read()") == "(['a'], '1')"


def test_tmp_is_the_same_path_in_all_branches(session: Session) -> None:
    session.run("import tempfile\nfile = tempfile.NamedTemporaryFile('w', delete=False)\nfile.write('x')\nfile.close()")
    one, other = session.fork(2)
    assert text(one, "open(file.name, 'a').write('y')\nopen(file.name).read()") == "'xy'"
    assert text(other, "open(file.name).read(), open('/tmp' + file.name.removeprefix(tempfile.gettempdir())).read()")
    assert text(other, "open(file.name).read()") == "'x'"


@pytest.mark.parametrize(
    ("cell", "named", "mended"),
    [
        ("file = open('a.txt', 'w')", "the open file a.txt", "file.close()"),
        ("import os\nends = os.pipe()", "an open pipe", "os.close(ends[0]); os.close(ends[1])"),
        ("import socket\npair = socket.socketpair()", "an open socket", "[one.close() for one in pair]"),
        (
            "import threading\ngo = threading.Event()\nthread = threading.Thread(target=go.wait)\nthread.start()",
            "1 other thread",
            "go.set(); thread.join()",
        ),
        ("import mmap\nshared = mmap.mmap(-1, 4096)", "shared memory", "shared.close()"),
        ("import os\nos.mkfifo('queue')", "the FIFO or socket queue", "os.unlink('queue')"),
    ],
)
def test_what_a_fork_would_not_have_is_refused_by_name(session: Session, cell: str, named: str, mended: str) -> None:
    session.run("x = 1")
    assert session.run(cell).status is Status.OK
    with pytest.raises(CheckpointRefused, match=named):
        session.checkpoint()
    with pytest.raises(CheckpointRefused, match=named):
        session.fork(1)
    # The session itself goes on in the same process.
    assert session.run(f"x += 1\n{mended}").error is None
    with session.checkpoint().restore() as branch:
        assert text(branch, "x") == "2"


def test_an_open_file_is_the_same_in_the_next_cell(session: Session) -> None:
    session.run("file = open('log', 'w+')")
    session.run("file.write('one ')")
    session.run("file.write('two')")
    assert text(session, "file.seek(0)\nfile.read()") == "'one two'"
    # A cell that is ended by force takes the interpreter with it. So the cells before it are run again.
    assert session.run("import os; os._exit(1)").error is not None
    assert text(session, "file.seek(0)\nfile.read()") == "'one two'"


def test_a_lost_interpreter_is_made_again_from_its_cells(session: Session) -> None:
    session.run("import os\nx = [1]\nopen('a', 'w').write('1')")
    checkpoint = session.checkpoint()
    session.run("x.append(2)")
    worker = session._inner._tree._worker  # type: ignore[attr-defined]
    for pid in descendants(worker.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert text(session, "x, open('a').read()") == "([1, 2], '1')"
    with checkpoint.restore() as branch:
        assert text(branch, "x") == "[1]"


def test_a_worker_that_dies_is_replaced(session: Session) -> None:
    session.run("x = [1]")
    worker = session._inner._tree._worker  # type: ignore[attr-defined]
    os.kill(worker.pid, signal.SIGKILL)
    assert text(session, "x") == "[1]"


def test_a_cell_is_charged_for_the_calls_that_its_worker_decides_on(session: Session) -> None:
    session.run("import os, time")
    worker = session._inner._tree._worker  # type: ignore[attr-defined]
    before_s = cpu_seconds(worker.pid) or 0.0
    signals = "for _ in range(10_000): os.kill(os.getpid(), 0)"
    result = session.run(f"begun_s = time.process_time()\n{signals}\ntime.process_time() - begun_s")
    decided_s = (cpu_seconds(worker.pid) or 0.0) - before_s
    assert result.cpu_s > float(result.text) + decided_s / 4 > float(result.text)


def test_a_cell_whose_worker_works_without_end_comes_to_its_limit(session: Session) -> None:
    session.run("import os")
    assert session.run("while True: os.kill(os.getpid(), 0)").status is Status.TIMEOUT


def test_states_beyond_their_memory_are_made_again(executor: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "KEPT_BYTES", 40 << 20)
    with executor.open_session(limits=Limits(cpu_s=2)) as session:
        session.run("data = bytearray(b'x') * (20 << 20)")
        branches = session.fork(6)
        for number, branch in enumerate(branches):
            branch.run(f"data[0] = {number}\nmore = bytearray(b'x') * (10 << 20)")
        worker = session._inner._tree._worker  # type: ignore[attr-defined]
        assert len(descendants(worker.pid)) < len(branches)
        assert [text(branch, "data[0]") for branch in branches] == [str(number) for number in range(6)]


def test_what_nobody_needs_is_ended(executor: Executor) -> None:
    with executor.open_session(limits=Limits(cpu_s=2)) as session:
        worker = session._inner._tree  # type: ignore[attr-defined]
        for _ in range(30):
            session.run("x = 1")
            for branch in session.fork(2):
                with branch:
                    branch.run("y = 2")
        deadline = time.monotonic() + 20
        while len(descendants(worker._worker.pid)) > 6 and time.monotonic() < deadline:
            session.run("1")
        assert len(descendants(worker._worker.pid)) <= 6
        pid = worker._worker.pid
    del session, worker, branch
    deadline = time.monotonic() + 20
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not os.path.exists(f"/proc/{pid}")


def test_more_branches_than_rooms_is_an_error(executor: Executor) -> None:
    with executor.open_session() as session:
        session.run("x = 1")
        branches = session.fork(540)

        def run_all() -> None:
            for branch in branches:
                branch.run("x")

        with pytest.raises(ExecutorError, match="too many branches"):
            run_all()
        for branch in branches:
            branch.close()
        assert text(session, "x") == "1"


def test_a_session_whose_cells_may_start_processes_is_kept_by_replay(executor: Executor) -> None:
    with executor.open_session(limits=Limits(processes=2)) as session:
        assert text(session, "import subprocess, sys\nsubprocess.run([sys.executable, '-c', '']).returncode") == "0"


def test_sessions_end_with_their_executor() -> None:
    executor = make_executor("local")
    session = executor.open_session()
    session.run("x = 1")
    executor.close()
    with pytest.raises(ExecutorClosed):
        session.run("x")
    assert session.state is not SessionState.BUSY
