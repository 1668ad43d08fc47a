"""A worker: runs one program at a time, each in a child process of its own, and cleans up after it.

At level `full` the worker is process 1 of its pid namespace. Between programs it kills every process that is left,
waits until none is left, and mounts a fresh scratch file system. So a program finds no trace of the program before it,
except that process numbers have gone up. A worker learns about a program only what `wire.ORDER` says.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from code_env.harness.process.forks import ForkGate
from code_env.harness.process.limits import MAX_TASKS, die_with_parent, lower_limit
from code_env.harness.process.sockets import CMSG_SPACE, Socket, send_descriptors
from code_env.harness.process.watching import end_descendants
from code_env.harness.process.workspace import empty_directory

from . import landlock, linux, namespaces, seccomp, wire
from .child import ChildLayers, become_program
from .own_paths import OwnPaths

if TYPE_CHECKING:
    from .configuration import ServerConfiguration, SessionConfiguration, WorkerConfiguration

_fork, _wait4, _kill, _exit, _closerange, _getpid = os.fork, os.wait4, os.kill, os._exit, os.closerange, os.getpid

become_command: Callable[[ChildLayers, int, int, ForkGate | None], NoReturn] = become_program
"""As `become_program`, for programs that are not Python. A server sets it only if it runs such programs, so that other
servers do not load that module."""

serve_session: Callable[[Socket, ServerConfiguration, SessionConfiguration], NoReturn] | None = None
"""As `main`, for a session. A server sets it only if it serves sessions."""

own_paths: OwnPaths | None = None
"""The paths that modules keep of the directories of their import. A server sets it if its programs have others."""

_SIGKILL = signal.SIGKILL

_REAP_S = 0.1
"""How often the worker reaps orphans while a program runs that may start processes, in seconds."""

_TELL_S, _TELL_LOCKS = 0.01, 256
"""The worker tells the trainer each time that forks and locks have used this much more CPU time, in seconds, or that
there were this many more locks."""

MAX_DESCRIPTORS = 512
"""How many descriptors a program may have."""
_MAX_PENDING = 1024  # Pending signals, and timers.
_STACK_BYTES = 8 << 20


def main(sock: Socket, config: ServerConfiguration, order: WorkerConfiguration) -> NoReturn:
    """Enter the worker's part of the jail, then run the programs that are ordered, until the trainer is gone.

    Args:
        sock: The worker's socket.
        config: The server's configuration.
        order: The worker's own configuration.
    """
    full = config["level"] == "full"
    # This keeps the low numbers free for descriptors that come with orders.
    sock = Socket(fileno=linux.move_descriptor(sock.detach(), wire.OWN))
    os.closerange(wire.FIRST, sock.fileno())
    os.closerange(sock.fileno() + 1, 1 << 30)
    if serve_session is not None and order["session"] is not None:
        serve_session(sock, config, order["session"])
    try:
        scratch = namespaces.Scratch(notices=order["notices"]) if full else None
        die_with_parent(0 if full else os.getppid())
        if not full:
            linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
            os.environ["TMPDIR"], os.environ["HOME"] = order["directory"], namespaces.work_in(order["directory"])
            sys.path[0] = namespaces.work_in(order["directory"])
            if own_paths is not None:
                own_paths.move(order["directory"])
        keep_interrupts_away()
        layers = _layers(config, order)
        set_common_limits(own_user=full or order["user"] is not None)
        linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
        # A program that unmaps most of a huge page still holds all of it, and the kernel no longer counts it.
        linux.prctl(linux.PR_SET_THP_DISABLE, 1)
        seccomp.base_filter().install()
        _try(layers)
    except Exception as error:
        sock.send(f"{type(error).__name__}: {error}".encode()[:4096])
        os._exit(1)
    sock.send(wire.READY)
    number, room = sock.fileno(), CMSG_SPACE(4 * wire.MAX_DESCRIPTORS)
    receive, send, unpack, pack = sock.recvmsg, sock.send, wire.ORDER.unpack, wire.ENDED.pack
    while True:
        # The kernel gives these descriptors the lowest free numbers, from `wire.FIRST` on.
        message, ancillary, _, _ = receive(64, room)
        if not message:
            _exit(0)
        size, length, processes, flags = unpack(message)
        if flags & wire.CLEAR:
            send(_clear(order["directory"]))
            continue
        if scratch is not None:
            scratch.renew(size)
        gate = None
        if processes:
            gate = ForkGate(processes, layers.as_user)
            gate.open()
        pid = _fork()
        if pid == 0:
            if flags & wire.COMMAND:
                become_command(layers, number, length, gate)
            become_program(layers, number, length, gate)
        _closerange(wire.FIRST, wire.FIRST + len(ancillary[0][2]) // 4)
        answer = pack(*_wait(pid, gate, send))
        directory = _working_directory() if flags & wire.WANT_DIRECTORY and scratch is not None else None
        if directory is None:
            send(answer)
        else:
            send_descriptors(sock, answer, [directory])
            os.close(directory)
        if scratch is not None:
            scratch.release_much()


def _clear(directory: str) -> bytes:
    """Remove what a program has left. Return `wire.READY`, or the error's text.

    A program can leave so much that the trainer, if it did this itself, would have no time for other programs.
    """
    try:
        empty_directory(directory)
        os.utime(directory)  # The directory stays, and the program could set its times.
    except OSError as error:
        return str(error).encode()
    return wire.READY


def keep_interrupts_away() -> None:
    """Make SIGINT raise KeyboardInterrupt in programs, as usual, and do nothing in this process.

    Process 1 receives a signal from inside its namespace if it has a handler for it, and Python has one for SIGINT.
    """
    worker = _getpid()

    def interrupted(number: int, frame: object) -> None:
        if _getpid() != worker:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupted)


def _working_directory() -> int | None:
    """Return a descriptor of the program's working directory, or None if the program has removed or replaced it."""
    try:
        return os.open(namespaces.WORK_DIRECTORY, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None


def _wait(pid: int, gate: ForkGate | None, tell: Callable[[bytes], Any]) -> tuple[int, float, int]:
    """Wait for the program and end the processes that it leaves.

    Return its wait status, the CPU seconds of all its processes, and the peak memory of the largest one in bytes.

    Args:
        pid: The program's process.
        gate: Counts the processes that the program starts; None if it may start none.
        tell: Sends a message to the trainer.
    """
    cpu_s, peak_kib = 0.0, 0
    if gate is None:
        _, status, usage = _wait4(pid, 0)
    else:
        status, usage, cpu_s, peak_kib = _answer_until_end(pid, gate, tell)
        gate.close()
    cpu_s += usage.ru_utime + usage.ru_stime
    peak_bytes = 1024 * max(usage.ru_maxrss, peak_kib)
    if _getpid() == 1:
        try:
            _kill(-1, _SIGKILL)
        except ProcessLookupError:  # Usually no other process is left.
            return status, cpu_s, peak_bytes
    cpu_s += end_descendants()
    return status, cpu_s, peak_bytes


def _answer_until_end(pid: int, gate: ForkGate, tell: Callable[[bytes], Any]) -> tuple[int, Any, float, int]:
    """Answer the forks of a program, and reap its orphans, until the program has ended.

    Returns:
        Its wait status, its resource usage, the CPU seconds of the orphans and of its forks and locks, and the peak
        memory of the largest orphan in KiB.
    """
    told_s, told_locks = 0.0, 0
    poll = select.poll()
    listener = gate.take_over()
    if listener is not None:
        poll.register(listener, select.POLLIN)
    ended = os.pidfd_open(pid)
    poll.register(ended, select.POLLIN)
    cpu_s, peak_kib = 0.0, 0
    try:
        while True:
            for fd, _ in poll.poll(_REAP_S * 1000):
                if fd == listener and not gate.answer():
                    poll.unregister(listener)
            if gate.answering_s > told_s + _TELL_S or gate.locks > told_locks + _TELL_LOCKS:
                told_s, told_locks = gate.answering_s, gate.locks
                tell(wire.SPENT.pack(told_s, told_locks))
            began_s, reaped, calls = time.thread_time(), -1, 0
            while reaped:
                reaped, status, usage = os.wait4(-1, os.WNOHANG)
                if reaped == pid:
                    return status, usage, cpu_s + gate.answering_s, peak_kib
                cpu_s += usage.ru_utime + usage.ru_stime
                peak_kib = max(peak_kib, usage.ru_maxrss)
                calls += 1
            if calls > 1:  # The last call finds none.
                gate.answering_s += time.thread_time() - began_s
    finally:
        # The descriptors of the next order need this number.
        os.close(ended)


def _layers(config: ServerConfiguration, order: WorkerConfiguration) -> ChildLayers:
    """Prepare, as far as possible, what this worker's programs give up."""
    null = ("/dev/null", landlock.READ_FILE | landlock.WRITE_FILE)
    if config["level"] == "full":
        # A rule on the mount point's parent holds for every scratch file system that is mounted below it later.
        work = (os.path.dirname(namespaces.SCRATCH), landlock.WORK)
        # Everything in the view may be read, except a process's own memory in /proc: the memory of an interpreter of
        # another language holds things that its program must not find. So /proc is left out there.
        seen = ["/"] if not config["commands"] else [*config["readable"], namespaces.DRIVERS, "/etc", "/dev"]
        rules = [(path, landlock.READ) for path in seen]
        return ChildLayers(
            [*rules, work, null], full=True, notices=order["notices"], hears_of_children=config["commands"]
        )
    real = dict.fromkeys(os.path.realpath(path) for path in config["readable"])
    rules = [rule for path in real for rule in landlock.readable_but(path, config["masked"])]
    devices = [(path, landlock.READ_FILE) for path in namespaces.DEVICES]
    work = (order["directory"], landlock.WORK)
    return ChildLayers(
        [*rules, *devices, null, work],
        full=False,
        notices=order["notices"],
        user=order["user"],
        private=order["user"] is not None and config["private"],
        hears_of_children=config["commands"],
    )


def set_common_limits(*, own_user: bool, descriptors: int = MAX_DESCRIPTORS) -> None:
    """Set the limits that are the same for all programs.

    Args:
        descriptors: How many descriptors a process may have.
        own_user: Whether no other process runs as the programs' user, or in their user namespace.
    """
    limits = {
        resource.RLIMIT_NOFILE: descriptors,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        # The kernel counts these for the whole user, and for the user that made its namespace. So those that programs
        # take are missing for the trainer.
        resource.RLIMIT_SIGPENDING: _MAX_PENDING,
    }
    if own_user:  # Otherwise this would count all processes of the user, also those outside; the trainer counts them.
        limits[resource.RLIMIT_NPROC] = MAX_TASKS
    for which, value in limits.items():
        lower_limit(which, value)
    # Programs may raise this limit: the stack counts as resident memory like any other.
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (_STACK_BYTES, hard))


def _try(layers: ChildLayers) -> None:
    """Check in a child process that all layers can be entered.

    Raises:
        OSError: If a layer cannot be entered.
    """
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            layers.become_user()
            layers.confine(layers.rules)
            layers.try_filters()
        except BaseException as error:
            os.write(write_fd, str(error).encode()[:1024])
        finally:
            os._exit(0)
    os.close(write_fd)
    problem = os.read(read_fd, 1024)
    os.close(read_fd)
    os.waitpid(pid, 0)
    if problem:
        raise OSError(problem.decode())
