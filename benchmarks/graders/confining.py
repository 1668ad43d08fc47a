"""What keeps an attack on a grader from hurting this machine.

Most of these graders say that they are no sandbox, and the attacks run in them with what they leave open. So the whole
grader gets namespaces of its own: no network, no processes but its own, and a file system that it can only read, with
one folder in memory to write to. Where the machine does not allow that, only the bounds on memory and time are left.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Sequence

_MEMORY_KIB = 8 << 20
"""Of address space; some graders set 4 GiB themselves."""

# Each mount is made read-only by itself: a flag on / does not reach what is mounted below it. The /proc of the new
# namespace stays as it is, and so does a mount that cannot be changed.
# A session has a priority beside that of its processes: what `undisturbed` sets is to hold for both.
_SCRIPT = """
ulimit -v {memory}
(nice > /proc/self/autogroup) 2>/dev/null || true
while read -r _ _ _ _ point _; do
    case "$point" in /proc*) ;; *) mount -o remount,bind,ro "$point" 2>/dev/null || true ;; esac
done < /proc/self/mountinfo
mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs "$1" && cd "$1" || exit 99
shift
exec setpriv --no-new-privs --inh-caps=-all --bounding-set=-all -- "$@"
"""


def confined(command: Sequence[str], folder: str) -> list[str]:
    """The command to run a grader with one folder that it can write to."""
    if not can_confine():
        return ["sh", "-c", f'ulimit -v {_MEMORY_KIB}; cd "$1"; shift; exec "$@"', "sh", folder, *command]
    return [*_namespaces(), "sh", "-c", _SCRIPT.format(memory=_MEMORY_KIB), "sh", folder, *command]


@functools.cache
def can_confine() -> bool:
    """Whether this machine lets us make namespaces and mount in them."""
    if not all(map(shutil.which, ("unshare", "setpriv", "mount"))):
        return False
    return (
        subprocess.run([*_namespaces(), "mount", "-t", "tmpfs", "x", "/dev/shm"], capture_output=True).returncode == 0
    )


def _namespaces() -> list[str]:
    # A user who is not root becomes root in a user namespace of its own.
    more = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *more, "--mount", "--net", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
