"""Folders are read as Harbor reads them; what is not supported is refused by name."""

import pytest

from code_env import HarborTest, TaskError, load_suite
from code_env.harbor import read_folder, read_folders


@pytest.fixture
def folder(tmp_path):
    """Writes a folder of a task with this configuration."""

    def write(config="", name="task"):
        place = tmp_path / name
        for file, text in {
            "task.toml": config,
            "instruction.md": "Do it.\n",
            "tests/test.sh": "true\n",
            "environment/Dockerfile": "FROM scratch\n",
        }.items():
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            (place / file).write_text(text)
        return place

    return write


def test_defaults(folder):
    place = folder()
    task = read_folder(place)
    (stage,) = task.stages
    assert (task.name, task.image) == ("task", str(place / "environment/Dockerfile"))
    assert (task.directory, task.artifacts, task.takes_last) == (None, (), False)
    assert (stage.name, stage.instruction, stage.tests) == ("", "Do it.\n", place / "tests")
    assert (stage.solution, stage.agent_s, stage.verifier_s, stage.min_reward) == (None, 600.0, 600.0, None)


def test_all_that_is_read(folder):
    place = folder(
        """
schema_version = "1.4"
artifacts = ["/srv/a", {source = "/srv/b", destination = "b"}]
unknown = 1
[task]
name = "org/name"
[metadata]
anything = true
[environment]
workdir = "/app"
cpus = 2
memory_mb = 100
env = {A = "${GIVEN}-${ABSENT:-else}", B = "b"}
[agent]
timeout_sec = 7
[verifier]
timeout_sec = 8.5
env = {C = "${GIVEN:-no}"}
[solution]
env = {D = "1"}
"""
    )
    (place / "solution").mkdir()
    (place / "solution/solve.sh").touch()
    task = read_folder(place, {"GIVEN": "yes"})
    (stage,) = task.stages
    assert (task.name, task.directory, task.artifacts) == ("org/name", "/app", ("/srv/a", "/srv/b"))
    assert task.memory_bytes == 100 << 20
    assert dict(task.environment) == {"A": "yes-else", "B": "b"}
    assert (dict(task.verifier_environment), dict(task.solution_environment)) == ({"C": "yes"}, {"D": "1"})
    assert (stage.agent_s, stage.verifier_s, stage.solution) == (7.0, 8.5, place / "solution")


def test_a_ready_image_comes_before_the_build_file(folder):
    assert read_folder(folder('[environment]\ndocker_image = "debian:12"')).image == "debian:12"
    place = folder('[environment]\ndocker_image = "image.tar"')
    (place / "environment/image.tar").touch()
    assert read_folder(place).image == str(place / "environment/image.tar")


def test_steps(folder):
    config = 'multi_step_reward_strategy = "final"\n[verifier]\ntimeout_sec = 9\n'
    config += '[[steps]]\nname = "one"\nmin_reward = 0.5\nagent = {timeout_sec = 3}\n[[steps]]\nname = "two"\n'
    place = folder(config)
    for name in ("one", "two"):
        (place / "steps" / name).mkdir(parents=True)
        (place / "steps" / name / "instruction.md").write_text(name)
    (place / "steps/two/tests").mkdir()
    (place / "steps/two/tests/test.sh").touch()
    task = read_folder(place)
    assert task.takes_last
    assert [(one.name, one.instruction, one.agent_s, one.verifier_s, one.min_reward) for one in task.stages] == [
        ("one", "one", 3.0, 9.0, 0.5),
        ("two", "two", 600.0, 9.0, None),
    ]
    assert [one.tests for one in task.stages] == [place / "tests", place / "steps/two/tests"]


@pytest.mark.parametrize(("text", "mib"), [("2G", 2048), ("512m", 512), ("1.5 GB", 0), ("1.5GiB", 1536)])
def test_memory_as_older_tasks_write_it(text, mib, folder):
    place = folder(f"[environment]\nmemory = '{text}'")
    if mib:
        assert read_folder(place).memory_bytes == mib << 20
    else:
        with pytest.raises(TaskError, match="memory must be a size"):
            read_folder(place)


def test_a_step_can_have_artifacts_of_its_own(folder):
    place = folder("artifacts = ['/a']\n[[steps]]\nname = 'one'\nartifacts = ['/b', {source = '/c'}]\n")
    (place / "steps/one").mkdir(parents=True)
    (place / "steps/one/instruction.md").touch()
    task = read_folder(place)
    assert (task.artifacts, task.stages[0].artifacts) == (("/a",), ("/b", "/c"))
    (place / "steps/one/workdir").mkdir()
    with pytest.raises(TaskError, match="steps/one/workdir is not supported; put its files into the image"):
        read_folder(place)


REFUSED = {
    "[environment]\ngpus = 1": r"\[environment\] gpus is not supported",
    "[environment.healthcheck]\ncommand = 'x'": r"\[environment\] healthcheck is not supported",
    "[verifier.environment]\ngpus = 1": r"\[verifier.environment\] gpus is not supported",
    "[verifier.environment]\nos = 'windows'": r"\[verifier.environment\] os = 'windows' is not supported",
    "[[verifier.collect]]\ncommand = 'x'\nservice = 'db'": r"\[\[verifier.collect\]\] service = 'db' is not supported",
    "[[verifier.collect]]\ntimeout_sec = 1": r"each of \[\[verifier.collect\]\] needs a command",
    "[environment]\nos = 'windows'": "os = 'windows' is not supported",
    "multi_step_reward_strategy = 'best'": "must be mean or final; got 'best'",
    "artifacts = ['a']": "an artifact must have an absolute path below /; got 'a'",
    "artifacts = ['/']": "an artifact must have an absolute path below /",
    "environment = 1": "environment must be a table",
    "[environment]\nenv = {A = '${NONE}'}": "no value was given for the variable NONE",
    **{
        f"[agent]\ntimeout_sec = {value}": rf"\[agent\] timeout_sec must be a number above 0; got {value}"
        for value in ("-1", "inf", "nan")
    },
    "[verifier]\ntimeout_sec = -1": r"\[verifier\] timeout_sec must be a number above 0",
    "[[verifier.collect]]\ncommand = 'x'\ntimeout_sec = -1": r"\[verifier.collect\] timeout_sec must be",
    "[environment]\nmemory = 'much'": "memory must be a size such as '4G' or '512M'; got 'much'",
    "[environment]\nmemory_mb = -1": "memory_mb must be at least 1; got -1",
    "artifacts = [{source = '/a', service = 'db'}]": "an artifact of service = 'db' is not supported",
    "[[steps]]\nname = 'a'\n[steps.healthcheck]\ncommand = 'x'": r"\[steps\] healthcheck is not supported",
    "[agent]\ntimeout_sec = 'long'": "could not convert string to float",
    "[[steps]]\nname = 'none'": "is not the folder of a task: .*instruction.md",
    "steps = []": r"\[\[steps\]\] must be a list of tables, at least one",
    "[[steps]]\nmin_reward = 1": r"each of \[\[steps\]\] needs a name",
    "[[steps]]\nname = 'a'\n[steps.verifier]\nenv = {A = '1'}": r"\[steps.verifier\] env is not supported",
    "[": "is not the folder of a task",
}


@pytest.mark.parametrize(("config", "message"), REFUSED.items(), ids=REFUSED)
def test_what_cannot_be_done_is_refused(config, message, folder):
    with pytest.raises(TaskError, match=message):
        read_folder(folder(config))


def test_what_is_missing_is_named(folder, tmp_path):
    with pytest.raises(TaskError, match=r"has no task.toml, and none of its folders has one"):
        read_folders(tmp_path)
    place = folder()
    (place / "tests/test.sh").unlink()
    with pytest.raises(TaskError, match=r"test.sh does not exist"):
        read_folder(place)
    (place / "environment/Dockerfile").rename(place / "environment/docker-compose.yaml")
    with pytest.raises(TaskError, match=r"docker-compose.yaml is not supported"):
        read_folder(place)
    (place / "environment/docker-compose.yaml").unlink()
    with pytest.raises(TaskError, match=r"names no docker_image, and there is no environment/Dockerfile"):
        read_folder(place)


def test_an_error_of_a_suite_names_the_folder(folder, tmp_path):
    place = folder("[agent]\ntimeout_sec = -1", name="b")
    with pytest.raises(TaskError, match=r"/b/task.toml: \[agent\] timeout_sec must be a number above 0"):
        load_suite(tmp_path)
    (place / "task.toml").write_text("")
    (place / "instruction.md").write_text("x" * 70_000)
    with pytest.raises(TaskError, match=r"/b: prompt has 700.. characters"):
        load_suite(f"harbor:{tmp_path}")


def test_a_folder_as_a_task(folder):
    place = folder()
    (task,) = load_suite(place)
    assert (task.id, task.language, task.tests, task.reference) == ("task", "bash", (HarborTest(str(place)),), None)
    assert task.prompt.startswith("Do it.\n\nAnswer with one shell script")
    (place / "solution").mkdir()
    (place / "solution/solve.sh").write_text("exit\n")
    assert load_suite(place)[0].reference == "exit\n"
    (place / "solution/data").write_text("")
    assert load_suite(place)[0].reference is None


def test_a_folder_of_folders(folder, tmp_path):
    folder(name="b")
    folder(name="a")
    assert [task.name for task in read_folders(tmp_path)] == ["a", "b"]
    assert [task.name for task in read_folders(tmp_path / "b")] == ["b"]
