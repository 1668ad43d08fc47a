"""The system call filters: what no program may ask of the kernel, whatever other layers allow.

A program has two filters, or three where there is a listener:

* A worker installs `base_filter` once, and all programs inherit it. It denies calls that reach beyond the sandbox or
  avoid its accounting. `mount` and `umount2` stay allowed, because the worker itself needs them.
* The process that becomes the program installs `program_filter`. It denies `mount` and `umount2`. It also decides on
  new processes: they fail with EAGAIN, as with a process limit, or the listener that counts them decides
  (`code_env_harness.process.forks`). Threads are not processes. The filter also denies the calls that installed it: a
  filter of the program's own would be memory that nobody counts. Where there is a listener, the process must send it to
  its parent first. After that, `last_filter` denies sending and further filters.

The commands of a box have only `box_filter`.

Both levels rely on these filters. At `contained` there are no namespaces, so only the filters keep programs from the
network, shared memory and other processes' attributes, and from signals where Landlock is older than version 6.
"""

from __future__ import annotations

import errno
import signal
from _socket import AF_INET, AF_INET6, AF_NETLINK, AF_UNIX, SOCK_SEQPACKET, SOCK_STREAM

from . import priorities
from .bpf import ALLOW, NOTIFY, Decision, Filter, Step, failure
from .linux import (
    CLONE_NEWCGROUP,
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    MACHINE,
)

# The column of each architecture in the tables below.
_COLUMN = {"x86_64": 0, "aarch64": 1}

_NAMESPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET
_CLONE_FILES = 0x400
_CLONE_THREAD = 0x10000

# The number of a call on x86_64 and on aarch64; None where an architecture does not have the call.
_Numbers = tuple[int | None, int | None]

_NETWORK: dict[str, _Numbers] = {
    # Socket pairs stay allowed: asyncio needs them, and they do not lead out of the sandbox.
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    "sendmmsg": (307, 269),
}

_DENIED: dict[str, _Numbers] = {
    # Memory and queues that outlive a process, or that the kernel charges to no process.
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "mq_timedsend": (242, 182),
    "mq_timedreceive": (243, 183),
    "mq_notify": (244, 184),
    "mq_getsetattr": (245, 185),
    "memfd_secret": (447, 447),
    "vmsplice": (278, 75),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # Namespaces, and a descriptor table for a single thread: its open files do not show in the process's /proc entry.
    "unshare": (272, 97),
    # Other processes.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    # Parts of the kernel through which programs have escaped before, or that act on the whole machine.
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_setup": (206, 0),
    "io_submit": (209, 2),
    "io_destroy": (207, 1),
    "io_getevents": (208, 4),
    "io_cancel": (210, 3),
    "io_pgetevents": (333, 292),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "pivot_root": (155, 41),
    "setns": (308, 268),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "create_module": (174, None),
    "init_module": (175, 105),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "syslog": (103, 116),
    "vhangup": (153, 58),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "personality": (135, 92),
    "uselib": (134, None),
    "ustat": (136, None),
    "sysfs": (139, None),
    "_sysctl": (156, None),
    "nfsservctl": (180, 42),
    "lookup_dcookie": (212, 18),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
}

_UNSUPPORTED: dict[str, _Numbers] = {
    # Programs that copy files also try to copy attributes. They continue without this when it is not supported.
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
}

_FOREIGN_ATTRIBUTES: dict[str, _Numbers] = {
    # These calls read attributes by path, and need no right to read the file.
    "getxattr": (191, 8),
    "lgetxattr": (192, 9),
    "listxattr": (194, 11),
    "llistxattr": (195, 12),
}

_BY_REFERENCE: dict[str, _Numbers] = {
    # With these calls, one byte in a pipe or a socket can keep a whole page in memory. After its file is truncated,
    # no process is charged for the page. The calls fail as if the descriptors did not support them, so callers copy.
    "splice": (275, 76),
    "tee": (276, 77),
    "sendfile": (40, 71),
}

_FOR_THE_MACHINE: dict[str, _Numbers] = {
    # These write to disk what all processes of the machine have written, and wait for that.
    "sync": (162, 81),
    "syncfs": (306, 267),
    # With these, a program could take all memory of one node, to which other processes can be bound.
    "mbind": (237, 235),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
}

_ABSENT: dict[str, _Numbers] = {
    # Its flags lie in memory, which a filter cannot read. When the call is missing, libc uses clone.
    "clone3": (435, 435),
}


_REFUSE = failure(errno.EPERM)

_ONLY_SELF = (Step(0, (0,), then=ALLOW, otherwise=_REFUSE),)
"""For calls whose first argument is a process id: only 0, the caller, is allowed."""

_FCNTL: _Numbers = (72, 25)
_SET_LOCK = (6, 7)
"""F_SETLK and F_SETLKW: locks on parts of a file. Each takes kernel memory that no process is charged for."""

_CONDITIONAL: dict[str, tuple[_Numbers, tuple[Step, ...]]] = {
    "clone": ((56, 220), (Step(0, mask=_NAMESPACES, then=_REFUSE, otherwise=ALLOW),)),
    # CLOSE_RANGE_UNSHARE is denied for the same reason as "unshare" above.
    "close_range": ((436, 436), (Step(2, mask=2, then=_REFUSE, otherwise=ALLOW),)),
    # Only connected kinds are allowed: a program could send to any address on a datagram socket.
    "socketpair": (
        (53, 199),
        (
            Step(0, (AF_UNIX,), otherwise=_REFUSE),
            Step(1, (SOCK_STREAM, SOCK_SEQPACKET), mask=0xF, then=ALLOW, otherwise=_REFUSE),
        ),
    ),
    "prlimit64": ((302, 261), _ONLY_SELF),
    "sched_setaffinity": ((203, 122), _ONLY_SELF),
    "sched_setparam": ((142, 118), _ONLY_SELF),
    # F_SETOWN, F_SETSIG and F_SETOWN_EX send signals to other processes. F_SETPIPE_SZ takes memory that nobody counts.
    # F_SETLEASE makes other processes wait when they open the file. F_NOTIFY shows what other processes do with files.
    # F_SET_RW_HINT and F_SET_FILE_RW_HINT leave a number at a directory, and inotify(7) does not report it.
    # F_OFD_SETLK, F_OFD_SETLKW: a mapping keeps these locks when their file is closed, so nothing bounds their number.
    "fcntl": (
        _FCNTL,
        (
            Step(1, (8, 10, 15, 1024, 1026, 1031, 1036, 1038), then=_REFUSE),
            Step(1, (37, 38), then=failure(errno.EINVAL), otherwise=ALLOW),
        ),
    ),
    # MEMBARRIER_CMD_GLOBAL, _GLOBAL_EXPEDITED and the registration for it interrupt cores that run other processes.
    "membarrier": ((324, 283), (Step(0, (1, 2, 4), then=failure(errno.EINVAL), otherwise=ALLOW),)),
    # After POSIX_FADV_DONTNEED, MADV_COLD or MADV_PAGEOUT, other processes would have to read the file from disk again.
    "fadvise64": ((221, 223), (Step(3, (4,), then=failure(0), otherwise=ALLOW),)),
    # MADV_COLLAPSE makes huge pages, which are switched off in `worker.py`.
    "madvise": (
        (28, 233),
        (Step(2, (20, 21), then=failure(0)), Step(2, (25,), then=failure(errno.EINVAL), otherwise=ALLOW)),
    ),
    "ioctl": (
        (16, 29),
        (
            # All requests for sockets: FIOSETOWN, SIOCSPGRP, and those that describe the host's network.
            Step(1, (0x8900,), mask=0xFFFFFF00, then=_REFUSE),
            # TIOCSTI and TIOCLINUX. FS_IOC_SETFLAGS, _SETVERSION, _FSSETXATTR, _ENABLE_VERITY, _SET_ENCRYPTION_POLICY,
            # which need no right to write to the file.
            Step(
                1,
                (0x5412, 0x541C, 0x40086602, 0x40087602, 0x401C5820, 0x40806685, 0x800C6613),
                then=_REFUSE,
                otherwise=ALLOW,
            ),
        ),
    ),
    "mmap": (
        (9, 222),
        (
            # MAP_HUGETLB takes pages from a pool that no limit covers. MAP_GROWSDOWN makes a stack, which RLIMIT_DATA
            # does not count.
            Step(3, mask=0x40100, then=failure(errno.ENOMEM)),
            # MAP_ANONYMOUS with MAP_SHARED: this memory can stay when a process no longer maps it, and then no process
            # is charged for it. A single page is allowed, for programs that check whether such mappings work.
            Step(3, (0x21, 0x23), mask=0x2F, otherwise=ALLOW),
            Step(1, (0,), high=True, otherwise=failure(errno.ENOMEM)),
            Step(1, (0x1000,), then=ALLOW),
            Step(1, mask=~0xFFF & 0xFFFFFFFF, then=failure(errno.ENOMEM), otherwise=ALLOW),
        ),
    ),
    # Options that take no memory: SO_KEEPALIVE, SO_LINGER, SO_PASSCRED, SO_RCVLOWAT, SO_RCVTIMEO and SO_SNDTIMEO, both
    # with two numbers. Others take kernel memory that no process is charged for: buffers, and filters (SO_ATTACH_FILTER
    # and its kin), whose compiled code comes from one budget for the whole machine.
    "setsockopt": (
        (54, 208),
        (Step(2, (9, 13, 16, 18, 20, 21, 66, 67), then=ALLOW, otherwise=failure(errno.ENOPROTOOPT)),),
    ),
}

_SIGNALS: dict[str, _Numbers] = {
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
}
"""Calls that send a signal to the process, or the thread, that their first argument names."""

_PIDFD_SEND_SIGNAL: _Numbers = (424, 424)


def signal_calls() -> frozenset[int]:
    """Return the numbers of the calls that send a signal to the process, or the thread, of their first argument."""
    return frozenset(_numbers(_SIGNALS))


_ATTRIBUTES: dict[str, _Numbers] = {
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "chown": (92, None),
    "lchown": (94, None),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
}
"""Changes to files that Landlock does not control."""

_SOCKETS = (
    _NETWORK["socket"],
    # Other families are not bound to a network namespace (AF_VSOCK reaches the machine's host), or act on the kernel.
    (Step(0, (AF_UNIX, AF_INET, AF_INET6, AF_NETLINK), then=ALLOW, otherwise=failure(errno.EAFNOSUPPORT)),),
)

_SOCKET_OPTIONS = (
    _CONDITIONAL["setsockopt"][0],
    (
        # SO_ATTACH_FILTER, _BPF, _REUSEPORT_CBPF and _REUSEPORT_EBPF.
        Step(2, (26, 50, 51, 52), then=_REFUSE),
        # SO_SNDBUF, SO_RCVBUF and their FORCE forms: servers that ask for larger buffers go on without them.
        Step(2, (7, 8, 32, 33), then=failure(0), otherwise=ALLOW),
    ),
)

_OWNERS: dict[str, _Numbers] = {
    **{name: _ATTRIBUTES[name] for name in ("chown", "lchown", "fchown", "fchownat")},
    "setgroups": (116, 159),
    "setuid": (105, 146),
    "setgid": (106, 144),
    "setreuid": (113, 145),
    "setregid": (114, 143),
    "setresuid": (117, 147),
    "setresgid": (119, 149),
}

_SIGACTION: _Numbers = (13, 134)
_ENDS_OF_CHILDREN = (
    Step(0, (signal.SIGCHLD,), otherwise=ALLOW),
    Step(1, mask=0xFFFFFFFF, then=NOTIFY),
    Step(1, mask=0xFFFFFFFF, high=True, then=NOTIFY, otherwise=ALLOW),  # Without a new action, the call only reads.
)
"""A process that ignores SIGCHLD hides what its children have used: see `code_env.harness.process.ends_of_children`."""

_TRUNCATE: dict[str, _Numbers] = {"truncate": (76, 45)}

_WORKERS_OWN: dict[str, _Numbers] = {"mount": (165, 40), "umount2": (166, 39)}

_HARNESS_OWN: dict[str, _Numbers] = {
    # No process is charged for this memory while it is not mapped. The harness puts test inputs there.
    "memfd_create": (319, 279),
    # These show what other processes do with the same files. The harness uses them to learn that a test has left its
    # directory unchanged. Linux allows each user only few of these.
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27),
}

_SENDING: dict[str, _Numbers] = {
    # Messages can carry descriptors. On their way these are open but belong to no process. So nobody can find their
    # files, and they count for all processes of the user, those outside too.
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
}

_LAYERS: dict[str, _Numbers] = {
    # Filters and rules take kernel memory that no process is charged for. The compiled code of filters comes from one
    # budget for the whole machine.
    "seccomp": (317, 277),
    "landlock_create_ruleset": (444, 444),
    "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446),
}

_PRCTL: _Numbers = (157, 167)
_SET_VMA = 0x53564D41
_OPTIONS = (
    Step(
        0,
        (1, 2, 3, 15, 16, 21, 23, 27, 29, 30, 36, 37, 38, 39, 40, 42, 47, 50, 51, _SET_VMA),
        then=ALLOW,
        otherwise=failure(errno.EINVAL),
    ),
)
"""The options that programs need: names, signals at the parent's death, orphans, timer slack, vectors of aarch64, and
what only reads. Others fail as in a kernel that does not know them. Among them are PR_SET_DUMPABLE and PR_SET_MM, which
hide a process from the processes that measure it; PR_SET_SECCOMP, for the same reason as `_LAYERS`;
PR_SET_THP_DISABLE, which switches huge pages on again; PR_SET_MEMORY_MERGE, which makes the kernel search for pages
that other processes hold too; PR_SCHED_CORE, which keeps others from a core; PR_FUTEX_HASH, which takes a gigabyte."""

_FORK: dict[str, _Numbers] = {"fork": (57, None), "vfork": (58, None)}


def base_filter() -> Filter:
    """Return the filter that a worker installs for itself and for all programs that it will run."""
    decisions = _each(_NETWORK | _DENIED, _REFUSE)
    decisions |= _each(_UNSUPPORTED, failure(errno.ENOTSUP))
    decisions |= _each(_ABSENT, failure(errno.ENOSYS))
    decisions |= _each(_BY_REFERENCE, failure(errno.EINVAL))
    decisions |= _each(_FOR_THE_MACHINE, failure(0))
    for numbers, decision in (*_CONDITIONAL.values(), *priorities.OF_PROGRAMS):
        decisions |= _one(numbers, decision)
    return Filter(decisions)


def box_filter() -> Filter:
    """Return the filter for the commands of a box, which run as root of its namespaces, with one user in them.

    Changes of owner and of user report success and do nothing: there is nobody else to become.
    """
    decisions = _each(_DENIED | _WORKERS_OWN | _HARNESS_OWN, _REFUSE)
    decisions |= _each(_ABSENT, failure(errno.ENOSYS))
    decisions |= _each(_UNSUPPORTED, failure(errno.ENOTSUP))
    decisions |= _each(_OWNERS, failure(0))
    for numbers, decision in (_CONDITIONAL["clone"], _SOCKETS, _SOCKET_OPTIONS, *priorities.OF_BOXES):
        decisions |= _one(numbers, decision)
    return Filter(decisions)


def program_filter(
    *,
    counted: bool,
    shared_files: bool = False,
    shared_user: bool = False,
    truncates: bool = True,
    signals_of: int | None = None,
    asks_for_signals: bool = False,
    hears_of_children: bool = False,
) -> Filter:
    """Return the filter that a process installs before it becomes a program.

    Args:
        counted: Whether a listener decides on each process that the program wants to start, and counts its locks on
            files. Otherwise the program may start no processes, and calls that take locks report success and take none.
        shared_files: Whether the program sees the host's files. Then the filter hides their extended attributes.
        shared_user: Whether the program runs as the same user as the trainer, on the same files. Then changes of mode,
            owner and times report success and do nothing: programs that copy files continue, and no files of others
            change.
        truncates: Whether the program may truncate files by name. Landlock decides on that from its version 3 on.
        signals_of: The pid of the process itself, where no other layer keeps signals in. The process may then send
            signals only to itself and to its own process group.
        asks_for_signals: Whether the listener decides on each signal that the program sends.
        hears_of_children: Whether the listener does not decide on what happens when a child ends. Some interpreters
            choose it with several threads. A program that ignores its children hides what they have used.
    """
    start = NOTIFY if counted else failure(errno.EAGAIN)
    decisions = _each(_WORKERS_OWN | _HARNESS_OWN, _REFUSE)
    decisions |= _each(_FORK, start)
    clone = (
        Step(0, mask=_NAMESPACES, then=_REFUSE),
        # A thread has no descriptor table of its own: see "unshare" above. And processes share none: one could close
        # what another waits for, see `code_env_harness.process.held_files`.
        Step(0, (0,), mask=_CLONE_THREAD | _CLONE_FILES, then=start),
        Step(0, (_CLONE_THREAD | _CLONE_FILES,), mask=_CLONE_THREAD | _CLONE_FILES, then=ALLOW, otherwise=_REFUSE),
    )
    decisions |= _one(_CONDITIONAL["clone"][0], clone)
    # Such locks never conflict within one process. Without other processes it makes no difference not to take them.
    lock = NOTIFY if counted else failure(0)
    decisions |= _one(_FCNTL, (Step(1, _SET_LOCK, then=lock, otherwise=ALLOW),))
    decisions |= _one(_PRCTL, _OPTIONS)
    if counted and not hears_of_children:
        decisions |= _one(_SIGACTION, _ENDS_OF_CHILDREN)
    if not counted:
        decisions |= _each(_SENDING | _LAYERS, _REFUSE)
    if shared_files:
        decisions |= _each(_FOREIGN_ATTRIBUTES, failure(errno.ENOTSUP))
    if not truncates:
        decisions |= _each(_TRUNCATE, _REFUSE)
    if shared_user:
        decisions |= _each(_ATTRIBUTES, failure(0))
    if asks_for_signals:
        decisions |= _each(_SIGNALS, NOTIFY)
        decisions |= _one(_PIDFD_SEND_SIGNAL, _REFUSE)
    elif signals_of is not None:
        # 0 means the process group, and the program has a group of its own.
        decisions |= _each(_SIGNALS, (Step(0, (signals_of, 0), then=ALLOW, otherwise=_REFUSE),))
        decisions |= _one(_PIDFD_SEND_SIGNAL, _REFUSE)
    return Filter(decisions)


def last_filter() -> Filter:
    """Return the filter that a process with a listener installs after it has sent the listener to its parent."""
    return Filter(_each(_SENDING | _LAYERS, _REFUSE))


def _each(calls: dict[str, _Numbers], decision: Decision) -> dict[int, Decision]:
    """Return the same decision for each of these calls."""
    return dict.fromkeys(_numbers(calls), decision)


def _one(numbers: _Numbers, decision: Decision) -> dict[int, Decision]:
    """Return the decision for one call."""
    return _each({"": numbers}, decision)


def _numbers(names: dict[str, _Numbers]) -> list[int]:
    column = _COLUMN[MACHINE]
    return [numbers[column] for numbers in names.values() if numbers[column] is not None]  # type: ignore[misc]
