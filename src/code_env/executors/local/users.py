"""The users that programs run as: if the trainer is root, user ids that nothing else uses."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence

_USERS_FROM_WIDE, _USERS_EACH, _MOST_TRAINERS = 1_000_000_000, 4096, 250_000
"""Where there are many user ids: the first one, how many each trainer has, and how many trainers have their own."""

_USERS_FROM_NARROW, _NARROW = 30_000, 30_000
"""Where there are few, as in a container: the first one, and how many all trainers share."""

users_taken = itertools.count()
"""Counts the workers of all executors in this process. Each worker has a user of its own."""


def own_users() -> Sequence[int] | None:
    """Return user ids that nothing else uses, for the programs of a trainer that is root; None if there are none.

    They depend on the trainer's pid, so that two trainers on a machine use different ids.
    """
    if os.geteuid() != 0:
        return None
    with open("/proc/self/uid_map") as file:
        mapped = max(int(line.split()[0]) + int(line.split()[2]) for line in file)
    if mapped > 1 << 31:
        first = _USERS_FROM_WIDE + os.getpid() % _MOST_TRAINERS * _USERS_EACH
        return range(first, first + _USERS_EACH)
    if mapped >= _USERS_FROM_NARROW + _NARROW:
        return [_USERS_FROM_NARROW + (os.getpid() * 64 + n) % _NARROW for n in range(_NARROW)]
    return None  # The trainer is root in a user namespace that has too few user ids.


def box_user() -> tuple[int, int]:
    """Return the user and the group that own the files of images, and that boxes run as, as seen from outside.

    If the trainer is root, this is a user who is nobody else, so that a box that leaves its namespaces finds nothing of
    its own outside.
    """
    if os.geteuid() != 0:
        return os.getuid(), os.getgid()
    users = own_users()
    if users is None:
        return 0, 0
    user = (_USERS_FROM_WIDE if users[0] >= _USERS_FROM_WIDE else _USERS_FROM_NARROW) - 1
    return user, user


def programs_user() -> tuple[int, int]:
    """Return the user and the group that programs run as at level `full`, as seen from outside the jail."""
    users = own_users()
    return (os.getuid(), os.getgid()) if users is None else (users[0], users[0])
