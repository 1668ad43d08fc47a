import shutil
import subprocess
import sys
import warnings

import gymnasium as gym
import pytest

import code_env
from code_env import load_suite, validate
from code_env.environments.scaffolding import new_environment
from code_env.errors import CodeEnvError, OutputError, SuiteNotFound, TaskError
from support import PATIENCE_S, files_of_at_most


@pytest.fixture
def registry():
    before = dict(gym.registry)
    yield
    gym.registry.clear()
    gym.registry.update(before)


def test_a_new_environment_is_sound_and_can_be_made(tmp_path, executor, registry):
    folder = new_environment("other_tasks", tmp_path / "envs")
    suite = load_suite(folder)
    assert (suite.name, len(suite), suite[0].limits.cpu_s) == ("other_tasks", 2, 2.0)
    assert validate(suite, executor, repetitions=1).findings == ()
    assert code_env.register_environments(tmp_path / "envs") == ["code_env/OtherTasks-v0"]
    with gym.make("code_env/OtherTasks-v0") as env:
        env.reset(seed=0, options={"task_id": "other_tasks/double"})
        assert env.step("def double(x): return x + x")[1] == 1.0
    vec = gym.make_vec("code_env/OtherTasks-v0", num_envs=2)
    vec.reset(seed=0)
    vec.close()
    assert "$" not in "".join(path.read_text() for path in folder.iterdir())


@pytest.mark.parametrize("name", ["", "My", "my-tasks", "1st", "my__tasks", "_my", "my_", "a/b", "..", "ä", "my tasks"])
def test_a_name_that_is_none_is_refused(tmp_path, name):
    with pytest.raises(CodeEnvError, match="a name is words of small letters"):
        new_environment(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nothing_that_is_there_is_overwritten(tmp_path):
    folder = new_environment("mine", tmp_path)
    (folder / "tasks.jsonl").write_text("edited")
    with pytest.raises(CodeEnvError, match="is there already"):
        new_environment("mine", tmp_path)
    assert (folder / "tasks.jsonl").read_text() == "edited"
    (tmp_path / "file").write_text("")
    with pytest.raises(CodeEnvError, match="cannot be written"):
        new_environment("mine", tmp_path / "file")


def test_a_full_disk_leaves_no_half_of_a_folder(tmp_path):
    with files_of_at_most(10), pytest.raises(OutputError, match=r"mine cannot be written: .*File too large"):
        new_environment("mine", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_broken_is_left_out_alone(tmp_path, registry):
    new_environment("good", tmp_path)
    bad = new_environment("bad", tmp_path)
    (bad / "env.toml").write_text("suite = 5")
    with pytest.warns(UserWarning, match="environment 'bad' is not registered: .*suite: str was expected"):
        assert code_env.register_environments(tmp_path) == ["code_env/Good-v0"]
    with pytest.raises(TaskError, match="suite: str was expected"):
        load_suite(bad)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("my tasks", "Malformed environment ID"), ("good__", r"code_env/Good-v0 is the id of '.*good'")],
)
def test_a_folder_whose_name_makes_no_id_is_left_out_alone(name, reason, tmp_path, registry):
    folder = new_environment("good", tmp_path)
    shutil.copytree(folder, tmp_path / name)
    with pytest.warns(UserWarning, match=f"environment '{name}' is not registered: {reason}"):
        assert code_env.register_environments(tmp_path) == ["code_env/Good-v0"]


def test_names_that_differ_by_an_underscore_have_ids_of_their_own(tmp_path, registry):
    for name in ("a1b", "a1_b"):
        new_environment(name, tmp_path)
    assert sorted(code_env.register_environments(tmp_path)) == ["code_env/A1B-v0", "code_env/A1b-v0"]


def test_the_format_of_an_environment_is_checked_and_is_its_own(tmp_path):
    folder = new_environment("mine", tmp_path)
    with pytest.raises(TaskError, match=r"'.*mine' is an environment, and its env.toml names its format; got 'mbpp'"):
        load_suite(folder, format="mbpp")
    with pytest.raises(TaskError, match="'starter' is an environment"):
        load_suite("starter", format="mbpp")
    with (folder / "env.toml").open("r+") as file:
        text = file.read()
        file.seek(0)
        file.write('format = "mbp"\n' + text)
    with pytest.raises(TaskError, match=r"environment 'mine': format must be one of .*; did you mean 'mbpp'"):
        load_suite(folder)


def test_an_environment_that_takes_the_id_of_another_is_told(tmp_path, registry):
    new_environment("starter", tmp_path)
    with pytest.warns(UserWarning, match=r"Starter-v0 is now the environment in '.*starter' and no longer that"):
        code_env.register_environments(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        code_env.register_environments(tmp_path)


def test_the_folder_of_an_environment_is_refused_in_favour_of_its_parent(tmp_path):
    folder = new_environment("mine", tmp_path)
    with pytest.raises(SuiteNotFound, match="is an environment itself; give the directory that holds it") as refused:
        code_env.register_environments(folder)
    assert str(refused.value).endswith(f": {str(tmp_path.resolve())!r}")


@pytest.mark.parametrize("make", [lambda path: path, lambda path: path / "missing"])
def test_a_directory_without_environments_is_refused(tmp_path, make):
    with pytest.raises(SuiteNotFound, match="holds no environment"):
        code_env.register_environments(make(tmp_path))


def test_the_commands_take_a_folder(tmp_path):
    def code_env_command(*arguments):
        command = [sys.executable, "-m", "code_env.cli", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, cwd=tmp_path)

    made = code_env_command("new", "mine", "-d", "own")
    assert (made.returncode, "next: edit own/mine/tasks.jsonl" in made.stdout) == (0, True), made
    assert "2 of 2 tasks are sound" in code_env_command("validate", "own/mine").stdout
    assert "mean reward 1.000" in code_env_command("run", "own/mine").stdout
    again = code_env_command("new", "mine", "-d", "own")
    assert (again.returncode, "is there already" in again.stderr) == (2, True), again
