"""A verifier in an environment of its own, and commands that collect the agent's work for it."""

import json

import pytest
from typer.testing import CliRunner

from code_env import Outcome, TaskError, judge, load_suite, make_executor
from code_env.cli import app
from code_env.harbor import Trial, TrialOutcome, read_folder
from code_env.images import prepare_images

IMAGE = "FROM {base}\nWORKDIR /app\nRUN echo 7 > /app/given\n"
OWN = """FROM {base}
WORKDIR /srv/verifier
COPY . /tests/
RUN mkdir /app && echo 42 > /app/expected && echo 1 > /srv/verifier/own
"""
SEES_ONLY_ARTIFACTS = """
cd /tests && test -e test.sh && test -e /srv/verifier/own && test "$KIND" = own && test ! -e /app/given || exit 1
if [ "$(cat /app/out/answer)" = "$(cat /app/expected)" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
"""
TABLE = """artifacts = ["/app/out"]
[verifier]
environment_mode = "separate"
env = {KIND = "own"}
"""


@pytest.fixture
def folder(base, tmp_path):
    """Makes the folder of a task; the tests have a build file, if there is one."""

    def make(table, script, build_file=OWN, solution="mkdir -p out; echo 42 > out/answer"):
        texts = {
            "task.toml": table,
            "instruction.md": "Write 42.",
            "environment/Dockerfile": IMAGE.format(base=base),
            "tests/test.sh": script,
            "solution/solve.sh": solution,
        }
        if build_file:
            texts["tests/Dockerfile"] = build_file.format(base=base)
        for name, text in texts.items():
            (tmp_path / "task" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "task" / name).write_text(text)
        return tmp_path / "task"

    return make


def score(folder, command):
    task = read_folder(folder)
    prepare_images(task.images)
    with Trial(task) as trial:
        trial.run(command)
        return trial.submit()


TRIED = {
    "mkdir out; echo 42 > out/answer": 1.0,
    "mkdir out; echo 41 > out/answer": 0.0,
    "true": 0.0,
    "echo 41 > expected; mkdir out; echo 41 > out/answer": 0.0,
    "mkdir out; echo 41 > out/answer; ln -s /logs/verifier out/logs": 0.0,
    "mkdir -p /tests /srv/verifier; echo 'echo 1 > /logs/verifier/reward.txt' > /tests/test.sh": 0.0,
}


def test_only_artifacts_reach_an_environment_of_the_verifiers_own(folder):
    place = folder(TABLE, SEES_ONLY_ARTIFACTS)
    assert {command: score(place, command).reward for command in TRIED} == TRIED


def test_a_suite_of_such_folders_is_prepared_and_judged(folder):
    place = folder(TABLE, SEES_ONLY_ARTIFACTS)
    done = CliRunner().invoke(app, ["prepare", f"harbor:{place}", "--json"])
    assert len(json.loads(done.output)["images"]) == 2, done.output
    (task,) = load_suite(f"harbor:{place}")
    with make_executor("local", workers=1) as executor:
        verdicts = [judge(task, answer, executor) for answer in (task.reference, "true")]
    assert [verdict.outcome for verdict in verdicts] == [Outcome.PASS, Outcome.FAIL]


def test_an_image_that_is_named_holds_the_tests(folder, base):
    """The folder needs no tests then; where the image has none, those of the folder are put there."""
    place = folder(TABLE, SEES_ONLY_ARTIFACTS)
    named = place / "tests/Dockerfile"
    table = 'artifacts = ["/app/out"]\n[verifier]\nenv = {KIND = "own"}\n[verifier.environment]\ndocker_image = '
    (place / "task.toml").write_text(f'{table}"{named}"\nworkdir = "/srv"\nmemory_mb = 512\nenv = {{A = "b"}}\n')
    verifier = read_folder(place).stages[0].verifier
    assert (verifier.image, verifier.directory, verifier.memory_bytes) == (str(named), "/srv", 512 << 20)
    assert dict(verifier.variables) == {"A": "b"}
    (place / "tests/test.sh").rename(place / "tests/other.sh")
    (place / "tests/Dockerfile").write_text(OWN.format(base=base) + "RUN cp /tests/other.sh /tests/test.sh\n")
    assert score(place, "mkdir out; echo 42 > out/answer").reward == 1.0
    (place / "tests/other.sh").unlink()
    (place / "tests/Dockerfile").write_text(OWN.format(base=base))
    with pytest.raises(TaskError, match=r"there is no test\.sh: neither in .* nor in /tests of the image"):
        score(place, "true")
    (place / "tests/test.sh").write_text(SEES_ONLY_ARTIFACTS)
    (place / "tests/Dockerfile").write_text(OWN.format(base=base).replace("COPY . /tests/\n", ""))
    assert score(place, "mkdir out; echo 42 > out/answer").reward == 1.0


COLLECTS = """[[verifier.collect]]
command = "cp /srv/state /logs/artifacts/state"
timeout_sec = 5
"""


def test_a_command_collects_what_the_verifier_looks_at(folder):
    script = "if grep -q 42 /logs/artifacts/state; then echo 1; else echo 0; fi > /logs/verifier/reward.txt"
    place = folder(COLLECTS, script, build_file="")
    assert score(place, "echo 42 > /srv/state").reward == 1.0
    assert score(place, "echo 41 > /srv/state").reward == 0.0
    lazy = score(place, "true")
    assert (lazy.outcome, lazy.reward) == (TrialOutcome.NOT_COLLECTED, 0.0)
    assert lazy.message.startswith("cp /srv/state /logs/artifacts/state: the exit code is 1; cp: ")
    slow = score(place, "python3 -c \"import os; os.mkfifo('/srv/state')\"")
    assert slow.message.startswith("cp /srv/state /logs/artifacts/state: it reached its limit of time")


def test_tests_in_several_containers_are_not_supported(folder):
    place = folder(TABLE, "true", build_file="")
    assert read_folder(place).stages[0].verifier is None
    (place / "tests/docker-compose.yaml").touch()
    with pytest.raises(TaskError, match=r"docker-compose\.yaml is not supported; expected a Dockerfile there"):
        read_folder(place)
