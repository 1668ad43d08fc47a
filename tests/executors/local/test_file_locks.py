"""Locks and mappings of files: memory of the kernel's that `local` bounds, since nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from code_env import Limits, Program, make_executor
from code_env.executors import Executor

_MANY = 20_000


@pytest.fixture(params=["full", "contained"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    with make_executor("local", workers=1, max_isolation=request.param) as executor:
        yield executor


def test_without_processes_locks_are_said_to_be_taken_and_take_no_memory(executor: Executor) -> None:
    code = f"""
import fcntl, time
with open('f', 'w') as file:
    for at in range({_MANY}, 0, -1):
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 2 * at)
    time.sleep(0.5)
print('taken')
"""
    locks = Path("/proc/locks")
    executor.run(Program("pass"))
    before = most = locks.read_text().count("\n")
    future = executor.submit(Program(code, limits=Limits(cpu_s=60, wall_s=300)))
    while not future.done():
        most = max(most, locks.read_text().count("\n"))
    assert future.result().stdout == "taken\n"
    assert most - before < _MANY / 2


def test_processes_of_one_program_wait_for_each_others_locks(executor: Executor) -> None:
    code = """
import fcntl, os
with open('f', 'w') as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    if os.fork() == 0:
        with open('f', 'w') as other:
            try:
                fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print('held', flush=True)
        os._exit(0)
    os.wait()
    fcntl.lockf(file, fcntl.LOCK_UN)
    if os.fork() == 0:
        with open('f', 'w') as other:
            fcntl.lockf(other, fcntl.LOCK_EX)
            print('free', flush=True)
        os._exit(0)
    os.wait()
"""
    result = executor.run(Program(code, limits=Limits(processes=1, wall_s=300)))
    assert result.stdout == "held\nfree\n", result


def test_with_processes_locks_are_counted() -> None:
    code = """
import errno, fcntl
with open('f', 'w') as file:
    calls = 0
    try:
        while True:
            # Released at once: the kernel walks along all locks of a file, so that many would take it minutes.
            fcntl.lockf(file, (fcntl.LOCK_UN, fcntl.LOCK_EX)[calls % 2 == 0], 1)
            calls += 1
    except OSError as error:
        print(errno.errorcode[error.errno], calls)
"""
    with make_executor("local", workers=1) as executor:
        result = executor.run(Program(code, limits=Limits(processes=1, cpu_s=100, wall_s=600)))
    assert result.stdout == "ENOLCK 65536\n", result


def test_locks_that_a_mapping_could_keep_are_refused(executor: Executor) -> None:
    code = """
import errno, fcntl, struct
with open('f', 'w') as file:
    for command in (37, 38):
        try:
            fcntl.fcntl(file, command, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 1, 0))
        except OSError as error:
            print(errno.errorcode[error.errno])
"""
    for processes in (0, 1):
        assert executor.run(Program(code, limits=Limits(processes=processes))).stdout == "EINVAL\nEINVAL\n"


def test_files_that_only_mappings_keep_open_count(executor: Executor) -> None:
    code = """
import ctypes, os, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
with open('f', 'wb') as file:
    file.write(b'x')
kept = 0
while kept < {count}:
    fd = os.open('f', os.O_RDONLY)
    kept += libc.mmap(None, ctypes.c_size_t(4096), 1, 2, fd, ctypes.c_long(0)) != ctypes.c_void_p(-1).value
    os.close(fd)
print('kept', flush=True)
time.sleep({rest})
"""
    limits = Limits(memory_bytes=48 << 20, cpu_s=60, wall_s=300)
    few = executor.run(Program(code.format(count=3000, rest=0), limits=limits))
    assert (few.status, few.stdout) == ("ok", "kept\n")
    many = executor.run(Program(code.format(count=60_000, rest=1000), limits=limits))
    assert many.status == "memory"
