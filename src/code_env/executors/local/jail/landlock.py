"""Landlock: which files a process may use, independent of the rights of its user (landlock(7)).

A worker builds a ruleset once, at a place where the paths can be opened. A child then restricts itself to the ruleset
in one call. The ruleset handles all rights that the kernel knows, so everything that no rule grants is denied. The list
of these rights, below, grows with the version of the kernel's interface. From version 6 on, a restricted process can
send signals and connect to abstract sockets only within its own domain. In every version it can trace only processes
within its domain.

A rule on a directory holds for everything below it, across mounts that are made later. So a rule on a mount point's
parent holds for every file system that is mounted there after the ruleset was made.
"""

from __future__ import annotations

import ctypes
import os

from . import wire
from .linux import PreparedCall, move_descriptor, syscall

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE = 1 << 4, 1 << 5
MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_SYM = 1 << 7, 1 << 8, 1 << 9, 1 << 10, 1 << 12
REFER, TRUNCATE = 1 << 13, 1 << 14

READ = EXECUTE | READ_FILE | READ_DIR
"""Read, list and execute files."""

WORK = READ_FILE | READ_DIR | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO
WORK |= MAKE_SYM | REFER | TRUNCATE
"""Do everything with files except execute them."""

TRUNCATE_VERSION = 3
"""From this version on, Landlock controls the truncation of files."""

SIGNAL_SCOPE_VERSION = 6
"""From this version on, signals stay within a domain."""

_FILES_ONLY = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE

# File system rights by version; all later versions use the entry of the newest one here.
_HANDLED = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_NET_TCP = 0b11
_SCOPES = 0b11

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_RULE_PATH_BENEATH = 1
_VERSION = 1


def version() -> int:
    """Return the version of the kernel's interface.

    Raises:
        OSError: If the kernel has no Landlock, or Landlock is switched off.
    """
    return syscall(_CREATE, "landlock", None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))


class _Attributes(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("allowed", ctypes.c_uint64), ("parent_fd", ctypes.c_int32)]


class Ruleset:
    """Rules that a process may restrict itself to.

    Args:
        rules: Pairs of a path and the rights that are granted there and below; paths that do not exist are skipped.

    Raises:
        OSError: If the kernel refuses.
    """

    def __init__(self, rules: list[tuple[str, int]]) -> None:
        known = version()
        handled = self._handled = _HANDLED[min(known, max(_HANDLED))]
        attributes = _Attributes(handled, _NET_TCP if known >= 4 else 0, _SCOPES if known >= 6 else 0)
        size = 8 if known < 4 else 16 if known < 6 else 24
        fd = syscall(_CREATE, "landlock", ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0))
        # This keeps the low numbers free for descriptors that come with orders.
        self.fd = move_descriptor(fd, wire.OWN)
        self.restriction = PreparedCall(_RESTRICT, "landlock", ctypes.c_int(self.fd), ctypes.c_uint32(0))
        for path, rights in rules:
            self.allow(path, rights)

    def restrict(self) -> None:
        """Restrict this process, and all processes that it starts, to these rules."""
        self.restriction.make()

    def allow(self, path: str, rights: int) -> None:
        """Add a rule: these rights at a path and below; nothing if there is no such path."""
        rights &= self._handled
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return
        try:
            if not os.path.isdir(path):
                rights &= _FILES_ONLY
            rule = _PathBeneath(rights, fd)
            number = ctypes.c_int(_RULE_PATH_BENEATH)
            syscall(_ADD, f"landlock rule for {path}", self.fd, number, ctypes.byref(rule), ctypes.c_uint32(0))
        finally:
            os.close(fd)


def readable_but(path: str, masked: list[str]) -> list[tuple[str, int]]:
    """Return rules that make a path readable, except the contents of masked directories below it.

    Rights can only be added, so each entry beside a masked directory needs a rule of its own. Entries that are made
    there later are not readable. The paths must be real ones, without links.
    """
    if path in masked or not os.path.lexists(path):
        return []
    if not any(one.startswith(f"{path}/") for one in masked):
        return [(path, READ)]
    # A rule for a link would hold for the target of the link.
    entries = [entry.path for entry in os.scandir(path) if not entry.is_symlink()]
    return [(path, READ_DIR), *(rule for entry in entries for rule in readable_but(entry, masked))]
