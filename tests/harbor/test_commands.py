"""`code-env harbor` runs and proves folders of tasks."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from code_env.cli import app

TASKS = Path(__file__).parent / "tasks"


@pytest.fixture
def folder(base, tmp_path):
    for name in ("write-a-script", "convert-a-file"):
        shutil.copytree(TASKS / name, tmp_path / "tasks" / name)
    (tmp_path / "tasks/base.tar").symlink_to(base)
    return tmp_path / "tasks"


def run(*arguments):
    return CliRunner().invoke(app, ["harbor", *map(str, arguments)])


def test_validate_proves_tasks(folder):
    done = run("validate", folder)
    assert (done.exit_code, sorted(done.output.split("\n"))[-2:]) == (
        0,
        ["code_env/convert-a-file: proven", "code_env/write-a-script: proven"],
    ), done.output
    (folder / "convert-a-file/solution/solve.sh").write_text("true")
    shutil.rmtree(folder / "write-a-script/solution")
    (folder / "write-a-script/tests/test.sh").write_text("echo 1 > /logs/verifier/reward.txt")
    done = run("validate", folder, "--json")
    assert done.exit_code == 1
    found = {row["task"].partition("/")[2]: row["problems"] for row in json.loads(done.output)["tasks"]}
    assert found["convert-a-file"] == ["code_env/convert-a-file: the solution: reward 0"]
    missing, free = found["write-a-script"]
    assert "there is no solution/solve.sh" in missing
    assert free == "code_env/write-a-script: doing nothing: reward 1"


def test_run_says_what_work_is_worth(folder, tmp_path):
    assert run("run", folder / "write-a-script").output.splitlines()[-1] == "code_env/write-a-script: reward 1"
    script = tmp_path / "agent.sh"
    script.write_text("echo '[]' > stock.json; touch conftest.py")
    done = run("run", folder / "convert-a-file", "--script", script)
    assert "code_env/convert-a-file: reward 0; as in the image again: /app/conftest.py" in " ".join(done.output.split())
    done = run("run", folder / "convert-a-file", "--script", script, "--json")
    (row,) = json.loads(done.output)["tasks"]
    assert (row["reward"], row["stages"][0]["outcome"]) == (0.0, "scored")


def test_a_user_error_is_one_line(folder):
    done = run("run", folder.parent / "none")
    assert (done.exit_code, "no task.toml" in " ".join(done.output.split())) == (2, True)
    assert "NAME=VALUE" in run("run", folder, "--env", "A").output
