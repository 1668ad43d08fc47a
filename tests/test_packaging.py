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

FRESHLY_WALKED = ("quickstart", "own_tasks", "executor")
"""Tutorials that are walked word for word with nothing installed but the package itself."""

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


def test_a_wheel_an_sdist_and_a_checkout_work_offline_from_another_directory(tmp_path):
    """One test, because its steps take long and share an environment, into which the wheel brings what it needs."""
    # The wheel is built from the sdist. What builds it is brought by uv, in a tenth of pip's time.
    run(sys.executable, "-m", "build", "--installer", "uv", "--outdir", tmp_path / "dist", ROOT)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    (sdist,) = (tmp_path / "dist").glob("*.tar.gz")
    look_into(wheel)
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv")
    programs = tmp_path / "venv" / "bin"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", programs / "python")
    run(*pip, "install", "--quiet", "--no-compile", wheel)
    use(programs, tmp_path, editable=False)
    for name in FRESHLY_WALKED:
        folder = tmp_path / name
        folder.mkdir()
        walk(ROOT / "docs" / "tutorials" / f"{name}.md", folder, [programs])
    install = (sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", programs / "python", "--no-deps")
    run(*install, "--reinstall", sdist)
    use(programs, tmp_path, editable=False)
    run(*install, "-e", ROOT)
    use(programs, tmp_path, editable=True)


def use(programs, tmp_path, *, editable):
    """Play an episode with what is installed, from a directory of its own and without a network."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    environment = {**os.environ, "PIP_NO_INDEX": "1", "http_proxy": "http://127.0.0.1:9", "PYTHONPATH": ""}
    shown = run(programs / "python", "-W", "error", "-c", USE, cwd=elsewhere, env=environment).split()
    assert shown[:3] == ["1.0", "True", "40"]
    assert (str(ROOT) in shown[3]) == editable
    assert "starter" in run(programs / "code-env", "list", cwd=elsewhere, env=environment)


def look_into(wheel):
    """It holds the environments and the types, and no tests."""
    names = zipfile.ZipFile(wheel).namelist()
    assert "code_env/_environments/starter/tasks.jsonl" in names
    assert "code_env/_environments/starter/env.toml" in names
    assert "code_env/integrations/metrics/code_eval/code_eval.py" in names
    assert "code_env/py.typed" in names
    assert "code_env/harness/boot.py" in names
    assert {name.split("/")[0] for name in names} == {"code_env", "code_exec_env-0.1.0.dist-info"}


def test_every_tutorial_is_walked():
    walked = {*FRESHLY_WALKED, *(page.stem for page in TUTORIALS)}
    assert walked == {page.stem for page in (ROOT / "docs" / "tutorials").glob("*.md")}
