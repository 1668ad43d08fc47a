"""The namespaces of level `full`. From inside they look like a machine of their own.

There are two nested levels. The jail enters the server's namespaces (user, mount, pid, network, IPC, host name, control
group) once. They hold the view of the file system: a separate root with the interpreter and the system's libraries,
read-only, and nothing else of the host. Each worker adds a user, a mount and a pid namespace. The worker is process 1
there, so one `kill(-1)` ends everything that a program has started, `setsid` daemons included, and the limit on tasks
counts for this worker alone.

For programs in an image there is a level between the two, so that the image's interpreter, which runs the server,
cannot change the mounts of the view.

Between two programs the worker replaces its only writable file system, a tmpfs, by a fresh one, unless nothing has
changed there. A program is not process 1 itself, because process 1 ignores the signals that it sends itself.

Root maps two users into the namespaces: itself, which may read an interpreter in a private home while it builds the
view, and another user, which everything else runs as. An ordinary user maps itself.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from code_env.harness.process.limits import MAX_NAMES

from . import wire
from .changes import MAIN, Changes
from .linux import (
    CLONE_NEWCGROUP,
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    MS_BIND,
    MS_NOATIME,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_PRIVATE,
    MS_RDONLY,
    MS_REC,
    PR_SET_DUMPABLE,
    PR_SET_KEEPCAPS,
    CapabilitySet,
    PreparedCall,
    make_read_only,
    mount,
    pivot_root,
    prctl,
    prepare_mount,
    prepare_umount,
    setns,
    unshare,
)

USER_ID = 1000
"""The user id of a program inside the namespaces."""

SCRATCH = "/sandbox/run"
"""Mount point of the tmpfs that a program may write to."""

WORK_NAME = "work"


def work_in(directory: str) -> str:
    """Return the directory in which a program starts; it lies in `directory`, which the program may write to."""
    return f"{directory}/{WORK_NAME}"


DRIVERS = "/sandbox/drivers"
"""The directory of the drivers of other languages at level `full`."""

_OWN = "/.code_env"

PACKAGE = f"{_OWN}/code_env"
"""Where a server that an image's interpreter runs finds this package, until it has imported what it needs."""

WORK_DIRECTORY = work_in(SCRATCH)
"""The directory in which a program starts at level `full`."""

PROGRAM = f"{WORK_DIRECTORY}/{MAIN}"
"""The program's own file."""

SYSTEM = (
    *("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"),
    # This leaves out parts of /usr, because images put applications into /usr/src.
    *(f"/usr/{name}" for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "libexec", "include", "share")),
    *(f"/usr/local/{name}" for name in ("bin", "sbin", "lib", "lib64", "libexec", "include")),
    *("/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime"),
)
"""Paths that programs and libraries of the system need; none of them is private on any distribution."""

DEVICES = ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom")
"""Devices that programs may use."""
# /dev/zero is left out: a shared mapping of it is memory that the kernel charges to no process.

_LINKS = {
    "/dev/fd": "/proc/self/fd",
    "/dev/stdin": "/proc/self/fd/0",
    "/dev/stdout": "/proc/self/fd/1",
    "/dev/stderr": "/proc/self/fd/2",
    "/dev/shm": SCRATCH,
    "/tmp": SCRATCH,
    "/var/tmp": SCRATCH,
}

# Possible mount points for the new root while it is built. The jail takes one that hides nothing that is still needed.
_MOUNT_POINTS = ("/mnt", "/media", "/srv", "/tmp", "/run", "/opt", "/home", "/var/tmp", "/root")

_MOST_SIZES = 100
"""The number of sizes of scratch file systems for which a worker keeps prepared calls."""

_mkdir, _unlink = os.mkdir, os.unlink


def enter(outer_user: int, outer_group: int, *, as_root: bool = False, network: bool = False) -> None:
    """Enter new namespaces, with all capabilities in them.

    The next fork is process 1 of the pid namespace. If this process is root, it stays root until `become_user`.

    Args:
        outer_user: The user outside that `USER_ID` maps to.
        outer_group: The group of this user.
        as_root: Whether it is root that maps to this user, and nobody else is mapped.
        network: Whether to stay in the network namespace.

    Raises:
        OSError: If the kernel grants no user namespace, or does not grant this user in it.
    """
    read_fd, write_fd = os.pipe()
    parent = os.getpid()
    helper = os.fork()
    if helper == 0:
        # The process that maps users must be outside the namespace and have the right to become them.
        code = 255
        try:
            os.close(write_fd)
            if os.read(read_fd, 1):
                _map_users(parent, outer_user, outer_group, as_root=as_root)
            code = 0
        except OSError as error:
            code = error.errno or code
        finally:
            os._exit(code)
    os.close(read_fd)
    try:
        unshare(CLONE_NEWUSER, "user namespace")
        os.write(write_fd, b"x")
    finally:
        os.close(write_fd)
        code = os.waitstatus_to_exitcode(os.waitpid(helper, 0)[1])
    if code != 0:
        raise OSError(code, f"user namespace: users cannot be mapped: {os.strerror(code)}")
    for flag, name in (
        (CLONE_NEWNS, "mount namespace"),
        (CLONE_NEWPID, "pid namespace"),
        (CLONE_NEWNET, "network namespace"),
        (CLONE_NEWIPC, "IPC namespace"),
        (CLONE_NEWUTS, "host name namespace"),
    ):
        if flag != CLONE_NEWNET or not network:
            unshare(flag, name)
    if os.path.exists("/proc/self/ns/cgroup"):  # Otherwise no control group has a name that programs could see.
        unshare(CLONE_NEWCGROUP, "control group namespace")


def _map_users(pid: int, user: int, group: int, *, as_root: bool) -> None:
    inner = 0 if as_root else USER_ID
    outer_user, outer_group = f"{inner} {user} 1\n", f"{inner} {group} 1\n"
    if user != os.getuid() and not as_root:
        outer_user, outer_group = f"0 0 1\n{outer_user}", f"0 0 1\n{outer_group}"
    elif user == os.getuid():
        # An ordinary user can map a group only after the process in the namespace has lost the right to set groups.
        _write(f"/proc/{pid}/setgroups", "deny")
    _write(f"/proc/{pid}/gid_map", outer_group)
    _write(f"/proc/{pid}/uid_map", outer_user)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def become_user() -> None:
    """Become the user that programs run as, and keep all capabilities in this namespace for now."""
    if os.getuid() == USER_ID:  # An ordinary user is mapped to this one.
        return
    prctl(PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(USER_ID, USER_ID, USER_ID)
    os.setresuid(USER_ID, USER_ID, USER_ID)
    CapabilitySet.full().apply()
    # The change of user made root the owner of this process's entry in /proc.
    prctl(PR_SET_DUMPABLE, 1)


def build_view(
    readable: list[str],
    masked: list[str],
    drivers: Mapping[str, str] = MappingProxyType({}),
    image: str = "",
    package: str = "",
) -> None:
    """Make a new root that holds what programs may read, and enter it.

    Args:
        readable: Paths of the host that programs see at the same place, read-only.
        masked: Directories below these paths that look empty to programs.
        drivers: Texts of the files in `DRIVERS`, by path below it.
        image: A directory with a root file system, whose paths are shown in place of the host's.
        package: The directory of this package, which is shown at `PACKAGE`; empty if no process needs it in the view.

    Raises:
        OSError: If the kernel does not grant it. It does not grant a new /proc in a container that covers parts of its
            own /proc. The container's /proc cannot replace it, because it shows other process numbers.
    """
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    needed = [image, package] if image else readable
    root = mount_point([*needed, "/proc"])
    mount("code_env", root, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755")
    for path in readable:
        _show(root, path, image)
    for path in DEVICES:
        if os.path.exists(path):
            _show(root, path, device=True)
    for directory in ("proc", "dev", "etc", "var", SCRATCH[1:]):
        os.makedirs(f"{root}/{directory}", exist_ok=True)
    for link, target in _LINKS.items():
        if not os.path.lexists(root + link) and os.path.dirname(link) not in readable:
            os.symlink(target, root + link)
    _name_user(root, "passwd", f"sandbox:x:{USER_ID}:{USER_ID}::{WORK_DIRECTORY}:/bin/sh\n", "/etc" in readable)
    _name_user(root, "group", f"sandbox:x:{USER_ID}:\n", "/etc" in readable)
    if package:
        os.makedirs(root + PACKAGE, exist_ok=True)
        mount(package, root + PACKAGE, None, MS_BIND)
        make_read_only(root + PACKAGE)
    for name, text in drivers.items():
        os.makedirs(os.path.dirname(f"{root}{DRIVERS}/{name}"), exist_ok=True)
        _write(f"{root}{DRIVERS}/{name}", text)
    for path in masked:
        if os.path.isdir(root + path):
            mount("code_env", root + path, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "size=4k,mode=555")
    mount_proc(f"{root}/proc")
    make_read_only(root)
    pivot_root(root)


def mount_point(needed: list[str]) -> str:
    """Return a directory on which a new root can be mounted without hiding any of these paths."""
    return next(path for path in _MOUNT_POINTS if os.path.isdir(path) and not _holds(path, needed))


def _name_user(root: str, file: str, line: str, is_shown: bool) -> None:
    """Add the user that programs run as to a file in /etc, which may be an image's."""
    path, ours = f"{root}/etc/{file}", f"{root}{_OWN}/{file}"
    if not is_shown:
        _write(path, line)
    elif os.path.isfile(path) and not os.path.islink(path):
        with open(path, errors="surrogateescape") as known:
            text = known.read()
        os.makedirs(os.path.dirname(ours), exist_ok=True)
        with open(ours, "w", errors="surrogateescape") as file_of_both:
            file_of_both.write(f"{text.rstrip()}\n{line}".lstrip())
        mount(ours, path, None, MS_BIND)
        make_read_only(path)


def hide_package() -> None:
    """Hide this package in the view. The server has imported everything that it needs of it."""
    mount("code_env", _OWN, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "size=4k,mode=555")


def lock_view() -> None:
    """Enter namespaces in which nobody can make the view's mounts writable or take one away.

    The next fork is process 1 of the new pid namespace.
    """
    _enter_own(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID, "image's namespaces")


def _enter_own(flags: int, name: str) -> None:
    """Enter namespaces with a user namespace in which this user has all capabilities."""
    unshare(flags, name)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/gid_map", f"{USER_ID} {USER_ID} 1")
    _write("/proc/self/uid_map", f"{USER_ID} {USER_ID} 1")


@contextlib.contextmanager
def mounted_scratch() -> Iterator[None]:
    """Mount a file system at `SCRATCH` for a while, in the server, where no program can reach it."""
    mount("code_env", SCRATCH, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=16m,mode=700")
    try:
        yield
    finally:
        prepare_umount(SCRATCH).make()


def mount_proc(target: str) -> None:
    """Mount the /proc of this pid namespace. A program sees there only processes that it could trace: itself."""
    try:
        mount("proc", target, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=ptraceable,subset=pid")
    except OSError as error:
        raise OSError(error.errno, f"own /proc: {error.strerror}") from error


def _holds(directory: str, paths: list[str]) -> bool:
    return any(f"{path}/".startswith(f"{directory}/") for path in paths)


def _show(root: str, path: str, image: str = "", *, device: bool = False) -> None:
    """Show a path of the host, or of an image, at the same place below `root`."""
    source, target = image + path, root + path
    if not os.path.lexists(source) or os.path.lexists(target):
        return
    # Some directories on the way are links of the host (/lib -> usr/lib). These are shown first.
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
        return
    if os.path.isdir(source):
        os.mkdir(target)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    mount(source, target, None, MS_BIND | MS_REC)
    make_read_only(target, recursive=True, devices=device)


_MUCH_BYTES, _MANY_NAMES = 1 << 20, 100
"""What a file system may hold and still stay mounted after its program has ended, in bytes and in names."""


class Scratch:
    """A worker's own namespaces, and the writable file system that it renews for each program.

    Args:
        notices: Whether the kernel reports changes, so that a file system without changes need not be renewed.
    """

    def __init__(self, *, notices: bool) -> None:
        # Only the server's user namespace may mount /proc for this pid namespace. So the worker does this first, in a
        # copy of the server's mount namespace, and then enters namespaces of its own.
        unshare(CLONE_NEWNS, "worker's mount namespace")
        mount_proc("/proc")
        _enter_own(CLONE_NEWUSER | CLONE_NEWNS, "worker's namespaces")
        self._umount = prepare_umount(SCRATCH)
        self._mounts: dict[int, PreparedCall] = {}
        self._size = -1
        self._notices = notices
        self._changes: Changes | None = None

    def renew(self, size: int) -> None:
        """Replace the file system by an empty one that holds at most `size` bytes."""
        if size == self._size and self._changes is not None and self._changes.are_as_expected():
            _unlink(PROGRAM)
            self._changes.expect_next()
            return
        if self._size >= 0:
            self._umount.make()
        mount_it = self._mounts.get(size)
        if mount_it is None:
            if len(self._mounts) > _MOST_SIZES:
                self._mounts.clear()
            data = f"size={size},nr_inodes={MAX_NAMES},mode=700"
            # No access times: if the file system is not renewed, they would show what the last program did.
            flags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME
            mount_it = self._mounts[size] = prepare_mount(SCRATCH, "tmpfs", flags, data)
        mount_it.make()
        self._size = size
        _mkdir(WORK_DIRECTORY)
        self._watch_changes()

    def release_much(self) -> None:
        """Detach the file system if its program left much in it: the next program may come much later.

        Otherwise it stays for the next program, which is cheaper. A descriptor of a directory in it stays usable.
        """
        status = os.statvfs(SCRATCH)
        much = (status.f_blocks - status.f_bfree) * status.f_frsize > _MUCH_BYTES
        if much or status.f_files - status.f_ffree > _MANY_NAMES:
            self._umount.make()
            self._size = -1
            self._stop_watching()

    def _stop_watching(self) -> None:
        if self._changes is not None:
            self._changes.close()
            self._changes = None

    def _watch_changes(self) -> None:
        self._stop_watching()
        if self._notices:
            with contextlib.suppress(OSError):  # The worker can do without it.
                self._changes = Changes(SCRATCH, WORK_DIRECTORY, wire.OWN)


def join_new_pid_namespace() -> None:
    """Make the next fork process 1 of a new pid namespace."""
    unshare(CLONE_NEWPID, "worker's pid namespace")


def rejoin_pid_namespace(fd: int) -> None:
    """Undo `join_new_pid_namespace` for later forks; `fd` refers to this process's own pid namespace."""
    setns(fd, CLONE_NEWPID)
