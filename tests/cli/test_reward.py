"""`code-env reward`: scores, and what is told of a function that is no reward for the rows."""

import json

import pytest

from cli.command_line import run


def test_reward_scores_the_answers_of_a_file(tmp_path):
    rows = [{"response": "print(1)", "expected_output": "1"}, {"completion": "print(2)", "expected_output": "1"}]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["answers.jsonl", "-f", "expected_output"]
    shown = run("reward", "local_code_execution_reward", *arguments, "-o", "results.json", cwd=tmp_path)
    assert "mean score: 0.5000 over 2 rows" in shown
    assert json.loads((tmp_path / "results.json").read_text())["scores"] == [1.0, 0.0]
    assert "no function at" in run("reward", "no_such_reward", *arguments, cwd=tmp_path, code=2)
    assert "the row lacks ground_truth" in run(
        "reward", "fractional_code_reward", "answers.jsonl", "-f", "ground_truth", cwd=tmp_path, code=2
    )


OWN = """
def half(response): return 0.5
def fails(response): raise KeyError("gone")
def text(response): return "good"
"""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("fractional_code_reward m.jsonl", "missing a required argument: 'ground_truth'; a row gave messages; --field"),
        ("evaluate_dataset r.jsonl", "missing a required argument: 'reward_function'"),
        ("os:getcwd r.jsonl", "getcwd() must give a number or a RewardOutput; it gave str"),
        ("own_rewards:text r.jsonl", "text() must give a number or a RewardOutput; it gave str"),
        ("own_rewards:fails r.jsonl", "the reward own_rewards:fails raised an exception"),
        ("own_rewards:half .", ".: a file of JSON lines was expected, and this is a directory"),
        ("own_rewards:half none.jsonl", "none.jsonl: there is no such file"),
    ],
)
def test_what_is_no_reward_for_the_rows_is_told(arguments, told, tmp_path):
    (tmp_path / "r.jsonl").write_text('{"response": "print(1)"}\n')
    (tmp_path / "m.jsonl").write_text('{"messages": [{"role": "assistant", "content": "1"}], "ground_truth": "1"}\n')
    (tmp_path / "own_rewards.py").write_text(OWN)
    assert told in " ".join(run("reward", *arguments.split(), cwd=tmp_path, code=2).split())
    assert "mean score: 0.5000" in run("reward", "own_rewards:half", "r.jsonl", cwd=tmp_path)
