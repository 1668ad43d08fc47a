"""What GRPO with this package's reward brings, and what it brings when the rewards go to the wrong programs.

`examples/trl_grpo.py` from each of several seeds, and from the same seeds with the rewards of each step permuted. The
pass rate is that in tasks which neither warm-up nor GRPO had, on other inputs than theirs. Needs the extra `trl`, and
matplotlib.

    python benchmarks/grpo.py --output docs/trl_grpo.png --curves grpo.json    # some 20 minutes on two cores

Curves are written after each run; runs that are there already are not repeated, and only drawn.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

_COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple")


def run(seed: int, shuffled: bool, steps: int, every: int) -> dict[str, Any]:
    """One run of the example: what it measured, and how long it took."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
    from trl_grpo import train

    began = time.perf_counter()
    marks = train(seed, steps, every, shuffled=shuffled)
    return {
        "seed": seed,
        "shuffled": shuffled,
        "seconds": round(time.perf_counter() - began, 1),
        "marks": [mark._asdict() for mark in marks],
    }


def draw(runs: list[dict[str, Any]], path: Path) -> None:
    """The pass rate by step: a colour for each seed, grey where rewards were shuffled."""
    figure, axis = plt.subplots(figsize=(7, 4))
    for one in sorted(runs, key=lambda one: (one["shuffled"], one["seed"])):
        steps, rates = ([mark[key] for mark in one["marks"]] for key in ("step", "sampled"))
        if one["shuffled"]:
            named = "rewards shuffled" if one["seed"] == min(other["seed"] for other in runs) else None
            axis.plot(steps, rates, color="grey", marker="o", markersize=3, linestyle="--", label=named)
        else:
            colour = _COLOURS[one["seed"] % len(_COLOURS)]
            axis.plot(
                steps, rates, color=colour, marker="o", markersize=4, label=f"rewards from tests, seed {one['seed']}"
            )
    axis.set(xlabel="updates by GRPO", ylabel="held-out pass rate (temperature 1)", ylim=(0, 1))
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Run what is missing, print where each run began and ended, and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--every", type=int, default=30)
    parser.add_argument("--curves", type=Path, default=Path("grpo.json"), help="where curves are kept")
    parser.add_argument("--output", type=Path, default=Path("trl_grpo.png"))
    options = parser.parse_args()
    runs: list[dict[str, Any]] = json.loads(options.curves.read_text()) if options.curves.exists() else []
    done = {(one["seed"], one["shuffled"]) for one in runs}
    for seed in options.seeds:
        for shuffled in (False, True):
            if (seed, shuffled) not in done:
                runs.append(run(seed, shuffled, options.steps, options.every))
                options.curves.write_text(json.dumps(runs, indent=1) + "\n")
    for one in runs:
        first, last = one["marks"][0], one["marks"][-1]
        told = ", ".join(f"{key} {first[key]:.3f} -> {last[key]:.3f}" for key in ("sampled", "greedy"))
        name = f"seed {one['seed']}{', shuffled' if one['shuffled'] else ''}"
        sys.stdout.write(f"{name}: {told}, {one['seconds']:.0f} s\n")
    draw(runs, options.output)


if __name__ == "__main__":
    main()
