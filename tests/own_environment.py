"""An environment of its own for a client that does not install beside the others: it adds to what is installed here."""

import contextlib
import json
import shutil
import site
import subprocess
import sys
import tempfile
from ast import literal_eval
from pathlib import Path

import pytest

from support import PATIENCE_S, ROOT

_TESTS = ROOT / "tests"


def newer_python(least):
    """The path of a Python of at least this version; pyenv may have one that is on no path."""
    names = [f"python3.{minor}" for minor in range(least[1], least[1] + 4)]
    candidates = [sys.executable, *filter(None, map(shutil.which, names))]
    candidates += sorted(map(str, Path.home().glob(".pyenv/versions/3.*/bin/python")))
    for candidate in candidates:
        asked = [candidate, "-c", "import sys; print(sys.version_info[:2])"]
        told = subprocess.run(asked, capture_output=True, text=True, timeout=PATIENCE_S)
        if told.returncode == 0 and literal_eval(told.stdout) >= least:
            return candidate
    return pytest.skip(f"there is no Python {'.'.join(map(str, least))} or newer")


@contextlib.contextmanager
def own_environment(*installs):
    """Yield a function that calls a script with the new environment's Python, and returns the JSON that it prints.

    Args:
        installs: The arguments of each call of pip.
    """
    with tempfile.TemporaryDirectory() as folder:
        # The pip of here does for both, and what is never imported need not be compiled.
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=PATIENCE_S)
        (own,) = Path(folder).glob("lib/python*/site-packages")
        here = [*site.getsitepackages(), str(_TESTS)]
        (own / "here.pth").write_text("import site; " + "; ".join(f"site.addsitedir({path!r})" for path in here) + "\n")
        python = Path(folder) / "bin" / "python"
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
        for arguments in installs:
            install = [*pip, "install", "--quiet", "--no-compile", *arguments]
            subprocess.run(install, check=True, timeout=PATIENCE_S)

        def call(script, *arguments):
            done = subprocess.run(
                [python, _TESTS / script, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE_S
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return json.loads(done.stdout.splitlines()[-1])

        yield call
