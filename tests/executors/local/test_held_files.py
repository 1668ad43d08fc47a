"""Files that sleeping threads keep open after their descriptors were closed count, and honest threads cost nothing."""

import os
import select
import threading
import time

import pytest

import code_env
from code_env import Limits, Program, Status
from code_env.harness.process import held_files
from code_env.harness.process.memory import memory_of
from support import local

BEGINNING = """
import os, select, socket, threading, time
threading.stack_size(65536)
def full_sockets():
    ends = socket.socketpair()
    for one in ends:
        one.setblocking(False)
        try:
            while True: one.send(bytes(65536))
        except BlockingIOError: pass
    return [one.detach() for one in ends]
def wait_and_close(descriptors, *calls):
    for call in calls: threading.Thread(target=call, daemon=True).start()
    time.sleep(0.02)
    for one in descriptors: os.close(one)
def poll_of(descriptors):
    poll = select.poll()
    for one in descriptors: poll.register(one, 0)
    return poll.poll
"""

# Without a check each of the first three would hold 100 MiB, at a limit of 64 MiB. Each holds twice what is enough: on a
# busy machine some threads begin to wait only after their descriptors were closed, and then they hold nothing.
ABUSES = {
    "poll": """
for _ in range(25):
    sockets = [one for _ in range(10) for one in full_sockets()]
    wait_and_close(sockets, poll_of(sockets))
""",
    "select": """
for _ in range(25):
    sockets = [one for _ in range(10) for one in full_sockets()]
    wait_and_close(sockets, lambda: select.select([], [], sockets))
""",
    "write": """
for _ in range(250):
    left, right = full_sockets()
    for one in (left, right): os.set_blocking(one, True)
    wait_and_close([left, right], *(lambda one=one: os.write(one, bytes(65536)) for one in (left, right)))
""",
    "watches": """
read, _ = os.pipe()
numbers = [os.dup(read) for _ in range(200)]
for _ in range(30):
    several = [select.epoll() for _ in range(100)]
    for one in several:
        for number in numbers: one.register(number, select.EPOLLET)
    descriptors = [os.dup(one.fileno()) for one in several]
    for one in several: one.close()
    wait_and_close(descriptors, poll_of(descriptors))
""",
    "files": """
for _ in range(10):
    several = [os.eventfd(0) for _ in range(400)]
    wait_and_close(several, poll_of(several))
""",
}


@pytest.mark.parametrize("name", ABUSES)
def test_what_threads_hold_without_descriptors_is_charged(name, jail):
    small = Limits() if name == "watches" else Limits(memory_bytes=64 << 20)
    result = jail.run(Program(f"{BEGINNING}{ABUSES[name]}\ntime.sleep(1)\nos._exit(0)", limits=small))
    assert result.status is Status.MEMORY, result


def test_a_test_of_a_judged_run_is_charged_too(jail):
    limits = Limits(memory_bytes=64 << 20)
    task = code_env.Task("t", "", (code_env.StdinTest("", "1\n"), code_env.StdinTest("", "2\n")), limits=limits)
    verdict = code_env.judge(task, f"{BEGINNING}{ABUSES['poll']}\ntime.sleep(1)\nos._exit(0)", jail)
    assert {case.status for case in verdict.cases} == {Status.MEMORY}, verdict


IDIOMS = {
    "a pool": """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(20) as pool: list(pool.map(lambda _: time.sleep(0.1), range(40)))
""",
    "queues": """
import queue
jobs = queue.Queue()
run([jobs.get] * 20, lambda: [jobs.put(1) for _ in range(20)])
""",
    "loops": """
import asyncio
run([lambda: asyncio.run(asyncio.sleep(0.2))] * 8)
""",
    "pipes": """
pipes = [os.pipe() for _ in range(20)]
run([lambda pipe=pipe: os.read(pipe[0], 1) for pipe in pipes], lambda: [os.write(pipe[1], b'x') for pipe in pipes])
""",
    "servers": """
pairs = [socket.socketpair() for _ in range(12)]
run([lambda pair=pair: pair[0].recv(1) for pair in pairs], lambda: [pair[1].send(b'x') for pair in pairs])
""",
    "selectors": """
import selectors
pairs = [socket.socketpair() for _ in range(8)]
def wait(kind):
    with kind() as selector:
        for pair in pairs: selector.register(pair[0], selectors.EVENT_READ)
        selector.select(0.2)
run([lambda: wait(selectors.DefaultSelector), lambda: wait(selectors.PollSelector)] * 3)
""",
    "processes": """
import subprocess
run([lambda: subprocess.run(['sleep', '0.2'], capture_output=True, input=b'x')] * 4)
""",
}


def test_threads_of_ordinary_programs_are_charged_nothing(jail):
    """At this limit a few further sockets would end the programs."""
    limits = Limits(memory_bytes=64 << 20, processes=8)
    beginning = """
import os, socket, threading, time
threading.stack_size(1 << 19)
def run(calls, then=lambda: None):
    threads = [threading.Thread(target=call) for call in calls]
    for one in threads: one.start()
    time.sleep(0.1)
    then()
    for one in threads: one.join()
"""
    results = jail.run_many([Program(f"{beginning}{code}\nprint('done')", limits=limits) for code in IDIOMS.values()])
    found = {name: (one.status, one.stdout) for name, one in zip(IDIOMS, results, strict=True)}
    assert found == dict.fromkeys(IDIOMS, (Status.OK, "done\n")), results


def test_many_threads_in_select_beside_many_files_are_charged_what_there_can_be():
    """A thread in `select` may hold all descriptors below its highest one, and these programs have few sockets.

    At `contained`, all sockets of the machine count.
    """
    code = """
import select, socket, threading
for at in range(900): open(f"{at:0250}", "w").close()
def wait():
    ends = socket.socketpair()
    select.select([ends[0]], [], [], 1)
threads = [threading.Thread(target=wait) for _ in range(40)]
for one in threads: one.start()
for one in threads: one.join()
"""
    with local("full") as executor:
        result = executor.run(Program(code, limits=Limits(memory_bytes=256 << 20)))
    assert result.status is Status.OK, result


def test_processes_do_not_share_their_descriptors(jail):
    """One could close what another waits for."""
    code = """
import ctypes, os
number = {'x86_64': 56, 'aarch64': 220}[os.uname().machine]
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall(number, 0x400 | 17, 0, 0, 0, 0), os.strerror(ctypes.get_errno()))
"""
    for processes in (0, 2):
        result = jail.run(Program(code, limits=Limits(processes=processes)))
        assert result.stdout == "-1 Operation not permitted\n", result


@pytest.mark.parametrize("is_shown", [True, False])
def test_the_name_of_the_place_tells_enough_where_the_call_is_not_shown(is_shown, monkeypatch):
    def hidden(path, *args, **kwargs):
        if path.endswith("/syscall") and not is_shown:
            raise PermissionError
        return open(path, *args, **kwargs)

    monkeypatch.setattr(held_files, "open", hidden, raising=False)
    read, write = os.pipe()
    poll = select.poll()
    poll.register(read, select.POLLIN)
    ended = threading.Event()
    threads = [threading.Thread(target=call) for call in (lambda: os.read(read, 1), poll.poll, ended.wait)]
    try:
        own = [(os.getpid(), memory_of(os.getpid())._replace(descriptors=64, threads=2))]
        before = held_files.held_files(own)
        for thread in threads:
            thread.start()
        more = 1 + (1 if is_shown else 64)
        deadline = time.monotonic() + 20
        about = range(more, more + 8)  # Threads of pytest come and go.
        while (held := held_files.held_files(own) - before) not in about and time.monotonic() < deadline:
            time.sleep(0.01)
        assert held in about
    finally:
        os.write(write, b"xx")
        ended.set()
        for thread in threads:
            thread.join()
        os.close(read)
        os.close(write)
