"""Becomes the first interpreter of a session, from which its cells are forked."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
from typing import NoReturn

from code_env.harness.process.limits import set_limits
from code_env.harness.process.sockets import Socket
from code_env.harness.program.kept_cells import BORN, SOCKET, serve_cells

from . import child, namespaces, worker
from .session_gate import SessionGate

_ALL = 1 << 30


def become_interpreter(
    layers: child.ChildLayers, sock: Socket, gate: SessionGate, rlimits: list[tuple[int, int, int]]
) -> NoReturn:
    """Give up all rights, then serve cells.

    Args:
        layers: What to give up.
        sock: The process's socket.
        gate: Gets the listener for forks and signals.
        rlimits: Limits that the kernel enforces on this process and its forks.
    """
    problem = ""
    try:
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.dup2(sock.fileno(), SOCKET)
        kept = {*gate.descriptors(), SOCKET}
        for fd in range(3, SOCKET):
            if fd not in kept:
                with contextlib.suppress(OSError):
                    os.close(fd)
        os.chdir("/")
        os.setsid()
        set_limits([*rlimits, (resource.RLIMIT_NOFILE, worker.MAX_DESCRIPTORS, worker.MAX_DESCRIPTORS)])
        layers.confine(layers.rules)
        os.closerange(SOCKET + 1, _ALL)
        layers.filter_calls(gate)
        gc.enable()
        os.write(SOCKET, BORN)
        serve_cells(child.names, _line, namespaces.WORK_NAME)
    except BaseException as error:
        problem = f"{type(error).__name__}: {error}"
    finally:
        # Before the first cell, the worker reads why. Later it only notices the end.
        with contextlib.suppress(BaseException):
            os.write(SOCKET, problem.encode()[:4096])
        os._exit(child.NOT_BEGUN_EXIT_CODE)


def _line(record: object) -> bytes:
    return json.dumps(record).encode() + b"\n"
