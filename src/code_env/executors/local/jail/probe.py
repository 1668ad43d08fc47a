"""Tries each layer of the jail on this kernel, one after the other, and reports which ones the kernel grants.

The probe enters every layer for real, in a forked child that then ends. A configuration file is not enough, because a
container's own filter can still deny what the file allows.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from code_env.harness.process.watching import descendants

from . import landlock, linux, namespaces, seccomp


def main(user: int, group: int) -> None:
    """Print one line of JSON for each layer: `layer`, and `error`, which is empty if the kernel grants the layer.

    Args:
        user: The user that programs would run as, seen from outside.
        group: The group of this user.
    """
    for layer, attempt in _LAYERS.items():
        sys.stdout.write(json.dumps({"layer": layer, **_in_child(attempt)}) + "\n")
    for layer, error in _namespaces(user, group).items():
        sys.stdout.write(json.dumps({"layer": layer, "error": error, "detail": ""}) + "\n")
    if user != os.getuid():
        sys.stdout.write(json.dumps({"layer": "user of its own", **_in_child(lambda: _become(user))}) + "\n")


def _in_child(attempt: Callable[[], object]) -> dict[str, Any]:
    def body() -> dict[str, Any]:
        try:
            detail = attempt()
        except Exception as error:
            return {"error": str(error), "detail": ""}
        return {"error": "", "detail": detail if isinstance(detail, str) else ""}

    answer = _answer_of(body)
    return answer if "error" in answer else {"error": "the process that tried it ended", "detail": ""}


def _answer_of(body: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write_fd, json.dumps(body()).encode())
        finally:
            os._exit(0)
    os.close(write_fd)
    with open(read_fd, "rb") as file:
        answer = file.read()
    os.waitpid(pid, 0)
    value: dict[str, Any] = json.loads(answer or b"{}")
    return value


def _filter() -> str:
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    seccomp.base_filter().install()
    return ""


def _listener() -> str:
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    seccomp.program_filter(counted=True).install()
    return ""


def _landlock() -> str:
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    landlock.Ruleset([("/usr", landlock.READ)]).restrict()
    return f"version {landlock.version()}"


def _signal_scope() -> str:
    known = landlock.version()
    if known < landlock.SIGNAL_SCOPE_VERSION:
        raise OSError(f"Landlock has version {known}, and {landlock.SIGNAL_SCOPE_VERSION} keeps signals in")
    return ""


def _pidfd() -> str:
    os.close(os.pidfd_open(os.getpid()))
    return ""


def _children() -> str:
    pid = os.fork()
    if pid == 0:
        os.read(os.pipe()[0], 1)
    found = pid in descendants(os.getpid())
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    if not found:
        raise OSError("/proc does not list a process's children")
    return ""


def _core_waits() -> str:
    with open("/proc/self/schedstat") as file:
        return "" if len(file.read().split()) == 3 else "not kept"


def _become(user: int) -> str:
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    return f"user {user}"


_LAYERS: dict[str, Callable[[], str]] = {
    "seccomp filter": _filter,
    "seccomp listener": _listener,
    "Landlock": _landlock,
    "Landlock signal scope": _signal_scope,
    "pidfd": _pidfd,
    "list of children": _children,
    "waits for a core": _core_waits,
}

_NAMESPACES = (
    "user namespace",
    "mount namespace",
    "pid namespace",
    "network namespace",
    "IPC namespace",
    "host name namespace",
    "own view of files",
    "own /proc",
)


def _namespaces(user: int, group: int) -> dict[str, str]:
    """Try the namespaces and what is built in them. After the first failure the rest cannot be tried."""

    def body() -> dict[str, Any]:
        try:
            namespaces.enter(user, group)
        except OSError as error:
            return {"failed": str(error)}
        return _answer_of(view)

    def view() -> dict[str, Any]:
        try:
            namespaces.build_view([*namespaces.SYSTEM], [])
        except OSError as error:
            return {"failed": str(error) if "own /proc" in str(error) else f"own view of files: {error}"}
        return {"failed": ""}

    answer = _answer_of(body)
    found = dict.fromkeys(_NAMESPACES, "")
    failed = answer.get("failed", "own view of files: the process ended")
    if failed:
        first = next((name for name in _NAMESPACES if name in failed), _NAMESPACES[0])
        for name in _NAMESPACES[_NAMESPACES.index(first) :]:
            found[name] = failed if name == first else f"not tried: {first} is missing"
    return found
