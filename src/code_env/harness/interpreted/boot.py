"""The part of `boot.py` for programs that are not Python."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

from ..process.limits import ProcessLimits
from ..process.workspace import read_files
from .commands import Command, become
from .serving import serve_command


def start(order: dict[str, Any], limits: ProcessLimits) -> NoReturn:
    """Serve the program, or replace this process by the interpreter that runs it.

    Args:
        order: The JSON object that `boot.py` was given.
        limits: The limits of one run of the program.
    """
    command, report = Command(**order["command"]), order["report"]
    if order["role"] == "served":
        os.write(report, b"{}\n")
        os.close(report)
        files = read_files()
        limits.of_whole_run(max(map(len, files.values()))).apply()
        serve_command(files, command, order["argv"], limits, limits.of_tests(), order["channel"])
        sys.exit()
    limits.apply()
    if not command.driver:  # A driver writes this line itself, when the interpreter has started.
        os.write(report, b"{}\n")
    become(command.to_run(report, order["argv"]), command.environment, report)
