"""`/judge`, `/judge_batch` and `/tasks`: verdicts over HTTP.

A verdict says whether it is valid, because a client must not take a fault of the sandbox for a wrong answer. Tasks are
rows as in `docs/task-format.md`. A task can be uploaded once, and is then named by the SHA-256 digest of its row.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from typing import Any

from code_env.errors import CodeEnvError
from code_env.extract import extract_code
from code_env.integrations._common.scoring import score
from code_env.judging.rows import verdict_row
from code_env.judging.verdict import Verdict
from code_env.tasks.formats.code_env import task_from_row
from code_env.tasks.task import Task

from .bodies import BadRequest
from .lines import lines_of
from .work import NoTurn, Work

_MOST_TASK_BYTES = 512 << 20
"""The rows of all tasks that are kept; those that were not used for the longest time are forgotten first."""


class Tasks:
    """The tasks that were uploaded, by their digests."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[str, tuple[Task, int]] = OrderedDict()
        self._bytes = 0

    def put(self, digest: str, row: bytes) -> None:
        """Keep a task.

        Raises:
            BadRequest: If the digest is not that of the row, or the row is malformed.
        """
        actual = hashlib.sha256(row).hexdigest()
        if digest != actual:
            raise BadRequest(422, f"the address must end with the SHA-256 digest of the body, {actual}; got {digest}")
        if digest in self._tasks:
            return
        try:
            task = _task(json.loads(row))
        except (ValueError, RecursionError) as error:
            raise BadRequest(422, f"the row of a task was expected: {error}") from None
        self._tasks[digest] = (task, len(row))
        self._bytes += len(row)
        while self._bytes > _MOST_TASK_BYTES and len(self._tasks) > 1:
            _, (_, size) = self._tasks.popitem(last=False)
            self._bytes -= size

    def of(self, values: Mapping[str, Any]) -> Task:
        """Return the task that a request holds, or names by its digest, with the request's limits.

        Raises:
            BadRequest: If there is no such task, or it is malformed.
        """
        if ("task" in values) == ("task_digest" in values):
            raise BadRequest(422, "give either `task`, a row, or `task_digest`, the digest of one that was uploaded")
        if "task" in values:
            task = _task(values["task"])
        else:
            digest = values["task_digest"]
            if not isinstance(digest, str) or digest not in self._tasks:
                raise BadRequest(404, f"no task has the digest {digest!r}; upload it with PUT /tasks/DIGEST")
            self._tasks.move_to_end(digest)
            task = self._tasks[digest][0]
        try:
            limits = task.limits.with_values(values.get("limits"))
        except CodeEnvError as error:
            raise BadRequest(422, str(error)) from None
        return task if limits == task.limits else dataclasses.replace(task, limits=limits)


async def judge(values: dict[str, Any], tasks: Tasks, work: Work) -> dict[str, Any]:
    """Judge answers to one task.

    Returns:
        `verdicts`, in the order of the answers.

    Raises:
        BadRequest: If the request is malformed, or the server stops before all are judged.
    """
    task, answers, rewards = tasks.of(values), _texts("answers", values.get("answers")), values.get("rewards")
    try:
        if rewards is None:
            verdicts = await asyncio.gather(*[_verdict(task, answer, work) for answer in answers])
            return {"verdicts": [_row(task, verdict) for verdict in verdicts]}
        scores = await work.score(lambda executor: score([task] * len(answers), answers, rewards, executor))
    except NoTurn as error:
        raise BadRequest(504, str(error)) from None
    except (CodeEnvError, TypeError) as error:
        raise BadRequest(422, str(error)) from None
    for one in scores:
        work.metrics.judged(one.verdict)
    return {
        "verdicts": [
            _row(task, one.verdict) | {"reward": one.reward, "reward_terms": dict(one.terms)} for one in scores
        ]
    }


async def judge_batch(values: dict[str, Any], tasks: Tasks, work: Work) -> AsyncIterator[str]:
    """Judge answers to many tasks; return what yields a JSON line for each as soon as it is judged.

    Raises:
        BadRequest: If the request is malformed.
    """
    items = values.get("items")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise BadRequest(422, "items must be a list of objects with `answer`, and `task` or `task_digest`")
    answers = _texts("the answers of items", [item.get("answer") for item in items])

    async def told(pair: tuple[Task, str]) -> dict[str, Any] | None:
        task, answer = pair
        try:
            return {"verdict": _row(task, await _verdict(task, answer, work))}
        except NoTurn:  # The server stops: the client sends again what has no line.
            return None
        except CodeEnvError as error:
            return {"error": str(error)}

    return lines_of(told, list(zip([tasks.of(item) for item in items], answers, strict=True)))


async def _verdict(task: Task, answer: str, work: Work) -> Verdict:
    code = extract_code(answer, task.language, entry_point=task.entry_point)
    return await work.judge(task, code, answer)


def _row(task: Task, verdict: Verdict) -> dict[str, Any]:
    return {"task_id": task.id, "valid": verdict.valid, **verdict_row(task, verdict)}


def _task(row: Any) -> Task:
    if not isinstance(row, dict):
        raise BadRequest(422, f"the row of a task is an object; got {type(row).__name__}")
    try:
        task = task_from_row(row)
    except CodeEnvError as error:
        raise BadRequest(422, f"the row of a task was expected: {error}") from None
    if task.image:
        raise BadRequest(422, "a task that comes with a request has no image: its path could be any directory here")
    return task


def _texts(name: str, answers: Any) -> list[str]:
    if answers is None:
        raise BadRequest(422, f"{name} is missing: a list of texts was expected")
    if not isinstance(answers, list):
        raise BadRequest(422, f"{name} must be a list of texts; got {type(answers).__name__}")
    for number, answer in enumerate(answers):
        if not isinstance(answer, str):
            raise BadRequest(422, f"{name} must be a list of texts; number {number} is {type(answer).__name__}")
    return answers
