"""The command line, as a user runs it."""

import json
import signal
import subprocess
import sys
from concurrent.futures import Future

import pytest
from typer.testing import CliRunner

import code_env
from cli.command_line import run
from code_env import ExecutionResult, Status
from code_env.cli import app
from code_env.executors.local import LocalExecutor
from support import wait_until

TASK = {
    "id": "double",
    "prompt": "Write double(x).",
    "entry_point": "double",
    "tests": [{"kind": "call", "args": [2], "expected": 4}, {"kind": "call", "args": [5], "expected": 10}],
    "reference": "def double(x):\n    return 2 * x\n",
}

OWN_CLASS = """class P:
    def __init__(self, x): self.x = x
    def __eq__(self, other): return self.x == other.x
"""


def test_a_command_is_a_process_of_its_own_and_cuts_no_word_in_a_narrow_terminal(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    command = [sys.executable, "-W", "error", "-m", "code_env.cli", "list"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "starter" in done.stdout
    assert "…" not in done.stdout


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "suite.jsonl"
    rows = [TASK, TASK | {"id": "other"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def samples(tmp_path):
    path = tmp_path / "samples.jsonl"
    wrong = "def double(x):\n    return 4\n"
    rows = [("double", TASK["reference"]), ("double", wrong), ("other", f"```python\n{TASK['reference']}```")]
    path.write_text("".join(json.dumps({"task_id": t, "completion": c}) + "\n" for t, c in rows))
    return path


def test_list_shows_environments_executors_and_rewards(tmp_path):
    shown = run("list", cwd=tmp_path)
    for word in ("starter", "code_env/Starter-v0", "local", "subprocess", "tests", "similarity", "execution"):
        assert word in shown


def test_run_plays_references_and_shows_each_ledger(tmp_path):
    shown = run("run", "starter", "--episodes", 3, cwd=tmp_path)
    assert len(shown.splitlines()) == 4
    assert "reward 1.000 = tests 1.000" in shown
    assert "3 episodes, mean reward 1.000" in shown


def test_references_are_answers_where_there_is_a_session(tmp_path):
    shown = run("run", "repl", "--episodes", 2, cwd=tmp_path)
    assert shown.count("pass             ") == 2
    assert "2 episodes, mean reward 1.000" in shown
    run("rollout", "rows.jsonl", "--env", "repl", "--episodes", 2, cwd=tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [(row["passed"], len(row["turns"])) for row in rows] == [(True, 1)] * 2


def test_run_marks_where_a_reason_is_cut(tmp_path):
    samples = tmp_path / "s.jsonl"
    code = "raise ValueError('no' * 500)"
    samples.write_text(json.dumps({"task_id": "starter/seat-total", "completion": code}) + "\n")
    assert run("run", "starter", "--samples", samples, cwd=tmp_path).splitlines()[0].endswith("…")


def test_run_plays_samples_in_full_detail(tmp_path):
    samples = tmp_path / "s.jsonl"
    samples.write_text(json.dumps({"task_id": "starter/seat-total", "completion": "print(1)"}) + "\n")
    shown = run("run", "CodeExec-v0", "--samples", samples, "--full", cwd=tmp_path)
    for word in ("seat", "print(1)", "policy_error", "total", "mean reward 0.000"):
        assert word in shown


def test_eval_prints_pass_at_k_and_writes_a_line_per_sample(tmp_path, suite, samples):
    shown = run("eval", samples, "--suite", suite, "--k", "1,2", cwd=tmp_path)
    assert "0.7500" in shown
    assert "0.2500" in shown
    assert "samples passed: 2 of 3" in shown
    assert "tasks with a passing sample: 2 of 2" in shown
    rows = [json.loads(line) for line in (tmp_path / "samples_results.jsonl").read_text().splitlines()]
    assert [(r["task_id"], r["passed"], r["fraction"], r["judge"]) for r in rows] == [
        ("double", True, 1.0, "blind"),
        ("double", False, 0.5, "blind"),
        ("other", True, 1.0, "blind"),
    ]
    assert rows[1]["message"] == "expected 10, got 4"


def test_eval_counts_samples_without_code_and_shows_one(tmp_path, suite, samples):
    refusal = "I cannot do [bold]that[/bold]." + " No." * 99
    added = [{"task_id": "double", "completion": text} for text in (refusal, "```bash\necho 10\n```")]
    samples.write_text(samples.read_text() + "".join(json.dumps(row) + "\n" for row in added))
    shown = " ".join(run("eval", samples, "--suite", suite, cwd=tmp_path).split())
    assert "2 samples hold no code, for example one for double: 'I cannot do [bold]that[/bold]. No." in shown
    assert len(shown) < 1500
    rows = [json.loads(line) for line in (tmp_path / "samples_results.jsonl").read_text().splitlines()]
    assert [row["message"] for row in rows[3:]] == ["NoProgram: the answer holds no code"] * 2
    assert "hold no code" not in run("eval", "--references", "--suite", suite, cwd=tmp_path)
    samples.write_text(json.dumps(added[1]) + "\n")
    shown = " ".join(run("eval", samples, "--suite", suite, cwd=tmp_path).split())
    assert "1 sample holds no code, one for double: '```bash" in shown


def test_run_says_which_rule_a_refused_program_broke(tmp_path):
    samples = tmp_path / "s.jsonl"
    samples.write_text(json.dumps({"task_id": "starter/seat-total", "completion": "```python\nimport os\n```"}) + "\n")
    shown = run("run", "starter", "--samples", samples, "-e", "restricted", cwd=tmp_path)
    assert 'Line 1: the import of "os" is not allowed' in shown.splitlines()[0]


def test_run_plays_a_file_of_tasks(tmp_path, suite):
    assert "2 episodes, mean reward 1.000" in run("run", suite, cwd=tmp_path)


def test_eval_says_which_k_is_beyond_the_samples(tmp_path, suite, samples):
    shown = run("eval", samples, "--suite", suite, "--k", "5", cwd=tmp_path)
    assert "no task has samples enough for k = 5" in shown
    assert "no task has samples enough" not in run("eval", samples, "--suite", suite, cwd=tmp_path)


def test_eval_of_one_task_has_no_standard_error(tmp_path, suite, samples):
    samples.write_text(samples.read_text().splitlines()[0] + "\n")
    shown = run("eval", samples, "--suite", suite, "--k", "1", cwd=tmp_path)
    assert "│ 1 │ 1.0000 │ -              │ 1     │" in shown


def test_an_interrupted_eval_keeps_what_it_has_and_the_results_of_before(tmp_path, suite, samples):
    slow = {"task_id": "double", "completion": "import time\ntime.sleep(60)"}
    samples.write_text(samples.read_text() + json.dumps(slow) + "\n")
    (tmp_path / "samples_results.jsonl").write_text("of before\n")
    command = [sys.executable, "-m", "code_env.cli", "eval", str(samples), "--suite", str(suite)]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, stdout=subprocess.DEVNULL)
    partial = tmp_path / "samples_results.jsonl.partial"
    # All but the slow sample have surely been judged then.
    wait_until(lambda: partial.exists() and len(partial.read_text().splitlines()) == 3)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode != 0
    assert "interrupted; 3 of 4 samples are judged and kept: go on with --resume" in " ".join(said.split())
    assert len(partial.read_text().splitlines()) == 3
    assert (tmp_path / "samples_results.jsonl").read_text() == "of before\n"
    # What was judged is not judged again.
    refused = run("eval", samples, "--suite", suite, cwd=tmp_path, code=2)
    assert "is of a command that was interrupted: go on with --resume, or remove the file" in refused
    # With other limits the verdicts might be other ones.
    refused = run("eval", samples, "--suite", suite, "--resume", "--timeout", "0.3", cwd=tmp_path, code=2)
    assert "is of other work" in refused
    told = json.loads(run("eval", samples, "--suite", suite, "--resume", "--json", cwd=tmp_path))
    assert told["samples"] == 4
    rows = [json.loads(line) for line in (tmp_path / "samples_results.jsonl").read_text().splitlines()]
    assert [(row["sample"], row["passed"]) for row in rows] == [(0, True), (1, False), (2, True), (3, False)]
    assert rows[3]["failed_cases"][0]["status"] == "timeout"
    assert not partial.exists()
    # With a smaller limit, what is there stays there.
    told = json.loads(run("eval", samples, "--suite", suite, "--resume", "--limit", 2, "--json", cwd=tmp_path))
    assert told["samples"] == 2
    assert len((tmp_path / "samples_results.jsonl").read_text().splitlines()) == 4
    # With another way to find the code, the finished results are of other work, and replaced.
    told = json.loads(run("eval", samples, "--suite", suite, "--resume", "--limit", 3, "--raw", "--json", cwd=tmp_path))
    assert told["samples"] == 3


def test_eval_prints_its_summary_as_json_and_takes_the_first_samples_only(tmp_path, suite, samples):
    told = json.loads(run("eval", samples, "--suite", suite, "--limit", 2, "--k", "1,2", "--json", cwd=tmp_path))
    assert (told["samples"], told["outcomes"]) == (2, {"pass": 1, "fail": 1})
    assert [(one["k"], one["value"]) for one in told["pass_at_k"]] == [(1, 0.5), (2, 1.0)]
    assert told["results"] == "samples_results.jsonl"
    assert len((tmp_path / "samples_results.jsonl").read_text().splitlines()) == 2


def test_the_version_is_shown(tmp_path):
    assert run("--version", cwd=tmp_path) == f"code-env {code_env.__version__}\n"
    done = subprocess.run([sys.executable, "-m", "code_env", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"code-env {code_env.__version__}\n"


def test_eval_scores_references(tmp_path, suite):
    shown = run("eval", "--references", "--suite", suite, "-o", "out.jsonl", cwd=tmp_path)
    assert "samples passed: 2 of 2" in shown
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 2


def test_eval_says_which_tasks_have_no_sample(tmp_path, suite, samples):
    samples.write_text(samples.read_text().splitlines()[0] + "\n")
    assert "1 tasks of the suite have no sample" in run("eval", samples, "--suite", suite, cwd=tmp_path)


def test_eval_of_humaneval(tmp_path, data):
    path = data / "humaneval" / "HumanEval.jsonl.gz"
    samples = tmp_path / "samples.jsonl"
    tasks = code_env.load_suite(path)
    for completion, passed in ((lambda task: task.reference, 164), (lambda task: "", 0)):
        samples.write_text("".join(json.dumps({"task_id": t.id, "completion": completion(t)}) + "\n" for t in tasks))
        shown = run("eval", samples, "--suite", path, cwd=tmp_path)
        assert f"samples passed: {passed} of 164" in shown
        assert "judged: 164 blind" in shown


POLICY = """
def twice(prompts, infos):
    return ["def double(x):\\n    return 2 * x" if info["turn"] else "" for info in infos]
"""


def test_an_exception_in_a_policy_is_told_with_its_own_frames(tmp_path):
    (tmp_path / "failing.py").write_text("def fails(prompts, infos):\n    return {}[infos[0]['turn']]\n")
    shown = run("rollout", "rows.jsonl", "--policy", "failing:fails", cwd=tmp_path, code=2)
    assert "error: the policy failing:fails raised an exception" in shown
    assert 'failing.py", line 2, in fails' in shown
    assert "KeyError: 0" in shown
    assert "typer" not in shown
    assert "code_env" not in shown


def test_rollout_writes_a_line_per_episode_and_goes_on(tmp_path, suite):
    (tmp_path / "policies.py").write_text(POLICY)
    arguments = ("--env", suite, "--policy", "policies:twice", "--max-turns", 2, "--num-envs", 3, "--seed", 4)
    shown = run("rollout", "rows.jsonl", *arguments, "--episodes", 5, cwd=tmp_path)
    assert "5 (5 played, 0 were there)" in shown
    assert "error 50.0%" in shown
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert sorted(row["episode"] for row in rows) == list(range(5))
    assert all(row["passed"] and len(row["turns"]) == 2 for row in rows)
    assert "resume" in run("rollout", "rows.jsonl", *arguments, "--episodes", 5, cwd=tmp_path, code=2)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:2]))
    shown = run("rollout", "rows.jsonl", *arguments, "--episodes", 5, "--resume", cwd=tmp_path)
    assert "5 (3 played, 2 were there)" in shown


def test_rollout_raises_the_alarm_when_the_sandbox_fails(tmp_path, monkeypatch):
    def fail(self, program):
        future = Future()
        future.set_result(ExecutionResult(Status.SANDBOX_ERROR))
        return future

    monkeypatch.setattr(LocalExecutor, "submit", fail)
    arguments = ["rollout", str(tmp_path / "rows.jsonl"), "--episodes", "30", "--num-envs", "4"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 1
    assert "20 of the last 20 episodes have no verdict" in done.stderr
    assert "30: left out of training, please" in done.stdout
    done = CliRunner().invoke(app, [*arguments, "--resume", "--alarm-rate", "1"])
    assert done.exit_code == 0


def test_validate_proves_a_suite(tmp_path):
    shown = run("validate", "repair", "--repetitions", 1, "--calibrate", "--write", "proven.jsonl", cwd=tmp_path)
    assert "12 of 12 tasks are sound; 0 errors" in shown
    assert "the suite as proven is in proven.jsonl" in shown
    suite, saved = code_env.load_suite("repair"), code_env.load_suite(tmp_path / "proven.jsonl")
    assert [task.id for task in saved] == [task.id for task in suite]
    assert all(now.limits.cpu_s <= task.limits.cpu_s for now, task in zip(saved, suite, strict=True))


def test_validate_finds_what_is_unsound(tmp_path, suite):
    rows = [
        TASK | {"id": "wrong", "reference": "def double(x): return 4"},
        {key: value for key, value in TASK.items() if key != "reference"},
    ]
    suite.write_text("".join(json.dumps(row) + "\n" for row in rows))
    shown = run("validate", suite, cwd=tmp_path, code=1)
    lines = shown.splitlines()
    for words in (
        ("wrong", "error", "reference_fails", "its reference does not pass: test 1: expected 10, got 4"),
        ("double", "error", "no_reference", "it has no reference to prove it with"),
    ):
        assert any(all(word in line for word in words) for line in lines), shown
    assert "0 of 2 tasks are sound; 2 errors, 0 warnings" in shown


def test_validate_finds_what_doing_nothing_passes(tmp_path, suite):
    idle = {"id": "idle", "prompt": "Do nothing.", "tests": [{"kind": "output", "expected": ""}], "reference": "pass"}
    suite.write_text(json.dumps(idle) + "\n")
    assert "an answer passes that does nothing" in run("validate", suite, cwd=tmp_path, code=1)


def test_validate_prints_json_and_a_warning_is_no_failure(tmp_path, suite):
    rows = [TASK, TASK | {"id": "zero", "tests": [*TASK["tests"], {"kind": "call", "args": [0], "expected": 0}]}]
    suite.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = json.loads(run("validate", suite, "--json", cwd=tmp_path))
    finding = found.pop("findings")[0]
    assert found == {"suite": "suite", "tasks": 2, "sound_tasks": 2, "sound": True, "errors": 0, "warnings": 1}
    assert (finding["task_id"], finding["level"], finding["kind"]) == ("zero", "warning", "trivial_scores")
    assert finding["problem"].startswith("an answer scores 0.33 (test 2) if it returns its first argument")


def test_validate_shows_mutants_that_pass(tmp_path, suite):
    row = {"id": "big", "prompt": "Is it big?", "entry_point": "big", "reference": "def big(n):\n    return n > 5"}
    suite.write_text(json.dumps({**row, "tests": [{"kind": "call", "args": [n], "expected": n > 5} for n in (1, 9)]}))
    shown = run("validate", suite, "-n", 1, "--mutants", 20, cwd=tmp_path)
    assert "big: 2 of 5 mutants fail; these pass:" in shown
    assert (
        "    -    return n > 5\n    +    return n > 6\n    for big(6) the reference gives True, and the mutant False"
        in shown
    )
    assert "2 of 5 mutants fail: 0.400\n" in shown
    found = json.loads(run("validate", suite, "-n", 1, "--mutants", 20, "--json", cwd=tmp_path))["mutants"]
    assert (found["mutants"], found["killed"], found["standard_error"]) == (5, 2, None)
    assert found["tasks"][0]["survivors"][0]["input"] in ("big(5)", "big(6)")


def test_validate_saves_impossible_copies(tmp_path, suite):
    suite.write_text(json.dumps(TASK) + "\n")
    shown = run("validate", suite, "-n", 1, "--impossible", "never.jsonl", cwd=tmp_path)
    assert "1 task that nobody can solve: never.jsonl" in shown
    scored = json.loads(run("eval", "--suite", "never.jsonl", "--references", "--json", cwd=tmp_path))
    assert scored["outcomes"] == {"fail": 1}


def test_validate_names_references_that_answers_contradict(tmp_path, suite):
    suite.write_text(json.dumps(TASK) + "\n")
    code = "def double(x): return x + x if abs(x) < 12 else 12"
    (tmp_path / "samples.jsonl").write_text(json.dumps({"task_id": TASK["id"], "completion": code}) + "\n")
    shown = run("validate", suite, "-n", 1, "--answers", "samples.jsonl", "--answers", "samples.jsonl", cwd=tmp_path)
    assert "double: warning: reference_suspect: for double(1" in shown
    assert ", and 1 of 1 distinct answers that pass gives 12\n" in shown
    assert "there is no such file" in run("validate", suite, "--answers", "none.jsonl", cwd=tmp_path, code=2)


def test_harden_adds_tests_that_refuse_what_passed(tmp_path, suite):
    suite.write_text(json.dumps(TASK) + "\n")
    wrong = "def double(x): return x + x if abs(x) < 12 else 12"
    (tmp_path / "samples.jsonl").write_text(json.dumps({"task_id": TASK["id"], "completion": wrong}) + "\n")
    judged = ("samples.jsonl", "--json")
    assert json.loads(run("eval", "--suite", suite, *judged, cwd=tmp_path))["outcomes"] == {"pass": 1}
    shown = run("harden", suite, "--write", "more.jsonl", cwd=tmp_path)
    assert "double: 20 tests, of 32 inputs; " in shown
    assert "Nothing checked the references" in shown
    assert "the suite with 20 more tests is in more.jsonl" in shown
    assert json.loads(run("eval", "--suite", "more.jsonl", *judged, cwd=tmp_path))["outcomes"] == {"fail": 1}


def test_harden_takes_trajectories_as_answers(tmp_path, suite):
    suite.write_text(json.dumps(TASK) + "\n")
    wrong = [f"def double(x): return x + x if abs(x) < {most} else 12" for most in (11, 12)]
    episodes = [{"task_id": TASK["id"], "turns": [{"action": "pass"}, {"action": code}]} for code in wrong]
    (tmp_path / "episodes.jsonl").write_text("".join(json.dumps(one) + "\n" for one in episodes))
    shown = run("harden", suite, "--write", "more.jsonl", "--answers", "episodes.jsonl", cwd=tmp_path)
    assert "not used: for double(" in shown


def test_prepare_installs_once_and_cache_shows_and_removes(tmp_path, suite, wheels, monkeypatch):
    monkeypatch.setenv("CODE_ENV_CACHE", str(tmp_path / "cache"))
    suite.write_text(json.dumps(TASK | {"packages": ["shelf<2"]}) + "\n")
    told = json.loads(run("prepare", suite, "--wheels", wheels, "--json", cwd=tmp_path))
    assert (told["tasks_with_packages"], told["installed"]) == (1, 1)
    (key,) = (one["key"] for one in told["environments"])
    assert f"{key}: shelf<2 (1.0)" in run("prepare", suite, cwd=tmp_path)
    assert key in run("cache", "list", cwd=tmp_path)
    assert json.loads(run("eval", "--suite", suite, "--references", "--json", cwd=tmp_path))["outcomes"] == {"pass": 1}
    assert json.loads(run("cache", "prune", "--json", cwd=tmp_path)) == {"removed": [], "left": [key]}
    assert json.loads(run("cache", "clear", "--json", cwd=tmp_path)) == {"removed": [key], "left": []}
    told = run("eval", "--suite", suite, "--references", cwd=tmp_path, code=2)
    assert "code-env prepare" in told


def test_validate_folds_many_small_scores(tmp_path, suite):
    third = [*TASK["tests"], {"kind": "call", "args": [0], "expected": 0}]
    rows = [TASK | {"id": f"third-{number}", "tests": third} for number in range(6)]
    suite.write_text("".join(json.dumps(row) + "\n" for row in rows))
    shown = run("validate", suite, "-n", 1, cwd=tmp_path)
    assert shown.splitlines() == [
        "in 6 tasks an answer that solves nothing passes some cases, but less than half of them: "
        "warning: trivial_scores: at most 0.33, in third-0; --json shows all",
        "6 of 6 tasks are sound; 0 errors, 6 warnings",
    ]
    assert len(json.loads(run("validate", suite, "-n", 1, "--json", cwd=tmp_path))["findings"]) == 6
    suite.write_text("".join(json.dumps(row) + "\n" for row in rows[:5]))
    assert run("validate", suite, "-n", 1, cwd=tmp_path).count("an answer scores 0.33") == 5


def test_validate_writes_all_tasks_with_what_was_found(tmp_path, suite):
    rows = [
        TASK | {"id": "wrong", "reference": "def double(x): return 4"},
        {"id": "own", "prompt": "Write the class P.", "entry_point": "P", "reference": OWN_CLASS}
        | {"tests": [{"kind": "assert", "code": "assert P(1) == P(1)\nassert P(1).x == 1"}]},
    ]
    suite.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run("validate", suite, "--write", "proven.jsonl.gz", cwd=tmp_path, code=1)
    saved = code_env.load_suite(tmp_path / "proven.jsonl.gz")
    assert [(task.id, task.judge) for task in saved] == [("wrong", "blind"), ("own", "objects")]
    shown = run("validate", "proven.jsonl.gz", "--json", cwd=tmp_path, code=1)
    assert {finding["kind"] for finding in json.loads(shown)["findings"]} == {"reference_fails", "trivial_scores"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "startre"], "did you mean 'starter'"),
        (["run", "CartPole-v1"], "neither an environment of this package"),
        (["run", "CodeExec-v0", "--executor", "lokal"], "known are"),
        (["eval", "--suite", "starter"], "--references"),
        (["eval", "missing.jsonl", "--suite", "starter"], "missing.jsonl"),
        (["eval", "bad.jsonl", "--suite", "starter"], "bad.jsonl:2: completion: text was expected; got int"),
        (["eval", "unknown.jsonl", "--suite", "starter"], "unknown.jsonl:1: suite 'starter' has no task 'x'"),
        (["eval", "--references", "--suite", "starter", "--k", "0"], "--k takes whole numbers"),
        (["eval", "--references", "--suite", "starter", "-o", "no/such/dir.jsonl"], "cannot be written"),
        (["eval", "--references", "--suite", "starter", "-o", "/dev/null"], "/dev/null is no regular file"),
        (["eval", "--references", "--suite", "starter", "-o", "."], "is no regular file"),
        (["eval", "--model", "m", "--suite", "starter", "-o", "."], "is no regular file"),
        (["eval", "--references", "--suite", "nowhere"], "known suites are data_analysis, files, "),
        (["eval", ".", "--suite", "starter"], ".: a file of JSON lines was expected, and this is a directory"),
        (
            ["eval", "--references", "--suite", "starter", "-e", "os:path"],
            "os:path is a module; what makes",
        ),
        (["harbor", "run", ".", "--script", "no.sh"], "path of a shell script; no.sh cannot be read: [Errno 2]"),
        (["cache", "prune", "--max-gib", "inf"], "less than or equal to 1048576"),
        (["validate", "broken.jsonl"], "broken.jsonl:1:"),
        (["validate", "starter", "--write", "no/such/dir.jsonl"], "cannot be written"),
        (["validate", "starter", "--write", "."], "is no regular file"),
        (["rollout", "rows.jsonl", "--policy", "best"], "`references`, `blank`, or package.module:function"),
        (["rollout", "rows.jsonl", "--policy", "math:pi"], "no function but a float"),
        (["rollout", "rows.jsonl", "--policy", "no.such:name"], "No module named"),
        (["rollout", "no/such/dir.jsonl"], "cannot be written"),
        (["rollout", "good.jsonl", "--resume"], "good.jsonl:1"),
        (["rollout", "rows.jsonl", "--env", "startre"], "did you mean 'starter'"),
        (["rollout", "rows.jsonl", "--group-size", "5"], "group_size must divide num_envs=32 and episodes=100"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_gets_one_line_and_exit_code_2(arguments, words, tmp_path):
    (tmp_path / "bad.jsonl").write_text(
        '{"task_id": "starter/seat-total", "completion": ""}\n{"task_id": "x", "completion": 3}\n'
    )
    (tmp_path / "good.jsonl").write_text('{"task_id": "starter/seat-total", "completion": ""}\n')
    (tmp_path / "unknown.jsonl").write_text('{"task_id": "x", "completion": ""}\n')
    (tmp_path / "broken.jsonl").write_text("{not json\n")
    shown = run(*arguments, cwd=tmp_path, code=2)
    assert words in " ".join(shown.split())


@pytest.mark.parametrize("command", ["view --no-browser r.jsonl", "serve --port 0"])
def test_an_address_is_told_only_if_something_answers_there(command, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    (tmp_path / "r.jsonl").write_text("")
    shown = run(*command.split(), cwd=tmp_path, code=2)
    assert "install code-exec-env[" in shown
    assert "http://" not in shown


def test_a_check_that_is_not_there_gets_those_that_are_near(tmp_path):
    shown = run("conformance", "local", "--check", "memory", cwd=tmp_path, code=2)
    assert "'memory'; near are memory_is_limited, " in shown
    assert "unicode" not in shown


@pytest.mark.parametrize("command", ["eval --suite starter --references --max-tokens 9", "rollout e.jsonl --system be"])
def test_an_option_of_a_model_needs_a_model(command, tmp_path):
    assert "is an option of --model, which is not given" in run(*command.split(), cwd=tmp_path, code=2)
    assert list(tmp_path.iterdir()) == []
