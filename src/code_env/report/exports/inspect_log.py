"""The log of an evaluation as Inspect writes it: an `EvalLog` of version 2, as one JSON object.

A sample without a verdict has an error and no score, so that Inspect too neither rewards nor punishes it. Fields of
which the results say nothing (tokens, costs, the model's time) are left out, for which Inspect's reader has defaults.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from code_env.report.figures import outcome_of
from code_env.report.items import Item, counts_of, last_program
from code_env.rewards.pass_at_k import mean_pass_at_k

from .common import Origin, explanation, finite, json_text, result_line, why_no_verdict

_UNKNOWN_MODEL = "unknown"
"""The log must name a model, also if the results do not."""

_STOP_REASONS = {"stop": "stop", "length": "max_tokens", "tool_calls": "tool_calls", "content_filter": "content_filter"}
"""Inspect's words for the reasons of a chat endpoint; all others are `unknown`."""

_VERDICT = "verdict"
_REWARD = "reward_"
"""Before the name of a reward term, so that no term can take the place of the verdict."""


def inspect_log(items: Iterable[Item], origin: Origin) -> Iterator[str]:
    """Yield the log in pieces.

    Args:
        items: The items. One is held at a time: the samples wait in a file without a name, because Inspect reads what
            stands before them without them, and that is known after the last.
        origin: Where they come from.

    Raises:
        ReportError: If an item cannot be read, or holds a number that is not finite.
    """
    results = _Results()
    with tempfile.TemporaryFile("w+", encoding="ascii") as samples:
        for number, item in enumerate(items):
            samples.write("\n" if number == 0 else ",\n")
            samples.write(json_text(_sample(item, results.add(item))))
        status = "success" if origin.finished else "started"
        head = json_text({"version": 2, "status": status} | results.head(origin))
        yield f'{head[:-1]},"samples":['
        samples.seek(0)
        yield from samples
        yield "\n]}\n"


class _Results:
    """The scores of a log, added up sample by sample."""

    def __init__(self) -> None:
        self._about: dict[str, Any] = {}
        self._samples: dict[str, int] = defaultdict(int)
        self._scored = 0
        self._verdicts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        self._terms: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(lambda: [0, 0.0]))

    def add(self, item: Item) -> int:
        """Count an item.

        Returns:
            Which answer to its task it is, from 1: its epoch.
        """
        task = item["task"]
        self._about = self._about or item["about"]
        self._samples[task] += 1
        if item["valid"]:
            self._scored += 1
            judged, passed, _ = counts_of(item)
            counts = self._verdicts[task]
            counts[0] += judged
            counts[1] += passed
            for name, value in _terms(item).items():
                sums = self._terms[name][task]
                sums[0] += 1
                sums[1] += value
        return self._samples[task]

    def head(self, origin: Origin) -> dict[str, Any]:
        """Return what stands in the log before the samples."""
        total = sum(self._samples.values())
        version = self._about.get("version", "")
        written = origin.written.isoformat(timespec="seconds")
        return {
            "eval": {
                "eval_id": origin.key,
                "run_id": origin.key,
                "created": written,
                "task": origin.name,
                "task_id": origin.key,
                "dataset": {"name": origin.name, "samples": len(self._samples), "sample_ids": list(self._samples)},
                "model": _model_of(self._about),
                "config": {
                    "epochs": max(self._samples.values(), default=1),
                    "epochs_reducer": ["mean"],
                    # Inspect's word for a run that went on after samples had errors.
                    "fail_on_error": False,
                },
                "packages": {"code-exec-env": version},
                "metadata": self._about,
            },
            "plan": {"name": "code_env", "steps": []},
            "results": {"total_samples": total, "completed_samples": self._scored, "scores": self._scores(total)},
            # When the run began is not known; without a time the viewer shows "NaN days" as its duration.
            "stats": {"started_at": written, "completed_at": written},
        }

    def _scores(self, total: int) -> list[dict[str, Any]]:
        tasks = [(judged, passed) for judged, passed in self._verdicts.values()]
        estimate = mean_pass_at_k(tasks, 1)
        if estimate is None:
            return []
        scores = [_score(_VERDICT, "accuracy", estimate.value, estimate.standard_error, self._scored, total)]
        for name, by_task in self._terms.items():
            mean, error = _mean([added / count for count, added in by_task.values()])
            counted = sum(int(count) for count, _ in by_task.values())
            scores.append(_score(_REWARD + name, "mean", mean, error, counted, total))
        return scores


def _model_of(about: dict[str, Any]) -> str:
    return str(about.get("model", _UNKNOWN_MODEL))


def _score(name: str, metric: str, value: float, error: float, scored: int, total: int) -> dict[str, Any]:
    return {
        "name": name,
        "scorer": name,
        "reducer": "mean",
        "scored_samples": scored,
        "unscored_samples": total - scored,
        "metrics": {metric: {"name": metric, "value": value}, "stderr": {"name": "stderr", "value": error}},
    }


def _mean(values: list[float]) -> tuple[float, float]:
    """Return the mean over the tasks and its standard error, as Inspect computes both."""
    mean = sum(values) / len(values)
    if len(values) == 1:
        return mean, 0.0
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return mean, float((variance / len(values)) ** 0.5)


def _terms(item: Item) -> dict[str, float]:
    """Return what each reward term contributed to the item's reward, over all turns."""
    sums: dict[str, float | None] = {}
    for turn in item["turns"]:
        for name, value in turn["terms"].items():
            sums[name] = (sums.get(name) or 0.0) + value
    return finite(sums)


def _sample(item: Item, epoch: int) -> dict[str, Any]:
    program = last_program(item)
    answer = {"role": "assistant", "content": program["answer"], "source": "generate"}
    sample = {
        "id": item["task"],
        "epoch": epoch,
        "input": item["turns"][0]["prompt"],
        # The results hold no reference solution.
        "target": "",
        "messages": [message for turn in item["turns"] for message in _messages(turn)],
        "output": {
            "model": _model_of(item["about"]),
            "choices": [
                {"message": answer, "stop_reason": _STOP_REASONS.get(str(program["finish_reason"]), "unknown")}
            ],
            "completion": program["answer"],
        },
        "metadata": {
            "number": item["number"],
            "seed": item["seed"],
            "outcome": outcome_of(item),
            **finite({"reward": item["reward"]}),
            **item["about"],
        },
    }
    if item["valid"]:
        sample["scores"] = _sample_scores(item, program)
    else:
        message = why_no_verdict(item)
        sample["error"] = {"message": message, "traceback": message, "traceback_ansi": message}
    return sample


def _sample_scores(item: Item, program: dict[str, Any]) -> dict[str, Any]:
    counts = counts_of(item)
    verdict = {
        # A step that takes several programs is right in part.
        "value": counts.passed / counts.judged if counts.judged > 1 else "C" if item["passed"] else "I",
        "answer": program["code"],
        "explanation": explanation(program) or result_line(program),
        "metadata": {
            name: program[name]
            for name in ("status", "stage", "fraction", "tests_passed", "tests_total", "judge", "stdout", "stderr")
        },
    }
    return {_VERDICT: verdict} | {_REWARD + name: {"value": value} for name, value in _terms(item).items()}


def _messages(turn: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "user", "content": turn["prompt"], "source": "input"}
    if turn["cell"] is not None:
        yield {"role": "assistant", "content": turn["cell"], "source": "generate"}
    for program in turn["programs"]:
        about = {
            "result": result_line(program),
            "explanation": explanation(program),
            "stdout": program["stdout"],
            "stderr": program["stderr"],
            "cpu_s": program["cpu_s"],
            "peak_memory_bytes": program["peak_memory_bytes"],
            "timing": program["timing"],
            **finite({"reward": turn["reward"]}),
        }
        yield {"role": "assistant", "content": program["answer"], "source": "generate", "metadata": about}
