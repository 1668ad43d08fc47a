"""A session's worker: keeps the interpreters of a session and of its branches, and has them run cells.

The worker never runs a cell itself. It tells an interpreter to fork, looks at the interpreter while this is stopped,
and gives the fork the cell's descriptors. When the cell has ended, the fork is stopped and looked at, and is kept as
the state after the cell; `kept_cells.py` is the other side. The messages of the trainer are in `session_wire.py`.

An interpreter that a fork would not copy completely, because it has other threads or open files, is not forked. Its
next cell runs in the interpreter itself.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from _socket import CMSG_SPACE
from typing import TYPE_CHECKING, NoReturn

from code_env.harness.process.limits import die_with_parent
from code_env.harness.process.memory_file import memory_file
from code_env.harness.process.sockets import Socket, send_descriptors
from code_env.harness.process.watching import cpu_seconds
from code_env.harness.program.kept_cells import BORN, CELL, DONE, FORK, FORKED

from . import landlock, linux, looking, namespaces, seccomp, session_wire, wire, worker
from .child import ChildLayers
from .interpreters import CREDENTIALS, Cell, Interpreter, connected, tell
from .rooms import Files, Room, Rooms, Unkeepable, file_in, files_from
from .session_child import become_interpreter
from .session_gate import SessionGate

if TYPE_CHECKING:
    from .configuration import ServerConfiguration, SessionConfiguration

_FORK_S = 5.0
"""How long an interpreter may take to fork, in seconds of any clock: it is stopped at other times."""

_DESCRIPTORS = 8192
"""How many descriptors the worker itself may have: it has some for each branch."""

_TELL_S = 0.01
"""The trainer is told each time that the calls of a cell have used this much more of the worker's time, in seconds."""


def serve(sock: Socket, config: ServerConfiguration, session: SessionConfiguration) -> NoReturn:
    """Enter the worker's part of the jail, start the first interpreter, and serve the trainer until it is gone."""
    try:
        sessions = _Sessions(sock, config, session)
    except Exception as error:
        sock.send(f"{type(error).__name__}: {error}".encode()[:4096])
        os._exit(1)
    sock.send(wire.READY)
    sessions.serve()


class _Sessions:
    """A session and its branches: the interpreters that are kept, their files and rooms, and the cells that run."""

    def __init__(self, sock: Socket, config: ServerConfiguration, session: SessionConfiguration) -> None:
        self._sock, self._room_bytes, self._kept_bytes = sock, session["room_bytes"], session["kept_bytes"]
        namespaces.Scratch(notices=False)
        die_with_parent(0)
        worker.keep_interrupts_away()
        # Without /proc, where processes of other branches would show.
        seen = [*config["readable"], "/etc", "/dev"]
        null = ("/dev/null", landlock.READ_FILE | landlock.WRITE_FILE)
        layers = ChildLayers(
            [*((path, landlock.READ) for path in seen), null], full=True, notices=False, asks_for_signals=True
        )
        self._rooms = Rooms(layers.rules)
        worker.set_common_limits(own_user=True, descriptors=_DESCRIPTORS)
        linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
        linux.prctl(linux.PR_SET_THP_DISABLE, 1)
        seccomp.base_filter().install()
        self._gate = SessionGate()
        self._poll = select.poll()
        self._kept: dict[int, Interpreter] = {}
        self._files: dict[int, Files] = {}
        self._numbers: dict[int, int] = {}
        """Numbers of files, by the id of the object."""
        self._room_of: dict[int, Room] = {}
        self._cells: dict[int, Cell] = {}
        """Cells by the descriptors of their sockets and processes."""
        self._by_pidfd: dict[int, Interpreter] = {}
        self._forking: dict[int, Interpreter] = {}
        """Interpreters that were told to fork, by their sockets."""
        self._next = 0
        self._first(layers, session["rlimits"])

    def _first(self, layers: ChildLayers, rlimits: list[tuple[int, int, int]]) -> None:
        """Start the first interpreter."""
        ours, theirs = connected()
        self._gate.open()
        pid = os.fork()
        if pid == 0:
            become_interpreter(layers, theirs, self._gate, [(one[0], one[1], one[2]) for one in rlimits])
        inode = os.fstat(theirs.fileno()).st_ino
        theirs.close()
        listener = self._gate.take_over()
        message = ours.recv(wire.MAX_MESSAGE)
        if message != BORN or listener is None:
            raise OSError(message.decode(errors="replace") or "the first interpreter of a session has ended")
        self._rooms.begin()
        looking.stop(pid)
        self._poll.register(listener, select.POLLIN)
        self._poll.register(self._sock.fileno(), select.POLLIN)
        self._register(
            session_wire.FIRST, Interpreter(pid, ours, inode, os.pidfd_open(pid), self._number_of(files_from({})))
        )

    def serve(self) -> NoReturn:
        """Serve the trainer until it is gone."""
        while True:
            wait_s = min((cell.deadline for cell in self._cells.values()), default=float("inf")) - time.monotonic()
            for fd, _ in self._poll.poll(None if wait_s == float("inf") else max(0.0, wait_s) * 1000):
                if fd == self._sock.fileno():
                    self._obey()
                elif fd == self._gate.listener:
                    self._answer_calls(fd)
                elif fd in self._cells:
                    self._hear(self._cells[fd], fd)
                elif fd in self._forking:
                    self._hear_of_fork(self._forking[fd])
                elif fd in self._by_pidfd:
                    self._lose(self._by_pidfd[fd])
            for cell in [one for one in self._cells.values() if time.monotonic() > one.deadline]:
                self._lose(cell.origin)
            self._reap()

    def _answer_calls(self, listener: int) -> None:
        if not self._gate.answer():
            self._poll.unregister(listener)
        for cell in {id(one): one for one in self._cells.values()}.values():
            spent_s = self._gate.spent_s.get(cell.pid, 0.0)
            if spent_s > cell.told_s + _TELL_S:
                cell.told_s = spent_s
                tell(cell, session_wire.Spent(spent_s))

    def _obey(self) -> None:
        """Do what the trainer's next message says."""
        data, fds = wire.receive(self._sock)
        if not data:
            os._exit(0)
        order = session_wire.unpack(data)
        if isinstance(order, session_wire.Run):
            self._begin(order, fds)
        elif isinstance(order, session_wire.Put):
            contents = session_wire.unpack_files(_content(fds[0]))
            self._kept[session_wire.FIRST].files = self._number_of(files_from(contents))
        elif isinstance(order, session_wire.Read):
            with Socket(fileno=fds[0]) as answer:
                one = self._kept.get(order.interpreter)
                content = None if one is None else file_in(self._files[one.files], order.path)
                found = [] if content is None else [memory_file("content", content)]
                with contextlib.suppress(OSError):
                    send_descriptors(answer, b"x", found) if found else answer.send(b"x")
                for fd in found:
                    os.close(fd)
        else:
            self._forget(order)

    def _begin(self, order: session_wire.Run, fds: list[int]) -> None:
        """Begin a cell, or tell the trainer that it cannot begin."""
        *fds, answer = fds
        origin = self._kept.get(order.interpreter)
        known = self._room_of.get(order.room)
        room = None if origin is None else origin.room or known or self._rooms.take(self._known_rooms())
        if origin is None or room is None:
            with Socket(fileno=answer) as sock:
                sock.send(session_wire.pack(session_wire.Lost(is_full=origin is not None)))
            for fd in fds:
                os.close(fd)
            return
        number = order.room if room is known else self._new_number()
        self._room_of[number] = room
        cell = Cell(origin, room, number, fds, Socket(fileno=answer))
        origin.used_at = time.monotonic()
        if origin.obstacles:
            cell.sock, cell.inode, cell.pid, cell.pidfd = origin.sock, origin.inode, origin.pid, origin.pidfd
            del self._kept[order.interpreter], self._by_pidfd[origin.pidfd]
            self._cells[origin.pidfd] = cell
            self._listen(cell)
            self._start(cell)
            return
        origin.forks.append(cell)
        if len(origin.forks) == 1:
            self._fork(cell)

    def _fork(self, cell: Cell) -> None:
        """Tell an interpreter to fork."""
        cell.sock, theirs = connected()
        cell.inode = os.fstat(theirs.fileno()).st_ino
        cell.deadline = time.monotonic() + _FORK_S
        self._listen(cell)
        self._gate.expected.add(cell.origin.pid)
        self._forking[cell.origin.sock.fileno()] = cell.origin
        self._poll.register(cell.origin.sock.fileno(), select.POLLIN)
        with theirs, contextlib.suppress(OSError):
            send_descriptors(cell.origin.sock, FORK, [theirs.fileno()])
            os.kill(cell.origin.pid, signal.SIGCONT)

    def _listen(self, cell: Cell) -> None:
        assert cell.sock is not None
        self._cells[cell.sock.fileno()] = cell
        self._poll.register(cell.sock.fileno(), select.POLLIN)

    def _hear(self, cell: Cell, fd: int) -> None:
        """Take what the process of a cell says, or that it has ended."""
        assert cell.sock is not None
        if fd == cell.pidfd:
            self._end(cell, died=True)
            return
        message, ancillary, _, _ = cell.sock.recvmsg(64, CMSG_SPACE(CREDENTIALS.size))
        if not message:
            self._poll.unregister(fd)
            del self._cells[fd]
            if not cell.pid:
                self._lose(cell.origin)
        elif message == BORN and not cell.pid and ancillary:
            cell.born = CREDENTIALS.unpack(ancillary[0][2][: CREDENTIALS.size])[0]
            self._take(cell)
        elif message == DONE and cell.pid:
            self._end(cell, died=False)

    def _hear_of_fork(self, origin: Interpreter) -> None:
        """Stop an interpreter that has forked, and see that nothing leads from it to the fork."""
        fd = origin.sock.fileno()
        del self._forking[fd]
        self._poll.unregister(fd)
        cell = origin.forks[0]
        try:
            has_forked = origin.sock.recv(16) == FORKED and looking.stop(origin.pid)
            cell.is_alone = has_forked and not looking.obstacles(origin.pid, origin.inode)
        except OSError:
            cell.is_alone = False
        if cell.is_alone:
            self._take(cell)
        else:
            self._lose(origin)

    def _take(self, cell: Cell) -> None:
        """Give a fork its cell, when it has said that it lives and nothing leads to it."""
        origin, pid = cell.origin, cell.born
        if not (pid and cell.is_alone):
            return
        try:
            cell.pidfd = -1 if pid in self._pids() else os.pidfd_open(pid)
        except OSError:
            cell.pidfd = -1
        if cell.pidfd < 0:
            self._lose(origin)
            return
        cell.pid, cell.deadline = pid, float("inf")
        self._cells[cell.pidfd] = cell
        self._poll.register(cell.pidfd, select.POLLIN)
        origin.forks.popleft()
        self._start(cell)
        if origin.forks:
            self._fork(origin.forks[0])

    def _start(self, cell: Cell) -> None:
        """Have a process run a cell."""
        assert cell.sock is not None
        wanted = self._files[cell.origin.files]
        try:
            if not cell.origin.obstacles and cell.room.files is not wanted:
                cell.room.fill(wanted, self._room_bytes)
            cell.cpu_before_s = cpu_seconds(cell.pid) or 0.0
            self._gate.spent_s.pop(cell.pid, None)
            room = cell.room.open()
            try:
                send_descriptors(cell.sock, CELL, [*cell.fds, room])
            finally:
                os.close(room)
            os.kill(cell.pid, signal.SIGCONT)
        except OSError:  # It is dead, or its files do not fit: its end is reported.
            with contextlib.suppress(OSError):
                os.kill(cell.pid, signal.SIGKILL)
        self._close_fds(cell)
        if not tell(cell, session_wire.Started(cell.room.path), [cell.pidfd]):
            with contextlib.suppress(OSError):
                os.kill(cell.pid, signal.SIGKILL)

    def _end(self, cell: Cell, *, died: bool) -> None:
        """Keep the process of a cell that has ended, or note its death; tell the trainer."""
        assert cell.sock is not None
        for fd in (cell.sock.fileno(), cell.pidfd):
            self._cells.pop(fd, None)
        kept, looked_at = -1, None
        if not died:
            with contextlib.suppress(OSError):
                self._poll.unregister(cell.sock.fileno())
            if looking.stop(cell.pid):
                with contextlib.suppress(OSError):
                    looked_at = looking.obstacles(cell.pid, cell.inode)
        cpu_s = (cpu_seconds(cell.pid) or 0.0) - cell.cpu_before_s + self._gate.spent_s.pop(cell.pid, 0.0)
        status = 0
        if looked_at is None:
            if not died:
                with contextlib.suppress(OSError):
                    os.kill(cell.pid, signal.SIGKILL)
            status = looking.exit_status(cell.pid) or 0 if died else signal.SIGKILL
            cell.room.files = None
            self._close(cell.pidfd, cell.sock)
        else:
            kept = self._keep_after(cell, looked_at)
        tell(cell, session_wire.Ended(status, cpu_s, kept, cell.number, looked_at or []))
        cell.answer.close()

    def _keep_after(self, cell: Cell, obstacles: list[str]) -> int:
        """Keep the process of a cell with the files that are there now; return its number."""
        assert cell.sock is not None
        files = cell.origin.files
        try:
            files = self._number_of(cell.room.look(self._room_bytes))
        except Unkeepable as error:
            obstacles.append(str(error))
        new = Interpreter(
            cell.pid,
            cell.sock,
            cell.inode,
            cell.pidfd,
            files,
            cell.room if obstacles else None,
            obstacles,
            cell.origin.known | {cell.room},
        )
        if obstacles:
            cell.room.files = None
        number = self._new_number()
        self._register(number, new)
        return number

    def _register(self, number: int, one: Interpreter) -> None:
        one.held_bytes, one.used_at = looking.memory_of(one.pid), time.monotonic()
        self._kept[number] = self._by_pidfd[one.pidfd] = one
        self._poll.register(one.pidfd, select.POLLIN)
        self._end_surplus(but=number)

    def _end_surplus(self, but: int) -> None:
        """End the interpreters that were used least recently, if all together hold too much."""
        in_files = sum(len(entry.content) for files in self._files.values() for entry in files.values())
        if in_files + sum(one.held_bytes for one in self._kept.values()) <= self._kept_bytes:
            return
        for one in self._kept.values():
            one.held_bytes = looking.share_of_memory(one.pid)
        held = in_files + sum(one.held_bytes for one in self._kept.values())
        for number, one in sorted(self._kept.items(), key=lambda item: item[1].used_at):
            if held <= self._kept_bytes:
                return
            if number not in (session_wire.FIRST, but) and not one.obstacles and not one.forks:
                held -= one.held_bytes
                self._lose(one)

    def _forget(self, order: session_wire.Forget) -> None:
        for number in order.interpreters:
            one = self._kept.get(number)
            if one is not None and number != session_wire.FIRST:
                self._lose(one)
        for number in order.rooms:
            room = self._room_of.pop(number, None)
            if room is not None:
                self._rooms.give_back(room)
        used = {one.files for one in self._kept.values()} | {cell.origin.files for cell in self._cells.values()}
        for number in [one for one in self._files if one not in used]:
            del self._numbers[id(self._files.pop(number))]

    def _lose(self, one: Interpreter) -> None:
        """End an interpreter, or note that it has ended. Cells that wait for a fork of it are lost."""
        self._kept = {number: kept for number, kept in self._kept.items() if kept is not one}
        self._gate.expected.discard(one.pid)
        if self._forking.pop(one.sock.fileno(), None) is not None:
            self._poll.unregister(one.sock.fileno())
        with contextlib.suppress(OSError):
            os.kill(one.pid, signal.SIGKILL)
        if self._by_pidfd.pop(one.pidfd, None) is not None:
            self._close(one.pidfd, one.sock)
        for cell in one.forks:
            if cell.born and cell.born not in self._pids():
                with contextlib.suppress(OSError):
                    os.kill(cell.born, signal.SIGKILL)
            if cell.sock is not None:
                self._cells.pop(cell.sock.fileno(), None)
                self._close(-1, cell.sock)
            self._close_fds(cell)
            tell(cell, session_wire.Lost(is_full=False))
            cell.answer.close()
        one.forks.clear()

    def _close(self, pidfd: int, sock: Socket) -> None:
        for fd in (pidfd, sock.fileno()):
            if fd >= 0:
                with contextlib.suppress(KeyError):
                    self._poll.unregister(fd)
        if pidfd >= 0:
            os.close(pidfd)
        sock.close()

    @staticmethod
    def _close_fds(cell: Cell) -> None:
        for fd in cell.fds:
            os.close(fd)
        cell.fds = []

    def _reap(self) -> None:
        """Wait for processes that have ended, except those whose end was not noted yet."""
        living = self._pids()
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                if ended.si_pid in living:
                    return
                os.waitpid(ended.si_pid, 0)

    def _pids(self) -> set[int]:
        """Return the processes whose end was not noted yet."""
        return {one.pid for one in self._by_pidfd.values()} | {one.pid for one in self._cells.values()}

    def _known_rooms(self) -> set[Room]:
        living = [*self._kept.values(), *(cell.origin for cell in self._cells.values())]
        return {room for one in living for room in one.known} | {cell.room for cell in self._cells.values()}

    def _number_of(self, files: Files) -> int:
        """Return the number of these files, which are kept as long as an interpreter has them."""
        number = self._numbers.get(id(files))
        if number is None:
            number = self._numbers[id(files)] = self._new_number()
            self._files[number] = files
        return number

    def _new_number(self) -> int:
        self._next += 1
        return self._next


def _content(fd: int) -> bytes:
    with open(fd, "rb") as file:
        file.seek(0)
        return file.read()
