"""Trajectories in Harbor's format, ATIF-v1.8, in the folders that its viewer reads.

The viewer shows a folder of jobs. A job is a folder of trials, by whose `config.json` the viewer knows it. A trial has
`agent/trajectory.json` and `result.json`, without which the viewer does not list it. Each episode, or sample, is a
trial. What the results do not say (tokens, costs, the times of steps) is left out.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from code_env.errors import ReportError
from code_env.report.figures import outcome_of
from code_env.report.items import Item, last_program

from .common import Origin, explanation, finite, result_line, why_no_verdict

_SCHEMA = "ATIF-v1.8"
_AGENT = "code_env"

_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")
_TASK_CHARS = 40
"""So many characters of a task's id are in the name of a trial's folder."""


class Trial(NamedTuple):
    """An episode or a sample as Harbor keeps it."""

    name: str
    """Name of its folder."""
    trajectory: dict[str, Any]
    """What is in `agent/trajectory.json`."""
    result: dict[str, Any]
    """What is in `result.json`."""


def harbor_trials(items: Iterable[Item], origin: Origin) -> Iterator[Trial]:
    """Yield a trial for each item, one at a time.

    Args:
        items: The items.
        origin: Where they come from.

    Raises:
        ReportError: If an item cannot be read, or has no number.
    """
    for item in items:
        name = _name(item)
        key = f"{origin.name}:{item['number']}"
        yield Trial(name, _trajectory(item, key), _result(item, name, origin))


def harbor_job(origin: Origin, trials: int, errors: int) -> dict[str, dict[str, Any]]:
    """Return what is in the files of the job itself, by their names.

    Args:
        origin: Where the items come from.
        trials: How many trials there are.
        errors: How many of them have no verdict.
    """
    written = origin.written.isoformat(timespec="seconds")
    return {
        "config.json": {"job_name": origin.name, "agents": [{"name": _AGENT}]},
        "result.json": {
            "id": str(uuid.uuid5(uuid.NAMESPACE_OID, origin.key)),
            # Harbor demands it; when the run began is not known.
            "started_at": written,
            **({"finished_at": written} if origin.finished else {}),
            "n_total_trials": trials,
            "stats": {"n_completed_trials": trials, "n_errored_trials": errors},
        },
    }


def _name(item: Item) -> str:
    """Return a name that is safe on a disk, whatever the task's id is, and sorts by the item's number."""
    number = item["number"]
    if type(number) is not int or number < 0:
        raise ReportError(f"a number of at least 0 was expected for each sample and episode; got {number!r}")
    return f"{number:06d}-{_safe(item['task'])}"


def _safe(task: str) -> str:
    return _UNSAFE.sub("-", task)[:_TASK_CHARS].strip("-.") or "task"


def _trajectory(item: Item, key: str) -> dict[str, Any]:
    about, program = item["about"], last_program(item)
    steps: list[dict[str, Any]] = []
    for turn in item["turns"]:
        steps.append({"source": "user", "message": turn["prompt"]})
        if turn["cell"] is not None:
            steps.append({"source": "agent", "message": turn["cell"]})
        steps.extend(_answer(turn, one) for one in turn["programs"])
    return {
        "schema_version": _SCHEMA,
        "session_id": key,
        "trajectory_id": key,
        "agent": {"name": _AGENT, "version": about["version"], **_model_name(about), "extra": about},
        "steps": [{"step_id": number} | step for number, step in enumerate(steps, start=1)],
        "final_metrics": {
            "total_steps": len(steps),
            "extra": {
                **_rewards(item),
                "passed": item["passed"],
                "outcome": outcome_of(item),
                "fraction": program["fraction"],
                "tests_passed": program["tests_passed"],
                "tests_total": program["tests_total"],
            },
        },
        "extra": {"task": item["task"], "number": item["number"], "seed": item["seed"], "valid": item["valid"]},
    }


def _model_name(about: dict[str, Any]) -> dict[str, str]:
    """Return the name of the model as ATIF has it; nothing if it is not known."""
    return {"model_name": about["model"]} if "model" in about else {}


def _answer(turn: dict[str, Any], program: dict[str, Any]) -> dict[str, Any]:
    """Return the step of an answer, with what the sandbox found."""
    parts = [result_line(program), explanation(program)]
    parts += [f"{name}:\n{program[name]}" for name in ("stdout", "stderr") if program[name]]
    found = ("outcome", "stage", "status", "judge", "fraction", "language", "code", "failed_cases")
    return {
        "source": "agent",
        "message": program["answer"],
        "observation": {
            "results": [
                {
                    "content": "\n\n".join(part for part in parts if part),
                    "extra": {name: program[name] for name in found},
                }
            ]
        },
        "metrics": {
            "extra": {
                "cpu_s": program["cpu_s"],
                "peak_memory_bytes": program["peak_memory_bytes"],
                **program["timing"],
            }
        },
        # A turn's reward is one, also if it holds several answers.
        "extra": {**finite({"reward": turn["reward"]}), "reward_terms": finite(turn["terms"])},
    }


def _result(item: Item, name: str, origin: Origin) -> dict[str, Any]:
    """Return the result of a trial: what Harbor's model demands, and the rewards."""
    written = origin.written.isoformat(timespec="seconds")
    # Harbor looks for the task's files at this path, so it must not be what a file of others says.
    task = {"path": _safe(item["task"])}
    result: dict[str, Any] = {
        # The same file gives the same identifiers again.
        "id": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{origin.key}:{item['number']}")),
        "task_name": item["task"],
        "trial_name": name,
        "trial_uri": name,
        "task_id": task,
        "task_checksum": "",
        "config": {"task": task, "trial_name": name, "agent": {"name": _AGENT}},
        "agent_info": {"name": _AGENT, "version": item["about"]["version"]},
        # The viewer takes means over trials that have ended; when each began is not known.
        "finished_at": written,
    }
    if item["valid"]:
        result["verifier_result"] = {"rewards": {**_rewards(item), "verdict": float(item["passed"])}}
    else:
        result["exception_info"] = {
            "exception_type": "NoVerdict",
            "exception_message": why_no_verdict(item),
            "exception_traceback": "",
            "occurred_at": written,
        }
    return result


def _rewards(item: Item) -> dict[str, float]:
    """Return the item's reward; nothing for a sample, which has none."""
    return finite({"reward": item["reward"]})
