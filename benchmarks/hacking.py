"""Draws how a policy learns against a grader that can be cheated, and how it learns against blind judging.

`examples/reward_hacking.py` from several seeds, against both graders.

    python benchmarks/hacking.py --output docs/reward_hacking.png --curves reward_hacking.json    # two minutes

Curves are written after each run; seeds that are in the file already are not run again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D

_GRADERS = {
    "ordinary": "reward by the exit code of answer and tests in one process",
    "blind": "reward by blind judging",
}


def measure(seeds: list[int], steps: int, cheats: float) -> Iterator[dict[str, Any]]:
    """Run the example: for each seed and grader, the marks of all steps, the last program and the time it took."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
    from reward_hacking import compare

    began = time.perf_counter()
    for seed, grader, marks, program in compare(seeds, steps, 34, cheats):
        seconds = round(time.perf_counter() - began, 1)
        yield {"seed": seed, "grader": grader, "marks": marks, "program": program, "seconds": seconds}
        began = time.perf_counter()


def row(run: dict[str, Any]) -> str:
    """A row of a table: means over the first and the last 10 steps, and the best 10 steps for right programs."""
    marks = np.array(run["marks"])
    first, last = marks[:10].mean(axis=0), marks[-10:].mean(axis=0)
    best = max(np.convolve(marks[:, 1], np.ones(10) / 10, "valid"))
    cells = [run["grader"], run["seed"], *(f"{one:.2f}" for one in (first[0], last[0], first[1], best, last[1]))]
    return "| " + " | ".join(map(str, [*cells, run["seconds"]])) + " |"


def draw(runs: list[dict[str, Any]], path: Path) -> None:
    """Reward and right programs by step: a panel for each grader, a colour for each seed."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True)
    for axis, (grader, title) in zip(axes, _GRADERS.items(), strict=True):
        for number, run in enumerate(run for run in runs if run["grader"] == grader):
            reward, right = np.array(run["marks"]).T
            axis.plot(reward, color=f"C{number}", linestyle="--", linewidth=1.2)
            axis.plot(right, color=f"C{number}", linewidth=1.6)
        axis.set(title=title, xlabel="steps of REINFORCE", ylim=(0, 1.03))
        axis.title.set_fontsize(10)
        axis.grid(alpha=0.3)
    axes[0].set(ylabel="mean over the programs of a step")
    seeds = dict.fromkeys(run["seed"] for run in runs)
    keys = [
        Line2D([], [], color="black", linestyle="--", label="reward awarded"),
        Line2D([], [], color="black", label="programs that are right"),
        *(Line2D([], [], color=f"C{number}", label=f"seed {seed}") for number, seed in enumerate(seeds)),
    ]
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.legend(handles=keys, loc="lower center", ncols=len(keys), frameon=False)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Run what is missing, print where each run began and ended, and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--cheats", type=float, default=0.1)
    parser.add_argument("--curves", type=Path, default=Path("reward_hacking.json"), help="where curves are kept")
    parser.add_argument("--output", type=Path, default=Path("reward_hacking.png"))
    options = parser.parse_args()
    runs = json.loads(options.curves.read_text()) if options.curves.exists() else []
    done = {run["seed"] for run in runs if run["grader"] == "blind"}  # The second grader of a seed.
    runs = [run for run in runs if run["seed"] in done]
    for run in measure([seed for seed in options.seeds if seed not in done], options.steps, options.cheats):
        runs.append(run)
        options.curves.write_text(json.dumps(runs) + "\n")
    sys.stdout.write("\n".join(map(row, runs)) + "\n")
    draw(runs, options.output)


if __name__ == "__main__":
    main()
