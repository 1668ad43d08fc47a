"""NeMo Gym: `verify`, the answer of a resources server to `POST /verify`.

The protocol is that of https://github.com/NVIDIA-NeMo/Gym, `nemo_gym/base_resources_server.py` (0.7). The request is a
row of the data set, with what the agent got from the model in `response`; the answer is the request with `reward` and
more. NeMo Gym leaves a sample with `mask_sample` out of training and of scores. This module does not import NeMo Gym.

The rows come from `TaskSuite.to_rows("nemo_gym")`. Rows of NeMo Gym's own `code_gen` work too.
"""

from __future__ import annotations

import base64
import functools
import json
import zlib
from collections.abc import Mapping
from typing import Any

from code_env.errors import TaskError
from code_env.executors.base import Executor
from code_env.tasks.formats.fields import in_field, json_value, shape
from code_env.tasks.formats.verl import task_from_truth
from code_env.tasks.task import Task

from ._common.runs import why_no_verdict
from ._common.scoring import ascore, refuse_groups

__all__ = ["verify"]

_MOST_TEST_BYTES = 256 << 20
"""Packed tests that are larger than this, unpacked, are refused."""


async def verify(
    request: Mapping[str, Any],
    *,
    rewards: Mapping[str, Any] | None = None,
    executor: Executor | str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the answer to a request.

    Args:
        request: The request, with `response` (the Responses API's), and `verifier_metadata` with `task`, as
            `TaskSuite.to_rows("nemo_gym")` writes it, or with `unit_tests`, as in NeMo Gym's `code_gen`.
        rewards: As for `gym.make_vec`; the default is the share of tests passed.
        executor: Where programs run: an executor, which the caller must close, the name of an executor, or None for the
            default executor, which all calls share.
        limits: Limits that replace the task's own limits, for example `{"cpu_s": 1}`; see `Limits` for their names.

    Returns:
        The request, with `reward`, `mask_sample`, `failure_kind` and `failure_reason`. If there is a verdict, it also
        has `passed`, `tests_passed` (the share), `no_code`, and `reward/<name>` for each reward. If there is none,
        `mask_sample` is true.

    Raises:
        CodeEnvError: If the request is malformed, or the rewards, the limits or the executor do not exist or do not
            fit.

    Example:
        >>> import asyncio
        >>> from code_env import load_suite
        >>> suite = load_suite("starter")
        >>> said = {"type": "output_text", "text": suite[0].reference}
        >>> message = {"type": "message", "role": "assistant", "content": [said]}
        >>> answer = asyncio.run(verify(suite.to_rows("nemo_gym")[0] | {"response": {"output": [message]}}))
        >>> answer["reward"], answer["mask_sample"]
        (1.0, False)
    """
    refuse_groups(rewards, "NeMo Gym verifies each sample alone")
    task, response = _task(request.get("verifier_metadata")), _output_text(request.get("response"))
    (judged,) = await ascore([task], [response], rewards, executor, limits)
    if judged.reward is None:
        masked = {"reward": 0.0, "mask_sample": True, "failure_kind": "verifier_error"}
        return {**request, **masked, "failure_reason": why_no_verdict(judged.verdict)}
    return {
        **request,
        "reward": judged.reward,
        "mask_sample": False,
        "failure_kind": None,
        "failure_reason": None,
        **judged.metrics,
        **{f"reward/{name}": added for name, added in judged.terms.items()},
    }


def _output_text(response: Any) -> str:
    """Return the text of the assistant's messages in a response, each on its own lines.

    Raises:
        TaskError: If it is no response.
    """
    output = response.get("output") if isinstance(response, Mapping) else None
    if not isinstance(output, list):
        raise TaskError(f"response: an object with a list `output` was expected; got {shape(response)}")
    messages = [item for item in output if isinstance(item, Mapping) and item.get("type") == "message"]
    return "\n".join(_text(message.get("content") or "") for message in messages)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise TaskError(f"response: text or a list of parts was expected as a message's content; got {shape(content)}")
    parts = [part for part in content if isinstance(part, Mapping) and part.get("type") == "output_text"]
    return "".join(str(part.get("text", "")) for part in parts)


def _task(metadata: Any) -> Task:
    if not isinstance(metadata, Mapping) or not ({"task", "unit_tests"} & metadata.keys()):
        raise TaskError(
            f"verifier_metadata: an object with `task`, as to_rows('nemo_gym') writes it, or with `unit_tests` was "
            f"expected; got {shape(metadata)}"
        )
    truth = metadata["task"] if "task" in metadata else metadata["unit_tests"]
    return _task_of(truth if isinstance(truth, str) else json.dumps(truth))


@functools.lru_cache(maxsize=1024)  # Returns the same task each time, so that one judge can serve its answers.
def _task_of(text: str) -> Task:
    truth = in_field("verifier_metadata", lambda: json_value(text))
    if not isinstance(truth, dict):
        raise TaskError(f"verifier_metadata: an object, or JSON text of one, was expected; got {shape(truth)}")
    if "packed" in truth:
        truth = in_field("verifier_metadata: unit_tests", lambda: _unpacked(truth))
    return in_field("verifier_metadata", lambda: task_from_truth(truth))


def _unpacked(truth: dict[str, Any]) -> dict[str, Any]:
    """Return tests that are packed as in `benchmarks/livecodebench/prepare_utils.py` of NeMo Gym."""
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(truth["packed"]), _MOST_TEST_BYTES)
        if unpacker.unconsumed_tail:
            raise TaskError(f"packed: more than {_MOST_TEST_BYTES} bytes")
        tests = json.loads(data)
        return {"inputs": tests["inputs"], "outputs": tests["outputs"], "fn_name": truth.get("fn_name")}
    except (ValueError, TypeError, KeyError, zlib.error) as error:
        raise TaskError(f"packed: zlib's compressed JSON with inputs and outputs was expected: {error}") from None
