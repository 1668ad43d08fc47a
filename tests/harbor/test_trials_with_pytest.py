"""Tests that pytest runs: what of the agent's work configures them, and how the tests that have to fail get in."""

import contextlib
import shutil

import pytest

from code_env.harbor import Trial, TrialOutcome, read_folder
from code_env.images import prepare_images


@contextlib.contextmanager
def made(folder):
    task = read_folder(folder)
    prepare_images([task.image])
    with Trial(task) as trial:
        yield trial


def test_what_configures_tests_is_as_in_the_image(begun):
    trial = begun("fix-a-bug")
    trial.solve()
    trial.run("echo x > conftest.py; mkdir deep; echo x > deep/a.pth; printf '[tool.black]\n' > pyproject.toml")
    trial.run("printf '[pytest]\nx = 1\n' > tox.ini; printf '[metadata]\n' > setup.cfg")
    score = trial.submit()
    assert (score.outcome, score.reward) == (TrialOutcome.SCORED, 1.0), score
    assert score.restored == ("/app/conftest.py", "/app/deep/a.pth", "/app/tox.ini")


@pytest.mark.parametrize(
    "command",
    {
        "a link": "echo '[tool.pytest.ini_options]' > x; echo 'addopts=\"-k easy\"' >> x; ln -s x pyproject.toml",
        "dots": "echo 'tool.pytest.ini_options.addopts = \"-k easy\"' > pyproject.toml",
        "a table above": "printf '[tool]\npytest.ini_options.addopts = \"-k easy\"\n' > pyproject.toml",
        "far down": "python3 -c 'print(\"#\" * (1 << 21))' > pyproject.toml",
        "no TOML": "echo '[[' > pyproject.toml",
    }.values(),
)
def test_there_is_no_other_way_to_configure_tests(command, begun):
    trial = begun("write-a-function")
    assert trial.run(command).code == 0
    assert trial.submit().restored == ("/app/pyproject.toml",)


def test_other_settings_are_the_agents(begun):
    trial = begun("write-a-function")
    trial.run("printf '[project]\ndependencies = [\"pytest\"]\n' > pyproject.toml; echo '[metadata]' > setup.cfg")
    assert trial.submit().restored == ()


TEST_SCRIPTS = {
    "a PYTHONPATH of its own": "PYTHONPATH=/x python3 -m pytest -q /tests",
    "isolated": "python3 -I -m pytest -q /tests",
    "no plugins from outside": "PYTEST_ADDOPTS= python3 -m pytest -q /tests",
    "an exit code above 128": "python3 -m pytest -q /tests; code=$?; trap 'exit 255' EXIT; (exit $code)",
}


@pytest.mark.parametrize("script", TEST_SCRIPTS.values(), ids=TEST_SCRIPTS)
def test_tests_run_as_their_task_says(script, tasks, base, tmp_path):
    folder = shutil.copytree(tasks / "write-a-function", tmp_path / "task")
    (tmp_path / "base.tar").symlink_to(base)
    test = f"#!/bin/bash\n{script}\nif [ $? = 0 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"
    (folder / "tests/test.sh").write_text(test)
    for solves in (True, False):
        with made(folder) as trial:
            if solves:
                trial.solve()
            score = trial.submit()
            assert (score.outcome, score.reward) == (TrialOutcome.SCORED, float(solves)), score


def test_tests_that_run_only_on_some_work_take_the_tripwire_too(tasks, base, tmp_path):
    folder = shutil.copytree(tasks / "write-a-function", tmp_path / "task")
    (tmp_path / "base.tar").symlink_to(base)
    script = (folder / "tests/test.sh").read_text()
    nothing = "[ -f roman.py ] || { echo 0 > /logs/verifier/reward.txt; exit; }\n"
    (folder / "tests/test.sh").write_text(script.replace("\n", f"\n{nothing}", 1))
    for hides in ("", "os.remove('/logs/tripwire.here'); "):
        with made(folder) as trial:
            trial.run(f'echo "import os; {hides}os._exit(0)" > roman.py')
            assert trial.submit().outcome is TrialOutcome.TAMPERED, hides


def test_variables_of_the_image_reach_the_tests(tasks, base, tmp_path):
    folder = shutil.copytree(tasks / "write-a-function", tmp_path / "task")
    (tmp_path / "base.tar").symlink_to(base)
    with (folder / "environment/Dockerfile").open("a") as file:
        file.write("ENV PYTHONPATH=/srv PYTEST_ADDOPTS=--tb=line\nRUN mkdir -p /srv && touch /srv/helper.py\n")
    tests = next((folder / "tests").glob("test_*.py"))
    checks = "import helper, sys\ndef test_tb(request): assert request.config.option.tbstyle == 'line'\n"
    tests.write_text(checks + tests.read_text())
    with made(folder) as trial:
        trial.solve()
        assert trial.submit().reward == 1.0, trial.scores
    with made(folder) as trial:
        trial.run("printf 'import os\\nos._exit(0)\\n' > roman.py")
        assert trial.submit().outcome is TrialOutcome.TAMPERED


def test_a_trial_without_a_tripwire_changes_no_other(begun):
    trial = begun("write-a-function", tripwire=False)
    trial.run("echo 'import shutil; shutil.rmtree(\"/logs/verifier\")' > roman.py")
    assert trial.submit().message.startswith("without the agent's work there is a reward")
    trial = begun("write-a-function")
    trial.run("printf 'import os\\nos._exit(0)\\n' > roman.py")
    assert trial.submit().message.startswith("with a test that has to fail, ")


def test_what_has_not_changed_is_not_told(tasks, base):
    shutil.copytree(tasks / "fix-a-bug", tasks.parent / "configured/task")
    folder = tasks.parent / "configured/task"
    (folder / "environment/tox.ini").write_text("[pytest]\nxfail_strict = true\n")
    (folder / "environment/conftest.py").write_text("import os\n")
    lines = [f"FROM {base}", "WORKDIR /app", "COPY ranges ranges/", "COPY tox.ini conftest.py ./", ""]
    (folder / "environment/Dockerfile").write_text("\n".join(lines))
    task = read_folder(folder)
    prepare_images([task.image])
    for command, restored in {
        "true": (),
        "rm conftest.py; echo >> tox.ini": ("/app/conftest.py", "/app/tox.ini"),
    }.items():
        with Trial(task) as trial:
            trial.solve()
            trial.run(command)
            score = trial.submit()
            assert (score.reward, score.restored) == (1.0, restored), score
