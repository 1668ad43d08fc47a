"""System calls that the standard library lacks, and numbers that belong to the kernel.

All functions of libc are looked up when this module is imported: a lookup in a forked child would
touch pages, and a child that first has to copy them costs a tenth of a fork.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
from typing import Any

MACHINE = os.uname().machine
"""Name of the processor architecture."""

# PyDLL keeps the interpreter's lock: these calls are short, and the jail has one thread.
_libc = ctypes.PyDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long
syscall_function = _syscall
"""libc's own, for `PreparedCall.args` where even a method is too much."""
# On another system than Linux there are none; the executor says so, and needs this module for that.
_names = (
    "prctl",
    "mount",
    "umount2",
    "unshare",
    "setns",
    "sethostname",
    "capget",
    "inotify_init1",
    "inotify_add_watch",
)
_functions: list[Any] = [getattr(_libc, name, None) for name in _names]
_prctl, _mount, _umount2, _unshare, _setns, _sethostname, _capget, _inotify_init1, _inotify_add_watch = _functions
_get_errno = ctypes.get_errno

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_NOATIME = 1, 2, 4, 8, 1024
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_KEEPCAPS = 8
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

CAP_DAC_READ_SEARCH = 2

_PR_CAP_AMBIENT, _AMBIENT_RAISE = 47, 2

_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_MOUNT_ATTR_RDONLY, _MOUNT_ATTR_NOSUID, _MOUNT_ATTR_NODEV = 1, 2, 4
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}.get(MACHINE, -1)
_SYS_MOUNT = {"x86_64": 165, "aarch64": 40}.get(MACHINE, -1)
_SYS_UMOUNT2 = {"x86_64": 166, "aarch64": 39}.get(MACHINE, -1)
_SYS_PRCTL = {"x86_64": 157, "aarch64": 167}.get(MACHINE, -1)
_SYS_CAPSET = {"x86_64": 126, "aarch64": 91}.get(MACHINE, -1)
_SYS_MOUNT_SETATTR = 442  # This and all later calls have one number on every machine.


def _check(result: int, what: str) -> int:
    if result < 0:
        number = _get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, what: str, *args: object) -> int:
    """Make a system call by its number.

    Raises:
        OSError: With `what` in its text, if the kernel refuses.
    """
    return _check(_syscall(ctypes.c_long(number), *args), what)


class PreparedCall:
    """A system call whose arguments are ready, so that a forked child has little to do but make it.

    Args:
        number: Of the call.
        what: Text of the error.
        args: Its arguments, as ctypes objects.
    """

    def __init__(self, number: int, what: str, *args: object) -> None:
        self.args = (ctypes.c_long(number), *args)
        self._what = what

    def make(self) -> int:
        """Make it.

        Raises:
            OSError: If the kernel refuses.
        """
        result: int = _syscall(*self.args)
        return result if result >= 0 else _check(result, self._what)


def prctl(option: int, value: int) -> None:
    """Set one of the process's own attributes by the kernel's number for it."""
    zero = ctypes.c_ulong(0)
    _check(_prctl(option, ctypes.c_ulong(value), zero, zero, zero), f"prctl({option})")


def prepare_prctl(option: int, *values: int) -> PreparedCall:
    """As `prctl`, to be made in a child."""
    arguments = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    return PreparedCall(_SYS_PRCTL, f"prctl({option})", ctypes.c_int(option), *arguments)


def move_descriptor(fd: int, least: int) -> int:
    """Give a descriptor another number, the lowest that is free from `least` on, and the old one back."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, least)
    os.close(fd)
    return moved


MODIFIED, CLOSED_AFTER_WRITING, CREATED, DELETED = 0x2, 0x8, 0x100, 0x200
_ATTRIBUTES, _MOVED = 0x4, 0xC0
_ANY_CHANGE = MODIFIED | _ATTRIBUTES | CLOSED_AFTER_WRITING | _MOVED | CREATED | DELETED


def notice_changes(directories: list[str]) -> int:
    """A descriptor that can be read, without waiting, once anything was changed in these directories (inotify(7)).

    What is written to a file through a mapping goes unseen until the file, which had to be opened for it, is closed.

    Raises:
        OSError: If the kernel grants no more of these.
    """
    fd = _check(_inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK), "inotify_init1")
    try:
        for directory in directories:
            _check(_inotify_add_watch(fd, directory.encode(), _ANY_CHANGE), f"inotify_add_watch {directory}")
    except BaseException:
        os.close(fd)
        raise
    return fd


_M_MXFAST = 1


def settle_heap() -> None:
    """Give memory that was freed back to the kernel, and have libc put none aside from here on, where it can.

    What was put aside is merged by whoever asks for a larger piece, in each fork anew.
    """
    set_option, trim = getattr(_libc, "mallopt", None), getattr(_libc, "malloc_trim", None)
    if set_option is not None:
        set_option(_M_MXFAST, 0)
    if trim is not None:
        trim(0)


def unshare(flags: int, what: str) -> None:
    """Leave namespaces for new ones."""
    _check(_unshare(flags), what)


def set_host_name(name: str) -> None:
    """Name the machine, as far as this namespace goes."""
    _check(_sethostname(name.encode(), ctypes.c_size_t(len(name))), "sethostname")


def setns(fd: int, flags: int) -> None:
    """Join the namespace that `fd` stands for."""
    _check(_setns(fd, flags), "setns")


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Mount a file system; the flags are those of the kernel."""
    encoded = [None if text is None else text.encode() for text in (source, target, kind, data)]
    _check(
        _mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]),
        f"mount {kind or source} on {target}",
    )


def umount(target: str) -> None:
    """Take a mount away; what still uses it keeps it alive, unseen."""
    _check(_umount2(target.encode(), MNT_DETACH), f"umount {target}")


def prepare_mount(target: str, kind: str, flags: int, data: str) -> PreparedCall:
    """A mount of a file system without a source, to be made again and again."""
    texts = [ctypes.c_char_p(text.encode()) for text in (kind, target, kind)]
    return PreparedCall(
        _SYS_MOUNT, f"mount {kind} on {target}", *texts, ctypes.c_ulong(flags), ctypes.c_char_p(data.encode())
    )


def prepare_umount(target: str) -> PreparedCall:
    """As `umount`, to be made again and again."""
    return PreparedCall(_SYS_UMOUNT2, f"umount {target}", ctypes.c_char_p(target.encode()), ctypes.c_int(MNT_DETACH))


class _MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def make_read_only(target: str, *, recursive: bool = False, devices: bool = False) -> None:
    """Make a mount read-only, without set-user-ID programs.

    Args:
        target: Where it is mounted.
        recursive: Whether also all mounts below it.
        devices: Whether device files work in it.
    """
    wanted = _MOUNT_ATTR_RDONLY | _MOUNT_ATTR_NOSUID | (0 if devices else _MOUNT_ATTR_NODEV)
    attributes = _MountAttributes(wanted, 0, 0, 0)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    flags = ctypes.c_uint(_AT_RECURSIVE if recursive else 0)
    what = f"mount_setattr {target}"
    syscall(_SYS_MOUNT_SETATTR, what, _AT_FDCWD, target.encode(), flags, ctypes.byref(attributes), size)


def pivot_root(new_root: str) -> None:
    """Make a directory, which must be a mount, the root, and take the old root away."""
    os.chdir(new_root)
    # With both the same, the old root ends up on top of the new one, and goes from there.
    syscall(_SYS_PIVOT_ROOT, "pivot_root", b".", b".")
    umount(".")
    os.chdir("/")


class _CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


_Capabilities = ctypes.c_uint32 * 6
_header = _CapabilityHeader(0x20080522, 0)


class CapabilitySet:
    """The capabilities that a process shall keep, ready to be set in a child.

    Args:
        kept: Numbers of capabilities; all others are given up for good.
    """

    def __init__(self, *kept: int) -> None:
        high, low = divmod(sum(1 << number for number in kept), 1 << 32)
        # Effective, permitted, inheritable; first the low 32 bits of each, then the high ones.
        self._data = _Capabilities(low, low, low, high, high, high)
        call = PreparedCall(_SYS_CAPSET, "capset", ctypes.byref(_header), ctypes.byref(self._data))
        ambient = [prepare_prctl(_PR_CAP_AMBIENT, _AMBIENT_RAISE, number) for number in kept]
        self.calls = (call, *ambient)
        """What sets them, in this order; what is kept is kept by programs that are executed, too."""

    @classmethod
    def full(cls) -> CapabilitySet:
        """All that the process is permitted."""
        data = _Capabilities()
        _check(_capget(ctypes.byref(_header), ctypes.byref(data)), "capget")
        permitted = data[1] | data[4] << 32
        return cls(*[number for number in range(64) if permitted >> number & 1])

    def apply(self) -> None:
        """Give up all others."""
        for call in self.calls:
            call.make()
