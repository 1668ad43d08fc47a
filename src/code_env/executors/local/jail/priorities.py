"""Which system calls for priorities a program may make, for the filters in `seccomp.py`.

The limit on wall time leaves out time in which a program was ready to run and had no core. A program that could ask to
run last would often have no core on a busy machine, and could stay far beyond its limit. So programs keep the priority
and the policy that they start with.

Lowering a priority reports success and has no effect: programs that call `nice` only mean to be polite. Raising it
fails, as it does for any ordinary user.
"""

from __future__ import annotations

import errno

from .bpf import ALLOW, Decision, Step, failure

_SETPRIORITY, _SETSCHEDULER, _SETATTR, _IOPRIO = (141, 140), (144, 119), (314, 274), (251, 30)
"""The numbers of the calls on x86_64 and on aarch64."""

_REFUSE = failure(errno.EPERM)
_OF_ITSELF = Step(0, (0,), otherwise=_REFUSE)
_ONLY_LOWER = Step(2, mask=1 << 31, then=failure(errno.EACCES), otherwise=failure(0))
"""A third argument below zero asks for a higher priority."""
_ONLY_OTHER = Step(1, (0, 0x40000000), then=ALLOW, otherwise=_REFUSE)
"""SCHED_OTHER, which every program has from its start, with or without SCHED_RESET_ON_FORK."""

OF_PROGRAMS: list[tuple[tuple[int, int], Decision]] = [
    # Only PRIO_PROCESS for the caller reports success.
    (_SETPRIORITY, (_OF_ITSELF, Step(1, (0,), otherwise=_REFUSE), _ONLY_LOWER)),
    (_SETSCHEDULER, (_OF_ITSELF, _ONLY_OTHER)),
    # The policy and the priority lie in memory, which a filter cannot read.
    (_SETATTR, _REFUSE),
    (_IOPRIO, _REFUSE),
]
"""What the programs of a worker may ask for. The calls for reading are allowed."""

OF_BOXES: list[tuple[tuple[int, int], Decision]] = [
    (_SETPRIORITY, (_ONLY_LOWER,)),
    (_SETSCHEDULER, (_ONLY_OTHER,)),
    (_SETATTR, _REFUSE),
]
"""What the commands of a box may ask for, which see only their own processes."""
