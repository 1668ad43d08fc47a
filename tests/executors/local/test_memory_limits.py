"""The limit of memory holds for a whole run, wherever a program keeps what it holds."""

import os

import pytest

import code_env
from code_env import Limits, Program, Status
from code_env.harness.process import watching
from code_env.harness.process.memory import Memory
from support import KEPT, LEVELS, local

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
    monkeypatch.setattr(watching, "memory_of", lambda pid: Memory(0, 0, 0, is_known=False))
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


def test_what_two_messages_leave_in_a_socket_is_charged(jail):
    """A message is taken as long as fewer bytes than the limit wait, however long it is."""
    code = """
import ctypes, os
libc = ctypes.CDLL(None)
for _ in range(240):
    ends = (ctypes.c_int * 2)()
    assert libc.socketpair(1, 5 | 2048, 0, ends) == 0
    for size in (200_000, 212_500): os.write(ends[0], bytes(size))
    os.close(ends[0])
"""
    small = Limits(memory_bytes=90 << 20)
    assert jail.run(Program(f"{code}\nimport time; time.sleep(2)", limits=small)).status == "memory"
    few = code.replace("240", "60")
    assert jail.run(Program(f"{few}\nprint('done')", limits=small)).stdout == "done\n"


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


def test_the_stack_limit_may_be_raised(jail):
    code = (
        "import resource\nresource.setrlimit(resource.RLIMIT_STACK, (1 << 28, resource.RLIM_INFINITY))\nprint('raised')"
    )
    assert jail.run(Program(code)).stdout == "raised\n"


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


def test_deep_recursion_in_a_big_stack(jail):
    code = (
        "import sys, threading\nsys.setrecursionlimit(10**6)\nthreading.stack_size(512 << 20)\n"
        "def f(n): return 0 if n == 0 else 1 + f(n - 1)\n"
        "t = threading.Thread(target=lambda: print(f(50000))); t.start(); t.join()"
    )
    assert jail.run(Program(code)).stdout == "50000\n"


def test_threads_count_with_what_the_kernel_keeps_for_them(jail):
    code = "import _thread, time\n_thread.stack_size(32768)\n"
    code += "for _ in range(800): _thread.start_new_thread(time.sleep, (60,))\ntime.sleep(2)\n"
    result = jail.run(Program(code, limits=Limits(memory_bytes=128 << 20)))
    assert (result.status, result.peak_memory_bytes > 800 * (32 << 10)) == (Status.OK, True), result
    result = jail.run(Program(code, limits=Limits(memory_bytes=24 << 20, wall_s=10)))
    assert result.status is Status.MEMORY, result


DEEP = r"""
import os, mmap, time
name = '\n' * 255
for level in range(2000):
    os.mkdir(name)
    os.chdir(name)
file = os.open('f', os.O_RDWR | os.O_CREAT)
os.write(file, b'x' * 4096)
mapped = mmap.mmap(file, 4096)
descriptors = []
for number in range(300):
    descriptors.append(os.open('/proc/self/maps', os.O_RDONLY))
    while (part := os.read(descriptors[-1], 1 << 16)) and b'\\012\\012' not in part:
        pass
time.sleep(100)
"""


def test_what_the_kernel_keeps_to_show_a_deep_path_is_charged():
    """Each descriptor has a buffer for the longest line that was read: here two megabytes. At `contained` none opens."""
    files = "import os, time\nfor n in range(5000): open(f'{n}', 'w').close()\n"
    files += "kept = [open('/proc/self/status') for n in range(8)]\nprint(kept[0].read() != '')\ntime.sleep(0.2)"
    limits = Limits(cpu_s=20, wall_s=100, memory_bytes=256 << 20)
    with local("full") as executor:
        deep, honest = executor.run_many([Program(DEEP, limits=limits), Program(files, limits=limits)])
    assert deep.status is Status.MEMORY, deep
    assert (honest.status, honest.stdout) == (Status.OK, "True\n"), honest
