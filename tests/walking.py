"""Walks through a tutorial word for word: files are saved, commands are called, in one folder, in the page's order."""

import os
import re
import subprocess
import sys

from support import PATIENCE_S, ROOT

_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.M | re.S)
_NOT_HERE = ("scripts/", "pip ", "git ")
"""Beginnings of commands that a test has called before: they install, and `scripts/` makes a checkout's own .venv."""


def call(command, folder, programs):
    """Call a shell command; what it printed, with all spaces as one."""
    path = os.pathsep.join([*map(str, programs), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-c", command],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=folder,
        env={**os.environ, "PATH": path},
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return " ".join((done.stdout + done.stderr).split())


PROGRAMS = (f"{sys.prefix}/bin", ROOT / "scripts")
"""Folders with the programs that commands name."""


def call_block(block, folder, programs=PROGRAMS):
    """Call the commands of a block; each line below one must be in what it and those before it printed."""
    printed = ""
    for line in block.splitlines():
        command = line.removeprefix("$ ")
        if command != line:
            if not command.startswith(_NOT_HERE):
                printed += call(command, folder, programs) + " "
        elif line:
            assert " ".join(line.split()) in printed, f"{line!r} was not printed, but\n{printed}"


def walk(page, folder, programs=PROGRAMS, replaced=("", "")):
    """Walk through a page.

    Args:
        page: The page's path.
        folder: An empty folder.
        programs: Folders with the programs that commands name.
        replaced: A text in the page, and by what it is replaced.
    """
    for language, name, block in _BLOCK.findall(page.read_text(encoding="utf-8").replace(*replaced)):
        if name:
            (folder / name).write_text(block, encoding="utf-8")
        elif language == "python":
            (folder / "snippet.py").write_text(block, encoding="utf-8")
            call("python snippet.py", folder, programs)
        elif language == "console":
            call_block(block, folder, programs)
