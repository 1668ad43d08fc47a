"""Takes images from a container engine, where one is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from code_env.errors import ImageError

ENGINES = ("podman", "docker")
"""The engines that can be used, in the order in which they are tried."""

_SHOWN_CHARS = 1000


def find() -> str | None:
    """Return the path of the engine that images are taken from; None if none is installed."""
    return next(filter(None, map(shutil.which, ENGINES)), None)


def save(name: str, directory: Path) -> Path:
    """Save an image into an archive; it is pulled unless the engine has it.

    Args:
        name: The image's name, as the engine knows it.
        directory: Where to write the archive.

    Returns:
        The path of the archive.

    Raises:
        ImageError: If no engine is installed, or it cannot pull or save the image.
    """
    engine = find()
    if engine is None:
        raise ImageError(f"there is no path {name}; install {' or '.join(ENGINES)} to pull an image of this name")
    if name.startswith("-"):  # The engine would take it for an option.
        raise ImageError(f"{name} is neither a path nor the name of an image; no such name begins with -")
    archive = directory / "image.tar"
    if subprocess.run([engine, "image", "inspect", name], capture_output=True, check=False).returncode != 0:
        _run([engine, "pull", name])
    _run([engine, "save", "--output", str(archive), name])
    return archive


def _run(command: list[str]) -> None:
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise ImageError(f"`{' '.join(command[:2])}` failed for {command[-1]}: {ran.stderr.strip()[-_SHOWN_CHARS:]}")
