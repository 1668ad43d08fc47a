"""Runs a command under a system call filter that grants no user namespaces, as many containers have.

python without_user_namespaces.py command argument ...
"""

import errno
import os
import sys

from code_env.executors.local.jail import bpf, linux, seccomp

_STEP = bpf.Step(0, mask=linux.CLONE_NEWUSER, then=bpf.failure(errno.EPERM), otherwise=bpf.ALLOW)
_NUMBERS = (seccomp._CONDITIONAL["clone"][0], seccomp._DENIED["unshare"])
_CALLS = [numbers[seccomp._COLUMN[linux.MACHINE]] for numbers in _NUMBERS]

if __name__ == "__main__":
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    no_clone3 = {number: bpf.failure(errno.ENOSYS) for number in seccomp._numbers(seccomp._ABSENT)}
    bpf.Filter({**dict.fromkeys(_CALLS, (_STEP,)), **no_clone3}).install()
    os.execvp(sys.argv[1], sys.argv[1:])
