"""A wheel, an sdist and an editable install each work offline, from another directory."""

import os
import subprocess
import sys
import zipfile

import pytest

from support import PATIENCE_S, ROOT
from test_tutorials import TUTORIALS
from walking import walk

pytestmark = pytest.mark.packaging

USE = """
import gymnasium as gym
env = gym.make("code_env:CodeExec-v0")
suite = env.get_wrapper_attr("suite")
_, info = env.reset(seed=0)
_, reward, terminated, truncated, info = env.step(suite.task(info["task_id"]).reference)
import code_env
print(reward, terminated, len(suite), code_env.__file__)
env.close()
"""


def run(*command, **kwargs):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=PATIENCE_S, **kwargs)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A wheel and an sdist of this checkout; the wheel is built from the sdist."""
    target = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", target, ROOT)
    (wheel,) = target.glob("*.whl")
    (sdist,) = target.glob("*.tar.gz")
    return {"wheel": [wheel], "sdist": [sdist], "editable": ["-e", ROOT]}


@pytest.mark.parametrize("kind", ["wheel", "sdist", "editable"])
def test_an_install_runs_offline_from_another_directory(kind, built, tmp_path):
    python = tmp_path / "venv" / "bin" / "python"
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *built[kind])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environment = {**os.environ, "PIP_NO_INDEX": "1", "http_proxy": "http://127.0.0.1:9", "PYTHONPATH": ""}
    shown = run(python, "-W", "error", "-c", USE, cwd=elsewhere, env=environment).split()
    assert shown[:3] == ["1.0", "True", "40"]
    assert (str(ROOT) in shown[3]) == (kind == "editable")
    assert "starter" in run(tmp_path / "venv" / "bin" / "code-env", "list", cwd=elsewhere, env=environment)


def test_a_tutorial_works_in_a_fresh_environment(built, tmp_path):
    """Word for word, with nothing installed but the package itself."""
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    run(tmp_path / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet", *built["wheel"])
    for name in ("quickstart", "own_tasks", "executor"):
        folder = tmp_path / name
        folder.mkdir()
        walk(ROOT / "docs" / "tutorials" / f"{name}.md", folder, [tmp_path / "venv" / "bin"])


def test_a_wheel_holds_the_environments_the_types_and_no_tests(built):
    names = zipfile.ZipFile(built["wheel"][0]).namelist()
    assert "code_env/_environments/starter/tasks.jsonl" in names
    assert "code_env/_environments/starter/env.toml" in names
    assert "code_env/integrations/metrics/code_eval/code_eval.py" in names
    assert "code_env/py.typed" in names
    assert "code_env/harness/boot.py" in names
    assert {name.split("/")[0] for name in names} == {"code_env", "code_exec_env-0.1.0.dist-info"}


def test_every_tutorial_is_walked():
    walked = {"quickstart", "own_tasks", "executor", *(page.stem for page in TUTORIALS)}
    assert walked == {page.stem for page in (ROOT / "docs" / "tutorials").glob("*.md")}
