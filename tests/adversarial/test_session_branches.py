"""Branches of one live session: none reaches another, the state that it began from, or the sockets of the session."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from code_env import Limits, make_executor
from code_env.executors import Executor, Status
from code_env.sessions import Session


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    with make_executor("local") as one:
        if one.describe().sessions != "fork":
            pytest.skip("this machine does not grant level `full`, so sessions are kept by replay")
        yield one


ATTACKS = {
    "signal the process above": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)",
    "signal all": "import os, signal\nos.kill(-1, signal.SIGKILL)",
    "signal the group": "import os, signal\nos.kill(0, signal.SIGKILL)",
    "signal the neighbours": """
import os, signal
reached = []
for pid in range(1, 400):
    if pid != os.getpid():
        try:
            os.kill(pid, signal.SIGKILL)
            reached.append(pid)
        except OSError:
            pass
assert not reached, reached
raise PermissionError
""",
    "signal by a descriptor of the process": """
import os, signal
for pid in range(1, 400):
    try:
        if pid != os.getpid():
            signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGKILL)
    except OSError:
        pass
raise PermissionError
""",
    "list the rooms": "import os\nos.listdir('/sandbox')",
    "change the rooms": "import os\nos.chmod('/sandbox', 0)",
    "write to the room of the state before": "open(room + '/data', 'w').write('stolen')",
    "list the room of the state before": "import os\nos.listdir(room)",
    "read what others run": "import os\n[open(f'/proc/{one}/stat').read() for one in os.listdir('/proc')]",
    "read memory of others": "open('/proc/1/mem', 'rb')",
    "write to its own memory by name": "open('/proc/self/mem', 'r+b')",
    "fork": "import os\nos.fork()",
    "fork by hand": """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for _ in range(50):
    pid = libc.syscall(57)
    if pid == 0:
        while True:
            pass
assert pid == -1
raise BlockingIOError
""",
    "take more rooms": """
import ctypes
assert ctypes.CDLL(None, use_errno=True).mount(b'x', b'/sandbox', b'tmpfs', 0, None) == -1
raise PermissionError
""",
    "leave the directory of the session": "import os\nos.listdir('/proc/self/fd/61/../..')",
}
"""Cells that must fail; each raises when it has failed."""


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_branch_reaches_nobody(executor: Executor, attack: str) -> None:
    with executor.open_session(limits=Limits(cpu_s=2)) as session:
        session.run("import os\nroom = os.getcwd()\nopen('data', 'w').write('mine')\nx = [1]")
        sibling, hostile = session.fork(2)
        sibling.run("x.append(2)")
        result = hostile.run(attack)
        assert result.error is not None, "the cell should have failed"
        assert result.error.name in ("PermissionError", "FileNotFoundError", "BlockingIOError", "OSError"), result.error
        for one, expected in ((session, "[1]"), (sibling, "[1, 2]"), (hostile, "[1]")):
            assert one.run("x, open('data').read()").text == f"({expected}, 'mine')"


ENDS = {
    "closes all descriptors": "import os\nos.closerange(0, 1000)",
    "closes its socket": "import os\nos.close(60)",
    "replaces its socket": "import os\nends = os.pipe()\nos.dup2(ends[0], 60)",
    "says that it is done": "import os\nos.write(60, b'done')\nwhile True: pass",
    "says that it was born": "import os\n[os.write(60, b'born') for _ in range(100)]\nos._exit(0)",
    "fills its socket": "import os\nos.set_blocking(60, True)\nwhile True: os.write(60, b'x' * 60)",
    "stops itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "ends the process": "import os\nos._exit(0)",
    "aborts": "import os\nos.abort()",
    "loops in a handler": """
import signal
def again(*_):
    while True: pass
signal.signal(signal.SIGALRM, again)
signal.setitimer(signal.ITIMER_REAL, 0.01)
while True: pass
""",
    "loops in other threads": """
import threading
def loop():
    while True: pass
for _ in range(4): threading.Thread(target=loop).start()
""",
    "breaks the harness": """
import sys, os
for name, module in list(sys.modules.items()):
    if "harness" in name:
        for key in list(vars(module)):
            if not key.startswith("__"):
                setattr(module, key, None)
""",
    "takes much memory": "data = bytearray(1 << 30)\ndata[::4096] = data[::4096]",
    "writes without end": "while True: print('x' * 1000000)",
    "fills its directory": "import os\nfor n in range(1000):\n    open(str(n), 'wb').write(b'x' * (1 << 22))",
    "nests directories": "import os\nfor _ in range(3000):\n    os.mkdir('d'); os.chdir('d')",
    "makes holes": "for n in range(200):\n    open(str(n), 'wb').truncate(1 << 23)",
    "replaces its streams": "import sys\nsys.stdout = sys.stderr = sys.stdin = None",
    "changes its session": "import os\nos.setsid() if os.getpid() != os.getsid(0) else None",
}
"""Cells that hurt themselves."""


@pytest.mark.parametrize("cell", ENDS.values(), ids=ENDS)
def test_a_cell_that_hurts_itself_hurts_nobody_else(executor: Executor, cell: str) -> None:
    with executor.open_session(limits=Limits(cpu_s=0.4, wall_s=3, memory_bytes=200 << 20)) as session:
        session.run("x = [1]\nopen('data', 'w').write('mine')")
        sibling, hostile = session.fork(2)
        ended = threading.Thread(target=hostile.run, args=(cell,))
        ended.start()
        for _ in range(10):
            assert sibling.run("x.append(1)\nopen('data').read()").text == "'mine'"
        ended.join(60)
        assert not ended.is_alive()
        # It goes on, whatever the cell did: with what the cell left, or as before it.
        hostile.run("x.append(3)")
        again = hostile.run("x[-1]")
        assert again.status is Status.OK, again
        assert again.text == "3" or (again.stdout, again.results) == ("", ())
        for one, expected in ((session, 1), (sibling, 11)):
            assert one.run("len(x)").text == str(expected)


def test_what_a_branch_keeps_open_does_not_lead_to_the_next(executor: Executor) -> None:
    with executor.open_session(limits=Limits(cpu_s=2)) as session:
        session.run("import os\nkept = os.dup(61)\nos.chdir('/')")
        # The directory stays open, so the interpreter is not forked, and no branch gets this descriptor.
        result = session.run("os.listdir(kept)")
        assert result.status is Status.OK
        session.run("os.close(kept)")
        (branch,) = session.fork(1)
        assert branch.run("os.listdir(kept)").error is not None


def test_many_branches_at_once_do_not_mix(executor: Executor) -> None:
    with executor.open_session(limits=Limits(cpu_s=2)) as session:
        session.run("import os\nx = 7")
        branches = session.fork(32)
        texts: list[str] = [""] * len(branches)

        def run(number: int, branch: Session) -> None:
            branch.run(f"x = {number}\nopen('own', 'w').write(str(x))")
            texts[number] = branch.run("x, open('own').read()").text

        threads = [threading.Thread(target=run, args=one) for one in enumerate(branches)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert texts == [f"({number}, '{number}')" for number in range(len(branches))]
