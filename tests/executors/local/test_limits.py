"""Each limit has its status, keeps the output until then, and costs no neighbour anything."""

import os
import time

import pytest

import code_env
from code_env import Limits, Program, Status
from code_env.harness.process import watching
from support import LEVELS, local

KEPT = "print('kept', flush=True)\n"
CATCHES_ALL = "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
IGNORES_SIGNALS = "import signal\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\n"

LOOPS = {
    "plain": "while True: pass",
    "catches everything": CATCHES_ALL,
    "ignores signals": IGNORES_SIGNALS + CATCHES_ALL,
    "in a regex": "import re\nre.match('(a+)+b', 'a' * 60)",
    "in a huge power": "x = 7 ** (10 ** 9)",
    "in sum": "sum(range(10 ** 12))",
    "in threads": "import threading\nfor _ in range(4): threading.Thread(target=lambda: sum(range(10**12))).start()",
    "in the traceback": "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
    "at exit": "import atexit\natexit.register(lambda: sum(range(10**12)))",
    "in __del__": "class D:\n    def __del__(self):\n        while True: pass\nd = D()",
    "in children": "import os\nwhile True:\n    if os.fork() == 0: os._exit(sum(range(10**6)) and 0)\n    os.wait()",
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_ends_with_timeout(name, jail, honest):
    allowed = Limits(cpu_s=0.5, wall_s=20, processes=2 if name == "in children" else 0)
    result = jail.run(Program(KEPT + LOOPS[name], limits=allowed))
    assert (result.status, result.stdout) == (Status.TIMEOUT, "kept\n"), result
    assert result.cpu_s < 1.5


@pytest.mark.parametrize(
    "code",
    ["import time; time.sleep(60)", "import signal; signal.pause()", "import os, signal; os.kill(0, signal.SIGSTOP)"],
)
def test_waiting_ends_with_timeout(code, jail):
    result = jail.run(Program(KEPT + code, limits=Limits(wall_s=0.5)))
    assert (result.status, result.stdout) == (Status.TIMEOUT, "kept\n"), result


MEMORY = {
    "heap": "x = []\nwhile True: x.append(bytearray(b'x' * (1 << 20)))",
    "heap, quickly": "x = bytearray(b'x') * (200 << 20)\nimport time; time.sleep(5)",
    "catches MemoryError": "x = []\nwhile True:\n    try: x.append(bytearray(b'x' * (1 << 20)))\n    except MemoryError: pass",
    "children": (
        "import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n"
        "        x = bytearray(b'x') * (40 << 20)\n        time.sleep(20)\ntime.sleep(20)"
    ),
    "files in memory": "f = open('f', 'wb')\nfor _ in range(200): f.write(b'x' * (1 << 20))\nf.flush()\nimport time; time.sleep(5)",
    "page tables": (
        "import mmap, time\nm = mmap.mmap(-1, 1 << 40, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)\n"
        "for i in range(0, 1 << 40, 1 << 21): m[i]\ntime.sleep(5)"
    ),
}


@pytest.mark.parametrize("name", MEMORY)
def test_memory_of_the_whole_run_is_limited(name, jail, honest):
    if name == "files in memory" and jail.describe().level != "full":
        directory = jail.run(Program("import os\nprint(os.getcwd())")).stdout
        if not directory.startswith("/dev/shm/"):
            return  # Here they are on a disk.
    allowed = Limits(memory_bytes=100 << 20, file_bytes=1 << 30, processes=4)
    result = jail.run(Program(KEPT + MEMORY[name], limits=allowed))
    assert (result.status, result.stdout) == (Status.MEMORY, "kept\n"), result


WITHOUT_ITS_FIRST_THREAD = """
import _thread, ctypes, os, time
def go_on():
    time.sleep(0.1)
    held = bytearray(b'x') * (MIB << 20)
    time.sleep(0.5)
    print(len(held) >> 20, flush=True)
    os._exit(0)
_thread.start_new_thread(go_on, ())
ctypes.CDLL(None).syscall({'x86_64': 60, 'aarch64': 93}[os.uname().machine], 0)
"""


@pytest.mark.parametrize("processes", [0, 2])
def test_a_process_is_measured_whichever_thread_lives(processes, jail):
    allowed = Limits(memory_bytes=100 << 20, processes=processes)
    task = code_env.Task("t", "", tuple(code_env.StdinTest("", f"{mib}\n") for mib in (20, 200)), limits=allowed)
    for mib, status in ((20, "ok"), (200, "memory")):
        code = WITHOUT_ITS_FIRST_THREAD.replace("MIB", str(mib))
        assert jail.run(Program(code, limits=allowed)).status == status
        in_child = f"import os\nif os.fork() == 0:\n    exec({code!r})\nos.wait()"
        assert not processes or jail.run(Program(in_child, limits=allowed)).status == status
        verdict = code_env.judge(task, code, jail)
        assert [case.passed for case in verdict.cases] == [mib == 20, False], verdict
        assert {case.status for case in verdict.cases} == {status}, verdict


def test_what_the_kernel_counts_is_a_second_line(jail, monkeypatch):
    """As if a process had no threads whose figures could be read."""
    monkeypatch.setattr(watching, "_memory_of", lambda pid: watching._Memory(0, 0, 0, is_known=False))
    code = "import time\nheld = bytearray(b'x') * (MIB << 20)\ntime.sleep(0.5)\nprint('done')"
    for mib, status in ((20, "ok"), (200, "memory")):
        result = jail.run(Program(code.replace("MIB", str(mib)), limits=Limits(memory_bytes=100 << 20)))
        assert (result.status, result.stdout) == (status, "done\n"), result


def test_mapped_files_are_not_charged(tmp_path):
    """They are the machine's to read again."""
    tmp_path.chmod(0o755)
    (tmp_path / "data").write_bytes(b"")
    os.truncate(tmp_path / "data", 200 << 20)
    code = f"""
import mmap
with open({str(tmp_path / "data")!r}, 'rb') as file:
    data = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
print(sum(data[::4096]), len(data) >> 20)
"""
    for level in LEVELS:
        with local(level, readable=[str(tmp_path)]) as executor:
            result = executor.run(Program(code, limits=Limits(memory_bytes=64 << 20)))
            assert (result.status, result.stdout) == ("ok", "0 200\n"), result


@pytest.mark.parametrize("processes", [0, 3])
def test_what_waits_in_sockets_is_charged(processes, jail):
    code = """
import os, socket, time
children = []
for _ in range(PROCESSES):
    children.append(os.fork())
    if children[-1] == 0: break
pairs = [socket.socketpair() for _ in range(PAIRS)]
for one in (end for pair in pairs for end in pair):
    one.setblocking(False)
    try:
        while True: one.send(bytes(4096))
    except BlockingIOError: pass
time.sleep(0.5)
if 0 not in children:
    for _ in children: os.wait()
os.write(1, b'done')
""".replace("PROCESSES", str(processes))
    allowed = Limits(memory_bytes=100 << 20, processes=processes)
    output = "done" * (1 + processes)
    task = code_env.Task("t", "", (code_env.StdinTest("", output),) * 2, limits=allowed)
    for pairs, status in ((10, "ok"), (240 // (1 + processes), "memory")):
        program = code.replace("PAIRS", str(pairs))
        result = jail.run(Program(program, limits=allowed))
        assert (result.status, status == "memory" or result.stdout == output) == (status, True), result
        verdict = code_env.judge(task, program, jail)
        assert {(case.status, case.passed) for case in verdict.cases} == {(status, status == "ok")}, verdict


HIDDEN = {
    "shared and unmapped": "import mmap\nmmap.mmap(-1, 3 << 30)",
    "memory files": "import os\nos.memfd_create('x')",
    "bigger socket buffers": "import socket\na, b = socket.socketpair()\na.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)",
    "bigger pipes": "import fcntl, os\nfcntl.fcntl(os.pipe()[0], 1031, 1 << 20)",
    "a stack of one's own": "import mmap\nmmap.mmap(-1, 900 << 20, flags=0x122)",
    "huge pages": "import mmap\nmmap.mmap(-1, 1 << 21, flags=0x40022)",
}


@pytest.mark.parametrize("name", HIDDEN)
def test_memory_that_nobody_is_charged_with_is_not_to_be_had(name, jail):
    result = jail.run(Program(HIDDEN[name]))
    assert (result.status, result.error is not None) == (Status.ERROR, True), result


def test_a_little_shared_memory_works(jail):
    result = jail.run(
        Program("import mmap\nm = mmap.mmap(-1, 13)\nm.write(b'Hello world!')\nm.seek(0)\nprint(m.readline())")
    )
    assert result.stdout == "b'Hello world!\\x00'\n", result


SHORT_CHILDREN = """
import os, time
while sum(os.times()[:4]) < 6:
    if os.fork() == 0:
        end = time.process_time() + 0.003
        while time.process_time() < end: pass
        os._exit(0)
    WAIT
"""


@pytest.mark.parametrize(
    "wait", ["os.wait()", "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.wait()"]
)
def test_children_that_live_shortly_are_counted(wait, jail):
    result = jail.run(Program(SHORT_CHILDREN.replace("WAIT", wait), limits=Limits(cpu_s=1, processes=2)))
    assert result.status is Status.TIMEOUT, result
    assert result.cpu_s < 2


def test_more_cpu_time_than_allowed_is_a_timeout_also_afterwards(jail):
    code = "import time\nwhile time.process_time() < 0.21: pass\nprint('done')"
    assert jail.run(Program(code, limits=Limits(cpu_s=0.2))).status is Status.TIMEOUT


def test_waiting_for_ones_own_threads_earns_no_time(jail):
    code = """
import os, threading, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
def burn():
    while True: pass
for _ in range(3): threading.Thread(target=burn, daemon=True).start()
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
burn()
"""
    result = jail.run(Program(code, limits=Limits(cpu_s=20, wall_s=1)))
    assert result.status is Status.TIMEOUT
    assert result.cpu_s < 6, result


def test_the_stack_limit_may_be_raised(jail):
    code = (
        "import resource\nresource.setrlimit(resource.RLIMIT_STACK, (1 << 28, resource.RLIM_INFINITY))\nprint('raised')"
    )
    assert jail.run(Program(code)).stdout == "raised\n"


def test_hundreds_of_threads_are_within_the_default_limits(jail):
    code = "import threading\ne = threading.Event()\nt = [threading.Thread(target=e.wait) for _ in range(200)]\n[x.start() for x in t]\nprint(threading.active_count())\ne.set()"
    assert jail.run(Program(code)).stdout == "201\n"


def test_a_judged_test_that_fills_memory_has_status_memory(jail):
    task = code_env.Task(
        id="t",
        prompt="",
        limits=Limits(memory_bytes=64 << 20),
        tests=(code_env.StdinTest("a", "b"), code_env.StdinTest("c", "d")),
    )
    code = "print(input(), flush=True)\nx = []\nwhile True: x.append(bytearray(b'x' * (1 << 20)))"
    for _ in range(5):
        verdict = code_env.judge(task, code, jail)
        assert [case.status for case in verdict.cases] == [Status.MEMORY] * 2, verdict


def test_a_giant_allocation_is_a_memory_error(jail):
    result = jail.run(Program(KEPT + "bytearray(1 << 45)"))
    assert (result.status, result.error.name) == (Status.MEMORY, "MemoryError")


def test_files_together_are_limited_as_linux_limits_them(jail):
    code = (
        "import errno, os\nwritten = 0\ntry:\n    for n in range(100):\n        with open(f'f{n}', 'wb') as f:\n"
        "            f.write(b'x' * 100000)\n            f.flush()\n            written += 100000\n"
        "except OSError as error:\n    print(error.errno in (errno.ENOSPC, errno.EFBIG), written < 2_000_000)"
    )
    result = jail.run(Program(code, limits=Limits(file_bytes=1_000_000)))
    if jail.describe().level == "full":
        assert (result.status, result.stdout) == (Status.OK, "True True\n"), result
    else:
        assert (result.status, result.error.name) == (Status.ERROR, "OSError"), result
    uncaught = jail.run(Program("open('f', 'wb').write(b'x' * 2_000_000)", limits=Limits(file_bytes=1_000_000)))
    assert (uncaught.status, uncaught.error.name) == (Status.ERROR, "OSError")


def test_a_file_under_many_names_is_charged_once(jail):
    code = """
import os
with open("one", "wb") as file:
    file.write(bytes(1 << 20))
for number in range(20):
    os.link("one", f"name-{number}")
import time
time.sleep(0.2)
print("done")
"""
    result = jail.run(Program(code, limits=Limits(file_bytes=4 << 20)))
    assert (result.status, result.stdout) == (Status.OK, "done\n"), result


def test_names_count_as_bytes_do(jail):
    """An empty file takes the kernel's memory too, and so does another name of a file; and each look takes longer."""
    makes = {
        "files": "open(f'{n}', 'w').close()",
        "links": "open('x', 'a').close()\n    os.link('x', f'{n}')",
        "directories": "os.mkdir(f'{n}')",
    }
    limits = Limits(cpu_s=100, wall_s=1000)
    codes = {name: f"import os\nfor n in range(10**7):\n    {make}" for name, make in makes.items()}
    results = dict(zip(makes, jail.run_many([Program(code, limits=limits) for code in codes.values()]), strict=True))
    ended = {name: (result.status, result.error and result.error.name) for name, result in results.items()}
    assert ended == dict.fromkeys(makes, (Status.ERROR, "OSError")), results
    assert jail.run(Program("import os\nprint(os.listdir('.'), len(os.listdir('..')))")).stdout == "['main.py'] 1\n"


MANY_FILES = """
import os, pathlib
path = pathlib.Path('.')
for level in range(60):
    path /= f'level-{level}'
path.mkdir(parents=True)
for n in range(5000):
    place = path.parents[n % 60] / 'some'
    place.mkdir(exist_ok=True)
    (place / str(n)).write_text(str(n))
found = sum(int(pathlib.Path(top, name).read_text()) for top, _, names in os.walk('.') for name in names if name.isdigit())
print(found == sum(range(5000)))
"""


def test_thousands_of_small_files_in_deep_directories_are_fine(jail):
    limits = Limits(file_bytes=32 << 20)
    assert jail.run(Program(MANY_FILES, limits=limits)).stdout == "True\n"
    task = code_env.Task(id="t", prompt="", tests=(code_env.StdinTest("", "True\n"),) * 2, limits=limits)
    verdict = code_env.judge(task, MANY_FILES, jail)
    assert verdict.passed, verdict


def test_input_files_are_not_charged(jail):
    files = {"data": b"x" * 3_000_000}
    code = "open('out', 'wb').write(open('data', 'rb').read()[:900_000]); print('done')"
    result = jail.run(Program(code, files=files, collect=("out",), limits=Limits(file_bytes=1_000_000)))
    assert (result.stdout, len(result.files["out"])) == ("done\n", 900_000), result


def test_output_keeps_head_and_tail_and_a_flood_ends_it(jail, honest):
    result = jail.run(Program("print('head')\nprint('x' * 1_000_000)\nprint('tail')"))
    assert (result.status, result.stdout_truncated) == (Status.OK, True)
    assert result.stdout.startswith("head\n")
    assert result.stdout.endswith("tail\n")
    flood = jail.run(Program("import os\nwhile True: os.write(1, b'\\xff' * 65536)"))
    assert flood.status is Status.OUTPUT_LIMIT


@pytest.mark.parametrize(
    "start", ["os.fork()", "os.posix_spawn('/bin/true', ['true'], {})", "__import__('subprocess').run(['true'])"]
)
def test_no_process_may_be_started_unless_allowed(start, jail):
    result = jail.run(Program(f"import os\n{start}"))
    assert (result.status, result.error.name) == (Status.ERROR, "BlockingIOError"), result


COUNTS = """
import os, time
started = 0
try:
    for _ in range(10):
        if os.fork() == 0:
            time.sleep(10)
            os._exit(0)
        started += 1
except OSError as error:
    print(started, error.errno)
"""


@pytest.mark.parametrize("allowed", [1, 4])
def test_as_many_processes_as_allowed_may_live_at_once(allowed, jail):
    result = jail.run(Program(COUNTS, limits=Limits(processes=allowed)))
    assert (result.status, result.stdout) == (Status.OK, f"{allowed} 11\n"), result


def test_one_after_another_there_may_be_many(jail):
    code = "import subprocess, sys\nfor n in range(5): print(subprocess.run(['echo', str(n)], capture_output=True, text=True).stdout.strip())"
    result = jail.run(Program(code, limits=Limits(processes=1)))
    assert result.stdout == "0\n1\n2\n3\n4\n", result


def test_a_program_that_gets_signals_all_the_time_is_forked_for_each_test(jail):
    code = """
import signal
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
def double(x):
    return 2 * x
"""
    tests = tuple(code_env.CallTest((x,), {}, 2 * x) for x in range(20))
    verdict = code_env.judge(code_env.Task("double", "p", tests, entry_point="double"), code, jail)
    assert verdict.passed, verdict


def test_orphans_count(jail):
    code = """
import os, time
for _ in range(10):
    if os.fork() == 0:
        try:
            if os.fork() == 0:
                open('orphans', 'a').write('x')
                time.sleep(10)
        finally:
            os._exit(0)
    os.wait()
time.sleep(0.1)
print(open('orphans').read())
"""
    # Each leaves one, for which there must be room for two.
    result = jail.run(Program(code, limits=Limits(processes=4)))
    assert result.stdout == "xxx\n", result


BOMB = """
import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    try:
        os.fork()
    except OSError:
        pass
"""


def test_a_fork_bomb_starves_no_neighbour(jail):
    bomb = jail.submit(Program(BOMB, limits=Limits(cpu_s=20, wall_s=60, processes=4)))
    time.sleep(0.3)
    neighbour = jail.run(Program(COUNTS, limits=Limits(processes=4)))
    assert not bomb.done()
    assert neighbour.stdout == "4 11\n", neighbour
    assert bomb.cancel()
    alone = jail.run(Program(BOMB, limits=Limits(cpu_s=2, wall_s=3, processes=4)))
    assert alone.status is Status.TIMEOUT
    assert jail.run(Program(COUNTS, limits=Limits(processes=4))).stdout == "4 11\n"


REFUSED = """
import os, threading, time
threading.stack_size(65536)
for _ in range(400): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
child = os.fork()
if child == 0:
    time.sleep(1000)
    os._exit(0)
while True:
    try: os.fork()
    except OSError: pass
"""


def test_the_time_that_refused_forks_take_is_the_programs(jail):
    """Its own process sleeps meanwhile: somebody else has to look who lives, among hundreds of threads."""
    limits = Limits(cpu_s=1, wall_s=1000, processes=1)
    results = jail.run_many([Program(REFUSED, limits=limits)] * 2)
    assert [result.status for result in results] == [Status.TIMEOUT] * 2, results
    assert all(result.cpu_s > 0.9 for result in results)
    tests = (code_env.StdinTest("", ""), code_env.StdinTest("", "right"))
    task = code_env.Task(id="t", prompt="", tests=tests, limits=limits)
    verdict = code_env.judge(task, REFUSED, jail)
    assert [case.status for case in verdict.cases] == [Status.TIMEOUT] * 2, verdict


def test_a_few_refused_forks_cost_next_to_nothing(jail):
    code = """
import os, time
child = os.fork()
if child == 0:
    time.sleep(0.2)
    os._exit(0)
refused = 0
for _ in range(20):
    try: os.fork()
    except BlockingIOError: refused += 1
os.waitpid(child, 0)
if os.fork() == 0: os._exit(0)
os.wait()
print(refused)
"""
    result = jail.run(Program(code, limits=Limits(cpu_s=1, processes=1)))
    assert (result.status, result.stdout) == (Status.OK, "20\n"), result


def test_threads_are_not_processes(jail):
    code = "import threading\nt = [threading.Thread(target=print, args=(n,)) for n in range(16)]\n[x.start() for x in t]\n[x.join() for x in t]"
    result = jail.run(Program(code))
    assert sorted(map(int, result.stdout.split())) == list(range(16)), result


def test_deep_recursion_in_a_big_stack(jail):
    code = (
        "import sys, threading\nsys.setrecursionlimit(10**6)\nthreading.stack_size(512 << 20)\n"
        "def f(n): return 0 if n == 0 else 1 + f(n - 1)\n"
        "t = threading.Thread(target=lambda: print(f(50000))); t.start(); t.join()"
    )
    assert jail.run(Program(code)).stdout == "50000\n"


def test_a_sleeper_that_waits_for_a_core_is_given_its_time(jail):
    """Busy neighbours do not use up the wall time of a program that is ready to run."""
    busy = [jail.submit(Program("while True: pass", limits=Limits(cpu_s=2, wall_s=30))) for _ in range(2)]
    result = jail.run(Program("x = 0\nfor i in range(3 * 10**6): x += i\nprint(x > 0)", limits=Limits(wall_s=5)))
    assert result.stdout == "True\n", result
    assert {future.result().status for future in busy} == {Status.TIMEOUT}


def test_a_call_that_uses_too_much_ends_alone(jail):
    """What comes after it is tested, and each is told what it was ended for."""
    code = """import os, signal, time
def f(what):
    if what == "sleep": time.sleep(60)
    if what == "loop":
        while True: pass
    if what == "memory":
        held = b"x" * (200 << 20)
        time.sleep(60)
    if what == "signal": os.kill(os.getpid(), signal.SIGKILL)
    return what
"""
    order = ["sleep", "fine", "memory", "signal", "loop", "sleep", "fine"]
    task = code_env.Task(
        id="t",
        prompt="",
        tests=tuple(code_env.CallTest((what,), expected=what) for what in order),
        entry_point="f",
        limits=Limits(cpu_s=0.5, wall_s=1, memory_bytes=100 << 20),
    )
    verdict = code_env.judge_many([(task, code)], jail)[0]
    expected = {"sleep": "timeout", "fine": "ok", "memory": "memory", "signal": "signal", "loop": "timeout"}
    assert [str(case.status) for case in verdict.cases] == [expected[what] for what in order], verdict
    assert [case.passed for case in verdict.cases] == [what == "fine" for what in order]
