"""Runs very many programs through one executor and looks whether anything grows.

Good programs and bad ones, of some twenty kinds: such that print, fail, write files, start processes, flood their
output, fill memory, loop, kill themselves; judged answers too. Each result is checked. After each part of them the
trainer and all processes below it are measured: descriptors, processes, threads, mounts, memory, directories left in
the temporary directory. What there is after the first tenth must be what there is at the end; the exit code tells.

    python benchmarks/soak.py                       # 100,000 programs; some minutes
    python benchmarks/soak.py --programs 5000

Where there are no user namespaces, it is level `contained` that is measured; the first line says which.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import json
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from code_env import AssertTest, ExecutionResult, Executor, Limits, Program, Status, Task, judge_many, make_executor
from code_env.executors.local.jail.linux import settle_heap
from code_env.harness.process.watching import descendants

Expected = tuple[Status, str | None]
"""How a program shall end, and what it shall print; None for anything."""

SHORT = Limits(cpu_s=0.1, wall_s=1)
LITTLE = Limits(memory_bytes=64 << 20)
SOME = Limits(processes=2)

GROWTH_BYTES = 4 << 20
"""How much more memory than after the first tenth is put down to chance, for the trainer and for the jail."""


PATIENCE_S = 60.0
"""How long to wait for what ends by itself, in seconds."""

KEPT_DESCRIPTORS = 4
"""How many more descriptors than then a worker may have, as it keeps some after certain programs."""


def programs(count: int) -> Iterator[tuple[Program, Expected]]:
    """So many programs, no two with the same text."""
    for n in range(count):
        yield _program(n)


def _program(n: int) -> tuple[Program, Expected]:
    if n % 1000 == 999:
        return Program(f"n = {n}\nwhile True: pass", limits=SHORT), (Status.TIMEOUT, "")
    if n % 1000 == 499:
        return Program(f"n = {n}\nimport time\ntime.sleep(60)", limits=SHORT), (Status.TIMEOUT, "")
    if n % 500 == 249:
        code = f"n = {n}\nheld = []\nwhile True: held.append(bytearray(b'x' * (1 << 20)))"
        return Program(code, limits=LITTLE), (Status.MEMORY, "")
    kinds: tuple[tuple[Program, Expected], ...] = (
        (Program(f"print({n})"), (Status.OK, f"{n}\n")),
        (Program("print(int(input()) + 1)", stdin=f"{n}\n"), (Status.OK, f"{n + 1}\n")),
        (Program(f"raise ValueError({n})"), (Status.ERROR, "")),
        (Program(f"print({n}"), (Status.ERROR, "")),
        (Program(f"import sys\nprint({n})\nsys.exit(3)"), (Status.ERROR, f"{n}\n")),
        (Program(f"import csv, random\nprint({n})"), (Status.OK, f"{n}\n")),
        (Program(f"import os\nprint({n}, flush=True)\nos.kill(os.getpid(), 9)"), (Status.SIGNAL, f"{n}\n")),
        (Program(f"open('out', 'w').write('{n}')", collect=("out",)), (Status.OK, "")),
        (Program("print(open('a/b').read())", files={"a/b": str(n).encode()}), (Status.OK, f"{n}\n")),
        (Program(f"for i in range(20_000): print({n}, i)"), (Status.OK, None)),
        (Program(f"import threading as t\nt.Thread(target=print, args=({n},)).start()"), (Status.OK, f"{n}\n")),
        (
            Program(f"import os\nif os.fork() == 0:\n    os._exit(0)\nos.wait()\nprint({n})", limits=SOME),
            (Status.OK, f"{n}\n"),
        ),
        (
            Program(
                f"import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\nprint({n})", limits=SOME
            ),
            (Status.OK, f"{n}\n"),
        ),
        (Program(f"import os\nn = {n}\nos.mkfifo('f')\nos.symlink('/', 'l')\nos.makedirs('d/e')"), (Status.OK, "")),
        (Program(f"import re, json\nprint(json.dumps([{n}]))"), (Status.OK, f"[{n}]\n")),
    )
    return kinds[n % len(kinds)]


TASK = Task(
    id="double",
    prompt="",
    tests=(AssertTest("assert double(2) == 4\nassert double('a') == 'aa'"),),
    entry_point="double",
)


@dataclass(frozen=True)
class Measured:
    """What there is at one moment."""

    programs: int
    """How many have been run."""
    a_second: float
    """How many of the last part were run in a second."""
    descriptors: int
    """Open in the trainer and, where this may be looked at, in the processes below it."""
    processes: int
    """Below the trainer."""
    threads: int
    """Of the trainer."""
    mounts: int
    """In the namespaces of all processes."""
    directories: int
    """In the temporary directory, which is the executor's alone."""
    trainer_bytes: int
    """Resident memory of the trainer that is its own."""
    jail_bytes: int
    """The same of all processes below it."""


def measure(count: int, a_second: float) -> Measured:
    """Look at this process and at all below it."""
    pids = descendants(os.getpid())
    everyone = [os.getpid(), *pids]
    return Measured(
        programs=count,
        a_second=round(a_second, 1),
        descriptors=sum(_entries(f"/proc/{pid}/fd") for pid in everyone),
        processes=len(pids),
        threads=threading.active_count(),
        mounts=sum(_lines(f"/proc/{pid}/mountinfo") for pid in everyone),
        directories=len(os.listdir(tempfile.gettempdir())),
        trainer_bytes=_own_bytes(os.getpid()),
        jail_bytes=sum(map(_own_bytes, pids)),
    )


def _entries(path: str) -> int:
    with contextlib.suppress(OSError):
        return len(os.listdir(path))
    return 0


def _lines(path: str) -> int:
    with contextlib.suppress(OSError):
        return len(Path(path).read_bytes().splitlines())
    return 0


def _own_bytes(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return 1024 * int(line.split()[1])
    return 0


def warm_up(executor: Executor, workers: int) -> None:
    """Have each worker's servers started: what is there then is there for good."""
    burn = "import time\nwhile time.process_time() < 0.05: pass\n"
    executor.run_many([Program(f"{imports}{burn}") for imports in ("", "import csv\n") for _ in range(4 * workers)])
    judge_many([(TASK, f"{burn}def double(x):\n    return x * 2") for _ in range(4 * workers)], executor)


def wait_for_further_places(workers: int) -> None:
    """Wait until what ran in the places of sleepers has ended, which takes some seconds without a program."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        places = [thread for thread in threading.enumerate() if thread.name.startswith("code_env-")]
        if len(places) <= workers:
            break
        time.sleep(0.1)
    time.sleep(0.2)


def soak(executor: Executor, count: int, every: int, workers: int) -> Iterator[Measured]:
    """Run programs, and measure after each part of them.

    Raises:
        SystemExit: At the first result that is not as it should be.
    """
    everything = programs(count)
    for first in range(0, count, every):
        started = time.monotonic()
        part = list(itertools.islice(everything, every))
        answers = [f"def double(x):\n    return x * 2  # {n}" for n in range(first, first + len(part) // 20)]
        # Both at once: programs and judges take turns on the same workers.
        judged: list[Any] = []
        thread = threading.Thread(
            target=lambda: judged.extend(judge_many([(TASK, answer) for answer in answers], executor))  # noqa: B023
        )
        thread.start()
        results = executor.run_many(program for program, _ in part)
        thread.join()
        _check(part, results)
        if len(judged) != len(answers) or not all(verdict.passed for verdict in judged):
            raise SystemExit(f"verdicts are not right: {Counter(verdict.outcome for verdict in judged)}")
        a_second = (len(part) + len(answers)) / (time.monotonic() - started)
        # What the results took is given back; what is left then is held by something.
        part, results, judged = [], [], []
        gc.collect()
        settle_heap()
        wait_for_further_places(workers)
        yield measure(min(first + every, count), a_second)


def _check(part: list[tuple[Program, Expected]], results: list[ExecutionResult]) -> None:
    if len(results) != len(part):
        raise SystemExit(f"{len(part)} programs have {len(results)} results")
    for (program, (status, stdout)), result in zip(part, results, strict=True):
        right = result.status is status and (stdout is None or result.stdout == stdout)
        if program.collect:
            right &= set(result.files) == set(program.collect)
        if not right:
            raise SystemExit(f"expected {status} and {stdout!r} of\n{program.code}\ngot {result}")


def grown(rows: list[Measured], workers: int) -> list[str]:
    """What there is more of at the end than after the first tenth."""
    begin, end = rows[max(0, len(rows) // 10 - 1)], rows[-1]
    allowed = {
        "descriptors": KEPT_DESCRIPTORS * workers,
        "processes": 0,
        "threads": 0,
        "mounts": 0,
        "directories": 0,
        "trainer_bytes": GROWTH_BYTES,
        "jail_bytes": GROWTH_BYTES,
    }
    return [name for name, more in allowed.items() if getattr(end, name) > getattr(begin, name) + more]


def main() -> None:
    """Parse the command line, soak, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print rows of JSON")
    arguments = parser.parse_args()

    parts = 20
    every = max(1, arguments.programs // parts)
    with tempfile.TemporaryDirectory(prefix="soak-") as place:
        Path(place).chmod(0o711)  # Programs' users must be able to pass.
        tempfile.tempdir = place
        with make_executor("local", workers=arguments.workers) as executor:
            sys.stderr.write(f"level {executor.describe().level}\n")
            warm_up(executor, arguments.workers)
            steps = soak(executor, arguments.programs, every, arguments.workers)
            rows = list(track(steps, total=-(-arguments.programs // every), console=Console(stderr=True)))
    if arguments.json:
        for row in rows:
            sys.stdout.write(json.dumps(asdict(row)) + "\n")
    else:
        show(rows)
    found = grown(rows, arguments.workers)
    sys.stderr.write(f"grown: {', '.join(found) or 'nothing'}\n")
    sys.exit(bool(found))


def show(rows: list[Measured]) -> None:
    """Print a table."""
    table = Table(*(name.replace("_", " ").replace("bytes", "MB") for name in asdict(rows[0])))
    for row in rows:
        table.add_row(
            *(f"{value / 1e6:.1f}" if name.endswith("_bytes") else str(value) for name, value in asdict(row).items())
        )
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
