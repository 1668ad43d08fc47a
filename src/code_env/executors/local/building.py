"""Runs the steps of build files in the jail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping

from code_env.harness.process.memory_file import memory_file

from .servers import BOOT
from .users import programs_user

_SHOWN_CHARS = 2000


def owner_of_trees() -> tuple[int, int]:
    """The user and the group that a step runs as outside its namespaces; they must own the tree that it changes."""
    return programs_user()


def run_step(
    root: str,
    command: list[str],
    *,
    environment: Mapping[str, str],
    directory: str,
    network: bool,
    limit_s: float,
) -> tuple[int, str]:
    """Run a command that may change a root file system, and nothing else.

    Args:
        root: The directory with the root file system, which belongs to `owner_of_trees`.
        command: The path of a program in it, and the arguments.
        environment: The environment variables.
        directory: The working directory, which exists.
        network: Whether it may reach the network.
        limit_s: How long it may run, in seconds.

    Returns:
        The exit code, and the end of the output. The exit code of a command that was ended by signal N is 128 + N.

    Raises:
        TimeoutError: If it ran too long.
    """
    user, group = owner_of_trees()
    config = {
        "root": os.path.realpath(root),
        "command": command,
        "environment": dict(environment),
        "directory": directory,
        "network": network,
        "user": user,
        "group": group,
    }
    fd = memory_file("build step", json.dumps(config).encode())
    try:
        ran = subprocess.run(
            [sys.executable, "-S", "-s", "-P", str(BOOT), "build_step", str(fd)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[fd],
            timeout=limit_s,
            cwd="/",
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"it ran for more than {limit_s:g} s") from None
    finally:
        os.close(fd)
    return ran.returncode, ran.stdout.decode("utf-8", "replace")[-_SHOWN_CHARS:]
