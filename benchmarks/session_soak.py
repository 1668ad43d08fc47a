"""Runs very many cells over sessions and their branches, and looks whether anything grows.

A tenth of the cells are hostile: they loop, fill memory or files, end their process, close its descriptors, signal all
they can name. After each of them the session must have the state from before. After each part of the sessions all of
them are closed, and the trainer and all processes below it are measured as `soak.py` does it.

    python benchmarks/session_soak.py               # 10,000 cells over 200 sessions, with 2,000 forks; some minutes
    python benchmarks/session_soak.py --sessions 40

Where there are no user namespaces, the cells are replayed; the first line says which.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import track
from soak import Measured, grown, measure, show, wait_for_further_places

from code_env import Executor, Limits, make_executor
from code_env.executors.local.jail.linux import settle_heap
from code_env.sessions import Session

CELLS, FORKS = 50, 10
"""Of each session with its branches."""

AT_ONCE = 8
"""How many sessions run their cells at the same time."""

LIMITS = Limits(cpu_s=0.2, wall_s=2, memory_bytes=256 << 20, total_cpu_s=600)

HOSTILE = (
    "while True: pass",
    "import os\nos._exit(3)",
    "import os\nos.kill(os.getpid(), 9)",
    "import os\nos.closerange(0, 1000)\nos._exit(0)",
    "import os\n[os.write(60, b'done') for _ in range(100)]\nos._exit(0)",
    "held = []\nwhile True: held.append(bytearray(b'x' * (1 << 20)))",
    "import os, signal\nos.kill(-1, signal.SIGKILL)\nos._exit(0)",
    "import os\nfor n in range(300): os.mkdir('d'); os.chdir('d')\nos._exit(0)",
    "for n in range(10): open(str(n), 'wb').write(b'x' * (1 << 20))\nimport os; os._exit(0)",
    "import threading\nthreading.Thread(target=print).start()\nimport os; os.kill(os.getpid(), 11)",
)


def play(executor: Executor, number: int) -> None:
    """Run the cells of one session: those of the first line, then branches that begin from each other.

    Raises:
        SystemExit: At the first value that is not as it should be.
    """
    hostile = itertools.cycle(HOSTILE[number % len(HOSTILE) :] + HOSTILE[: number % len(HOSTILE)])
    with executor.open_session(limits=LIMITS) as session:
        _expect(session, f"seen = [{number}]\nopen('seen', 'w').write('0')\nlen(seen)", "1")
        living, branch, cells, forks = [session], session, 1, 0
        while cells < CELLS:
            if cells % (CELLS // FORKS) == 0 and forks < FORKS:
                (branch,) = living[cells % len(living)].fork(1)
                living.append(branch)
                forks += 1
            if cells % 10 == 9:
                before = branch.run("len(seen), open('seen').read()").text
                branch.run(next(hostile))
                _expect(branch, "len(seen), open('seen').read()", before)
                cells += 3
                continue
            _expect(branch, f"seen.append({cells})\nopen('seen', 'w').write(str(len(seen)))\nseen[-1]", str(cells))
            cells += 1
        for one in living:
            one.close()


def _expect(session: Session, cell: str, text: str | None) -> None:
    result = session.run(cell)
    if result.text != text:
        raise SystemExit(f"expected {text!r} of\n{cell}\ngot {result}")


def soak(executor: Executor, sessions: int, every: int, workers: int) -> Iterator[Measured]:
    """Play sessions, and measure after each part of them."""
    for first in range(0, sessions, every):
        part = range(first, min(first + every, sessions))
        began = time.monotonic()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda number: play(executor, number), part))
        a_second = CELLS * len(part) / (time.monotonic() - began)
        gc.collect()
        settle_heap()
        wait_for_further_places(workers)
        yield measure(CELLS * part.stop, a_second)


def main() -> None:
    """Parse the command line, soak, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--max-isolation", default="full")
    parser.add_argument("--json", action="store_true", help="print rows of JSON")
    arguments = parser.parse_args()
    every = max(1, arguments.sessions // 20)
    with tempfile.TemporaryDirectory(prefix="soak-") as place:
        Path(place).chmod(0o711)  # Programs' users must be able to pass.
        tempfile.tempdir = place
        with make_executor("local", workers=arguments.workers, max_isolation=arguments.max_isolation) as executor:
            about = executor.describe()
            sys.stderr.write(f"level {about.level}, sessions by {about.sessions}\n")
            steps = soak(executor, arguments.sessions, every, arguments.workers)
            rows = list(track(steps, total=-(-arguments.sessions // every), console=Console(stderr=True)))
    if arguments.json:
        for row in rows:
            sys.stdout.write(json.dumps(asdict(row)) + "\n")
    else:
        show(rows)
    found = grown(rows, arguments.workers)
    sys.stderr.write(f"grown: {', '.join(found) or 'nothing'}\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
