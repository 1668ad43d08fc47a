"""The interpreter that runs programs: where it lies, and what of its environment a program may read.

It is asked itself, once for an executor, in a process of its own with the trainer's variables left out: its
paths are then those of a fresh `python`, whatever the trainer did to `sys.path`.

Programs see the standard library and the installed packages. What a `.pth` file adds from elsewhere, such as a
project installed in editable mode, they do not: it may be the trainer's own, with the answers in it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from code_env.errors import ExecutorError
from code_env.executors.loader import loader_environment

_LEAST_VERSION = (3, 11)

_TIMEOUT_S = 60.0
"""How long an interpreter may take to say what it is, in seconds: a cold disk is slow."""

_QUESTION = """
import json, os, sys, sysconfig
with open("/proc/self/maps") as maps:
    mapped = {line.split(None, 5)[5].strip() for line in maps if line.count("/")}
print(json.dumps({
    "version": sys.version_info[:2],
    "implementation": sys.implementation.name,
    "executable": sys.executable,
    "prefix": sys.prefix,
    "exec_prefix": sys.exec_prefix,
    "base_prefix": sys.base_prefix,
    "path": sys.path,
    "library": [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")],
    "mapped": sorted(path for path in mapped if os.path.isfile(path)),
}))
"""

_LIBRARY_DIRECTORIES = ("lib", "lib64", "bin", "pyvenv.cfg")
"""What of an installation programs may read; the rest of a prefix may be somebody's home."""

ENVIRONMENT = {
    "PATH": os.defpath,
    "LANG": "C.UTF-8",
    "PYTHONUTF8": "1",
    # The order of a set of strings would differ from run to run, and so would verdicts.
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    # One program is one core's work; pools of threads would only wait for one another.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
"""All variables that a program finds, beside HOME and TMPDIR, and what `loader_environment` adds."""


@dataclass(frozen=True)
class Interpreter:
    """A Python interpreter and its environment, as it describes itself."""

    executable: str
    """Its path, as a program sees it in `sys.executable`."""
    prefix: str
    """`sys.prefix`: of the virtual environment if it is in one."""
    exec_prefix: str
    """`sys.exec_prefix`."""
    path: tuple[str, ...]
    """Directories that a program imports from, beside its own."""
    readable: tuple[str, ...]
    """Paths that a program may read for that."""


def find_interpreter(python: str | None) -> str:
    """The path of the interpreter to use; the trainer's if None.

    Raises:
        ExecutorError: If it is not an executable file.
    """
    found = shutil.which(python or sys.executable)
    if found is None:
        raise ExecutorError(f"python={python!r} is not an executable file; give the path of a Python interpreter")
    return os.path.abspath(found)


def ask_interpreter(python: str) -> Interpreter:
    """Have an interpreter describe itself.

    Raises:
        ExecutorError: If it does not answer, or is too old.
    """
    try:
        answer = subprocess.run(
            [python, "-I", "-c", _QUESTION],
            capture_output=True,
            check=True,
            timeout=_TIMEOUT_S,
            env=loader_environment(python),
            stdin=subprocess.DEVNULL,
        ).stdout
        told: dict[str, Any] = json.loads(answer)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        detail = getattr(error, "stderr", b"") or b""
        raise ExecutorError(
            f"{python} does not answer as a Python interpreter: {error}: {detail.decode(errors='replace')[-300:]}"
        ) from error
    if tuple(told["version"]) < _LEAST_VERSION or told["implementation"] != "cpython":
        version = ".".join(map(str, told["version"]))
        least = ".".join(map(str, _LEAST_VERSION))
        raise ExecutorError(f"{python} is {told['implementation']} {version}; programs run on CPython {least} or newer")
    prefixes = [told["prefix"], told["base_prefix"]]
    installed = [f"{prefix}/{name}" for prefix in prefixes for name in _LIBRARY_DIRECTORIES if prefix != "/"]
    installed += [*told["library"], told["executable"], os.path.realpath(python), python, *told["mapped"]]
    path = [entry for entry in told["path"] if any(_is_below(entry, one) for one in [*installed, "/usr", "/lib"])]
    return Interpreter(
        executable=told["executable"],
        prefix=told["prefix"],
        exec_prefix=told["exec_prefix"],
        path=tuple(path),
        readable=tuple(_outermost([one for one in installed if os.path.exists(one)])),
    )


def _is_below(path: str, directory: str) -> bool:
    return f"{path}/".startswith(f"{directory}/")


def _outermost(paths: list[str]) -> list[str]:
    """Paths without those below others, and with where links among them lead."""
    kept: list[str] = []
    for path in sorted({*paths, *map(os.path.realpath, paths)}):
        if not any(_is_below(path, one) for one in kept):
            kept.append(path)
    return kept
