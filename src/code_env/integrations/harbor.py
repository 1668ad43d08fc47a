"""Harbor: `CodeEnvironment`, with which Harbor runs its own trials in boxes of this machine, without an engine.

    harbor run --env code_env.integrations.harbor:CodeEnvironment -p tasks -a oracle

Harbor brings its agents, its verifier, its files of results and its reports, and this class is the place where their
commands run: the `Box` of `code_env.harbor`, on the image that the task names. The protocol is that of
https://github.com/laude-institute/harbor, `src/harbor/environments/base.py` (0.25). A box has no network but its own
loopback, whatever the task says, and all commands run as root of the box, who is an ordinary user outside.

`Trial` of `code_env.harbor` runs the same folders without Harbor, and does more against agents that cheat.

This module needs Harbor, and so Python 3.12 or newer: the extra `harbor`.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from code_env.errors import ExecutorError
from code_env.executors.local.box import MEMORY_BYTES, Box
from code_env.harbor.surroundings import Surroundings, require_own_files
from code_env.harbor.tars import packed
from code_env.harbor.trial import WRITABLE_BYTES
from code_env.images import ImageCache
from code_env.tasks.formats.harbor import named_image

try:
    from harbor.environments.base import (  # type: ignore[import-not-found, unused-ignore]
        BaseEnvironment,
        ExecResult,
    )
    from harbor.environments.capabilities import (  # type: ignore[import-not-found, unused-ignore]
        EnvironmentCapabilities,
        EnvironmentResourceCapabilities,
    )
except ImportError as error:
    raise ImportError(
        "code_env.integrations.harbor needs Harbor, which needs Python 3.12 or newer: "
        f"pip install code-exec-env[harbor] ({error})"
    ) from error

__all__ = ["CodeEnvironment"]

_Result = TypeVar("_Result")

_AGAIN_S = 0.2
"""How long to wait before a command is interrupted once more, in seconds: it may not have begun."""

_MOST_LINKS = 40
"""How many links to a file are followed; as many as Linux follows."""

_KILLED = 137
"""The exit code of a command that was killed, as engines give it."""


class CodeEnvironment(BaseEnvironment):  # type: ignore[misc, unused-ignore]
    """A box in which the commands of one of Harbor's trials run.

    Args:
        args: What Harbor gives to each environment.
        writable_bytes: How much may be written, in memory, in bytes; with Harbor `--ek writable_bytes=N`.
        build_network: Whether the RUN steps of a build file may reach the network; `--ek build_network=true`.
        kwargs: What Harbor gives to each environment.

    Raises:
        FileNotFoundError: If the task names no image, and has no `environment/Dockerfile`.
        ValueError: If it has several services (`docker-compose.yaml`), or wants a network of which only some hosts can
            be reached.
    """

    def __init__(
        self, *args: Any, writable_bytes: int = WRITABLE_BYTES, build_network: bool = False, **kwargs: Any
    ) -> None:
        self._writable_bytes, self._build_network = writable_bytes, build_network
        self._stack = contextlib.ExitStack()
        self._opened: tuple[Surroundings, Box] | None = None
        self._turn = asyncio.Lock()
        super().__init__(*args, **kwargs)

    @staticmethod
    def type() -> str:
        """The name of this kind of environment."""
        return "code-env"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """What this kind can do: keep what runs from the network."""
        return EnvironmentCapabilities(disable_internet=True)

    @classmethod
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        """What this kind can bound: memory."""
        return EnvironmentResourceCapabilities(memory_limit=True)

    async def start(self, force_build: bool) -> None:
        """Make the image ready if it is not, and start a box on it.

        Args:
            force_build: Whether to take a build file rather than the image that the task names. A step of a build file
                runs again if what it depends on has changed, and only then.

        Raises:
            ImageError: If the image cannot be built, unpacked or pulled.
            ExecutorError: If the kernel does not grant what a box needs; the message says what.
        """
        if self._network_is_public:
            self.logger.info("the task may reach the network, and a box of code_env cannot: it has only a loopback")
        async with self._turn:
            await asyncio.to_thread(self._open, force_build)
        await self.ensure_dirs(self._mount_targets(writable_only=True))
        await self._upload_environment_dir_after_start()

    async def stop(self, delete: bool) -> None:
        """End the box, with all that it holds, also if `delete` is false."""
        async with self._turn:
            self._opened = None
            await asyncio.to_thread(self._stack.close)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a command by the image's shell; what it has started in the background goes on after it.

        Args:
            command: The command.
            cwd: Where it starts; the working directory of the task, or of the image, by default.
            env: More environment variables.
            timeout_sec: How long it may run, in seconds.
            user: Ignored: commands run as root of the box.

        Returns:
            The exit code, and the last MiB of stdout and stderr as they came, as `stdout`. The code is 137 if the box
            held more memory than it may, which ends all that runs in it.

        Raises:
            RuntimeError: If it has not ended in time.
        """
        user = self._resolve_user(user)
        if user not in (None, "root", "0", 0):
            self.logger.debug("code_env runs commands as root of the box, not as %r", user)
        surroundings, box = self._started()
        variables = surroundings.variables(self._merge_env(env) or {})
        ran = await self._called(
            lambda: box.run(
                surroundings.shell_words(command, box),
                environment=variables,
                directory=cwd or surroundings.directory,
                limit_s=math.inf if timeout_sec is None else timeout_sec,
            )
        )
        tell = self._output_callback()
        if tell is not None and ran.output:
            await tell(ran.output, "stdout")
        if ran.limit == "memory":
            why = f"the box held more than {surroundings.memory_bytes >> 20} MiB of memory, and all its processes ended"
            return ExecResult(stdout=ran.output, stderr=why, return_code=_KILLED)
        if ran.code is None:
            raise RuntimeError(f"Command timed out after {timeout_sec} seconds")
        return ExecResult(stdout=ran.output, stderr="", return_code=ran.code)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file of this machine into the box."""
        await self._upload(source_path, target_path)

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy what is in a directory of this machine into a directory of the box."""
        await self._upload(source_dir, target_dir)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a file of the box to this machine.

        Raises:
            FileNotFoundError: If there is no such file.
        """
        _, box = self._started()
        target = Path(target_path)

        def copy() -> None:
            with _taken(box, source_path, self._writable_bytes) as (tar, name):
                content = tar.extractfile(name) if tar.getmember(name).isfile() else None
                if content is None:
                    raise FileNotFoundError(f"{source_path} is no file in the box")
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as file:
                    shutil.copyfileobj(content, file)

        await self._called(copy)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy what is in a directory of the box to this machine; links that lead out of it are left out.

        Raises:
            FileNotFoundError: If there is no such directory.
        """
        _, box = self._started()
        target = Path(target_dir)

        def copy() -> None:
            with _taken(box, source_dir, self._writable_bytes) as (tar, name):
                if not tar.getmember(name).isdir():
                    raise FileNotFoundError(f"{source_dir} is no directory in the box")
                target.mkdir(parents=True, exist_ok=True)
                for member in tar:
                    if member.name != name:
                        moved = member.replace(name=os.path.relpath(member.name, name), deep=False)
                        try:
                            tar.extract(moved, target, filter="data")
                        except tarfile.FilterError as error:
                            self.logger.debug("left out: %s", error)

        await self._called(copy)

    def _validate_definition(self) -> None:
        folder = Path(self.environment_dir)
        if (folder / "docker-compose.yaml").is_file():
            raise ValueError(f"{folder / 'docker-compose.yaml'}: code_env runs one box, and no services beside it")
        if not (self.task_env_config.docker_image or (folder / "Dockerfile").is_file()):
            raise FileNotFoundError(f"the task names no docker_image, and there is no {folder / 'Dockerfile'}")

    def _open(self, force_build: bool) -> None:
        config, place = self.task_env_config, Path(self.environment_dir)
        build_file, named = place / "Dockerfile", self.task_env_config.docker_image
        builds = not named or (force_build and build_file.is_file())
        source = str(build_file) if builds else named_image(place, named)
        cache = ImageCache()
        image, _ = cache.prepare(source, network=self._build_network)
        require_own_files(image, source)
        memory = self._effective_memory_mb
        surroundings = Surroundings(
            image, config.workdir or image.directory, memory << 20 if memory else MEMORY_BYTES, self._startup_env()
        )
        with contextlib.ExitStack() as stack:
            stack.enter_context(cache.hold(image))
            box = stack.enter_context(surroundings.box(self._writable_bytes, {}))
            if surroundings.directory != "/":
                box.make(surroundings.directory)
            self._opened, self._stack = (surroundings, box), stack.pop_all()

    def _started(self) -> tuple[Surroundings, Box]:
        if self._opened is None:
            raise ExecutorError("the box is not there: it was not started, or it was stopped; call start() first")
        return self._opened

    async def _called(self, function: Callable[[], _Result]) -> _Result:
        """Call a function on the box in a thread, one at a time. If the caller is cancelled, end the command first."""
        _, box = self._started()
        async with self._turn:
            running = asyncio.ensure_future(asyncio.to_thread(function))
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                while not running.done():
                    box.interrupt()
                    with contextlib.suppress(asyncio.CancelledError):
                        await asyncio.wait([running], timeout=_AGAIN_S)
                raise

    async def _upload(self, source: Path | str, target: str) -> None:
        _, box = self._started()
        origin = Path(source).resolve()

        def copy() -> None:
            with packed({target: origin}, runnable=False) as file:
                box.unpack(file)

        await self._called(copy)


@contextlib.contextmanager
def _taken(box: Box, path: str, most_bytes: int) -> Iterator[tuple[tarfile.TarFile, str]]:
    """A tar of a file or a directory of a box, at the end of links to it, and its name there."""
    asked = path
    for _ in range(_MOST_LINKS):
        path = os.path.normpath(path)
        with tempfile.TemporaryFile() as file:
            box.pack([path], file, most_bytes)
            file.seek(0)
            with tarfile.open(fileobj=file) as tar:
                first = tar.next()
                if first is None:
                    break
                if not first.issym():
                    yield tar, first.name
                    return
                path = os.path.join(os.path.dirname(path), first.linkname)
    raise FileNotFoundError(f"there is no {asked} in the box")
