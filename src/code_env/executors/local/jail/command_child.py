"""A child of a worker, for a program that is not Python: from the fork to the interpreter's first instruction.

The child enters the same layers as for a Python program, and then executes the interpreter. Programs may execute files,
because this starts no process and gives no rights. Only servers for other languages import this module.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
from typing import NoReturn

from code_env.harness.interpreted.commands import Command, become
from code_env.harness.interpreted.serving import serve_command
from code_env.harness.process.forks import ForkGate
from code_env.harness.process.limits import ProcessLimits, set_limits
from code_env.harness.program.main_module import describe_error

from . import linux, wire
from .child import CHANNEL, NOT_BEGUN_EXIT_CODE, REPORT, ChildLayers, JailedTests, confine, put_files, take_over


def become_command(layers: ChildLayers, sock: int, size: int, gate: ForkGate | None) -> NoReturn:
    """Become the program that the order describes; see `become_program`.

    Args:
        layers: What to give up.
        sock: Descriptor of the worker's socket.
        size: Length of the order in bytes.
        gate: Counts the processes that the program starts; None if it may start none.
    """
    try:
        os.close(sock)
        order = wire.unpack(os.read(wire.FIRST, size))
        further = order.further
        if further is None or further.command is None:
            raise ValueError("an order that says how its program is run was expected")
        for number in range(3):
            os.dup2(wire.FIRST + 1 + number, number)
        os.closerange(wire.FIRST, wire.FIRST + 4)
        if layers.user is not None:
            layers.become_user()
        os.chdir(order.directory)
        command = Command(**further.command)
        files = {**order.files, command.file: order.code}
        put_files(files)
        os.setsid()
        gc.enable()
        set_limits(order.rlimits)
        take_over(further)
        if order.role == "served":
            _serve(layers, command, order.argv, files, further)
        confine(layers, gate)
        if not command.driver:  # A driver reports this itself when the interpreter has started.
            os.write(REPORT, b"{}\n")
        become(command.to_run(REPORT, order.argv), command.environment, REPORT)
    except BaseException as error:
        with contextlib.suppress(BaseException):
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(NOT_BEGUN_EXIT_CODE)


def _serve(
    layers: ChildLayers, command: Command, argv: list[str], files: dict[str, bytes], further: wire.FurtherOrder
) -> NoReturn:
    """Be the serving process of a judged run, which is trusted and so keeps the right to fork."""
    try:
        os.closerange(CHANNEL + 1, wire.OWN)
        if not layers.full:
            linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        layers.confine(layers.server_rules)
        os.write(REPORT, b"{}\n")
        os.close(REPORT)
        tests = JailedTests(layers, further.processes, further.scratch)
        limits = ProcessLimits(**further.limits)
        serve_command(files, command, argv, limits, further.test_rlimits, CHANNEL, tests)
        os._exit(0)
    except BaseException as error:
        os.write(2, describe_error(error)["traceback"].encode())
    finally:
        os._exit(NOT_BEGUN_EXIT_CODE)
