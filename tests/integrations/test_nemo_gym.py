"""NeMo Gym needs Python 3.13 and does not install beside the others; so requests are made here as its agents make them.

`responses_api_agents/simple_agent/app.py` and `nemo_gym/base_resources_server.py` of nemo-gym 0.7.0.
"""

import asyncio
import base64
import json
import zlib

import pytest

from code_env import CallTest, RewardError, Task, TaskError, TaskSuite
from code_env.integrations.nemo_gym import verify
from support import BrokenExecutor

TASK = Task("twice", "Write f(n), twice n.", (CallTest((1,), {}, 2), CallTest((2,), {}, 4)), entry_point="f")
(ROW,) = TaskSuite("numbers", [TASK]).to_rows("nemo_gym")
CASES = {"inputs": ["2\n", "3\n"], "outputs": ["4", "6"]}
PRINTS = "```python\nprint(2 * int(input()))\n```"


def response(*texts, thought="I think."):
    """What the agent got from the model, as the Responses API has it."""
    said = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": said}
    reasoning = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": thought}]}
    return {"id": "resp_1", "object": "response", "model": "policy", "output": [reasoning, message], "tools": []}


def verified(answer, row=ROW, **settings):
    said = answer if isinstance(answer, dict) else response(answer)
    return asyncio.run(verify({**row, "response": said}, **settings))


@pytest.mark.parametrize(
    ("answer", "reward", "no_code"),
    [
        ("def f(n): return 2 * n", 1.0, 0.0),
        ("def f(n): return 2", 0.5, 0.0),
        ("def f(n): return 0", 0.0, 0.0),
        ("", 0.0, 1.0),
    ],
)
def test_an_answer_is_scored(answer, reward, no_code):
    answered = verified(answer)
    assert answered["responses_create_params"] == {"input": [{"role": "user", "content": TASK.prompt}]}
    assert answered["response"] == response(answer)
    assert (answered["reward"], answered["mask_sample"], answered["failure_kind"]) == (reward, False, None)
    assert (answered["passed"], answered["tests_passed"]) == (float(reward == 1.0), reward)
    assert (answered["no_code"], answered["reward/tests"]) == (no_code, reward)
    json.dumps(answered)


def test_several_messages_and_no_reasoning_are_read():
    said = response("```python\ndef f(n): return 0\n```", thought="```python\ndef f(n): return 2 * n\n```")
    assert verified(said)["reward"] == 0.0
    more = response("```python\ndef f(n): return 2 * n\n```")["output"]
    assert verified(said | {"output": said["output"] + more})["reward"] == 1.0
    assert verified(said | {"output": []})["no_code"] == 1.0


@pytest.mark.parametrize(
    "tests",
    [CASES | {"fn_name": None}, {"packed": base64.b64encode(zlib.compress(json.dumps(CASES).encode())).decode()}],
    ids=["plain", "packed"],
)
def test_rows_of_nemo_gym_itself(tests):
    row = ROW | {"verifier_metadata": {"unit_tests": tests, "difficulty": "easy"}}
    assert verified(PRINTS, row)["reward"] == 1.0
    assert verified("print(4)", row)["reward"] == 0.5


def test_a_broken_sandbox_masks_the_sample():
    answered = verified("def f(n): return 2 * n", executor=BrokenExecutor())
    assert (answered["reward"], answered["mask_sample"], answered["failure_kind"]) == (0.0, True, "verifier_error")
    assert answered["failure_reason"]
    assert "passed" not in answered


def test_settings():
    answered = verified("def f(n): return 2", rewards={"tests": 0.5, "pass@1": 2.0}, limits={"cpu_s": 1})
    assert (answered["reward"], answered["reward/tests"], answered["reward/pass@1"]) == (0.25, 0.25, 0.0)
    with pytest.raises(RewardError, match="NeMo Gym verifies each sample alone"):
        verified("x", rewards={"group_pass@2": 1.0})


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"verifier_metadata": None}, "verifier_metadata: an object with `task`"),
        ({"verifier_metadata": {}}, "verifier_metadata: an object with `task`"),
        ({"verifier_metadata": {"task": "{"}}, "verifier_metadata: "),
        ({"verifier_metadata": {"task": "[]"}}, "verifier_metadata: an object, or JSON text of one"),
        ({"verifier_metadata": {"unit_tests": {"packed": "a*"}}}, "packed: zlib"),
        ({"verifier_metadata": {"unit_tests": {"packed": "eJyrBQAAewB7"}}}, "packed: zlib"),
    ],
)
def test_a_malformed_row_is_an_error(row, told):
    with pytest.raises(TaskError, match=told):
        verified("x", ROW | row)


def test_content_may_be_text():
    message = {"type": "message", "role": "assistant", "content": "def f(n): return 2 * n"}
    assert verified({"output": [message]})["reward"] == 1.0
    with pytest.raises(TaskError, match="text or a list of parts was expected as a message's content; got int"):
        verified({"output": [message | {"content": 7}]})


def test_a_malformed_response_is_an_error():
    with pytest.raises(TaskError, match="response: an object with a list `output` was expected"):
        verified({"text": "x"})
