"""What a verifier finds of an agent's work: its files, without those that configure the tests."""

from __future__ import annotations

import fnmatch
import os
import re
import tarfile
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
    "pyproject.toml": re.compile(rb"^\s*\[+\s*tool\s*\.\s*[\"']?pytest", re.MULTILINE),
    "setup.cfg": re.compile(rb"^\[tool:pytest\]", re.MULTILINE),
    "tox.ini": re.compile(rb"^\[pytest\]", re.MULTILINE),
    "entry_points.txt": re.compile(rb"^\s*\[\s*pytest11\s*\]", re.MULTILINE),
}
"""Files that do so if they have such a section."""

_LOOKED_AT_BYTES = 1 << 20
"""How much of such a file is looked at: an agent can leave a large one."""


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
    seen: dict[str, bytes | None] = {}
    with tarfile.open(fileobj=source) as tar, tarfile.open(fileobj=target, mode="w") as carried:
        for member in tar:
            file = tar.extractfile(member) if member.isfile() else None
            configures = _configures(member.name, file)
            if file is not None:
                file.seek(0)
            if configures:
                seen[member.name] = None if file is None else file.read(_LOOKED_AT_BYTES)
            else:
                carried.addfile(member, file)
        originals = dict(_originals(root, paths))
        for name, path in originals.items():
            carried.add(path, name, recursive=False, filter=owned_by_root)
    changed = [name for name in seen.keys() | originals.keys() if seen.get(name) != _read(originals.get(name))]
    return tuple(sorted(printable(f"/{name}") for name in changed))


def _configures(name: str, file: IO[bytes] | None) -> bool:
    base = os.path.basename(name)
    if any(fnmatch.fnmatch(base, pattern) for pattern in _CONFIGURES):
        return True
    sections = _CAN_CONFIGURE.get(base)
    return sections is not None and file is not None and sections.search(file.read(_LOOKED_AT_BYTES)) is not None


def _originals(root: str, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the image's own files that configure tests: their names in the tar, and where they are."""
    for path in paths:
        top = root + resolved_in(root, path)
        for directory, _, names in os.walk(top):
            for name in names:
                place = os.path.join(directory, name)
                inside = f"{path.strip('/')}/{os.path.relpath(place, top)}"
                if os.path.isfile(place) and not os.path.islink(place):
                    with open(place, "rb") as file:
                        if _configures(inside, file):
                            yield inside, place


def _read(path: str | None) -> bytes | None:
    if path is None:
        return None
    with open(path, "rb") as file:
        return file.read(_LOOKED_AT_BYTES)
