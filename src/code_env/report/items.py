"""The items of a report: one for each sample of an evaluation, and for each episode of a collection.

An item is data for JSON and has the same form for both. Its names are `number`, `task`, `seed`, `passed`, `valid`,
`reward` (None for a sample), `about` (what judged it, and the model if it is known) and `turns`. The names of a turn
are `prompt` (the last message before the answer), `cell` (what the policy wrote if that was a cell of a session, else
None), `reward`, `terms` and `programs` (none for a cell). A program has the names of `VerdictRow`, `answer` (the whole
response of the policy) and `finish_reason` (why the model stopped; None if that is not known).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from code_env.errors import ReportError
from code_env.judging.rows import VerdictRow
from code_env.judging.verdict import Outcome
from code_env.numbered_lines import Row
from code_env.text import first_line

Item = dict[str, Any]

_PROGRAM = tuple(VerdictRow.__annotations__)
_TYPES: dict[str, type] = {
    **dict.fromkeys(("code", "outcome", "judge", "status", "message", "stdout", "stderr"), str),
    "passed": bool,
    "failed_cases": list,
    "timing": dict,
}
_ABOUT = ("executor", "level", "version")

_MESSAGE_CHARS = 300
"""The short form of a message has at most so many characters."""


def item_of(row: Row) -> Item:
    """Return the item of a line.

    Raises:
        ReportError: If the line is not of a results file or a file of trajectories.
    """
    try:
        item = _episode_item(row) if "collection" in row else _sample_item(row)
        _check(item)
        return item
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise ReportError(
            f"a line as `code-env eval` or `code-env rollout` of this version writes it was expected; {reason}"
        ) from None


def _check(item: Item) -> None:
    """Check what figures are computed from."""
    if not item["turns"]:
        raise ValueError("it has no turn")
    known = {"task": item["task"], "passed": item["passed"], "valid": item["valid"]}
    checked = [(known, {"task": str, "passed": bool, "valid": bool})]
    checked += [(program, _TYPES) for turn in item["turns"] for program in turn["programs"]]
    for values, types in checked:
        for name, kind in types.items():
            if not isinstance(values[name], kind):
                raise TypeError(f"{name} must be of type {kind.__name__}; got {type(values[name]).__name__}")


def last_program(item: Item) -> dict[str, Any]:
    """Return the program that stands for the item: of the last turn one that passed, otherwise the first."""
    programs: list[dict[str, Any]] = item["turns"][-1]["programs"]
    return next((program for program in programs if program["passed"]), programs[0])


class Counts(NamedTuple):
    """How many samples of an item were judged, how many of these passed, and how many have no verdict."""

    judged: int
    passed: int
    missing: int


def counts_of(item: Item) -> Counts:
    """Return how many samples an item has: the programs of its last turn, if a step takes several."""
    programs = item["turns"][-1]["programs"]
    if len(programs) == 1:
        return Counts(int(item["valid"]), int(item["passed"]), int(not item["valid"]))
    missing = sum(program["outcome"] == Outcome.NO_VERDICT for program in programs)
    return Counts(len(programs) - missing, sum(program["passed"] for program in programs), missing)


def why_not(item: Item) -> str:
    """Return why the item's first case failed: the first line of the message, shortened at its end."""
    return first_line(last_program(item)["message"], _MESSAGE_CHARS)


def _sample_item(row: Row) -> Item:
    program = _program(row, row["completion"], row["finish_reason"])
    return {
        "number": row["sample"],
        "task": row["task_id"],
        "seed": None,
        "passed": row["passed"],
        "valid": row["outcome"] != Outcome.NO_VERDICT,
        "reward": None,
        "about": _about(row) | {"limits": row["limits"]},
        "turns": [{"prompt": row["prompt"], "cell": None, "reward": None, "terms": {}, "programs": [program]}],
    }


def _episode_item(row: Row) -> Item:
    asked = [message["content"] for message in row["messages"] if message["role"] == "user"]
    return {
        "number": row["episode"],
        "task": row["task_id"],
        "seed": row["seed"],
        "passed": row["passed"],
        "valid": row["valid"],
        "reward": row["return"],
        "about": _about(row),
        "turns": [
            {
                # If a step takes several programs, the policy gets no feedback, and there is one message.
                "prompt": asked[min(index, len(asked) - 1)],
                "cell": None if turn["programs"] else str(turn["action"]),
                "reward": turn["reward"],
                "terms": turn["reward_terms"],
                "programs": [
                    _program(program, answer, turn["finish_reason"])
                    for program, answer in zip(turn["programs"], _answers(turn), strict=True)
                ],
            }
            for index, turn in enumerate(row["turns"])
        ],
    }


def _about(row: Row) -> dict[str, Any]:
    model = row.get("model")
    return {name: row[name] for name in _ABOUT} | ({} if model is None else {"model": str(model)})


def _answers(turn: Row) -> list[str]:
    if not turn["programs"]:
        return []
    action = turn["action"]
    return [action] if isinstance(action, str) else list(action)


def _program(row: Row, answer: str, finish_reason: str | None) -> dict[str, Any]:
    return {"answer": answer, "finish_reason": finish_reason} | {name: row[name] for name in _PROGRAM}
