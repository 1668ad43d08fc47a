"""Draws how a policy learns to write functions, beside random search with as many programs.

`examples/sb3_token_ppo.py` is trained on each function from each seed, and then asked for a function that it was not
trained on.

    python benchmarks/token_ppo.py --output docs/sb3_token_ppo.png
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
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
    took_s: float
    searched: list[float]
    """The rewards of as many programs of random tokens."""
    held_out: float
    """Mean reward on the function that it was not trained on."""


def learn(function: str, seed: int, steps: int, held_out: str) -> Learnt:
    """Train on a function, and compare."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        began = time.monotonic()
        model, progress = train(function, seed, steps)
        took_s = time.monotonic() - began
        searched, _ = play(function, None, progress.curve[-1][0], seed)
        transferred, _ = play(held_out, model, 100)
    first = float(np.mean(progress.rewards[:100]))
    return Learnt(function, seed, first, progress.curve, took_s, searched, float(np.mean(transferred)))


def main() -> None:
    """Train, draw, and print where each seed ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", nargs="+", default=list(_FUNCTIONS))
    parser.add_argument("--held-out", default="smaller")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=250_000)
    parser.add_argument("--side-by-side", type=int, default=2, help="runs at a time")
    parser.add_argument("--output", type=Path, default=Path("sb3_token_ppo.png"))
    options = parser.parse_args()
    figure, axes = plt.subplots(1, len(options.functions), figsize=(3 * len(options.functions), 3), sharey=True)
    by_name = dict(zip(options.functions, np.atleast_1d(axes), strict=True))
    jobs = list(itertools.product(options.functions, options.seeds))
    with ProcessPoolExecutor(options.side_by_side, multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(learn, *job, options.steps, options.held_out) for job in jobs]
        for number, future in enumerate(futures):
            one = future.result()
            programs, last = one.curve[-1]
            sys.stdout.write(
                f"| {one.function} | {one.seed} | {one.first:.2f} | {last:.3f} | {programs} | {one.took_s:.0f} | "
                f"{np.mean(one.searched):.2f} | {max(one.searched):.2f} | {one.held_out:.2f} |\n"
            )
            sys.stdout.flush()
            axis, seed = by_name[one.function], number % len(options.seeds)
            axis.plot(*zip(*one.curve, strict=True), color=f"C{seed}", linewidth=1.2, label=f"PPO, seed {one.seed}")
            label = "random search, best so far" if seed == 0 else None
            axis.plot(np.maximum.accumulate(one.searched), color="grey", linewidth=0.8, alpha=0.7, label=label)
    for name, axis in by_name.items():
        axis.set(title=name, xlabel="programs", ylim=(0, 1.02))
        axis.grid(alpha=0.3)
    np.atleast_1d(axes)[0].set(ylabel="tests passed, mean of 100")
    np.atleast_1d(axes)[-1].legend(frameon=False, fontsize=7, loc="lower right")
    figure.tight_layout()
    figure.savefig(options.output, dpi=110)


if __name__ == "__main__":
    main()
