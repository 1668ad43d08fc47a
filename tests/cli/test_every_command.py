"""What all commands have: help with an example, a short form of it, and an answer as JSON."""

import json

import pytest
import ray
import typer.main
from rich.table import Table

from cli.command_line import run
from code_env import CallTest, Task, save_suite
from code_env.cli import app
from code_env.cli.console import out, progress_bar, say


def commands(group, name=""):
    """Each command, by the words that call it; those of a group count, and not the group."""
    if not hasattr(group, "commands"):
        return {name.strip(): group}
    return {
        key: one for word, inner in group.commands.items() for key, one in commands(inner, f"{name} {word}").items()
    }


DOUBLE = "def double(n):\n    return 2 * n"
COMMANDS = commands(typer.main.get_command(app))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_and_every_option_is_told(name, tmp_path):
    shown = run(*name.split(), "-h", cwd=tmp_path)
    assert run(*name.split(), "--help", cwd=tmp_path) == shown
    command = COMMANDS[name]
    assert f"Example: code-env {name}" in command.help
    untold = [parameter.name for parameter in command.params if not getattr(parameter, "help", None)]
    assert untold == []


@pytest.mark.parametrize("name", COMMANDS)
def test_it_has_json(name):
    assert "as_json" in {parameter.name for parameter in COMMANDS[name].params}


@pytest.mark.parametrize(
    ("command", "keys"),
    [
        (("run", "starter", "-n", 2), {"episodes", "mean_reward", "steps"}),
        (("rollout", "e.jsonl", "-n", 4, "--num-envs", 2), {"done", "mean_return", "pass_rate", "statuses", "file"}),
        (("new", "my_tasks"), {"folder"}),
        (("eval", "--suite", "starter", "--references", "--limit", 2), {"samples", "outcomes", "pass_at_k", "results"}),
        (("doctor",), {"level", "layers"}),
        (("harden", "one.jsonl", "--inputs", 1, "--write", "more.jsonl"), {"suite", "added", "tasks"}),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_json_is_one_object(command, keys, tmp_path):
    task = Task("double", "Return twice n.", (CallTest((2,), expected=4),), entry_point="double", reference=DOUBLE)
    save_suite([task], tmp_path / "one.jsonl")
    shown = run(*command, "--json", cwd=tmp_path)
    assert shown.count("\n") == 1
    assert keys <= json.loads(shown).keys()


def test_the_json_of_list_is_one_object_and_takes_no_cluster_of_ray(tmp_path):
    shown = run("list", "--json", cwd=tmp_path)
    assert shown.count("\n") == 1
    told = json.loads(shown)
    assert {"environments", "executors", "rewards"} <= told.keys()
    assert told["executors"]["ray"] == told["executors"]["local"]
    assert not ray.is_initialized()


def test_a_line_of_run_says_why_an_answer_failed(tmp_path):
    samples = tmp_path / "s.jsonl"
    answers = {"starter/seat-total": "def seat_total(*seats): return -1", "starter/print-sixes": "I cannot do that."}
    samples.write_text(
        "".join(json.dumps({"task_id": one, "completion": text}) + "\n" for one, text in answers.items())
    )
    first, second, _ = run("run", "starter", "-s", samples, cwd=tmp_path).splitlines()
    assert "expected" in first
    assert "NoProgram: the answer holds no code" in second
    told = json.loads(run("run", "starter", "-s", samples, "--json", cwd=tmp_path))
    assert [step["why"] != "" for step in told["steps"]] == [True, True]


def test_no_text_is_taken_for_markup_or_an_emoji(capsys):
    name = "my[socks]:boom:x"
    table = Table(name)
    table.add_row(name)
    out.print(table)
    out.print(name)
    say(name)
    assert capsys.readouterr().out.count(name) == 4
    bar = progress_bar()
    bar.add_task(name)
    assert bar.columns[0].render(bar.tasks[0]).plain == name
