"""Makes images from build files.

Each step that changes files has a tree of its own in the cache of layers, whose key comes from all that the step
depends on. So a step runs once, also if several builds need it. A build that failed goes on at the step that failed. A
tree has links to the files that the step did not change.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from code_env.errors import ExecutorError, ImageError

from . import layers
from .archives import layer_of, this_machine
from .build_context import BuildContext, digest_of
from .build_file import Instruction, assignments, read_build_file, script_of
from .image import DEFAULT_PATH, Image
from .layer_cache import LayerCache
from .trees import Copied, program_in, resolved_in

STEP_S = 3600.0
"""How long one RUN may take, in seconds."""

_SHOWN_CHARS = 2000

_VERSION = 1
"""Part of all keys, to be raised when this package changes what a step does."""


@dataclass
class _Step:
    key: str
    make: Callable[[Path, Path], None]
    """Makes a tree from the tree of the step before it."""
    instruction: Instruction


class _Placed(NamedTuple):
    """A file, a link or an empty directory of the context, and its place in the image."""

    source: Path
    goal: str
    """Its path in the image, or that of the directory it is put into."""
    name: str
    """Its name, if there is a directory at the goal."""


@dataclass
class _State:
    """What the instructions so far have set."""

    variables: dict[str, str]
    arguments: dict[str, str] = field(default_factory=dict)
    directory: str = "/"
    shell: list[str] = field(default_factory=lambda: ["/bin/sh", "-c"])

    @property
    def known(self) -> dict[str, str]:
        return {**self.arguments, **self.variables}


class Build:
    """What a build file makes.

    Args:
        path: The build file.
        base: Returns the image that FROM names, by its path or its name.
        network: Whether RUN may reach the network.

    Raises:
        ImageError: If the build file cannot be used.
    """

    def __init__(self, path: Path, base: Callable[[str], Image], *, network: bool = False) -> None:
        self._path, self._network = path, network
        self._context = BuildContext(path.parent, path.name)
        self._steps: list[_Step] = []
        given, instructions = _before_from(read_build_file(path))
        first, *rest = instructions
        named = _base_named(path, first, given)
        try:
            image = None if named is None else base(named)
        except ImageError as error:
            raise first.error(str(error)) from error
        self._root = Path(os.devnull if image is None else image.root)
        self._state = _State({}) if image is None else _State(dict(image.variables), directory=image.directory)
        self._state.variables.setdefault("PATH", DEFAULT_PATH)
        self._begin(first, image)
        for one in rest:
            try:
                self._take(one, given)
            except OSError as error:
                raise one.error(str(error)) from error

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables that the image sets."""
        return self._state.variables

    @property
    def directory(self) -> str:
        """The working directory."""
        return self._state.directory

    def tree(self, cache: LayerCache, held: contextlib.ExitStack) -> Path:
        """Return the tree of the last step. Steps whose trees are not in the cache are run.

        Args:
            cache: The cache.
            held: Gets the lock that keeps the tree.

        Raises:
            ImageError: If a step fails; the message has its line and the end of its output.
        """
        return self._tree(len(self._steps) - 1, cache, held)

    def _tree(self, number: int, cache: LayerCache, held: contextlib.ExitStack) -> Path:
        step = self._steps[number]

        def make(target: Path) -> None:
            with contextlib.ExitStack() as meanwhile:
                before = self._tree(number - 1, cache, meanwhile) if number else self._root
                try:
                    step.make(before, target)
                except (ImageError, ExecutorError, OSError, tarfile.TarError, shutil.Error, RecursionError) as error:
                    raise step.instruction.error(str(error)) from error

        tree, lock = cache.tree(step.key, make)
        held.enter_context(lock)
        return tree

    def _add(self, where: Instruction, what: object, make: Callable[[Path, Path], None]) -> None:
        before = self._steps[-1].key if self._steps else ""
        text = json.dumps([_VERSION, before, where.name, what], sort_keys=True)
        self._steps.append(_Step(hashlib.sha256(text.encode()).hexdigest()[:24], make, where))

    def _begin(self, first: Instruction, image: Image | None) -> None:
        """Begin with a copy of a directory, which somebody can change, or with links to an image in the cache."""
        if image is None:
            self._add(first, "scratch", lambda _, target: None)
        elif image.key:
            self._add(first, image.key, lambda before, target: layers.merge([before], target))
        else:
            self._add(first, _state_of(self._root), _copy)

    def _take(self, one: Instruction, given: dict[str, str]) -> None:
        state = self._state
        if one.name == "ENV":
            state.variables.update(assignments(one, state.known))
        elif one.name == "ARG":
            for name, value in _declared(one, state.known).items():
                value = given.get(name, "") if value is None else value
                state.arguments[name] = _platform_arguments().get(name, value)
        elif one.name == "WORKDIR":
            state.directory = os.path.normpath(os.path.join(state.directory, _text(one, state)))
            directory = state.directory
            self._add(one, directory, lambda before, target: _with_directory(before, target, directory))
        elif one.name == "SHELL":
            if not one.array:
                raise one.error("a JSON array of words was expected")
            state.shell = one.array
        elif one.name == "RUN":
            self._run(one)
        elif one.name in ("COPY", "ADD"):
            self._copy(one)
        elif one.name == "LABEL":
            assignments(one, state.known)

    def _run(self, one: Instruction) -> None:
        state = self._state
        command = one.array or [*state.shell, script_of(one)]
        environment = {"HOME": "/root", **state.known}
        directory, network = state.directory, self._network

        def make(before: Path, target: Path) -> None:
            from code_env.executors.local.box import Box  # Not above: the executors import this package.

            copy = Copied(before, target)
            program = program_in(target, command[0], environment["PATH"])
            with Box(os.path.realpath(target), network=network) as box:
                ran = box.run([program, *command[1:]], environment=environment, directory=directory, limit_s=STEP_S)
            copy.finish(link=True)
            if ran.code != 0:
                limits = {"timeout": f"it ran for more than {STEP_S:g} s", "memory": "it took too much memory"}
                ended = limits.get(ran.limit or "", f"the exit code is {ran.code}")
                hint = "" if network else "; it had no network, which `--network` of `code-env prepare` allows"
                told = f"the output ends with:\n{ran.output[-_SHOWN_CHARS:]}" if ran.output else "it printed nothing"
                raise ImageError(f"{ended}{hint}; {told}")

        self._add(one, [command, environment, directory, network], make)

    def _copy(self, one: Instruction) -> None:
        known = self._state.known
        words = [" ".join(one.words(known, word)) for word in one.array] if one.array else one.words(known)
        if len(words) < 2:
            raise one.error("a source and a target were expected")
        *sources, last = words
        mode = one.flags.get("chmod")
        if mode is not None and not re.fullmatch("[0-7]{3,4}", mode):
            raise one.error(f"--chmod={mode} is not supported; give the mode as a number, such as 755")
        goal = os.path.normpath(os.path.join(self._state.directory, last))
        found = [(path, name) for source in sources for path, name in self._found(one, source)]
        is_directory = last.endswith("/") or len(found) > 1
        placed: list[_Placed] = []
        unpacked: list[_Placed] = []
        for path, name in found:
            if path.is_dir():
                inside = [(file, file.relative_to(path)) for file in self._context.files(path)]
                placed += [_Placed(file, f"{goal}/{below}", file.name) for file, below in inside]
            elif one.name == "ADD" and tarfile.is_tarfile(path):
                unpacked.append(_Placed(path, goal, name))
            else:
                placed.append(_Placed(path, f"{goal}/{name}" if is_directory else goal, name))

        def make(before: Path, target: Path) -> None:
            layers.merge([before], target)
            for file in placed:
                _place(file, target, mode)
            for file in unpacked:
                layers.unpack(layer_of(file.source), _directory(target, file.goal))

        # The names matter if a goal turns out to be a directory of the tree.
        names = [one.name for one in placed]
        what = [digest_of([(one.source, one.goal) for one in some]) for some in (placed, unpacked)]
        self._add(one, [*what, names, mode], make)

    def _found(self, one: Instruction, source: str) -> list[tuple[Path, str]]:
        """Return the files and directories that a source of COPY names, and the name of each."""
        if one.name == "ADD" and re.match(r"https?://|git@|git:", source):
            raise one.error(f"{source}: only files of the build file's directory can be added")
        found = self._context.matching(source)
        if not found:
            raise one.error(f"{source} is not in {self._context.root}, or .dockerignore leaves it out")
        return found


def _before_from(instructions: list[Instruction]) -> tuple[dict[str, str], list[Instruction]]:
    """Return the arguments that are declared before FROM, and the instructions from FROM on."""
    given = _platform_arguments()
    while instructions[0].name == "ARG":
        first, *instructions = instructions
        given |= {name: value or "" for name, value in _declared(first, given).items()} | _platform_arguments()
    return given, instructions


def _platform_arguments() -> dict[str, str]:
    """Return the arguments that every build has: the platform it runs on, and the one its image is for."""
    system, machine = this_machine().split("/")
    told = {"PLATFORM": this_machine(), "OS": system, "ARCH": machine, "VARIANT": ""}
    return {f"{which}{name}": value for which in ("BUILD", "TARGET") for name, value in told.items()}


def _declared(one: Instruction, known: dict[str, str]) -> dict[str, str | None]:
    """Return the arguments that ARG declares, and their values; None for an argument without a value."""
    pairs = [word.partition("=") for word in one.words(known)]
    return {name: value if equals else None for name, equals, value in pairs}


def base_of(path: Path) -> str | None:
    """Return the path or the name of the image that a build file begins with; None for `scratch`.

    Raises:
        ImageError: If the build file cannot be read.
    """
    given, instructions = _before_from(read_build_file(path))
    return _base_named(path, instructions[0], given)


def _base_named(path: Path, first: Instruction, given: dict[str, str]) -> str | None:
    words = first.words(given)
    if not words or (len(words) > 1 and (len(words) != 3 or words[1].lower() != "as")):
        raise first.error("the name of an image was expected, or a path")
    beside = path.parent / words[0]
    return None if words[0] == "scratch" else str(beside) if beside.exists() else words[0]


def _text(one: Instruction, state: _State) -> str:
    return " ".join(one.words(state.known))


def _state_of(root: Path) -> str:
    """Return a text that changes when a file of a directory does."""
    return hashlib.sha256(repr(BuildContext(root).state()).encode()).hexdigest()


def _copy(source: Path, target: Path) -> None:
    Copied(source, target).finish(link=False)


def _with_directory(before: Path, target: Path, name: str) -> None:
    layers.merge([before], target)
    _directory(target, name)


def _directory(tree: Path, name: str) -> Path:
    path = tree / resolved_in(tree, name).lstrip("/")
    made = [one for one in (path, *path.parents) if not one.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for one in made:
        one.chmod(0o755)  # `mkdir` alone would apply the umask.
    return path


def _place(one: _Placed, tree: Path, mode: str | None) -> None:
    """Put a file, a link or an empty directory into a tree. A file replaces a file, or goes into a directory there."""
    source = one.source
    if source.is_dir() and not source.is_symlink():
        _directory(tree, one.goal)
        return
    goal = tree / resolved_in(tree, one.goal).lstrip("/")
    if goal.is_dir():
        goal /= one.name
    _directory(tree, f"/{goal.parent.relative_to(tree)}")
    goal.unlink(missing_ok=True)  # Not overwritten: another tree can share the file.
    if source.is_symlink():
        goal.symlink_to(source.readlink())
        return
    shutil.copyfile(source, goal)
    about = source.stat()
    executable = int(mode, 8) & 0o111 if mode is not None else about.st_mode & 0o111
    goal.chmod(0o755 if executable else 0o644)
    os.utime(goal, ns=(about.st_mtime_ns, about.st_mtime_ns))
