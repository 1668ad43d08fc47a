"""Results and trajectories in the formats of other viewers; their own readers take them where they are installed."""

import importlib
import json
import re
import subprocess
import sys
import zipfile
from datetime import UTC, datetime

import gymnasium as gym
import pytest
from typer.testing import CliRunner

from code_env import CallTest, StdinTest, Task, TaskSuite
from code_env.cli import app
from code_env.errors import OutputError, ReportError
from code_env.evaluation import Sample, summarize
from code_env.report.exports import export_run
from code_env.report.exports.atif import harbor_trials
from code_env.report.exports.common import Origin, json_text
from code_env.report.items import item_of
from code_env.rollout import collect
from report.conftest import rows_of, write_rows

SUITE = TaskSuite(
    "mixed",
    [
        Task("prints/a", "Print a.", (StdinTest("", "a"),)),
        Task("adds", "Write add.", (CallTest((1, 2), expected=3), CallTest((2, 2), expected=4)), entry_point="add"),
    ],
)
RIGHT, WRONG = "def add(a, b): return a + b", "def add(a, b): return 4"
SAMPLES = [
    Sample("prints/a", "print('a')"),
    Sample("adds", RIGHT),
    Sample("adds", WRONG),
    Sample("prints/a", "print('b')"),
    Sample("adds", ""),
]
HOSTILE = "\ud800 \\ud800 \x00\x1b[31m\u202e </script><script>1</script> ]]> \U0001f600 ../../x"
SHOWN = HOSTILE.replace("\ud800", "\\ud800")


@pytest.fixture(scope="module")
def rows(executor):
    found = rows_of(SUITE, SAMPLES, executor)
    lost = {"outcome": "no_verdict", "passed": False, "stage": None, "fraction": None, "message": "the server died"}
    return [*found, found[0] | lost | {"sample": len(found)}]


@pytest.fixture(scope="module")
def results(rows, tmp_path_factory):
    return write_rows(tmp_path_factory.mktemp("results") / "model_results.jsonl", rows)


@pytest.fixture(scope="module")
def trajectories(tmp_path_factory):
    path = tmp_path_factory.mktemp("rollout") / "episodes.jsonl"
    env = gym.make_vec("CodeExec-v0", num_envs=2, suite=SUITE, max_turns=2, rewards={"tests": 1.0, "format": 0.5})

    def policy(prompts, infos):
        return [RIGHT if info["turn"] else f"```python\n{WRONG}\n```" for info in infos]

    collect(env, policy, 4, path)
    env.close()
    return path


@pytest.fixture(scope="module")
def with_a_cell(tmp_path_factory):
    path = tmp_path_factory.mktemp("cells") / "episodes.jsonl"
    env = gym.make_vec("CodeRepl-v0", num_envs=2, suite=SUITE)
    collect(
        env, lambda prompts, infos: [f"```answer\n{RIGHT}\n```" if info["turn"] else "x = 1" for info in infos], 2, path
    )
    env.close()
    return path


@pytest.fixture(scope="module")
def hostile(rows, tmp_path_factory):
    texts = dict.fromkeys(("task_id", "prompt", "completion", "code", "message", "stdout", "stderr", "level"), HOSTILE)
    case = rows[2]["failed_cases"][0] | dict.fromkeys(("message", "expected", "actual"), HOSTILE)
    wrong = [rows[2] | texts | {"failed_cases": [case], "sample": number} for number in range(2)]
    lost = rows[-1] | texts | {"sample": 2}
    return write_rows(tmp_path_factory.mktemp("hostile") / "odd \udcff.jsonl", [*wrong, lost])


def strict(path):
    """Read JSON as readers do that refuse lone surrogates and numbers that are none."""
    text = path.read_text(encoding="ascii")

    def refuse(name):
        raise AssertionError(name)

    data = json.loads(text, parse_constant=refuse)
    json.dumps(data, ensure_ascii=False).encode("utf-8")
    return data


def inspect_log(file, folder):
    count, written = export_run(file, folder / "logs", "inspect")
    data = strict(written)
    assert count == len(data["samples"]) == data["results"]["total_samples"]
    return data


def harbor_job(file, folder):
    """The trajectory and the result of each trial."""
    count, written = export_run(file, folder / "jobs" / "one", "atif")
    trials = [
        (strict(one / "agent" / "trajectory.json"), strict(one / "result.json")) for one in trial_folders(written)
    ]
    assert count == len(trials) == strict(written / "result.json")["n_total_trials"]
    assert strict(written / "config.json")["job_name"]
    return trials


def trial_folders(job):
    return sorted(path for path in job.iterdir() if path.is_dir())


def test_a_sample_is_one_of_inspect(results, rows, tmp_path):
    log = inspect_log(results, tmp_path)
    assert [(one["id"], one["epoch"]) for one in log["samples"]] == [
        ("prints/a", 1),
        ("adds", 1),
        ("adds", 2),
        ("prints/a", 2),
        ("adds", 3),
        ("prints/a", 3),
    ]
    wrong = log["samples"][2]
    assert wrong["input"] == "Write add."
    assert [(one["role"], one["content"]) for one in wrong["messages"]] == [
        ("user", "Write add."),
        ("assistant", WRONG),
    ]
    assert wrong["output"]["completion"] == WRONG
    score = wrong["scores"]["verdict"]
    assert (score["value"], score["answer"]) == ("I", rows[2]["code"])
    assert "expected: 3\nactual: 4" in score["explanation"]
    assert score["metadata"]["tests_passed"] == 1
    assert wrong["metadata"]["executor"] == rows[2]["executor"]
    assert list(log).index("results") < list(log).index("samples"), "Inspect reads the head without the samples"
    assert (log["eval"]["dataset"]["samples"], log["eval"]["config"]["epochs"]) == (2, 3)


@pytest.mark.parametrize("named", ["model_results.jsonl", "model_results.jsonl.partial"])
def test_what_is_not_finished_says_so(rows, results, tmp_path, named):
    assert inspect_log(results, tmp_path)["status"] == "success"
    write_rows(tmp_path / "model_results.jsonl.partial", rows[:2])
    log = inspect_log(tmp_path / named, tmp_path)
    assert (log["status"], log["eval"]["task"], len(log["samples"])) == ("started", "model_results", 2)
    _, job = export_run(tmp_path / named, tmp_path / "job", "atif")
    assert "finished_at" not in strict(job / "result.json")


def test_accuracy_is_pass_at_1(results, rows, tmp_path):
    log = inspect_log(results, tmp_path)
    (score,) = log["results"]["scores"]
    (estimate,) = summarize(SUITE, rows, ks=(1,)).pass_at_k
    assert score["metrics"]["accuracy"]["value"] == estimate.value
    assert score["metrics"]["stderr"]["value"] == estimate.standard_error > 0
    assert (score["scored_samples"], score["unscored_samples"]) == (5, 1)
    assert log["results"]["completed_samples"] == 5


def test_without_a_verdict_there_is_an_error_and_no_score(results, tmp_path):
    lost = inspect_log(results, tmp_path)["samples"][-1]
    assert lost["error"]["message"] == "the server died"
    assert "scores" not in lost
    trajectory, result = harbor_job(results, tmp_path)[-1]
    assert (result["exception_info"]["exception_type"], result.get("verifier_result")) == ("NoVerdict", None)
    assert result["exception_info"]["exception_message"] == "the server died"
    assert trajectory["final_metrics"]["extra"]["outcome"] == "no_verdict"


def test_each_reward_term_is_a_scorer(trajectories, tmp_path):
    log = inspect_log(trajectories, tmp_path)
    items = [item_of(json.loads(line)) for line in trajectories.read_text().splitlines()]
    for sample, item in zip(log["samples"], items, strict=True):
        scores = sample["scores"]
        assert list(scores) == ["verdict", "reward_tests", "reward_format"]
        assert scores["reward_tests"]["value"] + scores["reward_format"]["value"] == pytest.approx(item["reward"])
        assert sample["metadata"]["reward"] == item["reward"]
    by_name = {one["name"]: one["metrics"] for one in log["results"]["scores"]}
    means = [one["mean"]["value"] for name, one in by_name.items() if name != "verdict"]
    assert sum(means) == pytest.approx(sum(item["reward"] for item in items) / len(items))
    assert by_name["verdict"]["accuracy"]["value"] == 0.5


def test_a_cell_is_a_message_without_a_verdict(with_a_cell, tmp_path):
    for sample in inspect_log(with_a_cell, tmp_path)["samples"]:
        assert [message["role"] for message in sample["messages"]] == ["user", "assistant"] * 2
        assert sample["messages"][1]["content"] == "x = 1"
        assert "gave nothing" in sample["messages"][2]["content"]
    for trajectory, _ in harbor_job(with_a_cell, tmp_path):
        assert [step["source"] for step in trajectory["steps"]] == ["user", "agent"] * 2
        assert ["observation" in step for step in trajectory["steps"]] == [False, False, False, True]


def test_an_episode_is_a_trajectory(trajectories, tmp_path):
    items = [item_of(json.loads(line)) for line in trajectories.read_text().splitlines()]
    for trajectory, result in harbor_job(trajectories, tmp_path):
        item = next(one for one in items if one["number"] == trajectory["extra"]["number"])
        steps = trajectory["steps"]
        assert [step["step_id"] for step in steps] == [1, 2, 3, 4]
        assert [step["source"] for step in steps] == ["user", "agent"] * 2
        assert [step["message"] for step in steps[::2]] == [turn["prompt"] for turn in item["turns"]]
        assert [step["extra"]["reward"] for step in steps[1::2]] == [turn["reward"] for turn in item["turns"]]
        (seen,) = steps[1]["observation"]["results"]
        assert re.match(r"\w+: \d of \d tests passed", seen["content"])
        assert seen["extra"]["code"] == f"{WRONG}\n"
        assert trajectory["agent"]["name"] == "code_env"
        assert trajectory["final_metrics"]["total_steps"] == 4
        assert result["verifier_result"]["rewards"] == {"reward": item["reward"], "verdict": float(item["passed"])}
        assert set(steps[1]["metrics"]) == {"extra"}, "tokens and costs are not known"


def test_a_step_with_several_programs_has_an_answer_for_each(tmp_path):
    path = tmp_path / "groups.jsonl"
    env = gym.make_vec("CodeExec-v0", num_envs=2, suite=SUITE, samples_per_step=2)
    collect(env, lambda prompts, infos: [(WRONG, RIGHT)] * len(prompts), 2, path)
    env.close()
    sample = next(one for one in inspect_log(path, tmp_path)["samples"] if one["id"] == "adds")
    assert [one["content"] for one in sample["messages"]] == ["Write add.", WRONG, RIGHT]
    assert (sample["scores"]["verdict"]["value"], sample["output"]["completion"]) == (0.5, RIGHT)
    steps = next(one["steps"] for one, _ in harbor_job(path, tmp_path) if one["extra"]["task"] == "adds")
    assert [step["message"] for step in steps] == ["Write add.", WRONG, RIGHT]


def test_hostile_text_survives(hostile, tmp_path):
    sample, _, lost = inspect_log(hostile, tmp_path)["samples"]
    assert sample["id"] == sample["input"] == sample["messages"][1]["content"] == SHOWN
    assert sample["scores"]["verdict"]["answer"] == SHOWN
    assert f"expected: {SHOWN}" in sample["scores"]["verdict"]["explanation"]
    assert lost["error"]["message"] == SHOWN
    trajectory, result = harbor_job(hostile, tmp_path)[0]
    assert trajectory["steps"][1]["message"] == result["task_name"] == SHOWN
    written = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")]
    assert [name for name in written if not re.fullmatch(r"[A-Za-z0-9._/+-]+", name)] == []
    # Harbor looks for a task's files at its path.
    assert "/" not in result["task_id"]["path"]


@pytest.mark.parametrize("text", ["\ud800", "\udc00\ud800", "\\ud800", "\\\\ud800", "\U0001f600", "\\\ud800"])
def test_only_lone_surrogates_are_spelt_out(text):
    shown = text.encode("utf-8", "backslashreplace").decode()
    assert json.loads(json_text({text: [text]})) == {shown: [shown]}


def test_a_reward_that_is_no_number_is_left_out(trajectories, tmp_path):
    row = json.loads(trajectories.read_text().splitlines()[0])
    row["return"] = row["turns"][0]["reward"] = row["turns"][0]["reward_terms"]["tests"] = float("nan")
    path = write_rows(tmp_path / "r.jsonl", [row])
    (sample,) = inspect_log(path, tmp_path)["samples"]
    assert list(sample["scores"]) == ["verdict", "reward_format"]
    ((_, result),) = harbor_job(path, tmp_path)
    assert list(result["verifier_result"]["rewards"]) == ["verdict"]
    with pytest.raises(ReportError, match="finite numbers were expected"):
        export_run(write_rows(path, [row | {"seed": float("inf")}]), tmp_path / "other", "inspect")


def test_trajectories_come_one_at_a_time(rows):
    read = []

    def items():
        for row in rows:
            read.append(row["sample"])
            yield item_of(row)

    trials = harbor_trials(items(), Origin("run", datetime(2026, 1, 1, tzinfo=UTC)))
    assert read == []
    assert next(trials).name == "000000-prints-a"
    assert read == [0]


def test_the_same_file_gives_the_same_export(results, tmp_path):
    first, again = (export_run(results, tmp_path, "inspect")[1] for _ in range(2))
    assert first == again
    # `inspect view` lists a JSON file only if its name begins like this.
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\+00-00_model-results_[0-9a-f]{22}\.json", first.name)
    _, named = export_run(results, tmp_path / "named.json", "inspect")
    assert named.read_text() == first.read_text()


@pytest.mark.parametrize("to", ["inspect", "atif"])
def test_what_cannot_be_exported_leaves_nothing_behind(rows, tmp_path, to):
    path = write_rows(tmp_path / "r.jsonl", rows[:2])
    path.write_text(path.read_text() + "{}\n")
    with pytest.raises(ReportError, match=r"r\.jsonl:3: a line as"):
        export_run(path, tmp_path / "made", to)
    assert list((tmp_path / "made").rglob("*")) == []
    with pytest.raises(ReportError, match="the formats are inspect, atif; got 'html'"):
        export_run(path, tmp_path / "made", "html")


@pytest.mark.parametrize(
    ("number", "reason"), [(0, "came again"), ("../x", "at least 0"), (-1, "at least 0"), (True, "at")]
)
def test_trials_need_numbers(rows, tmp_path, number, reason):
    path = write_rows(tmp_path / "r.jsonl", [rows[0], rows[0] | {"sample": number}])
    with pytest.raises(ReportError, match=reason):
        export_run(path, tmp_path / "made", "atif")
    assert [one.name for one in tmp_path.iterdir()] == ["r.jsonl"]


def test_a_folder_that_holds_something_is_not_replaced(results, tmp_path):
    (tmp_path / "empty").mkdir()
    assert export_run(results, tmp_path / "empty", "atif")[0] == 6
    with pytest.raises(OutputError, match="empty is there already; remove it, or give another path"):
        export_run(results, tmp_path / "empty", "atif")


def test_the_command_says_how_to_open_what_it_wrote(results, tmp_path):
    def told(*arguments):
        done = CliRunner().invoke(app, ["export", str(results), *arguments])
        return done.exit_code, done.output

    code, text = told("--to", "inspect", "-o", str(tmp_path / "logs"))
    assert code == 0
    assert f"inspect view --log-dir {tmp_path / 'logs'}" in text
    code, text = told("--to", "atif", "-o", str(tmp_path / "jobs" / "one"))
    assert code == 0
    assert f"6 trajectories in {tmp_path / 'jobs' / 'one'}: open them with `harbor view {tmp_path / 'jobs'}`" in text
    before = results.read_text()
    code, text = told("--to", "inspect", "-o", str(results))
    assert code == 2
    assert "would replace" in text
    assert results.read_text() == before


@pytest.mark.parametrize("source", ["results", "trajectories", "hostile"])
def test_inspect_reads_its_log(source, request, tmp_path):
    log = pytest.importorskip("inspect_ai.log")
    file = request.getfixturevalue(source)
    count, written = export_run(file, tmp_path, "inspect")
    assert [info.name for info in log.list_eval_logs(str(tmp_path))] == [f"file://{written}"]
    data = strict(written)
    read = log.read_eval_log(str(written))
    head = log.read_eval_log(str(written), header_only=True)
    assert (read.version, read.status, len(read.samples), head.samples) == (2, "success", count, None)
    assert head.results.scores[0].metrics.keys() == {"accuracy", "stderr"}
    for sample, ours in zip(read.samples, data["samples"], strict=True):
        assert (sample.error is None) == ("scores" in ours)
        assert {name: one.value for name, one in (sample.scores or {}).items()} == {
            name: one["value"] for name, one in ours.get("scores", {}).items()
        }
        assert [message.text for message in sample.messages] == [one["content"] for one in ours["messages"]]


@pytest.fixture(scope="module")
def harbor(tmp_path_factory):
    """Harbor's own models of trajectories. The package needs Python 3.12; its models do not, so they are unpacked."""
    folder = tmp_path_factory.mktemp("harbor")
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--ignore-requires-python"]
    done = subprocess.run([*fetch, "--dest", str(folder), "harbor==0.26.0"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(folder)
        yield importlib.import_module("harbor.models.trajectories")


@pytest.mark.packaging
@pytest.mark.parametrize("source", ["results", "trajectories", "hostile"])
def test_harbor_reads_its_trajectories(harbor, source, request, tmp_path):
    count, job = export_run(request.getfixturevalue(source), tmp_path / "job", "atif")
    found = [one / "agent" / "trajectory.json" for one in trial_folders(job)]
    read = [harbor.Trajectory.model_validate_json(path.read_text()) for path in found]
    assert count == len(read)
    assert [one.to_json_dict()["steps"][0]["message"] for one in read] == [
        strict(path)["steps"][0]["message"] for path in found
    ]
