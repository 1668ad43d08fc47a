"""Where commands of a trial run: in an image, with variables of the task."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from code_env.errors import ImageError, TaskError
from code_env.executors.local.box import Box
from code_env.images import Image, ImageCache
from code_env.images.trees import resolved_in
from code_env.tasks.formats.harbor import HarborTask, Stage

from .tars import packed_text

TESTS = "/tests"
"""The directory of the tests in a verifier's box."""

_SHELLS = ("bash", "sh")

_COMMAND = "/tmp/command"
_LONGEST_ARGUMENT = 128 * 1024 - 1
"""The longest argument of a command that Linux takes, in bytes."""


@dataclass(frozen=True)
class Surroundings:
    """An image, and what a task says about it."""

    image: Image
    directory: str
    """Where commands start."""
    memory_bytes: int
    task_variables: Mapping[str, str]
    """Environment variables that the task sets, beside those of the image."""
    holds_tests: bool = False
    """Whether the image has the tests, in `TESTS`."""

    @functools.cached_property
    def shell(self) -> str:
        """The path of the image's shell."""
        return self.image.program(*_SHELLS)

    def shell_words(self, command: str, box: Box) -> list[str]:
        """The words that run a command by the shell; a long one is put into the box as a file."""
        if len(command.encode("utf-8", "replace")) <= _LONGEST_ARGUMENT:
            return [self.shell, "-c", command]
        with packed_text(_COMMAND, command) as file:
            box.unpack(file)
        return [self.shell, _COMMAND]

    def variables(self, more: Mapping[str, str]) -> dict[str, str]:
        """The environment variables of a command, with some more."""
        first = {"PATH": self.image.search_path, "HOME": "/root"}
        return {**first, **self.image.variables, **self.task_variables, **more}

    def tests_of(self, stage: Stage) -> Path:
        """The directory on this machine with the tests of a stage."""
        return Path(self.image.root + resolved_in(self.image.root, TESTS)) if self.holds_tests else stage.tests

    def box(self, writable_bytes: int, shown: Mapping[str, str]) -> Box:
        """A new box on the image; for the arguments see `Box`."""
        return Box(self.image.root, writable_bytes=writable_bytes, memory_bytes=self.memory_bytes, shown=shown)


def of_agent(task: HarborTask, cache: ImageCache) -> Surroundings:
    """Where the agent of a task works.

    Raises:
        ImageError: If the image cannot be used, or is not prepared.
    """
    image = _found(task.image, cache)
    directory = os.path.normpath(task.directory or image.directory)
    return Surroundings(image, directory, task.memory_bytes, task.environment)


def of_verifier(stage: Stage, agents: Surroundings, cache: ImageCache) -> Surroundings:
    """Where the tests of a stage run.

    Raises:
        ImageError: As for `of_agent`.
        TaskError: If there are no tests.
    """
    own = stage.verifier
    if own is None:
        return agents
    image = _found(own.image, cache)
    directory = os.path.normpath(own.directory or image.directory)
    holds_tests = os.path.isfile(image.root + resolved_in(image.root, f"{TESTS}/test.sh"))
    if not holds_tests and not (stage.tests / "test.sh").is_file():
        raise TaskError(f"there is no test.sh: neither in {stage.tests} nor in {TESTS} of the image {own.image}")
    return Surroundings(image, directory, own.memory_bytes, own.variables, holds_tests)


def _found(source: str, cache: ImageCache) -> Image:
    image = cache.find(source)
    require_own_files(image, source)
    return image


def require_own_files(image: Image, source: str) -> None:
    """Check that the files of an image belong to the user of boxes.

    Raises:
        ImageError: If the image is a directory, whose files can be anybody's.
    """
    if not image.key:
        raise ImageError(f"{source} is a directory, whose files are not a box's own; name a build file FROM it")
