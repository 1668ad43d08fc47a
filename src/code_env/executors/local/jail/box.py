"""A box: commands that run one after the other on a root file system, which they may change.

The box's commands are root there. Outside they are an ordinary user, who owns the files. They have no network unless it
is allowed, see no other file of this machine, and end with the box.

This process is the outermost of a box. The next is process 1 of the box's namespaces, which serves the trainer's
requests. No command can reach it: it keeps capabilities that they lack. A request is a JSON object, and can come with a
descriptor; `_Server` says which requests there are. While a command runs, the box says at intervals that it is alive.
It ends when the trainer closes the socket, also in the middle of a command.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import math
import os
import resource
import select
import shutil
import signal
import socket
import struct
import tarfile
import time
from collections.abc import Sequence
from typing import Any, NoReturn

from code_env.harness.process.limits import ProcessLimits, die_with_parent, lower_limit
from code_env.harness.process.watching import Watch, children_of, open_pidfd

from . import linux, namespaces, seccomp
from .notices import Notices

_LENGTH = struct.Struct("I")

MAX_OUTPUT_BYTES = 1 << 20
"""How many bytes of the end of a command's output are kept."""

# CAP_CHOWN, _DAC_OVERRIDE, _FOWNER, _FSETID, _KILL, _SETGID, _SETUID: what a program that installs something expects.
_CAPABILITIES = (0, 1, 3, 4, 5, 6, 7)

_MAX_FILE_BYTES = 8 << 30
_MAX_TASKS, _MAX_FILES, _MAX_TIMERS = 1024, 4096, 1024
_RESERVED_BYTES = 8 << 30
_BYTES_EACH = 16 << 10
"""A box may make one name for each this many bytes that it may write: kernel memory for names is not counted."""

_IDLE_S = 0.2
"""How often the memory of a box is checked while no command runs, in seconds."""

_ALIVE_S = 10.0
"""How often a box says that it is alive while a command runs, in seconds."""

INTERRUPT = {"do": "interrupt"}
"""The message that ends a command. It has no answer: the command has one, and without a command nothing is done."""

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


def main(control_fd: int) -> NoReturn:
    """Be a box until the trainer closes the socket.

    Args:
        control_fd: The socket. The first message is the configuration: `root`, `user` and `group`, to whom it belongs,
            `writable_bytes`, which is how much the box may write in place of changing the root itself, or null,
            `memory_bytes`, `network`, and `shown`, which maps paths in the box to directories of this machine.
    """
    control = socket.socket(fileno=control_fd)
    config, _ = receive(control) or ({}, [])
    try:
        # All boxes are one user, for whom the kernel counts timers and queued signals. The namespace takes this limit.
        lower_limit(resource.RLIMIT_SIGPENDING, _MAX_TIMERS)
        namespaces.enter(config["user"], config["group"], as_root=True, network=config["network"])
        first = os.fork()
        if first == 0:
            _be_first(control, config)
        os.waitpid(first, 0)
    except OSError as error:
        send(control, {"error": str(error)})
    os._exit(0)


def send(to: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Send a message, with descriptors."""
    data = json.dumps(message).encode()
    socket.send_fds(to, [_LENGTH.pack(len(data))], descriptors)
    to.sendall(data)


def receive(source: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Receive a message and its descriptors; None if the other side has closed the socket.

    Raises:
        TimeoutError: If the socket has a time limit, and it is over.
    """
    header, descriptors, _, _ = socket.recv_fds(source, _LENGTH.size, 1)
    if not header:
        return None
    data, left = bytearray(), _LENGTH.unpack(header)[0]
    while left:
        data += source.recv(left) or b"\0" * left  # A message that is cut is no JSON.
        left = _LENGTH.unpack(header)[0] - len(data)
    message: dict[str, Any] = json.loads(data)
    return message, descriptors


def _be_first(control: socket.socket, config: dict[str, Any]) -> NoReturn:
    """Be process 1 of the box's namespaces: build and enter the root, then serve the trainer."""
    try:
        linux.mount("none", "/", None, linux.MS_REC | linux.MS_PRIVATE)
        # Done by the user outside, because only that user may be able to reach these directories.
        root = namespaces.mount_point([config["root"]])
        linux.mount(config["root"], root, None, linux.MS_BIND | linux.MS_NOSUID | linux.MS_NODEV)
        shown = {inside: os.open(outside, os.O_PATH) for inside, outside in config["shown"].items()}
        if os.getuid() != 0:  # Root outside is no user in here until it becomes root in here.
            os.setgroups([])
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)
        die_with_parent(0)  # The kernel forgets this when the user changes.
        linux.prctl(linux.PR_SET_DUMPABLE, 0)
        if config["writable_bytes"] is not None:
            root = _writable(root, config["writable_bytes"])
        _build(root, shown, network=config["network"])
        if not config["network"]:
            _bring_up_loopback()
        send(control, {})
        _Server(control, config["memory_bytes"]).serve()
    except OSError as error:
        send(control, {"error": str(error)})
    os._exit(1)


def _writable(lower: str, size: int) -> str:
    """Mount a root whose changes are kept in memory, over one that stays as it is; return where it is."""
    place = namespaces.mount_point([lower, "/dev", "/proc"])
    linux.mount(
        "code_env",
        place,
        "tmpfs",
        linux.MS_NOSUID | linux.MS_NODEV,
        f"size={size},nr_inodes={size // _BYTES_EACH},mode=755",
    )
    for name in ("upper", "work", "root"):
        os.mkdir(f"{place}/{name}")
    layers = f"lowerdir={lower},upperdir={place}/upper,workdir={place}/work,userxattr"
    linux.mount("overlay", f"{place}/root", "overlay", linux.MS_NOSUID | linux.MS_NODEV, layers)
    return f"{place}/root"


def _build(root: str, shown: dict[str, int], *, network: bool) -> None:
    """Mount what a root file system needs to be used, and the directories of this machine that are shown; enter it."""
    for name in ("proc", "dev", "etc"):
        if os.path.islink(f"{root}/{name}"):  # The mounts below would follow it, out of the tree.
            raise OSError(errno.ELOOP, f"/{name} of the image is a link")
        os.makedirs(f"{root}/{name}", exist_ok=True)
    linux.mount("code_env", f"{root}/dev", "tmpfs", linux.MS_NOSUID, "size=64k,mode=755")
    files = [*namespaces.DEVICES, "/dev/zero", "/dev/tty"]
    if network:
        files.append("/etc/resolv.conf")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{root}/etc/resolv.conf")  # It can be a link.
    for path in filter(os.path.exists, files):
        os.close(os.open(root + path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o644))
        linux.mount(path, root + path, None, linux.MS_BIND)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"{root}/dev/{name}")
    os.symlink("/proc/self/fd", f"{root}/dev/fd")
    os.symlink("/tmp", f"{root}/dev/shm")
    os.makedirs(f"{root}/tmp", exist_ok=True)
    os.mkdir(f"{root}/dev/pts")
    with contextlib.suppress(OSError):  # Most commands need no terminal.
        flags = linux.MS_NOSUID | linux.MS_NOEXEC
        linux.mount("devpts", f"{root}/dev/pts", "devpts", flags, "newinstance,ptmxmode=0666")
        os.symlink("pts/ptmx", f"{root}/dev/ptmx")
    for inside, fd in shown.items():
        if os.path.realpath(root + inside) != root + inside:
            raise OSError(errno.ELOOP, f"{inside} of the image is a link")
        os.makedirs(root + inside, exist_ok=True)
        linux.mount(f"/proc/self/fd/{fd}", root + inside, None, linux.MS_BIND)
        linux.make_read_only(root + inside)
        os.close(fd)
    try:
        flags = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
        linux.mount("proc", f"{root}/proc", "proc", flags, "hidepid=ptraceable")
    except OSError:  # In a container that covers parts of its own /proc.
        namespaces.mount_proc(f"{root}/proc")
    linux.pivot_root(root)
    linux.set_host_name("box")


def _bring_up_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("16sH14x", b"lo", 0)
        (flags,) = struct.unpack("16xH14x", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, asked))
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))


class _Server:
    """Serves the trainer's requests; each has the name of one of the public methods in `do`.

    Args:
        control: The socket.
        memory_bytes: How much memory all processes may hold together. If they hold more, all are ended.
    """

    def __init__(self, control: socket.socket, memory_bytes: int) -> None:
        self._control, self._memory_bytes = control, memory_bytes

    def serve(self) -> NoReturn:
        """Serve requests until the trainer closes the socket."""
        idle = self._watch(math.inf)
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        while True:
            while not poll.poll(_IDLE_S * 1000):
                if idle.overrun() == "memory":
                    self.stop()
            received = receive(self._control)
            if received is None:
                os._exit(0)
            request, descriptors = received
            if request == INTERRUPT:  # The command has ended meanwhile.
                continue
            try:
                answer = getattr(self, request.pop("do"))(*descriptors, **request)
            except (OSError, ValueError, LookupError, RecursionError, tarfile.TarError) as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            for fd in descriptors:
                os.close(fd)
            send(self._control, answer)

    def run(
        self,
        command: list[str],
        environment: dict[str, str],
        directory: str,
        limit_s: float,
        watched: list[str],
        kept: list[str],
    ) -> dict[str, Any]:
        """Run a command; return the fields of `Ran`, see `local/box.py`.

        Args:
            command: The path of a program, and its arguments.
            environment: The environment variables.
            directory: The working directory.
            limit_s: How long it may run, in seconds; time in which it waits for a core does not count.
            watched: Directories whose files are watched. If there are any, all processes end with the command.
            kept: Files that no process should change.
        """
        notices = Notices(watched, kept) if watched or kept else None
        from_command, to_server = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            _become(command, environment, directory, to_server, self._memory_bytes)
        os.close(to_server)
        os.set_blocking(from_command, False)
        output = bytearray()
        code, limit, daemons = self._follow(pid, from_command, output, notices, limit_s)
        if limit == "memory" or watched:
            self.stop()  # From now on nobody counts what is written to watched files.
        elif code is None:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        _drain(from_command, output)
        os.close(from_command)
        noticed = {}
        if notices is not None:
            notices.read()
            os.close(notices.fd)
            noticed = {"writes": notices.writes, "touched": sorted(notices.touched)}
        text = bytes(output[-MAX_OUTPUT_BYTES:]).decode("utf-8", "replace")
        ended = {"code": None, "signal": None} if code is None or limit is not None else _ending(code)
        return {**ended, "limit": limit, "output": text, "daemons": daemons, **noticed}

    def _follow(
        self, command: int, from_command: int, output: bytearray, notices: Notices | None, limit_s: float
    ) -> tuple[int | None, str | None, bool]:
        """Collect the output and the notices of a command until it ends, reaches a limit or is interrupted.

        Returns:
            Its exit code, or its signal as a negative number, None while it runs; the limit, or `interrupt`; and
            whether the box has had a process whose parent had ended.
        """
        ended = open_pidfd(command)
        watch = self._watch(limit_s)
        poll = select.poll()
        for fd in (from_command, ended, None if notices is None else notices.fd):
            if fd is not None:
                poll.register(fd, select.POLLIN)
        poll.register(self._control, select.POLLIN | select.POLLRDHUP)
        code, limit, daemons = None, None, False
        told = time.monotonic()
        while code is None and limit is None:
            ready = dict(poll.poll(watch.wait_s() * 1000))
            if self._control.fileno() in ready:
                if receive(self._control) is None:
                    os._exit(0)
                limit = "interrupt"
                break
            if time.monotonic() > told + _ALIVE_S:
                told = time.monotonic()
                send(self._control, {"alive": True})
            if from_command in ready and not _drain(from_command, output):
                poll.unregister(from_command)
            if notices is not None:
                notices.read()
            code, orphans = _reaped(command)
            daemons = daemons or orphans or any(child != command for child in children_of(1))
            limit = watch.overrun()
        if ended is not None:
            os.close(ended)
        return code, limit, daemons

    def _watch(self, limit_s: float) -> Watch:
        limits = ProcessLimits(math.inf, limit_s, self._memory_bytes, _MAX_FILE_BYTES)
        return Watch(_others, limits)

    def stop(self) -> dict[str, Any]:
        """End all processes of the box except this one."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.wait()
        return {}

    def pack(self, fd: int, paths: list[str], most_bytes: int) -> dict[str, Any]:
        """Write files and directories into a tar, each by its path; those that do not exist are left out.

        If they are too large or too deep, `too_large` says so.
        """
        left = most_bytes

        def counted(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
            nonlocal left
            left -= member.size + 512
            if left < 0:
                raise _TooLarge(f"there are more than {most_bytes} bytes in {', '.join(paths)}")
            return member if member.isfile() or member.isdir() or member.issym() or member.islnk() else None

        with os.fdopen(os.dup(fd), "wb") as file, tarfile.open(fileobj=file, mode="w") as tar:
            tar.inodes = _Forgetful()  # type: ignore[attr-defined]  # Not in the stubs.
            try:
                for path in paths:
                    if os.path.lexists(path):
                        tar.add(path, path.lstrip("/"), filter=counted)
            except (_TooLarge, RecursionError) as error:
                return {"too_large": str(error)}
            except OSError as error:
                # Other errors are not the fault of the process that left the files.
                if error.errno != errno.ENAMETOOLONG:
                    raise
                return {"too_large": str(error)}
        return {}

    def unpack(self, fd: int) -> dict[str, Any]:
        """Unpack a tar at the root."""
        with os.fdopen(os.dup(fd), "rb") as file, tarfile.open(fileobj=file) as tar:
            tar.extraction_filter = lambda member, path: member
            for member in tar:
                path = f"/{member.name}"
                if os.path.lexists(path) and (os.path.islink(path) or not os.path.isdir(path)):
                    os.unlink(path)
                tar.extract(member, "/")
        return {}

    def clear(self, paths: list[str]) -> dict[str, Any]:
        """Remove files and directories; those that are not there are left out."""
        for path in paths:
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            elif os.path.lexists(path):
                os.unlink(path)
        return {}

    def make(self, directories: list[str]) -> dict[str, Any]:
        """Make directories. Files that have their names are removed first."""
        for path in directories:
            if os.path.lexists(path) and not os.path.isdir(path):
                os.unlink(path)
            os.makedirs(path, exist_ok=True)
        return {}

    def cut(self, paths: list[str], targets: list[str]) -> dict[str, Any]:
        """Remove links to the targets from some directories, so that no link leads to what is put there later."""
        for path in paths:
            for directory, folders, names in os.walk(path):
                for link in (f"{directory}/{name}" for name in [*folders, *names]):
                    if os.path.islink(link) and _is_within(os.path.realpath(link), targets):
                        os.unlink(link)
            if os.path.islink(path) and _is_within(os.path.realpath(path), targets):
                os.unlink(path)
        return {}


class _TooLarge(Exception):
    """Files are larger than they may be."""


class _Forgetful(dict[Any, Any]):
    """A dictionary that keeps nothing: with it, `tarfile` stores a file in full under each of its names."""

    def __setitem__(self, key: Any, value: Any) -> None:
        pass


def _is_within(path: str, directories: list[str]) -> bool:
    return any(f"{path}/".startswith(f"{directory}/") for directory in directories)


def _others() -> list[int]:
    """Return all processes of the box except this one."""
    return sorted(pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if pid != 1)


def _drain(fd: int, output: bytearray) -> bool:
    """Add what can be read now to the output; return False at its end."""
    while True:
        try:
            data = os.read(fd, 1 << 16)
        except BlockingIOError:
            return True
        output += data
        if len(output) > 2 * MAX_OUTPUT_BYTES:
            del output[:-MAX_OUTPUT_BYTES]
        if not data:
            return False


def _reaped(command: int) -> tuple[int | None, bool]:
    """Wait for all children that have ended.

    Returns:
        The exit code of the command if it is one of them, or its signal as a negative number, and whether there was
        another.
    """
    others = False
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == command:
            return os.waitstatus_to_exitcode(status), others
        if pid == 0:
            return None, others
        others = True


def _ending(code: int) -> dict[str, Any]:
    """Return how a command ended. After a signal it has the exit code that shells report."""
    return {"code": code, "signal": None} if code >= 0 else {"code": 128 - code, "signal": -code}


def _become(
    command: list[str], environment: dict[str, str], directory: str, output: int, memory_bytes: int
) -> NoReturn:
    try:
        os.setsid()
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        try:
            os.chdir(directory)
        except OSError:  # An earlier command has removed it, and this one may make it again.
            os.chdir("/")
        for limit, value in (
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_FSIZE, _MAX_FILE_BYTES),
            (resource.RLIMIT_NPROC, _MAX_TASKS),
            (resource.RLIMIT_NOFILE, _MAX_FILES),
            # This also counts what threads reserve and hardly use.
            (resource.RLIMIT_DATA, memory_bytes + _RESERVED_BYTES),
        ):
            lower_limit(limit, value)
        kept = linux.CapabilitySet(*_CAPABILITIES)
        kept.bound()
        kept.apply()
        linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
        seccomp.box_filter().install()
        os.closerange(3, 256)
        os.execve(command[0], command, environment)
    except (OSError, ValueError) as error:  # ValueError: it has a null character or a lone surrogate.
        os.write(2, f"{command[0]} cannot be started: {error}\n".encode("utf-8", "replace"))
    finally:
        os._exit(127)
