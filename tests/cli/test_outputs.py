"""No command replaces what it reads, nor writes two things to one file."""

import json

import pytest

from cli.command_line import run
from code_env import load_suite, save_suite

ANSWER = {"task_id": "starter/seat-total", "completion": ""}


@pytest.mark.parametrize(
    "command",
    [
        "validate s.jsonl --write s.jsonl",
        "validate s.jsonl --write ./s.jsonl",
        "validate s.jsonl --write link.jsonl",
        "validate link.jsonl --write s.jsonl",
        "validate code_env:s.jsonl --write s.jsonl",
        "validate folder --impossible folder/tasks.jsonl",
        "validate s.jsonl --answers a.jsonl --write a.jsonl",
        "validate s.jsonl --write x.jsonl --impossible x.jsonl",
        "harden code_env:s.jsonl --write s.jsonl",
        "harden folder --write folder/tasks.jsonl",
        "harden s.jsonl --answers a.jsonl --write a.jsonl",
        "eval a.jsonl --suite s.jsonl -o ./a.jsonl",
        "eval a.jsonl --suite s.jsonl -o s.jsonl",
        "eval --references --suite folder -o folder/tasks.jsonl",
        "eval --model m --suite s.jsonl -o s.jsonl",
        "eval s.jsonl --suite s_results.jsonl",
        "report a.jsonl -o a.jsonl",
        "report s.jsonl a.jsonl -o link.jsonl",
        "report r.jsonl -o r.jsonl.partial",
        "export a.jsonl --to inspect -o a.jsonl",
        "reward local_code_execution_reward a.jsonl -o a.jsonl",
    ],
)
def test_nothing_that_is_read_is_replaced(command, tmp_path):
    save_suite(load_suite("starter")[:1], tmp_path / "s.jsonl")
    (tmp_path / "s_results.jsonl").write_bytes((tmp_path / "s.jsonl").read_bytes())
    (tmp_path / "link.jsonl").symlink_to("s.jsonl")
    (tmp_path / "a.jsonl").write_text(json.dumps(ANSWER) + "\n")
    (tmp_path / "r.jsonl.partial").write_text("")
    (tmp_path / "folder").mkdir()
    save_suite(load_suite("starter")[:1], tmp_path / "folder" / "tasks.jsonl")
    (tmp_path / "folder" / "env.toml").write_text('suite = "tasks.jsonl"\n')
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    shown = run(*command.split(), cwd=tmp_path, code=2)
    assert "would replace" in shown
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == before


def test_a_target_that_is_another_file_is_written(tmp_path):
    for name in ("s.jsonl", "old.jsonl"):
        save_suite(load_suite("starter")[:1], tmp_path / name)
    run("validate", "code_env:s.jsonl", "-n", 1, "--write", "old.jsonl", cwd=tmp_path)
    assert load_suite(tmp_path / "old.jsonl")[0] == load_suite(tmp_path / "s.jsonl")[0]
