import dataclasses
import json
import platform
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from code_env import ExecutorError
from code_env.abuses import SELECTION, Finding
from code_env.cli import app
from code_env.doctor import examine


@pytest.fixture(scope="module")
def found():
    return examine()


def test_it_names_the_level_that_runs(found, executor):
    assert found.level == executor.describe().level
    assert found.passed
    assert platform.release() in found.system


def test_a_level_rests_on_its_layers(found):
    granted = {layer.name: layer.granted for layer in found.layers}
    assert granted["Landlock"]
    assert granted["seccomp filter"]
    if found.level == "full":
        assert all(layer.granted for layer in found.layers if layer.needed_for == "full")
        assert found.why_not_full == ""
    else:
        assert found.why_not_full


def test_what_is_missing_comes_with_a_remedy(found):
    for layer in found.layers:
        assert layer.granted or layer.remedy or layer.detail.startswith("not tried"), layer


def test_it_times_programs(found):
    assert 0 < found.timing["program"] < found.timing["start"]
    assert found.timing["judged"] > 0


def test_a_level_that_is_none_is_refused():
    with pytest.raises(ExecutorError, match="min_isolation"):
        examine("partial")


def test_the_command_shows_it_as_a_table_and_as_json(found):
    shown = CliRunner().invoke(app, ["doctor"])
    assert shown.exit_code == 0
    for word in ("user namespace", "Landlock", "seccomp filter", f"level: {found.level}", "timing"):
        assert word in shown.output
    told = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).output)
    assert told["passed"]
    assert told["level"] == found.level
    assert {layer["name"] for layer in told["layers"]} == {layer.name for layer in found.layers}


def test_without_user_namespaces_it_says_what_they_would_need(no_user_namespaces):
    done = subprocess.run(
        [*no_user_namespaces, sys.executable, "-m", "code_env", "doctor", "--json", "--min-isolation", "full"],
        capture_output=True,
        text=True,
    )
    told = json.loads(done.stdout)
    assert (done.returncode, told["level"], told["passed"]) == (1, "contained", False), done.stderr
    missing = next(layer for layer in told["layers"] if layer["name"] == "user namespace")
    assert not missing["granted"]
    assert "user.max_user_namespaces" in missing["remedy"]
    assert "user namespace" in told["why_not_full"]


def test_it_shows_what_held(found):
    done = CliRunner().invoke(app, ["doctor", "--probe"])
    assert done.exit_code == 0, done.output
    assert f"level: {found.level}" in done.output
    assert f"probe: {len(SELECTION)} of {len(SELECTION)} held" in done.output


def test_it_shows_what_held_without_user_namespaces(no_user_namespaces):
    done = subprocess.run(
        [*no_user_namespaces, sys.executable, "-m", "code_env", "doctor", "--json", "--probe"],
        capture_output=True,
        text=True,
    )
    told = json.loads(done.stdout)
    assert (done.returncode, told["level"], told["passed"]) == (0, "contained", True), done.stdout
    assert [finding["held"] for finding in told["probe"]] == [True] * len(SELECTION)


def test_a_breach_is_no_pass(found):
    breach = Finding("reads a secret", "files", held=False, detail="a secret came out", wall_s=0.1)
    assert not dataclasses.replace(found, probe=(breach,)).passed


def test_a_wrong_option_is_one_line():
    done = CliRunner().invoke(app, ["doctor", "--min-isolation", "partial"])
    assert done.exit_code == 2
