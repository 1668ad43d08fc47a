"""`LD_LIBRARY_PATH` for the dynamic loader: the only variable that programs may get from the trainer's environment."""

from __future__ import annotations

import functools
import os
import subprocess

_VARIABLE = "LD_LIBRARY_PATH"

_TIMEOUT_S = 60.0


def loader_environment(python: str) -> dict[str, str]:
    """`LD_LIBRARY_PATH` as this process has it, if the interpreter does not start without it; otherwise nothing.

    Args:
        python: Path of the interpreter.
    """
    value = os.environ.get(_VARIABLE)
    return {} if not value or _starts(python) else {_VARIABLE: value}


@functools.lru_cache(maxsize=64)
def _starts(python: str) -> bool:
    try:
        command = [python, "-I", "-S", "-c", ""]
        return subprocess.run(command, env={}, capture_output=True, timeout=_TIMEOUT_S, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
