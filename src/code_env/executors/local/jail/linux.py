"""System calls that the standard library lacks, and numbers that belong to the kernel.

All functions of libc are looked up when this module is imported. A lookup in a forked child would touch memory pages,
and the copies of these pages would cost a tenth of a fork.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
from typing import Any

MACHINE = os.uname().machine
"""Name of the processor architecture."""

# PyDLL does not release the interpreter's lock: these calls are short, and the jail has one thread.
_libc = ctypes.PyDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long
syscall_function = _syscall
"""The function of libc, to be called with `PreparedCall.args` where even a method call costs too much."""
# Systems other than Linux have no such functions. The executor imports this module there as well, to say so.
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
_PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_SET_THP_DISABLE = 41

CAP_DAC_READ_SEARCH = 2

_PR_CAP_AMBIENT, _AMBIENT_RAISE = 47, 2

_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_MOUNT_ATTR_RDONLY, _MOUNT_ATTR_NOSUID, _MOUNT_ATTR_NODEV = 1, 2, 4
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}.get(MACHINE, -1)
_SYS_MOUNT = {"x86_64": 165, "aarch64": 40}.get(MACHINE, -1)
_SYS_UMOUNT2 = {"x86_64": 166, "aarch64": 39}.get(MACHINE, -1)
_SYS_PRCTL = {"x86_64": 157, "aarch64": 167}.get(MACHINE, -1)
_SYS_CAPSET = {"x86_64": 126, "aarch64": 91}.get(MACHINE, -1)
_SYS_MOUNT_SETATTR = 442  # This call and all newer ones have the same number on every machine.


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
    """A system call whose arguments are ready, so that a forked child only has to make the call.

    Args:
        number: The number of the call.
        what: The text of the error.
        args: The arguments of the call, as ctypes objects.
    """

    def __init__(self, number: int, what: str, *args: object) -> None:
        self.args = (ctypes.c_long(number), *args)
        self._what = what

    def make(self) -> int:
        """Make the call.

        Raises:
            OSError: If the kernel refuses.
        """
        result: int = _syscall(*self.args)
        return result if result >= 0 else _check(result, self._what)


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process; `option` is the kernel's number for the attribute."""
    zero = ctypes.c_ulong(0)
    _check(_prctl(option, ctypes.c_ulong(value), zero, zero, zero), f"prctl({option})")


def prepare_prctl(option: int, *values: int) -> PreparedCall:
    """As `prctl`, but return the call, for a child to make."""
    arguments = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    return PreparedCall(_SYS_PRCTL, f"prctl({option})", ctypes.c_int(option), *arguments)


def move_descriptor(fd: int, least: int) -> int:
    """Move a descriptor to the lowest free number from `least` on, and close the old number. Return the new one."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, least)
    os.close(fd)
    return moved


MODIFIED, CLOSED_AFTER_WRITING, CREATED, DELETED, NOTICES_DROPPED = 0x2, 0x8, 0x100, 0x200, 0x4000
MOVED, MOVED_ITSELF, _ATTRIBUTES = 0xC0, 0x800, 0x4
_ANY_CHANGE = MODIFIED | _ATTRIBUTES | CLOSED_AFTER_WRITING | MOVED | CREATED | DELETED


def notice_changes(directories: list[str]) -> int:
    """Return a non-blocking descriptor that becomes readable when anything changes in these directories (inotify(7)).

    The kernel does not report writes through a mapping. It reports when the file, which must have been opened for
    writing, is closed.

    Raises:
        OSError: If the kernel grants no more inotify instances or watches.
    """
    fd = _check(_inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK), "inotify_init1")
    try:
        for directory in directories:
            notice(fd, directory, _ANY_CHANGE)
    except BaseException:
        os.close(fd)
        raise
    return fd


def notice(fd: int, path: str, events: int) -> int:
    """Have a descriptor of `notice_changes` report some events of one more path; return the number of the watch.

    Raises:
        OSError: If the kernel grants no more watches.
    """
    return _check(_inotify_add_watch(fd, os.fsencode(path), events), f"inotify_add_watch {path}")


_M_MXFAST = 1


def settle_heap() -> None:
    """Return freed memory to the kernel, and turn off libc's lists of small freed blocks, where libc allows it.

    libc merges the blocks on these lists when a larger block is requested, and each fork would do this again.
    """
    set_option, trim = getattr(_libc, "mallopt", None), getattr(_libc, "malloc_trim", None)
    if set_option is not None:
        set_option(_M_MXFAST, 0)
    if trim is not None:
        trim(0)


def unshare(flags: int, what: str) -> None:
    """Leave the current namespaces of the given kinds for new ones."""
    _check(_unshare(flags), what)


def set_host_name(name: str) -> None:
    """Set the host name in this namespace."""
    _check(_sethostname(name.encode(), ctypes.c_size_t(len(name))), "sethostname")


def setns(fd: int, flags: int) -> None:
    """Join the namespace that `fd` refers to."""
    _check(_setns(fd, flags), "setns")


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Mount a file system; `flags` are the kernel's MS_ flags."""
    encoded = [None if text is None else text.encode() for text in (source, target, kind, data)]
    _check(
        _mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]),
        f"mount {kind or source} on {target}",
    )


def umount(target: str) -> None:
    """Detach a mount. It stays alive, unseen, as long as something uses it."""
    _check(_umount2(target.encode(), MNT_DETACH), f"umount {target}")


def prepare_mount(target: str, kind: str, flags: int, data: str) -> PreparedCall:
    """Prepare a call that mounts a file system without a source; the call can be made many times."""
    texts = [ctypes.c_char_p(text.encode()) for text in (kind, target, kind)]
    return PreparedCall(
        _SYS_MOUNT, f"mount {kind} on {target}", *texts, ctypes.c_ulong(flags), ctypes.c_char_p(data.encode())
    )


def prepare_umount(target: str) -> PreparedCall:
    """As `umount`, but return the call, which can be made many times."""
    return PreparedCall(_SYS_UMOUNT2, f"umount {target}", ctypes.c_char_p(target.encode()), ctypes.c_int(MNT_DETACH))


class _MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def make_read_only(target: str, *, recursive: bool = False, devices: bool = False) -> None:
    """Make a mount read-only, without set-user-ID programs.

    Args:
        target: The mount point.
        recursive: Whether to change all mounts below it too.
        devices: Whether device files work in it.
    """
    wanted = _MOUNT_ATTR_RDONLY | _MOUNT_ATTR_NOSUID | (0 if devices else _MOUNT_ATTR_NODEV)
    attributes = _MountAttributes(wanted, 0, 0, 0)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    flags = ctypes.c_uint(_AT_RECURSIVE if recursive else 0)
    what = f"mount_setattr {target}"
    syscall(_SYS_MOUNT_SETATTR, what, _AT_FDCWD, target.encode(), flags, ctypes.byref(attributes), size)


def pivot_root(new_root: str) -> None:
    """Make a directory, which must be a mount point, the root, and detach the old root."""
    os.chdir(new_root)
    # With the same directory for both arguments, the old root is on top of the new one, and is detached there.
    syscall(_SYS_PIVOT_ROOT, "pivot_root", b".", b".")
    umount(".")
    os.chdir("/")


class _CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


_Capabilities = ctypes.c_uint32 * 6
_header = _CapabilityHeader(0x20080522, 0)


class CapabilitySet:
    """The capabilities that a process keeps, ready to be set in a child.

    Args:
        kept: Numbers of the capabilities to keep; all others are given up for good.
    """

    def __init__(self, *kept: int) -> None:
        high, low = divmod(sum(1 << number for number in kept), 1 << 32)
        # The low 32 bits of effective, permitted and inheritable capabilities, then the high 32 bits of each.
        self._data, self._kept = _Capabilities(low, low, low, high, high, high), kept
        call = PreparedCall(_SYS_CAPSET, "capset", ctypes.byref(_header), ctypes.byref(self._data))
        ambient = [prepare_prctl(_PR_CAP_AMBIENT, _AMBIENT_RAISE, number) for number in kept]
        self.calls = (call, *ambient)
        """The calls that set them, in this order. Programs that this process executes keep them too."""

    @classmethod
    def full(cls) -> CapabilitySet:
        """Return the set of all capabilities that this process is permitted."""
        data = _Capabilities()
        _check(_capget(ctypes.byref(_header), ctypes.byref(data)), "capget")
        permitted = data[1] | data[4] << 32
        return cls(*[number for number in range(64) if permitted >> number & 1])

    def apply(self) -> None:
        """Keep these capabilities and give up all others."""
        for call in self.calls:
            call.make()

    def bound(self) -> None:
        """Keep root from getting any other capability when it executes a program."""
        for number in range(64):
            if number not in self._kept:
                with contextlib.suppress(OSError):  # The kernel knows fewer.
                    prctl(_PR_CAPBSET_DROP, number)
