"""OpenRLHF: `reward_func`, for a file at `--reward.remote_url`, and the same over HTTP.

OpenRLHF calls the function with positional arguments, in a thread; each argument is a list with one element. A query is
the prompt followed by the response, decoded with all special tokens. Code in the prompt must never count as the answer.
So the prompt is removed before code is extracted; if the prompt is not found, there is no reward.

If there is no verdict, the reward is nan. OpenRLHF treats nan like any number: with `--algo.dynamic_filtering_enable`
it drops the group, and without this option nan reaches the loss. This module imports neither OpenRLHF nor torch.

The rows come from `TaskSuite.to_dataset("openrlhf")`, with `--data.input_key input --data.label_key label`.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from code_env.errors import TaskError
from code_env.executors.base import Executor
from code_env.tasks.trainer_rows import task_from_text

from ._common.misspelt import refuse_further
from ._common.scoring import Score, score

__all__ = ["answer_request", "response_in", "reward_func"]

_log = logging.getLogger(__name__)

_LOST = re.compile(
    r"<\|[^|<>\s]{1,40}\|>|<｜[^｜<>\s]{1,40}｜>|</?s>|<(?:bos|eos|pad|unk|start_of_turn|end_of_turn)>|\s+"
)
"""Text that a tokenizer can add to a prompt or remove from it: white space and special tokens."""

_LEAST_TAIL = 32
"""The shortest end of a prompt that counts as the prompt if a tokenizer has cut off its beginning, in characters."""


@refuse_further
def reward_func(
    queries: Sequence[str],
    prompts: Sequence[str],
    labels: Sequence[str],
    *,
    rewards: Mapping[str, Any] | None = None,
    executor: Executor | str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the reward of each response.

    Args:
        queries: For each sample, the prompt followed by the response.
        prompts: The prompt of each sample.
        labels: The task of each sample, as JSON text.
        rewards: As for `gym.make_vec`; the default is the share of tests passed. To set it, use `functools.partial` in
            your own file.
        executor: Where programs run: an executor, which the caller must close, the name of an executor, or None for the
            default executor, which all calls share.
        limits: Limits that replace the task's own limits, for example `{"cpu_s": 1}`; see `Limits` for their names.

    Returns:
        `rewards`; `scores`, the share of tests passed, by which OpenRLHF filters groups; and `extra_logs`, a dictionary
        with `passed`, `no_code` and `no_verdict`. Each of these values is a list with a number for each query. If there
        is no verdict or the prompt is not found, reward and score are nan, and `no_verdict` is 1.0.

    Raises:
        CodeEnvError: If a task is malformed, or the rewards, the limits or the executor do not exist or
            do not fit.
        TypeError: If a keyword is not an argument of this function.
        ValueError: If the numbers of queries, prompts and labels differ.

    Example:
        >>> from code_env import load_suite
        >>> suite = load_suite("starter")
        >>> row = suite.to_rows("openrlhf")[0]
        >>> query = f"{row['input']}```python\\n{suite[0].reference}\\n```<|im_end|>"
        >>> reward_func([query], [row["input"]], [row["label"]])["rewards"]
        [1.0]
    """
    if not len(queries) == len(prompts) == len(labels):
        raise ValueError(
            f"as many queries as prompts and labels were expected; got {len(queries)}, {len(prompts)}, {len(labels)}"
        )
    tasks = [task_from_text(label) for label in labels]
    responses = [response_in(query, prompt) for query, prompt in zip(queries, prompts, strict=True)]
    found = [index for index, response in enumerate(responses) if response is not None]
    if len(found) < len(responses):
        _log.warning(
            "%d of %d queries do not begin with their prompt, so they have no reward; a query is the prompt and the "
            "response behind it",
            len(responses) - len(found),
            len(responses),
        )
    answered = [tasks[index] for index in found], [responses[index] or "" for index in found]
    judged = score(*answered, rewards, executor, limits)
    return _result(dict(zip(found, judged, strict=True)), len(queries))


def answer_request(request: Mapping[str, Any], **settings: Any) -> dict[str, Any]:
    """Call `reward_func` for a server: it gets the JSON that OpenRLHF posts, and returns the JSON that OpenRLHF reads.

    Args:
        request: The posted object, with `query`, `prompts` and `labels`.
        settings: `rewards`, `executor` and `limits`.

    Raises:
        TaskError: If a field is missing or not a list.
        CodeEnvError, TypeError, ValueError: See `reward_func`.
    """
    for name in ("query", "prompts", "labels"):
        if not isinstance(request.get(name), list):
            raise TaskError(f"{name}: a list was expected; got {type(request.get(name)).__name__}")
    return reward_func(request["query"], request["prompts"], request["labels"], **settings)


def response_in(query: str, prompt: str) -> str | None:
    """Return the response that follows a prompt; None if the query does not begin with the prompt.

    It finds the prompt even if a tokenizer has added special tokens or white space to it, removed them from it, or cut
    off its beginning.

    Example:
        >>> response_in("<s> Print 1.\\n\\nprint(1)</s>", "Print 1.\\n")
        '\\nprint(1)</s>'
    """
    if query.startswith(prompt):
        return query[len(prompt) :]
    end = _end_of(prompt, query)
    if end is None:
        end = _end_of_tail(prompt, query)
    return None if end is None else query[end:]


def _end_of(prompt: str, query: str) -> int | None:
    """Return where a prompt ends in a query that begins with it; white space and special tokens are ignored."""
    place = in_prompt = 0
    characters = _spelt(query)
    for wanted, in_prompt in _spelt(prompt):  # noqa: B007  # Used after the loop.
        found, place = next(characters, ("", 0))
        if found != wanted:
            return None
    for lost in _LOST.finditer(prompt, in_prompt):
        token = lost[0]
        if not token.isspace():
            place += len(token) if query.startswith(token, place) else 0
            continue
        space = query[place : place + len(token)]
        place += len(space) - len(space.lstrip())
    return place


def _spelt(text: str) -> Iterator[tuple[str, int]]:
    """Yield each character that no tokenizer adds or removes, with the position after it."""
    place = 0
    for lost in _LOST.finditer(text):
        yield from zip(text[place : lost.start()], range(place + 1, lost.start() + 1), strict=True)
        place = lost.end()
    yield from zip(text[place:], range(place + 1, len(text) + 1), strict=True)


def _end_of_tail(prompt: str, query: str) -> int | None:
    """Return where a prompt ends in a query that begins with the end of the prompt, after special tokens."""
    start = 0
    while (added := _LOST.match(query, start)) is not None:
        start = added.end()
    head = query[start : start + _LEAST_TAIL]
    place = prompt.find(head) if len(head) == _LEAST_TAIL else -1
    while place >= 0:
        if query.startswith(prompt[place:], start):
            return start + len(prompt) - place
        place = prompt.find(head, place + 1)
    return None


def _result(judged: Mapping[int, Score], count: int) -> dict[str, Any]:
    """Return what OpenRLHF reads. All samples have the same keys, because OpenRLHF puts samples into batches."""
    rewards, scores, passed, no_code = [math.nan] * count, [math.nan] * count, [0.0] * count, [0.0] * count
    for index, one in judged.items():
        if one.reward is not None and one.verdict.fraction is not None:
            rewards[index], scores[index] = one.reward, one.verdict.fraction
            passed[index], no_code[index] = float(one.verdict.passed), float(not one.verdict.has_code)
    missing = [float(math.isnan(reward)) for reward in rewards]
    logs = {"passed": passed, "no_code": no_code, "no_verdict": missing}
    return {"rewards": rewards, "scores": scores, "extra_logs": logs}
