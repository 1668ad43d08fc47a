"""`container`: each program runs in a container of its own, made by Podman or Docker through their command line.

A container has no network, no capabilities, a read-only root and a bounded `/tmp`, and runs as a user who owns nothing.
It is started ahead and waits for its program, so its start costs processor time and no waiting time, as long as
programs do not come faster than containers start. A container runs one program. The judge's half of a verdict runs on
this machine, in the jail of `local`.

What runs programs in the container is that of `machines/`. It ends when this process does, and the engine then removes
the container.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from typing import Literal

from code_env.checks import require_flag, require_whole
from code_env.errors import ExecutorError, ExecutorMisconfigured
from code_env.images.engines import ENGINES
from code_env.languages import LANGUAGES, PYTHON

from .base import Isolation
from .cores import own_cores
from .machines import ENFORCED, MachineExecutor, ShellMachines

_ENGINE_FAILED = 125
"""The exit code by which both engines say that they, and not the command in the container, have failed."""

_PROBE = "import sys; print(sys.version_info >= (3, 11))"
_PROBE_S = 120.0
"""How long the first container may take, in seconds: its layers may have to be read from a slow disk."""

_DIRECTORY = "/proc" if os.path.isdir("/proc") else "/"
"""Where engines are started: Podman's monitor leaves a file in its directory if a container has no memory left, and
here it cannot."""

_USER = "65534:65534"
_DESCRIPTORS = 1024
_NAME = re.compile(r"[A-Za-z0-9][\w./:@-]*")


class ContainerExecutor(MachineExecutor):
    """Runs each program in its own container.

    Args:
        image: Name of an image that the engine has. It needs Python 3.11 or newer as `python3`, a POSIX shell, tar and
            gzip. Nothing is pulled.
        engine: `podman` or `docker`; by default the first of them that runs a program.
        runtime: The engine's OCI runtime; by default the engine's own, or `runc` if that one does not work.
        languages: The languages whose interpreters the image has, besides Python.
        workers: How many programs run at a time; by default the number of cores that this process may use.
        ahead: How many containers wait for programs; by default as many as programs run at a time.
        memory_bytes: How much memory a container has, with what is in `/tmp`, in bytes.
        tmp_bytes: How much a container's `/tmp` holds, in bytes.
        processes: How many processes and threads a container has at most.
        network: Whether programs reach the network.

    Raises:
        ExecutorError: If an argument is out of range.
        ExecutorMisconfigured: If no engine runs a program in this image; the message says why, for each engine.

    Example:
        >>> ContainerExecutor("python:3.12-slim", workers=0)
        Traceback (most recent call last):
        code_env.errors.ExecutorError: workers must be a whole number of at least 1; got 0
    """

    name = "container"

    def __init__(
        self,
        image: str = "python:3.12-slim",
        *,
        engine: Literal["podman", "docker"] | None = None,
        runtime: str | None = None,
        languages: Iterable[str] = (),
        workers: int | None = None,
        ahead: int | None = None,
        memory_bytes: int = 2 << 30,
        tmp_bytes: int = 256 << 20,
        processes: int = 512,
        network: bool = False,
    ) -> None:
        if not isinstance(image, str) or not _NAME.fullmatch(image):
            raise ExecutorError(f"image must be the name of an image, such as 'python:3.12-slim'; got {image!r}")
        if engine is not None and engine not in ENGINES:
            raise ExecutorError(f"engine must be {' or '.join(map(repr, ENGINES))}, or None; got {engine!r}")
        for name, value, least in (
            ("workers", workers, 1),
            ("ahead", ahead, 0),
            ("memory_bytes", memory_bytes, 1 << 26),
            ("tmp_bytes", tmp_bytes, 1 << 20),
            ("processes", processes, 16),
        ):
            if value is not None:
                require_whole(name, value, ExecutorError, least=least)
        require_flag("network", network, ExecutorError)
        self.languages = frozenset((PYTHON.name, *languages))
        known = [language.name for language in LANGUAGES]
        if not self.languages.issubset(known):
            raise ExecutorError(f"languages must be some of {', '.join(known)}; got {sorted(self.languages)}")
        self._workers = workers or own_cores()
        self._ahead = self._workers if ahead is None else ahead
        self._network = network
        self._command = _working_command(
            (engine,) if engine else ENGINES,
            (runtime,) if runtime else (None, "runc"),
            [
                *(() if network else ("--network", "none")),
                *("--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges", "--user", _USER),
                *("--tmpfs", f"/tmp:rw,size={tmp_bytes},mode=1777,noexec,nosuid,nodev", "--workdir", "/tmp"),
                *("--env", "HOME=/tmp", "--memory", str(memory_bytes), "--memory-swap", str(memory_bytes)),
                *("--pids-limit", str(processes), "--ulimit", f"nofile={_DESCRIPTORS}:{_DESCRIPTORS}"),
                # Without it, engines ask for more than they may have where they are in a container themselves.
                *("--ulimit", f"nproc={processes * 8}:{processes * 8}", "--entrypoint", "", image),
            ],
        )
        super().__init__()

    def machines(self) -> ShellMachines:
        """The containers of this process."""
        return ShellMachines(self._command, self._workers, (_ENGINE_FAILED,), self._ahead, _DIRECTORY)

    @staticmethod
    def left_over(count: int) -> str:
        """The text of a warning that containers could not be ended."""
        return f"{count} container{'s' if count > 1 else ''} could not be ended in time; the engine's `ps` names them"

    def describe(self) -> Isolation:
        """What containers isolate and enforce.

        Raises:
            ExecutorClosed: If the executor was closed.
        """
        return Isolation(
            level="container",
            peer="isolated" if self.runs_peers else "none",
            languages=self.languages,
            enforces=ENFORCED,
            network=self._network,
            sessions="replay",
            details=f"each program has a container of {os.path.basename(self._command[0])} to itself; cpu_s and "
            "memory_bytes hold for a program's main process, file_bytes for each of its files",
        )


def _working_command(engines: Sequence[str], runtimes: Iterable[str | None], options: list[str]) -> list[str]:
    """The command that runs a shell in a container, of the first engine and runtime that run a program.

    Raises:
        ExecutorMisconfigured: If none does.
    """
    refusals = []
    for engine in engines:
        path = shutil.which(engine)
        if path is None:
            refusals.append(f"{engine} is not installed")
            continue
        for runtime in runtimes:
            chosen = () if runtime is None else ("--runtime", runtime)
            command = [path, "run", "--interactive", "--rm", "--pull", "never", *chosen, *options, "sh", "-c"]
            refusal = _refusal(command)
            if refusal is None:
                return command
            if refusals and refusals[-1].endswith(f": {refusal}"):  # The runtime is not what is wrong.
                continue
            refusals.append(f"{engine}{f' with {runtime}' if runtime else ''}: {refusal}")
    found = [engine for engine in engines if shutil.which(engine)]
    pull = f"Nothing is pulled: `{found[0]} pull {options[-1]}` gets an image that is missing. " if found else ""
    raise ExecutorMisconfigured(
        f"no engine runs a program in the image {options[-1]!r}: {'; '.join(refusals)}. {pull}Where containers do not "
        "work, executor='local' needs no engine"
    )


def _refusal(command: list[str]) -> str | None:
    """Why a command runs no program; None if it does."""
    try:
        done = subprocess.run(
            [*command, f"python3 -c '{_PROBE}'"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_S,
            cwd=_DIRECTORY,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.stdout.strip() == "True":
        return None
    if done.stdout.strip() == "False":
        return "its python3 is older than 3.11"
    lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("Run 'docker ")] or lines  # Docker ends so in any case.
    return f"exit code {done.returncode}: {lines[-1].strip()[:300] if lines else 'it says nothing'}"
