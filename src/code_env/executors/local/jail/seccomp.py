"""The system call filters: what no program may ask of the kernel, whatever else holds.

Two filters:

* `base_filter` is installed once, in a worker, and inherited by all programs. It denies what reaches beyond
  the sandbox or around its accounting. `mount` and `umount2` stay open, for the worker itself.
* `program_filter` is installed in the process that becomes the program. It closes those, and
  starting processes: refused with EAGAIN, as a process limit would, or handed to the listener that
  counts them (`code_env_harness.process.forks`). Threads are not processes. It also closes what it was installed
  with: a filter of the program's own would be memory that nobody counts. The listener itself has to be sent
  first, so what closes sending and further filters comes after it then (`last_filter`).

Who relies on this: both levels. At `contained` there are no namespaces, so here alone the network, shared
memory, signals and other processes' attributes are kept away.
"""

from __future__ import annotations

import errno
import signal
from _socket import AF_UNIX, SOCK_SEQPACKET, SOCK_STREAM

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

# Column of each machine in the tables below.
_COLUMN = {"x86_64": 0, "aarch64": 1}

_NAMESPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET
_CLONE_FILES = 0x400
_CLONE_THREAD = 0x10000

# Number on x86_64 and on aarch64; None where a machine has no such call.
_Numbers = tuple[int | None, int | None]

_DENIED: dict[str, _Numbers] = {
    # The network. A socket pair, which asyncio needs, is no way out.
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    "sendmmsg": (307, 269),
    # Memory and queues that outlive a process or are charged to nobody.
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
    # Namespaces, and a table of descriptors for one thread: what is open there, nobody sees who looks at the process.
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
    # Parts of the kernel with a record of ways out, or that act on the whole machine.
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
    # Copying a file's attributes is a courtesy that callers do without when told so.
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
}

_FOREIGN_ATTRIBUTES: dict[str, _Numbers] = {
    # Read by path, without a right to read the file.
    "getxattr": (191, 8),
    "lgetxattr": (192, 9),
    "listxattr": (194, 11),
    "llistxattr": (195, 12),
}

_BY_REFERENCE: dict[str, _Numbers] = {
    # One byte may hold a whole page in a pipe or a socket, which nobody is charged for once its file is cut off.
    # Callers are told that it does not work with these descriptors, and copy instead.
    "splice": (275, 76),
    "tee": (276, 77),
    "sendfile": (40, 71),
}

_FOR_THE_MACHINE: dict[str, _Numbers] = {
    # Writes to disk what all others have written, and waits for it.
    "sync": (162, 81),
    "syncfs": (306, 267),
    # Takes all memory of one node, which others may be bound to.
    "mbind": (237, 235),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
}

_ABSENT: dict[str, _Numbers] = {
    # Its flags lie in memory, where a filter cannot look; libc then uses clone.
    "clone3": (435, 435),
}


_REFUSE = failure(errno.EPERM)

_ONLY_SELF = (Step(0, (0,), then=ALLOW, otherwise=_REFUSE),)
"""For calls whose first argument is a process: 0 is the caller."""

_FCNTL: _Numbers = (72, 25)
_SET_LOCK = (6, 7)
"""F_SETLK and F_SETLKW: locks on parts of a file, each of them memory of the kernel's that nobody is charged for."""

_CONDITIONAL: dict[str, tuple[_Numbers, tuple[Step, ...]]] = {
    "clone": ((56, 220), (Step(0, mask=_NAMESPACES, then=_REFUSE, otherwise=ALLOW),)),
    # CLOSE_RANGE_UNSHARE, as "unshare" above.
    "close_range": ((436, 436), (Step(2, mask=2, then=_REFUSE, otherwise=ALLOW),)),
    # Only connected kinds: a datagram socket could be sent to an address.
    "socketpair": (
        (53, 199),
        (
            Step(0, (AF_UNIX,), otherwise=_REFUSE),
            Step(1, (SOCK_STREAM, SOCK_SEQPACKET), mask=0xF, then=ALLOW, otherwise=_REFUSE),
        ),
    ),
    "prlimit64": ((302, 261), _ONLY_SELF),
    "sched_setaffinity": ((203, 122), _ONLY_SELF),
    "sched_setscheduler": ((144, 119), _ONLY_SELF),
    "sched_setparam": ((142, 118), _ONLY_SELF),
    "sched_setattr": ((314, 274), _ONLY_SELF),
    # PRIO_PROCESS and IOPRIO_WHO_PROCESS, of the caller.
    "setpriority": ((141, 140), (Step(0, (0,), otherwise=_REFUSE), Step(1, (0,), then=ALLOW, otherwise=_REFUSE))),
    "ioprio_set": ((251, 30), (Step(0, (1,), otherwise=_REFUSE), Step(1, (0,), then=ALLOW, otherwise=_REFUSE))),
    # F_SETOWN, F_SETSIG, F_SETOWN_EX send signals to others; F_SETPIPE_SZ takes memory that nobody counts;
    # F_SETLEASE makes others wait who open the file; F_NOTIFY tells who does.
    # F_OFD_SETLK, F_OFD_SETLKW: a mapping keeps these locks when their file is closed, so nothing bounds their number.
    "fcntl": (
        _FCNTL,
        (
            Step(1, (8, 10, 15, 1024, 1026, 1031), then=_REFUSE),
            Step(1, (37, 38), then=failure(errno.EINVAL), otherwise=ALLOW),
        ),
    ),
    # MEMBARRIER_CMD_GLOBAL, _GLOBAL_EXPEDITED and what registers for it: cores that run others are interrupted.
    "membarrier": ((324, 283), (Step(0, (1, 2, 4), then=failure(errno.EINVAL), otherwise=ALLOW),)),
    # POSIX_FADV_DONTNEED, MADV_COLD, MADV_PAGEOUT: what others have read of the file is to be read from disk again.
    "fadvise64": ((221, 223), (Step(3, (4,), then=failure(0), otherwise=ALLOW),)),
    "madvise": ((28, 233), (Step(2, (20, 21), then=failure(0), otherwise=ALLOW),)),
    "ioctl": (
        (16, 29),
        (
            # All that sockets have of their own: FIOSETOWN, SIOCSPGRP, and what tells of the host's network.
            Step(1, (0x8900,), mask=0xFFFFFF00, then=_REFUSE),
            # TIOCSTI, TIOCLINUX; FS_IOC_SETFLAGS, _SETVERSION, _FSSETXATTR, _ENABLE_VERITY, _SET_ENCRYPTION_POLICY,
            # which need no right to write.
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
            # MAP_HUGETLB: pages of a pool that no limit knows. MAP_GROWSDOWN: a stack, which RLIMIT_DATA leaves out.
            Step(3, mask=0x40100, then=failure(errno.ENOMEM)),
            # MAP_ANONYMOUS with MAP_SHARED: memory that stays where a process no longer maps it, and is charged to
            # nobody then. One page is for those who want to see that it works.
            Step(3, (0x21, 0x23), mask=0x2F, otherwise=ALLOW),
            Step(1, (0,), high=True, otherwise=failure(errno.ENOMEM)),
            Step(1, (0x1000,), then=ALLOW),
            Step(1, mask=~0xFFF & 0xFFFFFFFF, then=failure(errno.ENOMEM), otherwise=ALLOW),
        ),
    ),
    # SO_SNDBUF, SO_RCVBUF and those that go beyond the system's limits: memory of the kernel's.
    "setsockopt": ((54, 208), (Step(2, (7, 8, 32, 33), then=_REFUSE, otherwise=ALLOW),)),
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
"""Changes to files that Landlock does not decide on."""

_SIGACTION: _Numbers = (13, 134)
_WAITED_FOR = (Step(0, (signal.SIGCHLD,), then=failure(0), otherwise=ALLOW),)
"""Who ignores the end of its children hides what they have used: said to be done, and not done."""

_TRUNCATE: dict[str, _Numbers] = {"truncate": (76, 45)}

_WORKERS_OWN: dict[str, _Numbers] = {"mount": (165, 40), "umount2": (166, 39)}

_HARNESS_OWN: dict[str, _Numbers] = {
    # Memory that is charged to nobody while it is not mapped; the harness puts test inputs there.
    "memfd_create": (319, 279),
    # What others do with the same files; the harness learns from it that a test has left its directory as it was.
    # A user may have few of these.
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27),
}

_SENDING: dict[str, _Numbers] = {
    # Descriptors go along with messages. On their way they are open and nobody's: their files are not to be found, and
    # they count against all processes of the user, those outside too.
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
}

_LAYERS: dict[str, _Numbers] = {
    # Filters and rules are memory of the kernel's that nobody is charged for. What filters are compiled to comes out
    # of a budget that the whole machine has once.
    "seccomp": (317, 277),
    "landlock_create_ruleset": (444, 444),
    "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446),
}

_PRCTL: _Numbers = (157, 167)
_OPTIONS = (Step(0, (4, 22, 35, 67), then=_REFUSE, otherwise=ALLOW),)
"""PR_SET_DUMPABLE and PR_SET_MM hide a process from those who measure it, PR_SET_SECCOMP is as `_LAYERS`, and
PR_SET_MEMORY_MERGE has the machine look for what others hold too."""

_FORK: dict[str, _Numbers] = {"fork": (57, None), "vfork": (58, None)}


def base_filter() -> Filter:
    """What a worker installs for itself and for all programs it will run."""
    decisions: dict[int, Decision] = {}
    for names, decision in (
        (_DENIED, _REFUSE),
        (_UNSUPPORTED, failure(errno.ENOTSUP)),
        (_ABSENT, failure(errno.ENOSYS)),
        (_BY_REFERENCE, failure(errno.EINVAL)),
        (_FOR_THE_MACHINE, failure(0)),
    ):
        decisions |= dict.fromkeys(_numbers(names), decision)
    for numbers, steps in _CONDITIONAL.values():
        decisions |= dict.fromkeys(_numbers({"": numbers}), steps)
    return Filter(decisions)


def program_filter(
    *,
    counted: bool,
    shared_files: bool = False,
    shared_user: bool = False,
    truncates: bool = True,
    signals_of: int | None = None,
    hears_of_children: bool = False,
) -> Filter:
    """What the process installs that becomes a program.

    Args:
        counted: Whether a listener decides on each process that it wants to start, and counts its locks on files;
            else it may start none, and its locks are said to be taken, and are not.
        shared_files: Whether it has the host's files before it. Then they have no extended attributes.
        shared_user: Whether it is the same user as the trainer, on the same files. Then changes of mode, owner and
            times are said to be done, and are not: programs that copy files go on, and nobody else's change.
        truncates: Whether files may be cut off by name; Landlock decides on that from its version 3 on.
        signals_of: Where nothing else keeps signals in, the one process that may be sent any: itself.
        hears_of_children: Whether it may choose what happens when a child ends, as interpreters do that learn of it by
            a signal only. One that ignores its children hides what they have used.
    """
    start = NOTIFY if counted else failure(errno.EAGAIN)
    decisions: dict[int, Decision] = dict.fromkeys(_numbers(_WORKERS_OWN), _REFUSE)
    decisions |= dict.fromkeys(_numbers(_HARNESS_OWN), _REFUSE)
    decisions |= dict.fromkeys(_numbers(_FORK), start)
    # Such locks never conflict within one process: without others, not to take them makes no difference.
    lock = NOTIFY if counted else failure(0)
    decisions |= dict.fromkeys(_numbers({"": _FCNTL}), (Step(1, _SET_LOCK, then=lock, otherwise=ALLOW),))
    decisions |= dict.fromkeys(_numbers({"": _PRCTL}), _OPTIONS)
    clone = _CONDITIONAL["clone"][0][_COLUMN[MACHINE]]
    if clone is not None:
        decisions[clone] = (
            Step(0, mask=_NAMESPACES, then=_REFUSE),
            Step(0, mask=_CLONE_THREAD, otherwise=start),
            # As "unshare" above.
            Step(0, mask=_CLONE_FILES, then=ALLOW, otherwise=_REFUSE),
        )
    if counted and not hears_of_children:
        decisions |= dict.fromkeys(_numbers({"": _SIGACTION}), _WAITED_FOR)
    if not counted:
        decisions |= _last_decisions()
    if shared_files:
        decisions |= dict.fromkeys(_numbers(_FOREIGN_ATTRIBUTES), failure(errno.ENOTSUP))
    if not truncates:
        decisions |= dict.fromkeys(_numbers(_TRUNCATE), _REFUSE)
    if shared_user:
        decisions |= dict.fromkeys(_numbers(_ATTRIBUTES), failure(0))
    if signals_of is not None:
        # 0 is the process group, which is the program's own.
        own = (Step(0, (signals_of, 0), then=ALLOW, otherwise=_REFUSE),)
        decisions |= dict.fromkeys(_numbers(_SIGNALS), own)
        decisions |= dict.fromkeys(_numbers({"": _PIDFD_SEND_SIGNAL}), _REFUSE)
    return Filter(decisions)


def last_filter() -> Filter:
    """What a process whose forks are counted installs when it has sent their listener to its parent."""
    return Filter(_last_decisions())


def _last_decisions() -> dict[int, Decision]:
    return dict.fromkeys(_numbers(_SENDING | _LAYERS), _REFUSE)


def _numbers(names: dict[str, _Numbers]) -> list[int]:
    column = _COLUMN[MACHINE]
    return [numbers[column] for numbers in names.values() if numbers[column] is not None]  # type: ignore[misc]
