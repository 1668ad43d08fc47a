"""The commands that ask a model: nothing is lost, and nothing is asked for twice."""

import json

import pytest

from cli.command_line import run
from code_env import load_suite
from models.chat_endpoint import completion


@pytest.fixture
def endpoint(starter_endpoint, monkeypatch):
    """An endpoint that knows the references of `starter`, but answers the first task wrong."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    first = load_suite("starter").task("starter/seat-total")
    starter_endpoint.known[first.prompt] = "I cannot do that."
    return starter_endpoint


def test_samples_are_generated_and_scored(endpoint, tmp_path):
    asked = ("--model", "m", "--base-url", endpoint.url)
    shown = run("generate", "starter", *asked, cwd=tmp_path)
    tasks = len(load_suite("starter"))
    counts = f"this time the model read {3 * tasks} tokens and wrote {5 * tasks}"
    assert shown == f"{tasks} samples in starter_samples.jsonl; {counts}\n"
    told = json.loads(run("eval", "starter_samples.jsonl", "--suite", "starter", "--json", cwd=tmp_path))
    assert (told["samples"], told["outcomes"]) == (tasks, {"pass": tasks - 1, "policy_error": 1})
    told = json.loads(run("generate", "starter", *asked, "-n", 2, "-o", "two.jsonl", "--json", cwd=tmp_path))
    assert told == {
        "samples": 2 * tasks,
        "prompt_tokens": 6 * tasks,
        "completion_tokens": 10 * tasks,
        "file": "two.jsonl",
    }


def test_a_model_plays_episodes(endpoint, tmp_path):
    shown = run(
        *("rollout", "episodes.jsonl", "--model", "m", "--base-url", endpoint.url, "-n", 12, "--num-envs", 4),
        *("--max-turns", 2, "--temperature", 0.5),
        cwd=tmp_path,
    )
    rows = [json.loads(line) for line in (tmp_path / "episodes.jsonl").read_text().splitlines()]
    assert len(rows) == 12
    assert all(row["passed"] == (row["task_id"] != "starter/seat-total") for row in rows)
    steps = sum(len(row["turns"]) for row in rows)
    assert f"the model read {3 * steps} tokens and wrote {5 * steps}" in shown
    assert {one["temperature"] for one in endpoint.requests} == {0.5}
    assert {len(one["messages"]) for one in endpoint.requests} <= {1, 3}


def test_episodes_of_another_model_or_settings_are_not_gone_on_with(endpoint, tmp_path):
    asked = ("rollout", "e.jsonl", "-n", 2, "--num-envs", 2, "--resume")
    there = ("--base-url", endpoint.url)
    run(*asked, *there, "--model", "m", cwd=tmp_path)
    before, requests = (tmp_path / "e.jsonl").read_text(), len(endpoint.requests)
    assert {json.loads(line)["model"] for line in before.splitlines()} == {"m"}
    for other, words in (
        (
            (*there, "--model", "n"),
            "the model 'm' played the file's episodes, not the model 'n'; use the same, or name",
        ),
        ((), "the model 'm' played the file's episodes, not a policy without a model's name; use the same, or name"),
        ((*there, "--model", "m", "--temperature", 1), "settings of the model"),
        ((*there, "--model", "m", "--timeout", 1), "other prompts, tests, limits,"),
    ):
        assert words in run(*asked, *other, cwd=tmp_path, code=2)
    run(*asked, *there, "--model", "m", cwd=tmp_path)
    assert ((tmp_path / "e.jsonl").read_text(), len(endpoint.requests)) == (before, requests)


def test_a_model_and_a_policy_are_not_taken_together(tmp_path):
    refused = run("rollout", "e.jsonl", "--model", "m", "--policy", "blank", cwd=tmp_path, code=2)
    assert "give --policy or --model, and only one of them" in refused


def test_a_model_that_fails_ends_a_command_with_one_line(endpoint, tmp_path):
    endpoint.refuses_after = 5
    asked = ("generate", "starter", "--model", "m", "--base-url", endpoint.url, "--concurrency", 1)
    shown = run(*asked, cwd=tmp_path, code=2)
    assert "AuthenticationError" in shown
    assert "go on with --resume" in run(*asked, cwd=tmp_path, code=2)
    endpoint.refuses_after = None
    before = len(endpoint.requests)
    run(*asked, "--resume", cwd=tmp_path)
    assert len(endpoint.requests) == before + len(load_suite("starter")) - 5


def test_after_a_wrong_address_the_right_command_works(endpoint, tmp_path):
    asked = ("generate", "starter", "--model", "m", "--base-url", endpoint.url, "--concurrency", 1)
    endpoint.refuses_after = 0
    run(*asked, cwd=tmp_path, code=2)
    endpoint.refuses_after = None
    run(*asked, cwd=tmp_path)


def test_a_hosted_model_needs_a_key(endpoint, tmp_path):
    assert "set OPENAI_API_KEY" in run("generate", "starter", "--model", "m", cwd=tmp_path, code=2)


def test_one_command_asks_and_judges_and_goes_on(endpoint, tmp_path):
    endpoint.refuses_after = 7
    asked = ("eval", "--suite", "starter", "--model", "m", "--base-url", endpoint.url, "--concurrency", 1)
    assert "AuthenticationError" in run(*asked, cwd=tmp_path, code=2)
    endpoint.refuses_after = None
    shown = run(*asked, "--resume", cwd=tmp_path)
    tasks = len(load_suite("starter"))
    assert f"samples passed: {tasks - 1} of {tasks}" in shown
    assert f"{tasks} samples in starter_samples.jsonl; this time the model read {3 * (tasks - 7)} tokens" in shown
    # What is there is neither asked for nor judged again.
    before = len(endpoint.requests)
    again = json.loads(run(*asked, "--resume", "--json", cwd=tmp_path))
    assert (again["samples"], again["generated"]["prompt_tokens"], len(endpoint.requests)) == (tasks, 0, before)
    few = json.loads(run(*asked, "--limit", 3, "-n", 2, "-o", "few.jsonl", "--json", cwd=tmp_path))
    assert (few["samples"], few["generated"]["samples"], few["generated"]["file"]) == (3, 3, "few_samples.jsonl")


def test_a_finished_file_is_gone_on_with_by_the_same_model_and_settings_only(endpoint, tmp_path):
    asked = ("generate", "starter", "--base-url", endpoint.url, "-o", "g.jsonl", "--resume")
    same = ("--model", "m", "--temperature", 0.5, "--max-tokens", 9, "--system", "Be brief.")
    run(*asked, *same, cwd=tmp_path)
    before, requests = (tmp_path / "g.jsonl").read_text(), len(endpoint.requests)
    assert "g.jsonl; this time the model read 0 tokens and wrote 0" in run(*asked, *same, cwd=tmp_path)
    for number, other in ((1, "another"), (3, 0.6), (5, 8), (7, "Be long.")):
        refused = run(*asked, *same[:number], other, *same[number + 1 :], cwd=tmp_path, code=2)
        assert (
            "g.jsonl is of other work (another suite, number of samples per task, model, max_tokens, temperature or "
            "system message): give another --output, or remove the file"
        ) in refused
    assert ((tmp_path / "g.jsonl").read_text(), len(endpoint.requests)) == (before, requests)


def test_results_say_which_model_answered_and_why_it_stopped(endpoint, tmp_path):
    first = load_suite("starter").task("starter/seat-total")
    cut = completion("")
    cut["choices"][0]["finish_reason"] = "length"
    endpoint.script[first.prompt] = [cut]
    run("eval", "--suite", "starter", "--model", "m", "--base-url", endpoint.url, "-o", "s.jsonl", cwd=tmp_path)
    run("export", "s.jsonl", "--to", "inspect", "-o", "log.json", cwd=tmp_path)
    run("export", "s.jsonl", "--to", "atif", "-o", "job", cwd=tmp_path)
    log = json.loads((tmp_path / "log.json").read_text())
    reasons = {one["id"]: one["output"]["choices"][0]["stop_reason"] for one in log["samples"]}
    assert reasons.pop(first.id) == "max_tokens"
    assert set(reasons.values()) == {"stop"}
    assert {log["eval"]["model"], *(one["output"]["model"] for one in log["samples"])} == {"m"}
    for path in tmp_path.glob("job/*/agent/trajectory.json"):
        assert json.loads(path.read_text())["agent"]["model_name"] == "m"


def test_episodes_say_why_the_model_stopped(endpoint, tmp_path):
    asked = ("--env", "starter", "--model", "m", "--base-url", endpoint.url, "--episodes", 2, "--num-envs", 2)
    for task in load_suite("starter"):
        cut = completion("")
        cut["choices"][0]["finish_reason"] = "length"
        endpoint.script[task.prompt] = [cut]
    run("rollout", "e.jsonl", *asked, cwd=tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text().splitlines()]
    assert [turn["finish_reason"] for row in rows for turn in row["turns"]] == ["length", "length"]
    run("export", "e.jsonl", "--to", "inspect", "-o", "log.json", cwd=tmp_path)
    log = json.loads((tmp_path / "log.json").read_text())
    assert {one["output"]["choices"][0]["stop_reason"] for one in log["samples"]} == {"max_tokens"}


def test_a_limited_evaluation_goes_on_to_more_samples(endpoint, tmp_path):
    asked = ("eval", "--suite", "starter", "--model", "m", "--base-url", endpoint.url, "-n", 2, "--json")
    run(*asked, "--limit", 3, cwd=tmp_path)
    judged = [json.loads(line) for line in (tmp_path / "starter_samples_results.jsonl").read_text().splitlines()]
    told = json.loads(run(*asked, "--limit", 5, "--resume", cwd=tmp_path))
    assert (told["samples"], len(endpoint.requests)) == (5, 5)
    rows = [json.loads(line) for line in (tmp_path / "starter_samples_results.jsonl").read_text().splitlines()]
    assert (rows[:3], len(rows)) == (judged, 5), "what was judged is not judged again"


def test_answers_of_an_earlier_model_are_not_replaced(endpoint, tmp_path):
    for command, options, file in (
        (("eval", "--suite", "starter", "--limit", 2), (), "starter_samples.jsonl"),
        (("eval", "--suite", "starter", "--limit", 2), ("-o", "s.jsonl"), "s_samples.jsonl"),
        (("generate", "starter"), ("-o", "g.jsonl"), "g.jsonl"),
    ):
        asked = (*command, "--base-url", endpoint.url, *options, "--model")
        run(*asked, "first", cwd=tmp_path)
        before, requests = (tmp_path / file).read_text(), len(endpoint.requests)
        refused = run(*asked, "second", cwd=tmp_path, code=2)
        assert f"{file} is there already: go on with --resume, or give another --output" in refused
        assert ((tmp_path / file).read_text(), len(endpoint.requests)) == (before, requests)
    # Verdicts cost nothing: they can be made again.
    for _ in range(2):
        run("eval", "s_samples.jsonl", "--suite", "starter", "-o", "s.jsonl", cwd=tmp_path)


def test_only_one_source_of_samples(tmp_path):
    for arguments in ((), ("--references", "--model", "m")):
        refused = run("eval", "--suite", "starter", *arguments, cwd=tmp_path, code=2)
        assert "give a file of samples, --references or --model, and only one of them" in " ".join(refused.split())
