"""What the benchmarks share: contenders in processes of their own, and their CPU time from outside.

A contender is a process that lives through all rounds and runs what it is told, a line of JSON each time. Its CPU time
is that of its whole tree, from /proc; what kernel threads do for it, such as the end of a mount, is in the machine's.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

STOCKS = Path(__file__).parents[1] / "src/code_env/executors/local/stocks.py"

Work = Callable[[list[Any]], int]
"""Runs pieces of work, one after the other or several at a time; returns how many failed."""


def common_modules() -> tuple[str, ...]:
    """The modules that servers of `local` have loaded for programs that need more than a few."""
    # Read and not imported: the bare fork has nothing else of the package.
    parts = STOCKS.read_text().split("\n\n")
    names: dict[str, Any] = {}
    for start in ("LEAN_MODULES = (", "COMMON_MODULES = ("):
        exec(next(part for part in parts if part.lstrip().startswith(start)), names)
    modules: tuple[str, ...] = names["COMMON_MODULES"]
    return modules


def bare_fork(workers: int) -> Work:
    """Forks of this process, as many at a time as there are workers; a piece is a program, or it and its input."""
    import select

    for name in common_modules():
        importlib.import_module(name)

    def start(piece: Any) -> tuple[int, int]:
        program, stdin = (piece, None) if isinstance(piece, str) else piece
        read_fd, write_fd = os.pipe()
        given = None if stdin is None else _input(stdin)
        pid = os.fork()
        if pid == 0:
            os.close(read_fd)
            os.dup2(write_fd, 1)
            if given is not None:
                os.dup2(given, 0)
            code = 1
            try:
                exec(compile(program, "main.py", "exec"), {"__name__": "__main__"})
                sys.stdout.flush()
                code = 0
            finally:
                os._exit(code)
        os.close(write_fd)
        if given is not None:
            os.close(given)
        return read_fd, pid

    def run(pieces: list[Any]) -> int:
        waiting, failed = list(reversed(pieces)), 0
        running: dict[int, int] = {}
        while waiting or running:
            while waiting and len(running) < workers:
                read_fd, pid = start(waiting.pop())
                running[read_fd] = pid
            ready = list(running) if len(running) == 1 else select.select(list(running), [], [])[0]
            for fd in ready:
                if not os.read(fd, 1 << 16):
                    os.close(fd)
                    failed += os.waitpid(running.pop(fd), 0)[1] != 0
        return failed

    return run


def _input(text: str) -> int:
    fd = os.memfd_create("stdin")
    os.write(fd, text.encode())
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def serve(work: Work) -> None:
    """Be a contender: do what comes on standard input, and say how long it took."""
    for line in sys.stdin:
        started = time.perf_counter()
        failed = work(json.loads(Path(line.strip()).read_text()))
        sys.stderr.write(json.dumps([time.perf_counter() - started, failed]) + "\n")


class Cost(NamedTuple):
    """What a piece of work took, on average, in seconds."""

    wall_s: float
    cpu_s: float
    """CPU time of the contender's processes."""
    machine_s: float
    """CPU time of everything that the machine did meanwhile, kernel threads and strangers included."""


class Contender:
    """A contender's process, from outside.

    Args:
        module: The benchmark that knows it, by its `contend(name, workers)`.
        name: What it is called there.
        workers: How many pieces it works on at a time.
        bare: Whether it is a bare interpreter, started with `-I -S`.
        packages: A directory with packages that a bare one finds.
        python: The interpreter.
    """

    def __init__(
        self,
        module: str,
        name: str,
        workers: int,
        *,
        bare: bool = False,
        packages: str | None = None,
        python: str = sys.executable,
    ) -> None:
        # Not above: the bare fork, which loads this file too, shall have nothing more to copy.
        import subprocess

        self.name, self.workers = name, workers
        directories = [str(Path(__file__).parent), *([packages] if packages else [])]
        self._process = subprocess.Popen(
            [
                *([python, "-I", "-S"] if bare else [python]),
                *("-c", _MAIN.format(directories=directories, module=module), name, str(workers)),
            ],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )

    def line(self) -> str:
        """The next line that it writes to standard error."""
        if self._process.stderr is None:
            raise OSError("the contender has no stderr")
        line = self._process.stderr.readline()
        if not line:
            raise SystemExit(f"{self.name} ended")
        return line

    def measure(self, pieces: list[Any]) -> Cost:
        """Have it work, and say what that took."""
        import tempfile

        if self._process.stdin is None:
            raise OSError("the contender has no stdin")
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(pieces, file)
            file.flush()
            before, machine_before = cpu_of_tree(self._process.pid), cpu_of_machine()
            self._process.stdin.write(file.name + "\n")
            self._process.stdin.flush()
            said = self.line()
        try:
            wall_s, failed = json.loads(said)
        except ValueError:
            raise SystemExit(f"{self.name}: {said}") from None
        if failed:
            raise SystemExit(f"{self.name}: {failed} of {len(pieces)} failed")
        cpu_s = cpu_of_tree(self._process.pid) - before
        machine_s = cpu_of_machine() - machine_before
        return Cost(wall_s / len(pieces), cpu_s / len(pieces), machine_s / len(pieces))

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=60)


_MAIN = """import sys
sys.path += {directories!r}
import {module}
{module}.contend(sys.argv[1], int(sys.argv[2]))
"""


def cpu_of_tree(pid: int) -> float:
    """CPU seconds of a process, of all below it, and of all that these have waited for."""
    total, pids = 0.0, [pid]
    while pids:
        pid = pids.pop()
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
            for task in os.listdir(f"/proc/{pid}/task"):
                pids += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
        except OSError:
            continue
    return total


def cpu_of_machine() -> float:
    """CPU seconds of all processors since the start, without those in which there was nothing to do."""
    user, nice, system, _, _, irq, softirq, *_ = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")
