"""Runs many programs on the executor `e2b` while one call in twenty to the service fails.

The service is the loopback server of the tests, on this machine; the SDK, the HTTP and the programs are real. Every
result and every verdict is checked; at the end no sandbox may be left. The exit code tells.

    python benchmarks/e2b_soak.py                    # 1,000 programs, 16 at once; some minutes
    python benchmarks/e2b_soak.py --programs 200 --share 0.1
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from code_env import AssertTest, CallTest, Limits, Program, Status, StdinTest, Task, judge_many, make_executor

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

OPERATIONS = ("create", "files", "commands", "process", "kill", "health", "list")

SHORT = Limits(cpu_s=0.5, wall_s=5)

SUITE = "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(-3) == -6\n"

TASKS = (
    Task("suite", "", (AssertTest(SUITE),), entry_point="double"),
    Task("calls", "", (CallTest((2,), {}, 4), CallTest((-3,), {}, -6)), entry_point="double"),
    Task("stdin", "", (StdinTest("2", "4"), StdinTest("-3", "-6"))),
)


def program(n: int) -> tuple[Program, tuple[Status, str]]:
    """A program, and how it must end."""
    kinds = (
        (Program(f"print({n})"), (Status.OK, f"{n}\n")),
        (Program("print(int(input()) + 1)", stdin=f"{n}\n"), (Status.OK, f"{n + 1}\n")),
        (Program(f"print({n})\nraise ValueError"), (Status.ERROR, f"{n}\n")),
        (Program(f"print({n}, flush=True)\nimport os\nos.kill(os.getpid(), 9)"), (Status.SIGNAL, f"{n}\n")),
        (Program(f"open('out', 'w').write('{n}')", collect=("out",)), (Status.OK, "")),
        (Program(f"print({n}"), (Status.ERROR, "")),
        (Program(f"n = {n}\nwhile True: pass", limits=SHORT), (Status.TIMEOUT, "")),
        (Program(f"x = bytearray({n} + (1 << 60))"), (Status.MEMORY, "")),
    )
    return kinds[n % len(kinds)]


def answer(n: int) -> tuple[Task, str, float]:
    """A task, an answer to it, and what that is worth."""
    task, right = TASKS[n % len(TASKS)], n % 2 == 0
    if task.id == "stdin":
        return task, f"print(2 * int(input()))  # {n}" if right else f"print(4)  # {n}", 1.0 if right else 0.5
    return task, f"def double(x): return {'2 * x' if right else '4'}  # {n}", 1.0 if right else 0.5


def main() -> int:
    """Run, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=1000, help="a third of them are judged answers")
    parser.add_argument("--at-once", type=int, default=16)
    parser.add_argument("--share", type=float, default=0.05, help="of calls that fail")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    asked = parser.parse_args()

    from e2b_server import LoopbackServer

    with LoopbackServer() as server:
        os.environ.update(server.environment)
        server.faults.random(dict.fromkeys(OPERATIONS, asked.share), seed=asked.seed)
        began = time.monotonic()
        # Faults are far more frequent than E2B's: three in a row would be no rarity.
        retry = {"first_wait_s": 0.05, "longest_wait_s": 1.0, "reruns": 6}
        plain = [program(n) for n in range(asked.programs - asked.programs // 3)]
        judged = [answer(n) for n in range(asked.programs // 3)]
        with make_executor("e2b", max_concurrency=asked.at_once, retry=retry) as executor:
            futures = [executor.submit(one) for one, _ in plain]
            verdicts = judge_many([(task, code) for task, code, _ in judged], executor)
            results = [future.result() for future in futures]
        took_s = time.monotonic() - began
        pairs = zip(results, plain, strict=True)
        row: dict[str, Any] = {
            "programs": asked.programs,
            "seconds": round(took_s, 1),
            "wrong_results": sum((one.status, one.stdout) != expected for one, (_, expected) in pairs),
            "wrong_verdicts": sum(one.fraction != worth for one, (_, _, worth) in zip(verdicts, judged, strict=True)),
            "lost": sum(one.status is Status.SANDBOX_ERROR for one in results),
            "no_verdicts": sum(one.fraction is None for one in verdicts),
            "faults": sum(server.faults.injected.values()),
            "kinds_of_fault": len({fault for _, fault in server.faults.injected}),
            "sandboxes_made": server.created,
            "most_at_once": server.peak,
            "sandboxes_left": len(server.sandboxes),
        }
        statuses = Counter(str(one.status) for one in results)
    sys.stdout.write((json.dumps(row) if asked.json else f"{row}\n{dict(statuses)}") + "\n")
    bad = ("wrong_results", "wrong_verdicts", "lost", "no_verdicts", "sandboxes_left")
    return 1 if any(row[name] for name in bad) else 0


if __name__ == "__main__":
    sys.exit(main())
