"""Draws what training for pass@k comes to on tasks of which one does not know what they want.

`examples/group_pass_at_k.py` is trained for pass@1 and for pass@4, from each of several seeds; the figure shows pass@1
and pass@4 of both, exactly, after each step.

    python benchmarks/pass_at_k_training.py --output docs/pass_at_k_training.png
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from group_pass_at_k import chance_of_a_pass, train

_COLOURS = {1: "tab:orange", 4: "tab:blue"}


def main() -> None:
    """Train, draw, and print where each seed ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--output", type=Path, default=Path("pass_at_k_training.png"))
    options = parser.parse_args()
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    for trained, colour in _COLOURS.items():
        for number, seed in enumerate(options.seeds):
            history = train(trained, seed, options.steps)
            for axis, k in zip(axes, (1, 4), strict=True):
                values = [chance_of_a_pass(chances, k) for chances in history]
                label = f"rewarded for pass@{trained}" if number == 0 else None
                axis.plot(values, color=colour, linewidth=1, alpha=0.8, label=label)
            ends = ", ".join(f"pass@{k} {chance_of_a_pass(history[-1], k):.3f}" for k in (1, 4))
            sys.stdout.write(f"rewarded for pass@{trained}, seed {seed}: {ends}\n")
    for axis, k in zip(axes, (1, 4), strict=True):
        axis.set(title=f"pass@{k}", xlabel="steps", ylim=(0, 0.8))
        axis.grid(alpha=0.3)
    axes[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(options.output, dpi=120)


if __name__ == "__main__":
    main()
