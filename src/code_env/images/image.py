"""A root file system that programs can run in."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from code_env.errors import ImageError

from .trees import program_in

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where an image's programs are looked for if the image does not set `PATH`."""

_NOT_SHOWN = frozenset(("dev", "proc", "run", "sandbox", "sys", "tmp", ".code_env"))
"""Names in an image's root that the jail replaces by its own."""

_NAMES_OF_PYTHON = ("python3", "python", "python3.13", "python3.12", "python3.11")


@dataclass(frozen=True)
class Image:
    """A root file system that programs can run in."""

    source: str
    """The path that the task names, absolute."""
    root: str
    """The directory with the root file system."""
    key: str = ""
    """Its name in the cache; empty for a directory, which is used as it is."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The environment variables that it sets."""
    directory: str = "/"
    """Its working directory, for commands. Programs of answers start in one of their own."""
    size_bytes: int = 0
    """Size of its files. Files that several images share count in each of them."""

    @property
    def shown(self) -> list[str]:
        """The directories and links in its root that programs see, as they see them."""
        return [f"/{name}" for name in sorted(os.listdir(self.root)) if name not in _NOT_SHOWN]

    @property
    def search_path(self) -> str:
        """Its `PATH`."""
        return self.variables.get("PATH") or DEFAULT_PATH

    def program(self, *names: str) -> str:
        """Return the path of the first of these programs that is in its `PATH`, as programs see it.

        Raises:
            ImageError: If it has none of them.
        """
        for name in names:
            with contextlib.suppress(ImageError):
                return program_in(self.root, name, self.search_path)
        raise ImageError(f"the image {self.source} has no {' and no '.join(names)} in {self.search_path}")

    def python(self) -> str:
        """Return the path of its Python, as programs see it.

        Raises:
            ImageError: If it has none in its `PATH`.
        """
        try:
            return self.program(*_NAMES_OF_PYTHON)
        except ImageError:
            raise ImageError(
                f"the image {self.source} has no python3 in {self.search_path}; programs need Python 3.11 or newer "
                "there"
            ) from None
