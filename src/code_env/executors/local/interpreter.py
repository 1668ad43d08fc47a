"""The interpreter that runs programs: its path, and the parts of its environment that a program may read.

The interpreter describes itself in a new process without the trainer's environment variables, once for all executors.
So its paths are those of a fresh `python`, whatever the trainer did to `sys.path`.

Programs see the standard library and the installed packages. They do not see what a `.pth` file adds from elsewhere,
for example a project installed in editable mode: it can be the trainer's own project, with the solutions in it.
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
from code_env.harness.wire.shown import brief
from code_env.packages import Environment

_LEAST_VERSION = (3, 11)

_TIMEOUT_S = 60.0
"""How long an interpreter may take to describe itself, in seconds: the first read from disk is slow."""

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
    "packages": [sysconfig.get_path(name, vars={"base": sys.base_prefix, "platbase": sys.base_exec_prefix})
                 for name in ("purelib", "platlib")],
    "mapped": sorted(path for path in mapped if os.path.isfile(path)),
}))
"""

_LIBRARY_DIRECTORIES = ("lib", "lib64", "bin", "pyvenv.cfg")
"""The parts of an installation that programs may read. The rest of a prefix can be somebody's home directory."""

ENVIRONMENT = {
    "PATH": os.defpath,
    "LANG": "C.UTF-8",
    "PYTHONUTF8": "1",
    # Without this, the order of a set of strings would differ from run to run, and so would verdicts.
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    # A program gets one core, so the threads of a pool would only wait for each other.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
"""All environment variables of a program, except HOME, TMPDIR and what `loader_environment` adds."""

_answers: dict[tuple[Any, ...], tuple[dict[str, Any], list[tuple[int, ...] | None]]] = {}
"""What interpreters have said, and the state of their files then: to ask takes long beside the start of a server."""

_SYSTEM_PACKAGES = ("/usr/lib/python3/dist-packages",)
"""The directory of Debian's own packages. Its interpreter does not name this directory."""


@dataclass(frozen=True)
class Interpreter:
    """A Python interpreter and its environment, as it describes itself."""

    executable: str
    """Its path, as a program sees it in `sys.executable`."""
    prefix: str
    """Its `sys.prefix`: that of the virtual environment, if it is in a virtual environment."""
    exec_prefix: str
    """Its `sys.exec_prefix`."""
    path: tuple[str, ...]
    """Directories that a program imports from, in addition to its own directory."""
    readable: tuple[str, ...]
    """Paths that a program may read, so that the interpreter and the imports work."""
    masked: tuple[str, ...] = ()
    """Directories below these paths that look empty to a program."""


def find_interpreter(python: str | None) -> str:
    """Return the path of the interpreter to use; that of the trainer's interpreter if `python` is None.

    Raises:
        ExecutorError: If it is not an executable file.
    """
    found = shutil.which(python or sys.executable)
    if found is None:
        raise ExecutorError(f"python={python!r} is not an executable file; give the path of a Python interpreter")
    return os.path.abspath(found)


def interpreter_of(environment: Environment) -> Interpreter:
    """Return the interpreter of an environment: the standard library and the packages there, and no others.

    Raises:
        ExecutorError: As `ask_interpreter`.
    """
    prefix, packages = str(environment.prefix), str(environment.packages)
    # Without `site`: it would run what the packages' .pth files say, here, outside the jail.
    base = ask_interpreter(str(environment.python), "-S")
    own = [f"{prefix}/{name}" for name in _LIBRARY_DIRECTORIES]
    return Interpreter(
        executable=base.executable,
        prefix=prefix,
        exec_prefix=prefix,
        path=(*(one for one in base.path if one != packages), packages),
        readable=tuple(_outermost([*base.readable, *(one for one in own if os.path.exists(one))])),
        masked=tuple(one for one in base.masked if not _is_below(one, prefix)),
    )


def ask_interpreter(python: str, *options: str) -> Interpreter:
    """Return an interpreter's description of itself.

    Args:
        python: Path of the interpreter.
        options: Further command-line options of the interpreter.

    Raises:
        ExecutorError: If it does not answer, is not CPython, or is too old.
    """
    told = _told(python, options)
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
        masked=tuple(map(os.path.realpath, [*told["packages"], *_SYSTEM_PACKAGES])) if "-S" in options else (),
    )


def _told(python: str, options: tuple[str, ...]) -> dict[str, Any]:
    """Return what an interpreter says of itself. It is asked again only if its files have changed since it answered."""
    environment = loader_environment(python)
    key = (python, options, tuple(environment.items()))
    if (known := _answers.get(key)) is not None and known[1] == _state_of(python, known[0]):
        return known[0]
    try:
        answer = subprocess.run(
            [python, "-I", *options, "-c", _QUESTION],
            capture_output=True,
            check=True,
            timeout=_TIMEOUT_S,
            env=environment,
            stdin=subprocess.DEVNULL,
        ).stdout
        told: dict[str, Any] = json.loads(answer)
        _answers[key] = told, _state_of(python, told)
    except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError) as error:
        raise ExecutorError(
            f"{python} does not answer as a Python interpreter: {_why(error)}; give the path of CPython "
            f"{'.'.join(map(str, _LEAST_VERSION))} or newer as python="
        ) from None
    return told


def _state_of(python: str, told: dict[str, Any]) -> list[tuple[int, ...] | None]:
    """Return values that change if an interpreter, its virtual environment, or the `.pth` files on its path change."""
    paths = [python, os.path.realpath(python), f"{told['prefix']}/pyvenv.cfg", *told["path"], *told["packages"]]
    found: list[tuple[int, ...] | None] = []
    for path in paths:
        try:
            one = os.stat(path)
        except OSError:
            found.append(None)
        else:
            found.append((one.st_dev, one.st_ino, one.st_mtime_ns, one.st_ctime_ns))
    return found


def _why(error: Exception) -> str:
    """Return why a process gave no description, in one line."""
    if isinstance(error, subprocess.CalledProcessError):
        said = error.stderr.decode(errors="replace").split("\n")
        lines = [line.strip() for line in said if line.strip()]
        ends = f"killed by signal {-error.returncode}" if error.returncode < 0 else f"exit code {error.returncode}"
        # The last line of a traceback names the error; other programs begin with what is wrong.
        return f"{ends}, {brief(lines[-1] if lines[0].startswith('Traceback') else lines[0])}" if lines else ends
    if isinstance(error, subprocess.TimeoutExpired):
        return f"no answer in {_TIMEOUT_S:g} s"
    return f"it printed something else than its description ({error})" if isinstance(error, ValueError) else str(error)


def _is_below(path: str, directory: str) -> bool:
    return f"{path}/".startswith(f"{directory}/")


def _outermost(paths: list[str]) -> list[str]:
    """Return the paths and the targets of links among them, without paths that lie below other paths."""
    kept: list[str] = []
    for path in sorted({*paths, *map(os.path.realpath, paths)}):
        if not any(_is_below(path, one) for one in kept):
            kept.append(path)
    return kept
