"""The benchmarks run; their figures are for a quiet machine to make."""

import json
import subprocess
import sys

from images.rootfs import make_root
from support import PATIENCE_S, ROOT


def run(name, *arguments):
    command = [sys.executable, "-W", "error", str(ROOT / "benchmarks" / name), *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_a_short_soak_is_flat():
    """It checks each result itself."""
    rows, said = run("soak.py", "--programs", "200")
    assert "grown: nothing" in said
    assert (rows[-1]["programs"], len(rows)) == (200, 20)
    assert min(row["descriptors"] for row in rows) > 0
    assert min(row["jail_bytes"] for row in rows) > 0


def test_a_short_soak_of_sessions_is_flat():
    """It checks each value itself."""
    rows, said = run("session_soak.py", "--sessions", "2")
    assert "grown: nothing" in said
    assert [row["programs"] for row in rows] == [50, 100]


def test_executors_are_compared_with_a_fork(tmp_path):
    kinds = ["local", "single", f"image={make_root(tmp_path / 'root')}", "contained"]
    few = ("--rounds", "1", "--programs", "trivial", "--trivial-runs", "40", "--workers", "1")
    rows, _ = run("executors.py", *few, "--executors", *kinds)
    assert [row["executor"] for row in rows] == ["fork", *kinds]
    assert rows[-1]["level"] == "contained"
    assert all(row["cpu_ratio"][0] > 0 and row["machine_ratio"][0] > 0 for row in rows)
    assert [row["executor"] for row in rows if row["first_s"]] == ["local", kinds[2], "contained"]


def test_an_evaluation_is_timed(data, tmp_path):
    recorded = data / "llm_completions" / "humaneval.gpt-4.run1.reflexion.jsonl"
    some = tmp_path / "some.jsonl"
    some.write_text("".join(recorded.read_text().splitlines(keepends=True)[:12]))
    problems = str(data / "humaneval" / "HumanEval.jsonl.gz")
    rows, _ = run(
        "evaluation.py", "--humaneval", problems, "--completions", str(some), "--copies", "2", "--rounds", "1"
    )
    with_text = sum(bool(json.loads(line)["completion"]) for line in some.read_text().splitlines())
    assert (rows[0]["what"], rows[0]["completions"]) == ("code-env", 2 * with_text)
    assert rows[0]["seconds"] > 0


def test_a_report_is_measured(tmp_path):
    results = tmp_path / "results.jsonl"
    command = [sys.executable, "-m", "code_env.cli", "eval", "--references", "--suite", "starter", "-o", str(results)]
    subprocess.run(command, check=True, capture_output=True)
    rows, _ = run("report.py", "--results", str(results), "--samples", "60", "--rounds", "1")
    assert rows[0]["samples"] == 60
    assert all(value > 0 for value in rows[0].values())


def test_cheats_are_counted():
    rows, _ = run("cheats.py")
    counts = {row["judge"]: (row["right"], row["wrong"], row["cheat"]) for row in rows}
    assert counts["code_env"] == ("3 of 3", "0 of 2", "0 of 8")
    assert counts["exit code of a process"] == ("3 of 3", "0 of 2", "8 of 8")


def test_what_a_branch_of_a_session_costs_is_measured():
    """It checks each result itself."""
    (shown,), _ = run(
        *("sessions.py", "--megabytes", "0,8", "--rounds", "1", "--count", "2", "--branches", "6", "--running", "3")
    )
    assert [row["megabytes"] for row in shown["sizes"]] == [0, 8]
    assert shown["together"]["seconds"] > 0


def test_what_a_server_costs_is_measured():
    """It checks each result itself."""
    rows, _ = run("serving.py", "--rounds", "1", "--count", "8", "--contenders", "http,batch,remote")
    assert [row["through"] for row in rows] == ["local", "http", "batch", "remote"] * 2
    assert all(row["rate"] > 0 for row in rows)


def test_what_hardening_catches_is_counted(data):
    problems = str(data / "humaneval" / "HumanEval.jsonl.gz")
    rows, _ = run(
        *("hardening.py", "humaneval", problems, str(data / "llm_completions"), "--tasks", "1", "--inputs", "3")
    )
    assert [row["voters"] for row in rows] == ["nobody", "the other models"]
    assert all(row["to_keep"] > row["refused"] == 0 and row["killed"] <= row["mutants"] for row in rows)
    rows, _ = run("hardening.py", "price", problems, "--tasks", "1", "--inputs", "3", "--rounds", "1")
    assert rows[0]["ratio"] > 0
    rows_of_mbpp = str(data / "plus_sample" / "mbpp_plus_originfmt.12rows.jsonl")
    (row,), _ = run("hardening.py", "mbpp", rows_of_mbpp, "--tasks", "1", "--inputs", "5")
    assert row["added"] == 5
