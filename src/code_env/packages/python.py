"""Tells which interpreters can use the same installed packages."""

from __future__ import annotations

import functools
import os
import subprocess

from code_env.errors import ExecutorError
from code_env.executors.loader import loader_environment

_TIMEOUT_S = 60.0

# Compiled packages are for one version, ABI and platform; a virtual environment leads to one installation of Python.
_QUESTION = (
    "import sys, sysconfig; "
    "print(sys.implementation.name, *sys.version_info[:2], sysconfig.get_config_var('SOABI'), sysconfig.get_platform(),"
    " sys.base_prefix, sep='|')"
)


def python_tag(python: str) -> str:
    """Return a text that is the same for all interpreters that can use each other's installed packages.

    Args:
        python: Path of the interpreter.

    Raises:
        ExecutorError: If it does not answer.
    """
    return _ask(os.path.abspath(python))


@functools.lru_cache(maxsize=64)
def _ask(python: str) -> str:
    try:
        answer = subprocess.run(
            [python, "-I", "-S", "-c", _QUESTION],
            capture_output=True,
            check=True,
            text=True,
            timeout=_TIMEOUT_S,
            env=loader_environment(python),
            stdin=subprocess.DEVNULL,
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        raise ExecutorError(f"{python} does not answer as a Python interpreter: {error}") from None
    if answer.count("|") < 5:
        raise ExecutorError(f"{python} does not answer as a Python interpreter: it printed {answer!r:.100}")
    return answer
