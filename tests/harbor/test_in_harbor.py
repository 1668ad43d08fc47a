"""Harbor runs its own trials in boxes, in an environment of its own: it needs Python 3.12, and much else."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from own_environment import newer_python
from support import PATIENCE_S, ROOT

ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "HARBOR_TELEMETRY": "off",
    "PYTHONPATH": str(Path(__file__).parent),
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Where the programs of an environment with Harbor are."""
    place = tmp_path_factory.mktemp("own") / "environment"
    uv = [sys.executable, "-m", "uv"]
    for step in (
        ["venv", "-q", "--python", newer_python((3, 12)), place],
        ["pip", "install", "-q", "--python", place / "bin/python", "-e", f"{ROOT}[harbor]"],
    ):
        done = subprocess.run([*uv, *step], capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode == 0, done.stderr
    return place / "bin"


def run(programs, *words, **more):
    done = subprocess.run(
        [programs / words[0], *map(str, words[1:])],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env={**os.environ, **ENVIRONMENT},
        **more,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def trials(programs, tasks, jobs, agent, *options):
    """The rewards and the exceptions of the trials of all tasks, by the names of the tasks."""
    where = ("--env", "code_env.integrations.harbor:CodeEnvironment", "-p", tasks, "-o", jobs)
    run(programs, "harbor", "run", *where, "-a", agent, "-n", 2, "--quiet", *options)
    told = [json.loads(file.read_text()) for file in jobs.glob("*/*/result.json")]
    return {
        one["task_name"].partition("/")[2]: (
            (one["verifier_result"] or {}).get("rewards"),
            (one["exception_info"] or {}).get("exception_type"),
        )
        for one in told
    }


def test_solutions_earn_all_and_doing_nothing_earns_nothing(programs, tasks, tmp_path):
    """The tasks with services, with several steps, with a build file and with more than one reward are among them."""
    some = tmp_path / "some"
    for name in ("configure-a-tool", "fill-in-parts", "serve-a-page", "several-steps"):
        shutil.copytree(tasks / name, some / name)
    (some / "base.tar").symlink_to(tasks / "base.tar")
    for agent, place, reward in (("oracle", tasks, 1.0), ("nop", some, 0.0)):
        names = {folder.parent.name for folder in place.glob("*/task.toml")}
        told = trials(programs, place, tmp_path / agent, agent)
        assert set(told) == names
        assert {name: (set(rewards.values()), fault) for name, (rewards, fault) in told.items()} == dict.fromkeys(
            names, ({reward}, None)
        )


def test_an_agent_that_takes_too_long_is_ended_and_its_work_counts(programs, tasks, tmp_path):
    """Harbor cancels what waits for the command; the command ends, its box does not."""
    place = tmp_path / "tasks"
    shutil.copytree(tasks / "write-a-script", place / "write-a-script")
    (place / "base.tar").symlink_to(tasks / "base.tar")
    with (place / "write-a-script/task.toml").open("a") as file:
        file.write("\n[agent]\ntimeout_sec = 20\n")
    told = trials(programs, place, tmp_path / "jobs", "in_harbor_script:SolvesAndSleeps")
    assert told == {"write-a-script": ({"reward": 1.0}, "AgentTimeoutError")}


def test_a_box_does_what_harbor_expects_of_an_environment(programs, tasks, tmp_path):
    told = json.loads(run(programs, "python", Path(__file__).parent / "in_harbor_script.py", tasks, cwd=tmp_path))
    assert told["where"] == ["/app\n", 0]
    assert told["elsewhere"] == ["/tmp more\n", 3]
    assert told["both streams"] == ["out\nerr\n", 0]
    assert told["long"] == [str(200_000) + "\n", 0]
    assert told["stays"] == ["alive\n", 0]
    assert told["time"] == "RuntimeError: Command timed out after 1 seconds"
    assert told["memory"][1] == 137
    assert "more than 128 MiB" in told["memory"][2]
    assert told["file"] == ["#!/bin/sh\necho up\n", "up\n"]
    assert told["folder"] == {"a.txt": "a", "in/b.txt": "b", "link": "a"}
    assert told["not there"] == "FileNotFoundError: there is no /none in the box"
    assert told["no file"] == "FileNotFoundError: /app is no file in the box"
    assert told["at a time"] == ["1\n", "2\n", "3\n"]
    assert told["another is cancelled"] == "whole\n"
    assert told["cancelled"][1] == 0
    assert told["stopped"].startswith("ExecutorError: the box is not there")
    assert told["services"].startswith("ValueError")
    assert told["no image"].startswith("FileNotFoundError: the task names no docker_image")
