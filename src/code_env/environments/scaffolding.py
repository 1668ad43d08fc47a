"""Makes the folder of a new environment from templates."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from string import Template

from code_env.errors import CodeEnvError
from code_env.output_file import new_folder
from code_env.registration import environment_id

_TEMPLATES = files("code_env").joinpath("environments", "templates", "environment")
_FILES = ("env.toml", "tasks.jsonl", "README.md")

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def new_environment(name: str, directory: str | Path) -> Path:
    """Make the folder of a new environment.

    Args:
        name: Its name: words of small letters and digits, the first beginning with a letter, joined by underscores.
        directory: Where the folder is made; made too if it is not there.

    Returns:
        The folder.

    Raises:
        CodeEnvError: If the name is none.
        OutputError: If there is something in its place, or nothing can be written there. Then nothing that was there is
            changed.

    Example:
        >>> import tempfile
        >>> from code_env import load_suite
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     folder = new_environment("my_tasks", directory)
        ...     load_suite(folder)
        <TaskSuite 'my_tasks', 2 tasks>
    """
    if not _NAME.fullmatch(name):
        raise CodeEnvError(
            f"a name is words of small letters and digits joined by underscores, as in my_tasks; got {name!r}"
        )
    folder = Path(directory) / name
    words = {"name": name, "env_id": environment_id(name)}
    with new_folder(folder) as unfinished:
        for file in _FILES:
            template = _TEMPLATES.joinpath(file).read_text(encoding="utf-8")
            (unfinished / file).write_text(Template(template).substitute(words), encoding="utf-8")
    return folder
