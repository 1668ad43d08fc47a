"""A model behind a chat endpoint, as a real server gives its answers, in order and out of order."""

import json

import pytest

from code_env import CallTest, Task, TaskSuite
from code_env.errors import ModelError, OutputError
from code_env.evaluation import read_samples
from code_env.models import ChatModel, Completion, ModelPolicy, generate
from models.chat_endpoint import completion


@pytest.fixture
def model(endpoint):
    with ChatModel("m", endpoint.url, concurrency=4, timeout_s=30) as model:
        yield model


def ask(model, prompt):
    return model.complete([{"role": "user", "content": prompt}])


def test_an_answer_comes_with_its_tokens(endpoint, model):
    assert ask(model, "hello") == Completion("answer to hello", "stop", 3, 5)
    assert endpoint.requests == [{"model": "m", "messages": [{"role": "user", "content": "hello"}]}]


def test_settings_are_sent(endpoint):
    settings = {"max_tokens": 9, "temperature": 0.5}
    with ChatModel("m", endpoint.url, system="Be brief.", **settings) as model:
        ask(model, "hello")
    asked = endpoint.requests[0]
    assert {name: asked[name] for name in settings} == settings
    assert asked["messages"][0] == {"role": "system", "content": "Be brief."}


FAULTS = {
    "too many requests": (429, {"Retry-After-Ms": "10"}),
    "an error of the server": (500, {"Retry-After-Ms": "10"}),
    "unavailable": (503, {"Retry-After-Ms": "10"}),
    "a cut connection": None,
    "half an object": json.dumps(completion("x")).encode()[:40],
    "an empty body": b"",
    "no choices": completion("x", choices=[]),
    "another object": {"hello": 1},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_after_a_fault_the_same_is_asked_again(fault, endpoint, model):
    endpoint.script["hello"] = [FAULTS[fault], FAULTS[fault], "hi"]
    assert ask(model, "hello").text == "hi"
    assert len(endpoint.requests) == 3


def test_an_empty_answer_is_an_answer(endpoint, model):
    endpoint.script["hello"] = [""]
    assert ask(model, "hello").text == ""


@pytest.mark.parametrize(
    ("message", "reason", "text"),
    [
        ({"content": None, "reasoning_content": "Let me think"}, "length", ""),
        ({"content": None, "refusal": "I must not."}, "stop", "I must not."),
        ({"content": ""}, None, ""),
    ],
)
def test_an_answer_without_content_is_an_answer_too(message, reason, text, endpoint, model, tmp_path):
    """A model that thinks until its limit gives one, and so does one that refuses."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
    endpoint.script["Say hello."] = [completion("", choices=[choice])]
    suite = TaskSuite("s", [Task("a", "Say hello.", (CallTest((), expected=1),), entry_point="f")])
    generate(suite, model, tmp_path / "samples.jsonl")
    row = json.loads((tmp_path / "samples.jsonl").read_text())
    assert (row["completion"], row["finish_reason"], len(endpoint.requests)) == (text, reason, 1)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ((401, {}), "AuthenticationError: .*not now"),
        ((404, {}), "NotFoundError: .*not now"),
        ((429, {"Retry-After-Ms": "1"}), "RateLimitError: .*not now"),
        (b"{", "answered 2 times with what is no chat completion"),
        (None, "APIConnectionError"),
        (5.0, "APITimeoutError"),
    ],
)
def test_a_fault_that_stays_is_told_in_one_line(fault, words, endpoint):
    endpoint.script["hello"] = [fault] * 9
    with (
        ChatModel("m", endpoint.url, tries=2, timeout_s=0.5 if fault == 5.0 else 30) as model,
        pytest.raises(ModelError, match=words) as told,
    ):
        ask(model, "hello")
    assert "\n" not in str(told.value)
    assert endpoint.url in str(told.value)


def test_nobody_there(endpoint):
    endpoint.server_close()
    with ChatModel("m", endpoint.url, tries=1) as model, pytest.raises(ModelError, match="APIConnectionError"):
        ask(model, "hello")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"concurrency": 0}, "concurrency must be"),
        ({"tries": 0}, "tries must be"),
        ({"timeout_s": 0}, "timeout_s must"),
    ],
)
def test_wrong_settings_are_refused(settings, words):
    with pytest.raises(ModelError, match=words):
        ChatModel("m", "http://127.0.0.1:1/v1", **settings)


def test_a_hosted_service_needs_a_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError, match="set OPENAI_API_KEY"):
        ChatModel("gpt")


def test_many_are_asked_at_once_but_no_more_than_allowed(endpoint, model):
    endpoint.script["0"] = [0.5]
    asked = [[{"role": "user", "content": str(n)}] for n in range(30)]
    got = list(model.complete_each(asked))
    assert sorted(number for number, _ in got) == list(range(30))
    assert {number: one.text for number, one in got} == {n: f"answer to {n}" if n else "slow" for n in range(30)}
    assert got[0][0] != 0
    assert 2 <= endpoint.most_busy <= 4


SUITE = TaskSuite(
    "sums", [Task(f"t{n}", f"prompt {n}", (CallTest((1, 2), {}, 3),), entry_point="add") for n in range(5)]
)


def test_a_suite_is_answered_and_read_as_samples(endpoint, model, tmp_path):
    path = tmp_path / "samples.jsonl"
    assert generate(SUITE, model, path, samples_per_task=2) == 10
    samples = read_samples(path, SUITE)
    assert [(s.task_id, s.completion) for s in samples] == [
        (f"t{n}", f"answer to prompt {n}") for n in range(5) for _ in range(2)
    ]
    row = json.loads(path.read_text().splitlines()[0])
    assert (row["model"], row["finish_reason"], row["prompt_tokens"], row["completion_tokens"]) == ("m", "stop", 3, 5)


def test_what_a_failed_generation_has_is_asked_for_once_only(endpoint, model, tmp_path):
    path = tmp_path / "samples.jsonl"
    # The retry comes after the other prompts have their answers.
    endpoint.script["prompt 3"] = [(429, {"Retry-After-Ms": "500"}), (401, {})]
    with pytest.raises(ModelError, match="AuthenticationError"):
        generate(SUITE, model, path)
    assert not path.exists()
    with pytest.raises(OutputError, match="go on with --resume"):
        generate(SUITE, model, path)
    with ChatModel("another", endpoint.url) as another, pytest.raises(OutputError, match="is of other work"):
        generate(SUITE, another, path, resume=True)
    kept = len((tmp_path / "samples.jsonl.partial").read_text().splitlines())
    before = len(endpoint.requests)
    generate(SUITE, model, path, resume=True)
    assert len(endpoint.requests) == before + 5 - kept
    assert [s.completion for s in read_samples(path, SUITE)] == [f"answer to prompt {n}" for n in range(5)]


def test_a_policy_answers_in_order_and_counts_tokens(endpoint, model):
    policy = ModelPolicy(model)
    infos = [{"messages": [{"role": "user", "content": str(n)}]} for n in range(6)]
    endpoint.script["0"] = [0.3]
    assert policy([""] * 6, infos) == ["slow", *(f"answer to {n}" for n in range(1, 6))]
    assert (policy.prompt_tokens, policy.completion_tokens) == (18, 30)
