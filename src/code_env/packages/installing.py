"""Installs packages into a new virtual environment, with uv where it is there, else with pip.

Only wheels are installed: they are unpacked, and none of their code runs. A source distribution runs its own code when
it is built, so it is refused. The new environment's interpreter is not started once there are packages in it, because
it would run what their `.pth` files say. So an installation needs no jail.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from packaging.utils import canonicalize_name

from code_env.errors import PackageError

Installer = Literal["uv", "pip"]
"""What resolves and installs."""

_PIP_SETTINGS = {
    **dict.fromkeys(("PIP_REQUIRE_VIRTUALENV", "PIP_USER", "PIP_NO_DEPS", "PIP_DRY_RUN"), "0"),
    **dict.fromkeys(("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT"), ""),
}
"""Undoes settings that a user may have made for other installations: with them, pip would put only a part of the
packages, or nothing, into the folder."""

_NO_MODULES = frozenset(("test", "tests", "docs", "examples"))
"""Names that packages install beside what users import."""


def find_installer() -> Installer:
    """Return the installer to use on this machine.

    Raises:
        PackageError: If there is none.
    """
    if _uv() is not None:
        return "uv"
    if importlib.util.find_spec("pip") is not None:
        return "pip"
    raise PackageError("packages are installed by uv or pip, and neither is here; `pip install uv` gets one")


def _uv() -> str | None:
    """Return the path of uv: the one beside this interpreter, else the first on the PATH; None if there is none."""
    return shutil.which("uv", path=sysconfig.get_path("scripts")) or shutil.which("uv")


def install(
    requirements: tuple[str, ...], python: str, prefix: Path, wheels: Path | None, installer: Installer
) -> Path:
    """Make a virtual environment with packages, and return the directory with the packages.

    Args:
        requirements: What to install.
        python: Path of the interpreter.
        prefix: Where to make the virtual environment.
        wheels: A folder with wheels; then nothing else is used and nothing is downloaded.
        installer: What installs.

    Raises:
        PackageError: If it fails; the message has the installer's last lines.
    """
    new = str(prefix / "bin" / "python")
    links = ["--no-index", "--find-links", str(wheels.absolute())] if wheels is not None else []
    asked = ["--only-binary", ":all:", *links, *requirements]
    if installer == "uv":
        uv = _uv() or "uv"
        _run([uv, "venv", "--quiet", "--no-project", "--python", python, str(prefix)], prefix.parent, wheels)
        # Links to files of uv's own cache would lead nowhere in a jail.
        _run(
            [uv, "pip", "install", "--quiet", "--link-mode", "hardlink", "--python", new, *asked], prefix.parent, wheels
        )
    else:
        _run([python, "-I", "-m", "venv", "--without-pip", str(prefix)], prefix.parent, wheels)
        pip = [sys.executable, "-m", "pip", "--python", new, "install", "--quiet", "--no-compile"]
        _run([*pip, "--disable-pip-version-check", "--no-input", *asked], prefix.parent, wheels)
    packages = next(prefix.glob("lib/python*/site-packages"))
    # Commands hold the path of this folder, which changes. Programs import packages, or run `python -m`.
    for path in (prefix / "bin").iterdir():
        if not path.name.startswith("python"):
            path.unlink()
    # Programs cannot write compiled files, so each would compile again what no server has imported. Without `site`,
    # the interpreter runs no .pth files. Some packages hold files that are no Python, so the exit code says nothing.
    compiling = [python, "-I", "-S", "-m", "compileall", "-q", "-j", str(_cores()), str(packages)]
    subprocess.run(compiling, capture_output=True, check=False, stdin=subprocess.DEVNULL, umask=0o022)
    return packages


def _cores() -> int:
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def _run(command: list[str], directory: Path, wheels: Path | None) -> None:
    # In the trainer's directory, uv would read the settings of the project there.
    hidden = ("PIP_FIND_LINKS", "UV_FIND_LINKS") if wheels is not None else ()
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {"UV_PYTHON_DOWNLOADS": "never", **_PIP_SETTINGS}
    try:
        ran = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            umask=0o022,  # Programs run as another user.
        )
    except OSError as error:
        raise PackageError(f"{command[0]} does not start: {error}") from error
    if ran.returncode != 0:
        lines = [line.strip() for line in f"{ran.stdout}\n{ran.stderr}".splitlines() if line.strip()]
        raise PackageError(
            re.sub("^error: ", "", " ".join(lines))[-1000:] or f"{command[0]} ended with exit code {ran.returncode}"
        )


def installed_versions(packages: Path) -> dict[str, str]:
    """Return the version of each package in a directory, by name. It reads the packages' files and runs nothing."""
    found = importlib.metadata.distributions(path=[str(packages)])
    return dict(sorted((canonicalize_name(one.metadata["Name"]), one.version) for one in found))


def modules_of(packages: Path, name: str) -> Iterator[str]:
    """Yield the names of the top-level modules that a package installs.

    Args:
        packages: The directory with the packages.
        name: The normal name of the package.
    """
    names: set[str] = set()
    for one in importlib.metadata.distributions(path=[str(packages)]):
        if canonicalize_name(one.metadata["Name"]) == name:
            for file in one.files or ():
                top = file.parts[0] if len(file.parts) > 1 else inspect.getmodulename(file.name)
                if top is not None and top.isidentifier() and not top.startswith("_") and top not in _NO_MODULES:
                    names.add(top)
    yield from sorted(names)
