"""Runs one step of a build file, in namespaces of its own whose root is the tree that the step may change.

The step is root there. Outside it is an ordinary user, who owns the tree. It has no network unless it is allowed, sees
no other file of this machine, and ends with all that it has started.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import sys
from typing import Any, NoReturn

from code_env.harness.process.limits import die_with_parent

from . import linux, namespaces, seccomp

# CAP_CHOWN, _DAC_OVERRIDE, _FOWNER, _FSETID, _KILL, _SETGID, _SETUID: what a program that installs something expects.
_CAPABILITIES = (0, 1, 3, 4, 5, 6, 7)

_MAX_FILE_BYTES = 8 << 30


def main(config_fd: int) -> NoReturn:
    """Run the step, and end with its exit code, or with 255 and a line on stderr if it cannot start.

    Args:
        config_fd: Descriptor of a file with the configuration: `root`, `user` and `group`, which own it, `command`,
            `environment`, `directory` and `network`.
    """
    with os.fdopen(config_fd) as file:
        config = json.load(file)
    code = 255
    try:
        namespaces.enter(config["user"], config["group"], as_root=True, network=config["network"])
        first = os.fork()
        if first == 0:
            _be_first(config)
        code = os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])
    except OSError as error:
        sys.stderr.write(f"the step cannot start: {error}\n")
    os._exit(code if code >= 0 else 128 - code)


def _be_first(config: dict[str, Any]) -> NoReturn:
    """Be process 1: start the step, and end when it ends; the kernel then ends what it has left."""
    code = 255
    try:
        linux.mount("none", "/", None, linux.MS_REC | linux.MS_PRIVATE)
        # Done by the user outside, because only that user may be able to reach the tree.
        root = namespaces.mount_point([config["root"]])
        linux.mount(config["root"], root, None, linux.MS_BIND | linux.MS_NOSUID | linux.MS_NODEV)
        if os.getuid() != 0:  # Root outside is nobody in here, until it becomes root in here.
            os.setgroups([])
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)
        die_with_parent(0)  # The kernel forgets this when the user changes.
        step = os.fork()
        if step == 0:
            _become_step(root, config)
        while True:
            pid, status = os.wait()
            if pid == step:
                code = os.waitstatus_to_exitcode(status)
                break
    except OSError as error:
        sys.stderr.write(f"the step cannot start: {error}\n")
    os._exit(code if code >= 0 else 128 - code)


def _become_step(root: str, config: dict[str, Any]) -> NoReturn:
    try:
        for name in ("proc", "dev", "etc"):
            if os.path.islink(f"{root}/{name}"):  # What comes next would follow it, out of the tree.
                raise OSError(errno.ELOOP, f"/{name} of the image is a link")
            os.makedirs(f"{root}/{name}", exist_ok=True)
        linux.mount("code_env", f"{root}/dev", "tmpfs", linux.MS_NOSUID, "size=64k,mode=755")
        shown = [*namespaces.DEVICES, "/dev/zero"]
        if config["network"]:
            shown.append("/etc/resolv.conf")
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{root}/etc/resolv.conf")  # It can be a link.
        for path in shown:
            os.close(os.open(root + path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o644))
            linux.mount(path, root + path, None, linux.MS_BIND)
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            os.symlink(f"/proc/self/fd/{number}", f"{root}/dev/{name}")
        os.symlink("/proc/self/fd", f"{root}/dev/fd")
        namespaces.mount_proc(f"{root}/proc")
        linux.pivot_root(root)
        linux.set_host_name("build")
        os.chdir(config["directory"])
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (_MAX_FILE_BYTES, _MAX_FILE_BYTES))
        kept = linux.CapabilitySet(*_CAPABILITIES)
        kept.bound()
        kept.apply()
        linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
        seccomp.build_filter().install()
        os.execve(config["command"][0], config["command"], config["environment"])
    except OSError as error:
        sys.stderr.write(f"the step cannot start: {error}\n")
    os._exit(255)
