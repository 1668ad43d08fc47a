"""Draws how a policy learns to write five functions, beside random search with as many programs.

`examples/sb3_token_ppo.py` is trained on each function from each seed, and then asked for a function that it was not
trained on.

    python benchmarks/token_ppo.py --output docs/sb3_token_ppo.png
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from sb3_token_ppo import play, train

_FUNCTIONS = ("weighted-sum", "product-and-sum", "larger", "distance", "doubling")
_COLOURS = ("tab:blue", "tab:orange", "tab:green")


def main() -> None:
    """Train, draw, and print where each seed ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", nargs="+", default=list(_FUNCTIONS))
    parser.add_argument("--held-out", default="smaller")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=250_000)
    parser.add_argument("--output", type=Path, default=Path("sb3_token_ppo.png"))
    options = parser.parse_args()
    figure, axes = plt.subplots(1, len(options.functions), figsize=(3 * len(options.functions), 3), sharey=True)
    for axis, function in zip(np.atleast_1d(axes), options.functions, strict=True):
        for seed, colour in zip(options.seeds, _COLOURS * len(options.seeds), strict=False):
            began = time.monotonic()
            model, progress = train(function, seed, options.steps)
            took_s = time.monotonic() - began
            programs, last = progress.curve[-1]
            searched, _ = play(function, None, programs, seed)
            best = np.maximum.accumulate(searched)
            held_out, _ = play(options.held_out, model, 100)
            sys.stdout.write(
                f"| {function} | {seed} | {np.mean(progress.rewards[:100]):.2f} | {last:.3f} | {programs} | "
                f"{took_s:.0f} | {np.mean(searched):.2f} | {best[-1]:.2f} | {np.mean(held_out):.2f} |\n"
            )
            sys.stdout.flush()
            axis.plot(*zip(*progress.curve, strict=True), color=colour, linewidth=1.2, label=f"PPO, seed {seed}")
            label = "random search, best so far" if seed == options.seeds[0] else None
            axis.plot(best, color="grey", linewidth=0.8, alpha=0.7, label=label)
        axis.set(title=function, xlabel="programs", ylim=(0, 1.02))
        axis.grid(alpha=0.3)
    np.atleast_1d(axes)[0].set(ylabel="tests passed, mean of 100")
    np.atleast_1d(axes)[-1].legend(frameon=False, fontsize=7)
    figure.tight_layout()
    figure.savefig(options.output, dpi=110)


if __name__ == "__main__":
    main()
