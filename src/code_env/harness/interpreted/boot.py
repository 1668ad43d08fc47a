"""What `boot.py` does for a program that is not Python."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

from ..process.limits import ProcessLimits
from ..process.workspace import read_files
from .commands import Command, become
from .serving import serve_command


def start(order: dict[str, Any], limits: ProcessLimits) -> NoReturn:
    """Serve the program, or be it.

    Args:
        order: What `boot.py` was given.
        limits: What one run of the program may use.
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
    if not command.driver:  # A driver says so itself, when the interpreter has started.
        os.write(report, b"{}\n")
    become(command.to_run(report, order["argv"]), command.environment, report)
