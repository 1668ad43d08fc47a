"""System calls that the jail refuses: sockets that lead out, and what changes the machine or other processes."""

import os
import socket
import subprocess
import sys

import pytest

from code_env import Limits, Program

NETWORK = {
    "tcp": "socket.create_connection(('127.0.0.1', PORT), timeout=1)",
    "udp": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', PORT))",
    "abstract": "socket.socket(socket.AF_UNIX).connect('\\0' + NAME)",
    "path": "socket.socket(socket.AF_UNIX).connect(PATH)",
    "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "packet": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "vsock": "socket.socket(socket.AF_VSOCK)",
    "datagram pair": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
    "listening": "socket.create_server(('127.0.0.1', 0))",
}


@pytest.mark.parametrize("kind", NETWORK)
def test_no_socket_leads_out(kind, jail, tmp_path):
    tmp_path.chmod(0o755)
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as path,
    ):
        name, place = f"code_env-{os.getpid()}", str(tmp_path / "s")
        unix.bind("\0" + name)
        unix.listen()
        path.bind(place)
        path.listen()
        code = "import socket\n" + NETWORK[kind].replace("PORT", str(tcp.getsockname()[1])).replace(
            "NAME", repr(name)
        ).replace("PATH", repr(place))
        result = jail.run(Program(code + "\nprint('connected')"))
    assert result.stdout == ""
    assert result.error.name in ("PermissionError", "OSError"), result


def test_asyncio_works_all_the_same(jail):
    code = "import asyncio\nasync def f():\n    await asyncio.sleep(0.01)\n    return 5\nprint(asyncio.run(f()))"
    assert jail.run(Program(code)).stdout == "5\n"


def test_harmless_options_work(jail):
    code = """
import ctypes, socket, struct
libc = ctypes.CDLL(None)
assert libc.prctl(15, b'a name', 0, 0, 0) == 0
name = ctypes.create_string_buffer(16)
assert libc.prctl(16, name, 0, 0, 0) == 0 and name.value == b'a name'
assert libc.prctl(29, 1000, 0, 0, 0) == 0
left, right = socket.socketpair()
left.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
left.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 1))
left.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack('ll', 0, 1000))
try: left.recv(1)
except BlockingIOError: print('timed out')
"""
    result = jail.run(Program(code))
    assert result.stdout == "timed out\n", result


KERNEL = {
    "user namespace": "libc.unshare(0x10000000)",
    "clone into namespaces": "libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)",
    "mount": "libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)",
    "umount": "libc.umount2(b'/proc', 2)",
    "chroot": "libc.chroot(b'.')",
    "ptrace": "libc.ptrace(16, 1, 0, 0)",
    "prlimit of another": "libc.prlimit(1, 7, 0, ctypes.create_string_buffer(16))",
    "kill the parent": "os.kill(os.getppid(), 9)",
    "priority of another": "os.setpriority(os.PRIO_PROCESS, os.getppid(), 5)",
    "a higher priority": "os.nice(-5)",
    "real time": "os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))",
    "running last": "os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))",
    "running later": "os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))",
    "running last by attributes": "libc.syscall(NUMBER(314, 274), 0, (ctypes.c_uint32 * 12)(48, 5), 0)",
    "reading last": "libc.syscall(NUMBER(251, 30), 1, 0, 3 << 13)",
    "priority of its group": "open('/proc/self/autogroup', 'w').write('19')",
    "affinity of another": "os.sched_setaffinity(os.getppid(), {0})",
    "shared memory segments": "libc.shmget(1234, 4096, 0o1777)",
    "message queues": "libc.msgget(1234, 0o1777)",
    "keyring": "libc.syscall(248, b'user', b'x', b'y', 1, -4)",
    "io_uring": "libc.syscall(425, 1, ctypes.create_string_buffer(120))",
    "bpf": "libc.syscall(321, 0, 0, 0)",
    "perf": "libc.syscall(298, 0, 0, 0, 0, 0)",
    "memfd": "os.memfd_create('x')",
    "hiding": "libc.prctl(4, 0, 0, 0, 0)",
    "huge pages again": "libc.prctl(41, 0, 0, 0, 0)",
    "a core for itself": "libc.prctl(62, 1, 0, 0, 0)",
    "filters of its sockets": "filters()",
    "a gigabyte of futexes": "libc.prctl(78, 1, ctypes.c_ulong(1 << 24), 0, 0)",
    "own signals to others": "__import__('fcntl').fcntl(0, 8, os.getppid())",
    "a higher limit": "__import__('resource').setrlimit(0, (-1, -1))",
    "becoming root": "os.setuid(0)",
    "capabilities": "libc.syscall(126, ctypes.byref((ctypes.c_uint32 * 2)(0x20080522, 0)), ctypes.byref((ctypes.c_uint32 * 6)(*[0xffffffff] * 6)))",
    "open by handle": "libc.syscall(304, 0, 0, 0)",
    "personality": "libc.personality(0x0040000)",
}


@pytest.mark.parametrize("name", KERNEL)
def test_the_kernel_refuses(name, jail):
    code = f"""
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def NUMBER(*numbers):
    return numbers[os.uname().machine == 'aarch64']
def filters():
    instruction = ctypes.create_string_buffer(b'\\x06\\0\\0\\0\\xff\\xff\\xff\\xff')
    program = ctypes.create_string_buffer(b'\\1\\0' + bytes(6) + ctypes.addressof(instruction).to_bytes(8, 'little'))
    ends = socket.socketpair()
    return libc.setsockopt(ends[0].fileno(), socket.SOL_SOCKET, 26, program, 16)
try:
    result = {KERNEL[name]}
except (OSError, ValueError) as error:
    result = -1
print('refused' if result == -1 or result is None and 'setrlimit' in {KERNEL[name]!r} else result)
"""
    result = jail.run(Program(code))
    assert result.stdout == "refused\n", (result.stdout, result.stderr)


def test_a_program_that_asks_to_run_later_succeeds_and_is_not_put_back(jail):
    """Time in which it was ready and had no core does not count, so it could exceed the limit on wall time."""
    code = """
import os, threading
print(os.nice(19), os.nice(0))
os.setpriority(os.PRIO_PROCESS, 0, 10)
os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
os.sched_setparam(0, os.sched_param(0))
thread = threading.Thread(target=lambda: os.nice(7))
thread.start()
thread.join()
print(os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0) == os.SCHED_OTHER)
"""
    own = os.getpriority(os.PRIO_PROCESS, 0)
    expected = f"{own} {own}\n{own} True\n"
    for processes in (0, 2):
        result = jail.run(Program(code, limits=Limits(processes=processes)))
        assert result.stdout == expected, result


def test_commands_of_a_box_keep_their_priority_too():
    code = """
import os
from code_env.executors.local.jail import linux, seccomp
linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
seccomp.box_filter().install()
print(os.nice(19) - os.nice(0))
os.setpriority(os.PRIO_PGRP, 0, 19)
os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
for ask in (lambda: os.nice(-5), lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))):
    try: ask()
    except PermissionError: print('refused')
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "0\nrefused\nrefused\n", done


def test_foreign_calls_kill_or_fail(jail):
    """The 32-bit way into the kernel has other numbers, which the filter knows nothing of."""
    code = """
import ctypes, mmap
# mov eax, 20 (getpid, 32-bit); int 0x80; ret
memory = mmap.mmap(-1, 4096, prot=7)
memory.write(b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3')
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
print('called', ctypes.CFUNCTYPE(ctypes.c_int)(address)())
"""
    import platform

    if platform.machine() == "x86_64":
        assert "called" not in jail.run(Program(code)).stdout
