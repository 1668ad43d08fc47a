"""The kernel's own memory that programs take is charged: mappings, watches and texts of /proc; little of it is free."""

import contextlib
import os
import subprocess
import sys

import pytest

import code_env
from code_env import Limits, Program, Status
from code_env.harness.process import descriptors, mappings
from code_env.harness.process.descriptors import Seen, descriptor_bytes, most_text_bytes
from code_env.harness.process.mappings import depths, mapping_bytes
from code_env.harness.process.memory import Memory
from support import local

CHAIN = """
import ctypes, mmap, os, sys, time
libc = ctypes.CDLL(None)
memory = mmap.mmap(-1, MAPPINGS * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
for at in range(0, MAPPINGS, 2): libc.mprotect(ctypes.c_void_p(start + at * 4096), ctypes.c_size_t(4096), 7)
for at in range(MAPPINGS): memory[at * 4096] = 1
memory.madvise(mmap.MADV_DONTNEED)
for depth in range(24):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        os._exit(0)
time.sleep(1)
os.write(1, b'done')
"""


def test_mappings_that_each_process_of_a_chain_inherits_are_charged(jail):
    """The chain has some 400 MiB, as much as the interpreter needs, and with so many mappings some 110 MiB more."""
    limits = Limits(memory_bytes=1 << 30, processes=24, cpu_s=60, wall_s=100)
    few = jail.run(Program(CHAIN.replace("MAPPINGS", "4"), limits=limits))
    assert (few.status, few.stdout) == ("ok", "done"), few
    limits = limits.with_values({"memory_bytes": few.peak_memory_bytes + (40 << 20)})
    many = jail.run(Program(CHAIN.replace("MAPPINGS", "4000"), limits=limits))
    assert many.status is Status.MEMORY, many


def test_a_chain_in_a_test_of_a_judged_run_is_charged_too(executor):
    limits = Limits(memory_bytes=460 << 20, processes=24, cpu_s=60, wall_s=100)
    task = code_env.Task("t", "", (code_env.StdinTest("", "done"),), limits=limits)
    few, many = (code_env.judge(task, CHAIN.replace("MAPPINGS", number), executor) for number in ("4", "4000"))
    assert few.passed, few
    assert [case.status for case in many.cases] == [Status.MEMORY], many


POOL = """
import multiprocessing, numpy, os, time
def work(n):
    time.sleep(0.3)
    return os.getpid(), int(numpy.arange(n).sum())
with multiprocessing.Pool(16) as pool:
    found = pool.map(work, range(32), chunksize=1)
print(len(found))
"""


def test_a_pool_with_large_libraries_is_charged_little(jail):
    """Each of its processes has some 600 mappings."""
    limits = Limits(memory_bytes=512 << 20, processes=17, cpu_s=60, wall_s=100)
    result = jail.run(Program(POOL, limits=limits))
    assert (result.status, result.stdout) == ("ok", "32\n"), result


HONEST = {
    "watches": """
import select
pipes, several = [os.pipe() for _ in range(200)], [select.epoll() for _ in range(3)]
for one in several:
    for read, write in pipes:
        one.register(read, select.EPOLLIN)
        one.register(write, select.EPOLLET)
os.write(pipes[7][1], b'x')
wait_for_looks()
""",
    "files of /proc": """
for n in range(100): open(f'{n}', 'w').close()
try: opened = [open(f'/proc/self/{name}') for name in ('maps', 'status', 'stat', 'limits') * 4]
except PermissionError: opened = []
for one in opened: one.read()
wait_for_looks()
""",
    "mappings": """
import mmap
pages = [mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=1 + n % 2 * 2) for n in range(3000)]
wait_for_looks()
""",
}


def test_ordinary_use_is_charged_nothing(jail):
    """The limit is so low that each check looks at everything."""
    limits = Limits(memory_bytes=72 << 20, cpu_s=60, wall_s=100)
    start = "import os, time\nx = bytearray(b'x') * (40 << 20)\ndef wait_for_looks(): time.sleep(0.5)\n"
    results = jail.run_many([Program(f"{start}{code}print('done')", limits=limits) for code in HONEST.values()])
    found = {name: (one.status, one.stdout) for name, one in zip(HONEST, results, strict=True)}
    assert found == dict.fromkeys(HONEST, ("ok", "done\n")), results


def test_long_paths_of_many_mappings_are_not_read_to_the_end():
    code = """
import mmap, os, time
for _ in range(250):
    os.mkdir('\\n' * 255)
    os.chdir('\\n' * 255)
file = os.open('f', os.O_RDWR | os.O_CREAT)
os.ftruncate(file, 4096)
kept = [mmap.mmap(file, 4096, prot=1 + n % 2 * 2) for n in range(400)]
time.sleep(5)
"""
    with local("full") as executor:
        result = executor.run(Program(code, limits=Limits(memory_bytes=64 << 20, cpu_s=60, wall_s=100)))
    assert result.status is Status.MEMORY, result


@pytest.mark.parametrize(
    ("parents", "serves", "expected"),
    [
        ({}, False, []),
        ({5: 1}, False, [1]),
        ({5: 1, 6: 5, 7: 6, 8: 5}, False, [1, 2, 3, 2]),
        ({5: 1, 6: 1, 7: 6}, False, [1, 3, 4]),  # An orphan, and its child.
        ({5: 1, 6: 5, 7: 5, 8: 6}, True, [1, 2, 4, 3]),  # A test, an orphan of the test, a child of the test.
    ],
)
def test_an_orphan_counts_as_if_it_descended_from_all(parents, serves, expected):
    assert depths(parents, serves=serves) == expected


def test_mappings_are_free_for_the_run_and_not_for_each_process(monkeypatch):
    monkeypatch.setattr(mappings, "_FEW_MAPPINGS", 10)
    own = os.getpid()
    one, two = mapping_bytes([own], [1], 1 << 40), mapping_bytes([own] * 2, [1, 1], 1 << 40)
    assert two > 2 * one > 0
    assert mapping_bytes([own], [9], 1 << 40) > one
    monkeypatch.setattr(mappings, "_MOST_TEXT", 100)
    assert mapping_bytes([own], [1], 1 << 40) == 1 << 40


@contextlib.contextmanager
def process(code=""):
    """The number of a process that has opened what the code opens; this one has what other tests have left open."""
    code = f"import os, select\n{code}\nprint(flush=True)\nos.read(0, 1)"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdout.readline() == b"\n"
        yield started.pid
        started.stdin.close()


def watching(number):
    return process(f"poll, ends = select.epoll(), os.pipe() + os.pipe() + os.pipe()\n"
                   f"for end in ends[:{number}]: poll.register(end, select.EPOLLIN)")  # fmt: skip


def test_too_many_watches_are_not_counted_to_the_end(monkeypatch):
    monkeypatch.setattr(descriptors, "_MOST_WATCHES", 4)
    too_much = 1 << 40
    with watching(4) as few, watching(6) as many:
        assert descriptor_bytes([few], too_much)[0] < too_much
        assert descriptor_bytes([many], too_much) == (too_much, Seen(6))


def test_texts_of_proc_are_charged_by_what_they_can_hold():
    with process() as pid:
        before = descriptor_bytes([pid], 0)[0]
        assert descriptor_bytes([pid], 0, text=(1 << 20) + 1) == (before, Seen())
    with process("opened = [os.open('/proc/self/maps', os.O_RDONLY) for _ in range(20)]") as pid:
        assert descriptor_bytes([pid], 0)[0] == before
        bytes_, seen = descriptor_bytes([pid], 0, text=(1 << 20) + 1)
        assert bytes_ - before == (40 << 20) - (4 << 20)
        assert descriptor_bytes([pid], 0, seen=seen)[0] == bytes_  # Also when the files are gone.
    with process() as pid:  # The files of /proc are closed.
        assert descriptor_bytes([pid], 0, seen=seen) == (before, Seen(in_proc=True))


def test_threads_hold_files_of_proc_only_where_there_was_one():
    with process() as pid:
        without, with_one = (descriptor_bytes([pid], 0, 32, Seen(in_proc=one), 1 << 20)[0] for one in (False, True))
    assert with_one - without == 32 * (2 << 20) - (4 << 20)


def test_files_of_threads_are_sockets_only_as_far_as_there_are_sockets(monkeypatch):
    monkeypatch.setattr(descriptors, "_sockets_of_network", lambda pid: 100)
    monkeypatch.setattr(descriptors, "_large_pipes", lambda: 1024)
    with process() as pid:
        some, many = (descriptor_bytes([pid], 0, held)[0] for held in (64 + 2000, 64 + 12_000))
        assert many - some == 10_000 * (8 << 10)
        monkeypatch.setattr(descriptors, "_sockets_of_network", lambda pid: 100_000)
        assert descriptor_bytes([pid], 0, 64 + 2000)[0] - some > 1000 * (300 << 10)


def test_programs_with_few_files_and_descriptors_are_looked_at_no_earlier():
    few = Memory(0, 0, 0, threads=8, descriptors=64)
    assert most_text_bytes(few, 100 * descriptors.NAME_TEXT) == 0
    assert most_text_bytes(few, 2000 * descriptors.NAME_TEXT) > 0
