"""How many cores this process may use: its affinity, and the quota of CPU time of the container that it runs in.

With more workers than a quota allows, all of them are stopped together for a part of each period, and their programs
run out of wall time. Kubernetes and Docker set such a quota for a limit of CPUs.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_ROOT = Path("/")


def own_cores(root: Path = _ROOT) -> int:
    """Return how many cores this process may use, at least 1.

    Args:
        root: Where `proc` and `sys` are.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([cores, *map(math.ceil, _quotas(root))]))


def _quotas(root: Path) -> Iterator[float]:
    """Yield the quotas of the control groups around this process, in cores; see cgroups(7).

    The groups of the second version are in one tree, with `cpu.max`; those of the first version have a tree for each
    kind of resource. In a container, the file system of the groups may begin at the container's own group.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        mounted = root / "sys/fs/cgroup" / (controllers and "cpu")
        own = PurePosixPath(path.lstrip("/"))
        for group in (own, *own.parents):
            with contextlib.suppress(OSError, ValueError):
                if controllers:
                    quota = (mounted / group / "cpu.cfs_quota_us").read_text()
                    period = (mounted / group / "cpu.cfs_period_us").read_text()
                else:
                    quota, period = (mounted / group / "cpu.max").read_text().split()
                if float(quota) > 0 and float(period) > 0:  # Without a quota it is -1, or the word max.
                    yield float(quota) / float(period)
