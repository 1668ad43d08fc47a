"""Draws how a policy learns to write functions, beside random search with as many programs.

`examples/sb3_token_ppo.py` is trained on each function from each seed, and then asked for a function that it was not
trained on.

    python benchmarks/token_ppo.py --output docs/sb3_token_ppo.png --curves token_ppo.json    # half an hour

Runs that are in the file of curves already are not run again.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from sb3_token_ppo import play, train

_FUNCTIONS = ("weighted-sum", "product-and-sum", "square-less", "larger", "doubling")


class Learnt(NamedTuple):
    """What came of one seed."""

    function: str
    seed: int
    first: float
    """Mean reward of the first 100 programs."""
    curve: list[tuple[int, float]]
    """Programs so far, and the mean reward of the last 100."""
    searched: list[float]
    """The rewards of as many programs of random tokens."""
    held_out: float
    """Mean reward on the function that it was not trained on."""
    took_s: float
    """How long training took, in seconds."""

    def row(self) -> str:
        """A row of a table."""
        programs, last = self.curve[-1]
        return (
            f"| {self.function} | {self.seed} | {self.first:.2f} | {last:.3f} | {programs} | {self.took_s:.0f} | "
            f"{np.mean(self.searched):.2f} | {max(self.searched):.2f} | {self.held_out:.2f} |"
        )


def learn(function: str, seed: int, steps: int, held_out: str) -> Learnt:
    """Train on a function, and compare."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        began = time.monotonic()
        model, progress = train(function, seed, steps)
        took_s = time.monotonic() - began
        searched, _ = play(function, None, progress.curve[-1][0], seed)
        transferred, _ = play(held_out, model, 100)
    first = float(np.mean(progress.rewards[:100]))
    return Learnt(function, seed, first, progress.curve, list(searched), float(np.mean(transferred)), took_s)


def draw(runs: list[Learnt], functions: list[str], output: Path) -> None:
    """Draw the curves of each function."""
    figure, axes = plt.subplots(1, len(functions), figsize=(3 * len(functions), 3.4), sharey=True, squeeze=False)
    for name, axis in zip(functions, axes[0], strict=True):
        for number, one in enumerate(run for run in runs if run.function == name):
            axis.plot(*zip(*one.curve, strict=True), color=f"C{number}", linewidth=1.2, label=f"PPO, seed {one.seed}")
            label = None if number else "random search, best so far"
            axis.plot(np.maximum.accumulate(one.searched), color="grey", linewidth=0.8, alpha=0.7, label=label)
        axis.set(title=name, xlabel="programs", ylim=(0, 1.02))
        axis.locator_params(axis="x", nbins=4)
        axis.grid(alpha=0.3)
    axes[0][0].set(ylabel="tests passed, mean of 100")
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="lower center", ncols=4, frameon=False)
    figure.savefig(output, dpi=110)


def main() -> None:
    """Train, draw, and print where each seed ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", nargs="+", default=list(_FUNCTIONS))
    parser.add_argument("--held-out", default="smaller")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=250_000)
    parser.add_argument("--side-by-side", type=int, default=2, help="runs at a time")
    parser.add_argument("--output", type=Path, default=Path("sb3_token_ppo.png"))
    parser.add_argument("--curves", type=Path, default=Path("token_ppo.json"), help="where curves are kept")
    options = parser.parse_args()
    runs = [Learnt(**run) for run in json.loads(options.curves.read_text())] if options.curves.exists() else []
    jobs = list(itertools.product(options.functions, options.seeds))
    missing = [job for job in jobs if job not in {(run.function, run.seed) for run in runs}]
    with ProcessPoolExecutor(options.side_by_side, multiprocessing.get_context("spawn")) as pool:
        for future in [pool.submit(learn, *job, options.steps, options.held_out) for job in missing]:
            runs.append(future.result())
            options.curves.write_text(json.dumps([run._asdict() for run in runs]) + "\n")
    chosen = sorted((run for run in runs if (run.function, run.seed) in jobs), key=lambda run: jobs.index(run[:2]))
    sys.stdout.write("\n".join(run.row() for run in chosen) + "\n")
    draw(chosen, options.functions, options.output)


if __name__ == "__main__":
    main()
