"""The server: a warm interpreter inside the jail that forks workers.

It imports what programs commonly import, once, so that no program pays for it.

It is blank: it never holds a program, an input, an output or an expected value, nor anything of the
trainer's environment. So there is nothing in its memory, which every program inherits, that a program must not see.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import site
import socket
import sys
from typing import Any, NoReturn

from code_env.harness.limits import die_with_parent

from . import child, linux, namespaces, wire, worker

COMMON_MODULES = (
    *("abc", "array", "ast", "base64", "bisect", "calendar", "cmath", "collections", "collections.abc", "contextlib"),
    *("copy", "csv", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "hashlib", "heapq"),
    *("inspect", "io", "itertools", "json", "keyword", "logging", "math", "numbers", "operator", "os", "pathlib"),
    *("queue", "random", "re", "statistics", "string", "struct", "sys", "tempfile", "textwrap", "threading", "time"),
    *(
        "encodings.utf_8_sig",
        "traceback",
        "types",
        "typing",
        "unicodedata",
        "urllib.parse",
        "warnings",
        "weakref",
        "zlib",
    ),
)
"""What programs commonly import; a module that a program is the first to import costs it its import."""

_HARNESS = ("answering", "beside", "judge", "main_module", "serving")

_OOM_SCORE = "500"
"""When the machine runs out of memory, the kernel shall end programs before it ends a trainer."""


def main(config: dict[str, Any], control: socket.socket) -> NoReturn:
    """Enter the jail, import, then start a worker for each message until the trainer is gone."""
    try:
        _enter(config)
        _import(config)
        own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC) if config["level"] == "full" else -1
    except Exception as error:
        control.send(json.dumps({"error": f"{type(error).__name__}: {error}"[:4096]}).encode())
        os._exit(1)
    control.send(json.dumps({"level": config["level"]}).encode())
    while True:
        data, fds = wire.receive(control)
        if not data:
            os._exit(0)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)  # A worker that was closed.
        if config["level"] == "full":
            namespaces.join_new_pid_namespace()
        if os.fork() == 0:
            control.close()
            worker.main(socket.socket(fileno=fds[0]), config, json.loads(data))
        os.close(fds[0])
        if config["level"] == "full":
            namespaces.rejoin_pid_namespace(own_pids)


def _enter(config: dict[str, Any]) -> None:
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write(_OOM_SCORE)
    # What it needs of its own package it has imported: the view that follows does not show it.
    for name in _HARNESS:
        importlib.import_module(f"code_env.harness.{name}")
    # Peers import it under a name that is the same in every sandbox. The others are none of a program's.
    harness = "code_env.harness"
    for name in [name for name in sys.modules if name.partition(".")[0] == "code_env"]:
        module = sys.modules.pop(name)
        if name == harness or name.startswith(f"{harness}."):
            sys.modules[name.replace(harness, "code_env_harness")] = module
    if config["level"] == "full":
        namespaces.build_view(config["readable"], config["masked"])
        socket.sethostname("sandbox")
        namespaces.become_user()
    die_with_parent(0 if config["level"] == "full" else os.getppid())


def _import(config: dict[str, Any]) -> None:
    sys.path[:] = config["path"]
    sys.prefix, sys.exec_prefix, sys.executable = config["prefix"], config["exec_prefix"], config["executable"]
    # What `site` gives every program, without the packages' .pth files, some of which run code.
    site.setquit()
    site.setcopyright()
    site.sethelper()
    for name in COMMON_MODULES:
        importlib.import_module(name)
    for name in config["preload"]:
        # Not installed, or broken: whoever imports it will see.
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    # First-time work of the compiler and of `exec`, so that no child has to do it.
    exec(compile("def f(x):\n    return [y for y in x]\nf([1])", "main.py", "exec"), {})
    child.prepare()
    # What the imports left to be done at exit is for those programs that use them: see the child.
    atexit._clear()
    # There is no such directory yet, and programs shall not be told so.
    sys.path_importer_cache.pop(sys.path[0], None)
    gc.collect()
    linux.trim_heap()  # Pages that a fork need not copy the tables of.
    gc.freeze()
    gc.disable()
