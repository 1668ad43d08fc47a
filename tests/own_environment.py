"""An environment of its own for a client that does not install beside the others: it adds to what is installed here."""

import contextlib
import json
import site
import subprocess
import sys
import tempfile
from pathlib import Path

from support import PATIENCE_S, ROOT

_TESTS = ROOT / "tests"


@contextlib.contextmanager
def own_environment(*installs):
    """Yield a function that calls a script with the new environment's Python, and returns the JSON that it prints.

    Args:
        installs: The arguments of each call of pip.
    """
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=PATIENCE_S)
        (own,) = Path(folder).glob("lib/python*/site-packages")
        here = [*site.getsitepackages(), str(_TESTS)]
        (own / "here.pth").write_text("import site; " + "; ".join(f"site.addsitedir({path!r})" for path in here) + "\n")
        python = Path(folder) / "bin" / "python"
        for arguments in installs:
            subprocess.run([python, "-m", "pip", "install", "-q", *arguments], check=True, timeout=PATIENCE_S)

        def call(script, *arguments):
            done = subprocess.run(
                [python, _TESTS / script, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE_S
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return json.loads(done.stdout.splitlines()[-1])

        yield call
