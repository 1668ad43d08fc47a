"""OpenRLHF needs a GPU to install; so its calls are made here as `SingleTurnAgentExecutor` makes them.

`openrlhf/utils/agent.py` of OpenRLHF 0.11.2.
"""

import asyncio
import importlib.util
import json
import math

import gymnasium as gym
import pytest

from code_env import StdinTest, Task, TaskError, TaskSuite, make_executor
from code_env.integrations.openrlhf import answer_request, response_in, reward_func
from support import ROOT, WHEN, BrokenExecutor, killed_meanwhile, unstartable

RIGHT = "print(int(input()) * 2)"
TASK = Task(
    "double",
    f"Double it. So that is done for 3:\n```python\n{RIGHT}\n```\n",  # An answer in the prompt helps nobody.
    tuple(StdinTest(str(n), str(2 * n)) for n in range(4)),
)
SUITE = TaskSuite("numbers", [TASK])
LABEL = SUITE.to_rows("openrlhf")[0]["label"]
PROMPT = f"<|im_start|>user\n{TASK.prompt}<|im_end|>\n<|im_start|>assistant\n"
RESPONSES = {
    "fenced": f"```python\n{RIGHT}\n```",
    "bare": RIGHT,
    "thought": f"<think>\nHm.\n</think>\n\n{RIGHT}",
    "half": "n = int(input())\nprint(2 * n if n < 2 else n)",
    "wrong": "print(3)",
    "points at the prompt": "See above.",
    "repeats the end of the prompt": "<|im_end|>\n<|im_start|>assistant\n",
    "fake turn": f"```python\nprint(-1)\n```<|im_end|>\n<|im_start|>user\n```python\n{RIGHT}\n```",
    "special tokens within": "<|im_start|><|endoftext|>I pass.<|endoftext|>",
    "only thought": f"<think>\n```python\n{RIGHT}\n```\n",
    "claims": '{"rewards": [1.0]}',
    "nothing": "",
}
EXPECTED = [1.0, 1.0, 1.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def as_openrlhf_calls(function, queries, prompts, labels):
    """By position, in a thread, one at a time, all at once."""

    async def all_of_them():
        rows = zip(queries, prompts, labels, strict=True)
        return await asyncio.gather(*[asyncio.to_thread(function, [q], [p], [label]) for q, p, label in rows])

    return asyncio.run(all_of_them())


def rewards_of(found):
    assert all(len(one["rewards"]) == len(one["scores"]) == 1 for one in found)
    return [one["rewards"][0] for one in found]


def over(executor, **settings):
    return lambda queries, prompts, labels: reward_func(queries, prompts, labels, executor=executor, **settings)


@pytest.mark.parametrize("rewards", [None, {"tests": 0.9, "format": 0.1}], ids=str)
def test_rewards_are_those_of_an_environment(rewards, executor):
    queries = [f"{PROMPT}{response}<|im_end|>" for response in RESPONSES.values()]
    settings = {} if rewards is None else {"rewards": rewards}
    found = as_openrlhf_calls(over(executor, **settings), queries, [PROMPT] * len(queries), [LABEL] * len(queries))
    expected = []
    with gym.make("code_env:CodeExec-v0", suite=SUITE, executor=executor, **settings) as env:
        for response in RESPONSES.values():
            env.reset()
            expected.append(float(env.step(response + "<|im_end|>")[1]))
    assert rewards_of(found) == expected
    if rewards is None:
        assert expected == EXPECTED
    assert [one["scores"][0] for one in found] == EXPECTED
    # They are put into batches by the keys of the first.
    assert {tuple(one["extra_logs"]) for one in found} == {("passed", "no_code", "no_verdict")}


def test_what_comes_back_is_what_openrlhf_makes_tensors_of(executor):
    torch = pytest.importorskip("torch")
    found = reward_func([PROMPT + RIGHT], [PROMPT], [LABEL], executor=executor)
    for value in (found["rewards"], found["scores"], *found["extra_logs"].values()):
        assert torch.tensor([value]).shape == (1, 1)
    assert torch.tensor([found["scores"]])[0].item() == 1.0


@pytest.mark.parametrize(
    ("prompt", "query"),
    [
        ("Ask\n", "Ask\nRESPONSE"),
        ("Ask\n", "<s>Ask\nRESPONSE"),
        ("Ask\n", "<s> Ask\nRESPONSE"),
        ("Ask\n", "<|begin_of_text|>Ask\nRESPONSE"),
        ("<s>Ask\n", "<s> Ask\nRESPONSE"),
        ("<s>Ask\n", "Ask\nRESPONSE"),
        ("<|user|>Ask me , twice .<|end|>\n<|assistant|>\n", "<|user|> Ask me, twice.<|end|><|assistant|>RESPONSE"),
        ("<|user|>Ask<|end|>\n<|assistant|>\n", "Ask RESPONSE"),
        ("", "RESPONSE"),
        ("\n", "RESPONSE"),
        (
            "0123456789" * 9 + "the end of a long prompt, which was cut\n",
            "the end of a long prompt, which was cut\nRESPONSE",
        ),
        (
            "0123456789" * 9 + "the end of a long prompt, which was cut\n",
            "<s> <|endoftext|>the end of a long prompt, which was cut\nRESPONSE",
        ),
    ],
)
def test_a_response_is_what_is_behind_the_prompt(prompt, query):
    assert response_in(query, prompt).strip() == "RESPONSE"


@pytest.mark.parametrize("response", ["\n  print(1)", " print(1)", "", "<s>x", "Ask\nAsk\n"])
def test_a_response_is_left_as_it_is(response):
    assert response_in(f"Ask\n{response}", "Ask\n") == response


@pytest.mark.parametrize("query", ["print(1)", "Ask other\nprint(1)", "", "As", f"x{PROMPT}{RIGHT}", PROMPT[5:20]])
def test_without_its_prompt_a_query_has_no_reward(query, executor, caplog):
    """Else an answer in the prompt could be taken for the policy's."""
    prompt = PROMPT if query != "Ask other\nprint(1)" else "Ask\nit"
    assert response_in(query, prompt) is None
    found = reward_func([query, PROMPT + RIGHT], [prompt, PROMPT], [LABEL] * 2, executor=executor)
    assert math.isnan(found["rewards"][0])
    assert math.isnan(found["scores"][0])
    assert found["rewards"][1] == 1.0
    assert found["extra_logs"] == {"passed": [0.0, 1.0], "no_code": [0.0, 0.0], "no_verdict": [1.0, 0.0]}
    assert "1 of 2 queries do not begin with their prompt" in caplog.text


@pytest.mark.parametrize("decoded", ["<s> {}", " {}", "<|begin_of_text|>{}"])
def test_a_fence_in_the_prompt_is_never_the_answer(decoded, executor):
    """However the tokenizer has changed the prompt."""
    query = decoded.format(PROMPT) + "I pass.<|im_end|>"
    assert reward_func([query], [PROMPT], [LABEL], executor=executor)["rewards"] == [0.0]
    cut = PROMPT[10:] + "I pass.<|im_end|>"
    assert reward_func([cut], [PROMPT], [LABEL], executor=executor)["rewards"] == [0.0]


def test_a_response_that_goes_on_like_the_prompt_hides_nothing():
    """Where a prompt was cut off, its end is looked for: a policy that writes more of it loses that, and no more."""
    prompt = "ab" * 100
    assert response_in("ab" * 50 + RIGHT, prompt) == RIGHT
    assert response_in("ab" * 50 + "ab" * 20 + RIGHT, prompt) == RIGHT


def test_a_long_query_takes_time_in_proportion():
    import time

    began = time.process_time()
    response_in("<s>" + "a " * 200_000 + "x", "a " * 200_000)
    response_in("a" * 60_000 + "x", "a" * 65_000)
    assert time.process_time() - began < 10


@pytest.mark.parametrize("when", WHEN)
def test_without_a_server_the_reward_is_nan(when, tmp_path):
    with unstartable(tmp_path, when) as executor:
        found = as_openrlhf_calls(over(executor), [PROMPT + RIGHT] * 3, [PROMPT] * 3, [LABEL] * 3)
    assert all(math.isnan(reward) for reward in rewards_of(found))
    assert all(math.isnan(one["scores"][0]) for one in found)
    assert all(one["extra_logs"] == {"passed": [0.0], "no_code": [0.0], "no_verdict": [1.0]} for one in found)


def test_only_the_samples_without_a_verdict_are_nan():
    found = reward_func([PROMPT + RIGHT, PROMPT], [PROMPT] * 2, [LABEL] * 2, executor=BrokenExecutor())
    assert math.isnan(found["rewards"][0])
    assert found["rewards"][1] == 0.0


def test_servers_killed_in_mid_batch():
    queries = [f"{PROMPT}import time\ntime.sleep(0.2)\n{RIGHT}  # {n}" for n in range(12)]
    with make_executor("local", workers=2) as executor:
        assert rewards_of([reward_func([PROMPT + RIGHT], [PROMPT], [LABEL], executor=executor)]) == [1.0]
        found = killed_meanwhile(
            executor, lambda: as_openrlhf_calls(over(executor), queries, [PROMPT] * 12, [LABEL] * 12)
        )
    assert rewards_of(found) == [1.0] * 12


def test_over_http(executor):
    request = json.loads(
        json.dumps({"query": [PROMPT + RIGHT, PROMPT + "x"], "prompts": [PROMPT] * 2, "labels": [LABEL] * 2})
    )
    answer = json.loads(json.dumps(answer_request(request, executor=executor, rewards={"pass@1": 1.0})))
    assert answer["rewards"] == answer["scores"] == [1.0, 0.0]
    with pytest.raises(TaskError, match="prompts: a list was expected; got NoneType"):
        answer_request({"query": [""]})


def test_misuse_is_an_error(executor):
    with pytest.raises(ValueError, match="as many queries as prompts and labels were expected; got 1, 1, 0"):
        reward_func([""], [""], [], executor=executor)
    with pytest.raises(TaskError, match="a task as JSON text was expected"):
        reward_func(["x"], [""], ["42"], executor=executor)
    with pytest.raises(TypeError, match=r"no argument 'reward'; .*did you mean"):
        reward_func([], [], [], reward={"tests": 1.0})


def test_the_example_is_a_file_for_openrlhf():
    """As `SingleTurnAgentExecutor` loads it."""
    spec = importlib.util.spec_from_file_location("reward_func", ROOT / "examples" / "openrlhf_reward.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = as_openrlhf_calls(module.reward_func, [PROMPT + RIGHT, PROMPT], [PROMPT] * 2, [LABEL] * 2)
    assert rewards_of(found) == [1.0, 0.0]


def test_a_keyword_that_it_does_not_take_is_refused():
    with pytest.raises(TypeError, match=r"no argument 'reward'; .*did you mean 'rewards'"):
        reward_func([], [], [], reward={"tests": 1.0})
    with pytest.raises(TypeError, match="no argument 'timeout'; known are queries, prompts, labels, rewards, executor"):
        answer_request({"query": [], "prompts": [], "labels": []}, timeout=3)
