"""Lines of results and of trajectories become items in one form, and their figures are those of the summaries."""

import gzip
import json

import gymnasium as gym
import pytest
from typer.testing import CliRunner

from code_env import StdinTest, Task, TaskSuite, evaluation
from code_env.cli import app
from code_env.errors import ReportError
from code_env.evaluation import Sample, summarize
from code_env.report.items import item_of, last_program
from code_env.report.page import json_bytes
from code_env.report.runs import Runs
from code_env.rollout import collect
from report.conftest import rows_of, write_rows

SUITE = TaskSuite("prints", [Task(name, f"Print {name}.", (StdinTest("", name),)) for name in "ab"])
SAMPLES = [Sample(name, f"print('{text}')" if text else "") for name in "ab" for text in ("a", "a", "b", "")]


@pytest.fixture(scope="module")
def results(executor):
    return rows_of(SUITE, SAMPLES, executor)


@pytest.fixture(scope="module")
def trajectories(tmp_path_factory):
    path = tmp_path_factory.mktemp("rollout") / "episodes.jsonl"
    env = gym.make_vec("CodeExec-v0", num_envs=4, suite=SUITE, max_turns=2, rewards={"tests": 1.0, "format": 0.5})

    def policy(prompts, infos):
        return ["print('b')" if info["turn"] else "Like this:\n```python\nprint('a')\n```" for info in infos]

    collect(env, policy, 8, path, group_size=2)
    env.close()
    return path


def test_an_episode_has_its_turns_with_what_the_policy_was_told(trajectories):
    rows = [json.loads(line) for line in trajectories.read_text().splitlines()]
    item = next(item_of(row) for row in rows if row["task_id"] == "b")
    first, second = item["turns"]
    assert first["prompt"] == "Print b."
    assert "0 of 1 tests passed" in second["prompt"]
    assert first["programs"][0]["answer"].startswith("Like this")
    assert (first["programs"][0]["code"], last_program(item)["code"]) == ("print('a')\n", "print('b')")
    assert item["reward"] == pytest.approx(sum(turn["reward"] for turn in item["turns"]))
    assert item["about"]["executor"] == "local"


def test_a_step_with_several_programs_is_one_turn(tmp_path):
    path = tmp_path / "groups.jsonl"
    env = gym.make_vec("CodeExec-v0", num_envs=2, suite=SUITE, samples_per_step=2)
    collect(env, lambda prompts, infos: [("print('b')", "print('a')")] * len(prompts), 2, path)
    env.close()
    items = [item_of(json.loads(line)) for line in path.read_text().splitlines()]
    assert [len(item["turns"][0]["programs"]) for item in items] == [2, 2]
    assert {item["task"]: last_program(item)["code"] for item in items} == {"a": "print('a')", "b": "print('b')"}
    with Runs([path], ks=(1, 2)) as runs:
        list(runs.items())
        (figures,) = runs.figures()
    # Each program is an answer: half of them pass, and one of each two does.
    assert figures["tasks"] == [[item["task"], 2, 1, 0] for item in items]
    assert [(one["k"], one["value"]) for one in figures["pass_at_k"]] == [(1, 0.5), (2, 1.0)]


def test_rewards_of_episodes_without_a_verdict_do_not_count(trajectories, tmp_path):
    rows = [json.loads(line) for line in trajectories.read_text().splitlines()]
    missing = [row | {"valid": False, "passed": False, "return": 0.0} for row in rows[:1]]
    with Runs([write_rows(tmp_path / "r.jsonl", missing + rows[1:])]) as runs:
        list(runs.items())
        (figures,) = runs.figures()
    assert figures["rewards"]["mean"] == pytest.approx(sum(row["return"] for row in rows[1:]) / len(rows[1:]))


def test_figures_are_those_of_the_summary(results, tmp_path):
    with Runs([write_rows(tmp_path / "r.jsonl", results)], ks=(1, 4)) as runs:
        entries = [entry._asdict() for entry, _ in runs.items()]
        (figures,) = runs.figures()
    summary = summarize(SUITE, results, ks=(1, 4))
    assert figures["outcomes"] == {str(outcome): count for outcome, count in summary.outcomes.items()}
    assert [(one["k"], one["value"]) for one in figures["pass_at_k"]] == [
        (one.k, one.value) for one in summary.pass_at_k
    ]
    assert (figures["without_code"], figures["rewards"]) == (summary.without_code, None)
    assert figures["tasks"] == [["a", 4, 2, 0], ["b", 4, 1, 0]]
    assert figures["timing"]["run_s"] == pytest.approx(summary.timing.run_s)
    assert [entry["outcome"] for entry in entries] == ["pass", "pass", "fail", "policy_error"] + ["fail"] * 2 + [
        "pass",
        "policy_error",
    ]
    codes = [entry["code"] for entry in entries]
    assert codes[0] == codes[1] == codes[4] != codes[2] == codes[6]


def test_what_has_no_verdict_is_told_by_its_cause(results, tmp_path):
    lost = results[0] | {"outcome": "no_verdict", "passed": False, "stage": None, "message": "the server died"}
    with Runs([write_rows(tmp_path / "r.jsonl", [*results[1:], lost])]) as runs:
        entries = list(runs.items())
        (figures,) = runs.figures()
    assert figures["causes"] == [("the server died", 1)]
    assert figures["outcomes"]["no_verdict"] == 1
    assert figures["pass_at_k"][0]["missing"] == 1
    assert entries[-1][0][3] == "no_verdict"


def test_rewards_add_up_over_the_run(trajectories):
    with Runs([trajectories]) as runs:
        rewards = [item["reward"] for _, item in runs.items()]
        (figures,) = runs.figures()
    curve = figures["rewards"]
    assert curve["terms"] == ["tests", "format"]
    assert curve["mean"] == pytest.approx(sum(rewards) / len(rewards))
    means = [sum(one["means"]) for one in curve["stretches"]]
    assert sum(means) / len(means) == pytest.approx(curve["mean"])
    assert [one["first"] for one in curve["stretches"]] == list(range(8))


def test_a_file_is_read_while_it_grows(results, tmp_path):
    path = tmp_path / "r.jsonl"
    lines = [json.dumps(row) + "\n" for row in results]
    path.write_text(lines[0] + lines[1][:50])
    with Runs([path]) as runs:
        assert [entry[1] for entry, _ in runs.items()] == [0]
        assert list(runs.items()) == []
        with path.open("a") as file:
            file.write(lines[1][50:] + lines[2])
        assert [entry[1] for entry, _ in runs.items()] == [1, 2]
        assert not runs.are_replaced()
        (tmp_path / "other").write_text(lines[0])
        (tmp_path / "other").replace(path)
        assert runs.are_replaced()


def test_lines_of_an_unfinished_evaluation_are_read(results, tmp_path):
    write_rows(tmp_path / "r.jsonl.partial", results[:3])
    with Runs([tmp_path / "r.jsonl"]) as runs:
        assert len(list(runs.items())) == 3
        assert not runs.are_replaced()
        write_rows(tmp_path / "r.jsonl", results)
        assert runs.are_replaced()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "there are no results in it"),
        ("\n", "there are no results in it"),
        ("garbage", "its last line is cut short, or no JSON, and is left out"),
        ('{"sample": 0', "its last line is cut short, or no JSON, and is left out"),
    ],
)
def test_a_report_says_which_file_holds_nothing_or_ends_within_a_line(results, text, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "whole.jsonl", results[:2])
    (tmp_path / "r.jsonl").write_text(text)
    done = CliRunner().invoke(app, ["report", "whole.jsonl", "r.jsonl"])
    assert (done.exit_code, done.stdout) == (0, "2 samples in report.html: open it in a browser\n")
    assert done.stderr == f"note: r.jsonl: {told}\n"
    for quiet in (["watch", "--once", "r.jsonl"], ["report", "whole.jsonl"]):  # What is watched may still grow.
        assert CliRunner().invoke(app, quiet).stderr == ""


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "r.jsonl:2: Expecting"),
        ("[1]", "r.jsonl:2: an object was expected"),
        ('{"task_id": "a", "completion": ""}', "r.jsonl:2: a line as `code-env eval`.* it has no 'finish_reason'"),
        ('{"collection": "a"}', "r.jsonl:2: a line as"),
        ('{"collection": "a", "messages": 3}', "r.jsonl:2: a line as"),
        ("[" * 100_000, "r.jsonl:2: "),
    ],
)
def test_other_files_are_refused_by_their_line(results, tmp_path, line, reason):
    path = write_rows(tmp_path / "r.jsonl", results[:1])
    path.write_text(path.read_text() + line + "\n")
    with Runs([path]) as runs, pytest.raises(ReportError, match=reason):
        list(runs.items())


def test_a_file_may_be_laid_out_loosely(results, tmp_path):
    path = tmp_path / "r.jsonl"
    first, second = (json.dumps(row) for row in results[:2])
    path.write_text(f"{first}\n\n{second}")
    with Runs([path]) as runs:
        assert [item["number"] for _, item in runs.items()] == [0, 1]
    path.write_text(f"{first}\n{second[:-1]}")
    with Runs([path]) as runs:
        assert [item["number"] for _, item in runs.items()] == [0]


@pytest.mark.parametrize(
    ("field", "value"), [("timing", None), ("passed", None), ("code", 1), ("message", None), ("task_id", [1])]
)
def test_a_field_of_another_type_is_refused_by_its_line(results, tmp_path, field, value):
    path = write_rows(tmp_path / "r.jsonl", [results[0], results[1] | {field: value}])
    with Runs([path]) as runs, pytest.raises(ReportError, match=rf"r.jsonl:2: .*{field.removesuffix('_id')} must be"):
        list(runs.items())


def test_an_episode_without_a_turn_is_refused(trajectories, tmp_path):
    row = json.loads(trajectories.read_text().splitlines()[0])
    path = write_rows(tmp_path / "r.jsonl", [row | {"turns": []}])
    with Runs([path]) as runs, pytest.raises(ReportError, match="it has no turn"):
        list(runs.items())


def test_a_page_holds_what_browsers_read():
    assert json_bytes({"a": [float("inf"), 1.5, "\ud800", (float("nan"),)]}) == rb'{"a":[null,1.5,"\ud800",[null]]}'


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ReportError, match="No such file"):
        Runs([tmp_path / "none.jsonl"])


def test_a_compressed_file_is_refused_with_what_to_do(tmp_path):
    path = tmp_path / "results.jsonl.gz"
    path.write_bytes(gzip.compress(b"{}\n"))
    with (
        Runs([path]) as runs,
        pytest.raises(ReportError, match=r"results\.jsonl\.gz: .*it is compressed: run gunzip on it first"),
    ):
        list(runs.items())


def test_the_lines_of_eval_are_what_a_report_reads(results):
    assert evaluation.is_row_of(
        results[0], SAMPLES[0], SUITE.task("a"), item_of(results[0])["about"] | {"limits": results[0]["limits"]}
    )


def test_failures_are_grouped_by_their_message(results, tmp_path):
    with Runs([write_rows(tmp_path / "r.jsonl", results)]) as runs:
        entries = [entry for entry, _ in runs.items()]
        (figures,) = runs.figures()
    counts = dict(figures["failures"])
    assert list(counts.items()) == [
        ("NoProgram: the answer holds no code", 2),
        ("line 1: expected 'b', got 'a'", 2),
        ("line 1: expected 'a', got 'b'", 1),
    ]
    assert counts == {why: [entry.message for entry in entries].count(why) for why in counts}
