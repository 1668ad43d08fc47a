"""The images that the programs of one executor run in, on the trainer's side."""

from __future__ import annotations

import os

import code_env
from code_env.caches import FileLock
from code_env.errors import UnsupportedProgram
from code_env.executors.program import Program
from code_env.images import Image, ImageCache
from code_env.languages import PYTHON

from .interpreter import ENVIRONMENT
from .jail import namespaces
from .jail.configuration import ImageConfiguration
from .stocks import COMMON, LEAN, Stock


class Images:
    """Finds images in the cache, and keeps them there while servers use them."""

    def __init__(self) -> None:
        self._cache = ImageCache()
        self._found: dict[str, Image] = {}
        self.proven: set[Stock] = set()
        """Stocks of images whose server has started once."""

    def find(self, source: str) -> Image:
        """Return the image of a path or a name.

        Raises:
            ImageError: If there is none.
            ImageNotPrepared: If it is not unpacked.
        """
        found = self._found.get(source)
        if found is None:
            found = self._found[source] = self._cache.find(source)
        return found

    def hold(self, image: Image) -> FileLock | None:
        """Keep an image in the cache until the lock is closed; None if it is a directory, which nobody removes.

        Raises:
            ImageNotPrepared: If it was removed meanwhile.
        """
        if not image.key:
            return None
        try:
            return self._cache.hold(image)
        except UnsupportedProgram:
            self._found.pop(image.source, None)
            raise


def start_in(image: Image) -> ImageConfiguration:
    """Return how a server starts in an image: its interpreter, and its variables except those that ours replace."""
    where = {"HOME": namespaces.WORK_DIRECTORY, "TMPDIR": namespaces.SCRATCH, "PATH": image.search_path}
    return ImageConfiguration(
        root=image.root,
        package=os.path.dirname(os.path.abspath(code_env.__file__)),
        python=image.python(),
        environment={**image.variables, **ENVIRONMENT, **where, "LD_BIND_NOW": "1"},
    )


def require_full(level: str) -> None:
    """Refuse programs with an image below level `full`.

    Raises:
        UnsupportedProgram: If programs run at another level.
    """
    if level != "full":
        raise UnsupportedProgram(
            f"an image needs isolation level full, and programs run here at level {level}; `code-env doctor` says what "
            "this machine lacks for it"
        )


def stock_in(program: Program, level: str) -> Stock:
    """Return the stock of the server from which a program with an image is forked.

    Raises:
        UnsupportedProgram: If such a program cannot run here.
    """
    require_full(level)
    stock = COMMON if program.language == PYTHON.name else LEAN
    return stock._replace(image=program.image, language=program.language)
