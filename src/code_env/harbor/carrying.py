"""What a verifier finds of an agent's work: its files, without those that configure the tests."""

from __future__ import annotations

import fnmatch
import os
import re
import tarfile
import tomllib
from collections.abc import Iterable, Iterator
from typing import IO

from code_env.images.trees import resolved_in
from code_env.text import printable

from .tars import owned_by_root

_CONFIGURES = (
    *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"),
    *("sitecustomize.py", "usercustomize.py", "*.pth"),
)
"""Names of files that run before the tests, or say how they run."""

_CAN_CONFIGURE = {
    "pyproject.toml": None,
    "setup.cfg": re.compile(rb"^\s*\[\s*tool:pytest\s*\]", re.MULTILINE),
    "tox.ini": re.compile(rb"^\s*\[\s*pytest\s*\]", re.MULTILINE),
    "entry_points.txt": re.compile(rb"^\s*\[\s*pytest11\s*\]", re.MULTILINE),
}
"""Files that do so if they have such a section; TOML has many ways to write one."""

_LOOKED_AT_BYTES = 1 << 20
"""How large such a file may be to be looked at. A larger one counts as one that configures, as a link does."""


def carry(source: IO[bytes], target: IO[bytes], root: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Copy a tar of an agent's files, with those that configure the tests as they are in the image.

    Args:
        source: The tar that the agent's box has packed.
        target: Where to write the other tar.
        root: The root file system of the image.
        paths: What was packed, as absolute paths.

    Returns:
        The paths of the files that the agent has added, changed or removed and that are as in the image again.
    """
    source.seek(0)
    seen: dict[str, bytes] = {}
    with tarfile.open(fileobj=source) as tar, tarfile.open(fileobj=target, mode="w") as carried:
        for member in tar:
            file = tar.extractfile(member) if member.isfile() else None
            configures = not member.isdir() and _configures(member.name, file)
            if file is not None:
                file.seek(0)
            if configures:
                seen[member.name] = b"" if file is None else file.read(_LOOKED_AT_BYTES)
            else:
                carried.addfile(member, file)
        originals = dict(_originals(root, paths))
        for name, path in originals.items():
            carried.add(path, name, recursive=False, filter=owned_by_root)
    changed = [name for name in seen.keys() | originals.keys() if seen.get(name) != _read(originals.get(name))]
    return tuple(sorted(printable(f"/{name}") for name in changed))


def _configures(name: str, file: IO[bytes] | None) -> bool:
    """Whether a file configures the tests, by its name and, if it is a file and no link, its content."""
    base = os.path.basename(name)
    if any(fnmatch.fnmatch(base, pattern) for pattern in _CONFIGURES):
        return True
    if base not in _CAN_CONFIGURE:
        return False
    content = b"" if file is None else file.read(_LOOKED_AT_BYTES + 1)
    if file is None or len(content) > _LOOKED_AT_BYTES:
        return True
    section = _CAN_CONFIGURE[base]
    return _has_pytest(content) if section is None else section.search(content) is not None


def _has_pytest(toml: bytes) -> bool:
    """Whether TOML has a table `tool.pytest`; also if it cannot be read, for pytest then fails."""
    try:
        tool = tomllib.loads(toml.decode()).get("tool", {})
    except (ValueError, RecursionError):
        return True
    return not isinstance(tool, dict) or "pytest" in tool


def _originals(root: str, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the image's own files that configure tests: their names in the tar, and where they are."""
    for path in paths:
        top = root + resolved_in(root, path)
        places = [os.path.join(directory, name) for directory, _, names in os.walk(top) for name in names]
        for place in [top] if os.path.isfile(top) else places:
            inside = os.path.normpath(f"{path.strip('/')}/{os.path.relpath(place, top)}")
            if os.path.isfile(place) and not os.path.islink(place):
                with open(place, "rb") as file:
                    if _configures(inside, file):
                        yield inside, place


def _read(path: str | None) -> bytes | None:
    if path is None:
        return None
    with open(path, "rb") as file:
        return file.read(_LOOKED_AT_BYTES)
