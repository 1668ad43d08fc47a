"""One agent's work on a task, and what it is worth."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import statistics
import tarfile
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, NamedTuple

from code_env.errors import ExecutorError, ImageError, TaskError
from code_env.executors.local.box import Box, Ran
from code_env.images import ImageCache
from code_env.tasks.formats.harbor import HarborTask, Stage
from code_env.text import printable

from .carrying import add_tree, carry
from .scoring import Contradiction, Score, TrialOutcome, read_reward

WRITABLE_BYTES = 2 << 30
"""How much an agent may write unless told otherwise, in bytes."""

_MORE_BYTES = 256 << 20
_LOGS, _VERIFIER_LOGS, _TESTS, _SOLUTION = "/logs", "/logs/verifier", "/tests", "/solution"
_ARTIFACTS = "/logs/artifacts"
_PLUGIN, _ADDS, _MARK = "/code_env_tripwire", "/logs/tripwire", "/logs/tripwire.here"
_SHELLS = ("bash", "sh")
_SCRIPTS = (".sh", ".py")
_SHOWN_CHARS = 4000
_SIGNAL = 128


class _Verified(NamedTuple):
    ran: Ran
    files: dict[str, str]
    """The files with the reward, by their paths; those that are no files are empty."""
    changed: list[str]
    """The scripts of the tests that are no longer as they were."""


class _Untouched(NamedTuple):
    takes_tripwire: bool
    """Whether the tests run by pytest."""
    scores: bool
    """Whether they give a reward."""


_known_untouched: dict[tuple[str, str], _Untouched] = {}
"""For each image and directory of tests what they say of the image as it was."""


class Trial:
    """One agent's work on a task.

    The agent's commands run on the files of the image, in a box; processes that it starts stay until `submit`. A stage
    is scored in another box: the image as it was, with the working directory and the artifacts as the agent left them,
    but for files that configure the tests. The tests are never in the agent's box, nothing of its processes is in the
    verifier's, and the reward is read from outside.

    A verifier that gives no reward, and gives one without the agent's work, has been tampered with.

    If the reward is above 0 and the tests run by pytest, they run once more with a test that has to fail. If the reward
    is no smaller then, what the agent left reports what it likes, and the outcome is `tampered`.

    Args:
        task: The task. Its image must be prepared (`code_env.images`).
        writable_bytes: How much the agent may write, in memory, in bytes; the verifier may write as much.
        tripwire: Whether to run tests again as said above.

    Raises:
        ImageError: If the image cannot be used.
        ImageNotPrepared: If the image is not prepared.
        ExecutorError: If the kernel does not grant what a box needs.
        TaskError: If neither the task nor the image says where the agent works.

    Example:
        ```python
        with Trial(read_folder("tasks/fix-the-parser")) as trial:
            print(trial.stage.instruction)
            print(trial.run("ls -l").output)
            print(trial.submit().reward)
        ```
    """

    def __init__(self, task: HarborTask, *, writable_bytes: int = WRITABLE_BYTES, tripwire: bool = True) -> None:
        cache = ImageCache()
        self.task, self._image = task, cache.find(task.image)
        self._writable_bytes, self._tripwire = writable_bytes, tripwire
        self._stack = contextlib.ExitStack()
        self._boxes: weakref.WeakSet[Box] = weakref.WeakSet()
        self._ended = False
        self.scores: list[Score] = []
        """The scores of the stages so far."""
        self.directory = os.path.normpath(task.directory or self._image.directory)
        """The working directory."""
        if self.directory == "/":
            raise TaskError(
                f"{task.path}: neither the image's WORKDIR nor workdir in [environment] says where the agent works"
            )
        if not self._image.key:
            raise ImageError(f"{task.image} is a directory, whose files are not a box's own; name a build file FROM it")
        with contextlib.ExitStack() as stack:
            stack.enter_context(cache.hold(self._image))
            self._box = stack.enter_context(self._new_box())
            self._box.make(self.directory, _ARTIFACTS)
            self._stack = stack.pop_all()

    @property
    def stage(self) -> Stage:
        """The stage that the agent works on.

        Raises:
            RuntimeError: If all have been submitted.
        """
        if self.is_over:
            raise RuntimeError("all stages of the task have been submitted; begin another Trial")
        return self.task.stages[len(self.scores)]

    @property
    def is_over(self) -> bool:
        """Whether no stage is left."""
        done = len(self.scores)
        if done in (0, len(self.task.stages)):
            return done > 0
        least = self.task.stages[done - 1].min_reward
        return least is not None and (self.scores[-1].reward or 0.0) < least

    @property
    def reward(self) -> float | None:
        """The reward for the whole task: the mean of its stages, or the last one's, as the task says.

        It is None while no stage has been submitted, and if one of them has no verdict.
        """
        rewards = [score.reward for score in self.scores]
        missing = len(self.task.stages) - len(rewards)
        if not rewards or None in rewards:
            return None
        known = [reward for reward in rewards if reward is not None] + [0.0] * missing
        return known[-1] if self.task.takes_last else statistics.fmean(known)

    def run(self, command: str, limit_s: float | None = None) -> Ran:
        """Run a command of the agent, in the working directory, by the image's shell.

        Args:
            command: What the shell runs.
            limit_s: How long it may run, in seconds; by default as long as the agent may take for the stage.

        Raises:
            ExecutorError: If the box has ended.
        """
        return self._run_in(self._box, [self._shell, "-c", command], limit_s or self.stage.agent_s)

    def solve(self) -> Ran:
        """Run the task's own solution of the stage.

        Raises:
            TaskError: If it has none.
            ExecutorError: If the box has ended.
        """
        stage = self.stage
        if stage.solution is None:
            raise TaskError(f"{self.task.path}: there is no solution/solve.sh{_of(stage)}")
        with _packed({_SOLUTION: stage.solution}) as file:
            self._box.unpack(file)
        command = [self._shell, f"{_SOLUTION}/solve.sh"]
        return self._run_in(self._box, command, stage.agent_s, self.task.solution_environment)

    def submit(self) -> Score:
        """End the agent's processes, and say what its work on the stage is worth. Then the next stage begins.

        Raises:
            ExecutorError: If a box cannot start.
        """
        stage = self.stage
        self._box.stop()
        paths = list(dict.fromkeys([self.directory, *self.task.artifacts, _ARTIFACTS]))
        with tempfile.TemporaryFile() as left, tempfile.TemporaryFile() as carried:
            try:
                self._box.pack(paths, left, self._writable_bytes)
            except ExecutorError as error:
                self.scores.append(Score(TrialOutcome.TOO_LARGE, 0.0, message=printable(str(error))))
                return self.scores[-1]
            restored = carry(left, carried, self._image.root, paths)
            score = self._verified(stage, paths, carried, restored)
            if score.outcome is TrialOutcome.NO_VERDICT and self._untouched(stage).scores:
                why = f"without the agent's work there is a reward, and with it: {score.message}"
                score = dataclasses.replace(score, outcome=TrialOutcome.TAMPERED, reward=0.0, message=why)
            elif score.outcome is TrialOutcome.LIMIT and not self._untouched(stage).scores:
                score = dataclasses.replace(score, outcome=TrialOutcome.NO_VERDICT, reward=None)
            if self._tripwire and score.outcome is TrialOutcome.SCORED and (score.reward or 0.0) > 0.0:
                score = self._checked(stage, score, paths, carried)
        self.scores.append(score)
        return score

    def end(self) -> None:
        """End all boxes from another thread: what runs in them raises an `ExecutorError`."""
        self._ended = True
        for box in list(self._boxes):
            box.end()

    def close(self) -> None:
        """End the boxes."""
        self._stack.close()

    def __enter__(self) -> Trial:
        """Return the trial, which ends with the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the trial."""
        self.close()

    def _verified(
        self,
        stage: Stage,
        paths: list[str],
        carried: IO[bytes],
        restored: tuple[str, ...],
        *,
        tripwire: bool = False,
    ) -> Score:
        """What a run of the tests says. If a box fails only with what the agent left, that is the agent's fault."""
        for _ in range(2):
            try:
                return _scored(self._verify(stage, paths, carried, tripwire=tripwire), restored)
            except ExecutorError as error:
                failure = error
        try:
            self._untouched(stage)
        except ExecutorError:
            raise failure from None
        return Score(TrialOutcome.TAMPERED, 0.0, message=printable(str(failure)), restored=restored)

    def _checked(self, stage: Stage, score: Score, paths: list[str], carried: IO[bytes]) -> Score:
        """The score, after another run of the tests with one that has to fail."""
        if not self._untouched(stage).takes_tripwire:
            return score
        again = self._verified(stage, paths, carried, score.restored, tripwire=True)
        if again.outcome is TrialOutcome.SCORED and (again.reward or 0.0) < (score.reward or 0.0):
            return score
        if again.outcome is TrialOutcome.NO_VERDICT:
            return score  # The tests have stopped without a reward, as they may when one fails.
        why = again.message or f"the reward is {again.reward} too"
        why = f"with a test that has to fail, {why}"
        return Score(TrialOutcome.TAMPERED, 0.0, message=why, output=again.output, restored=score.restored)

    def _untouched(self, stage: Stage) -> _Untouched:
        """What the tests say of the image as it was; they run at most once for it."""
        key = (self._image.root, str(stage.tests))
        if key not in _known_untouched:
            with _packed({}) as nothing:
                verified = self._verify(stage, [], nothing)
            scores = _scored(verified, ()).outcome is TrialOutcome.SCORED
            _known_untouched[key] = _Untouched(_MARK in verified.files, scores)
        return _known_untouched[key]

    def _verify(self, stage: Stage, paths: list[str], carried: IO[bytes], *, tripwire: bool = False) -> _Verified:
        """Run the tests in a box of their own."""
        shown, environment = {}, dict(self.task.verifier_environment)
        if self._tripwire:  # Code under test is not to see by these which run it is in.
            shown = {_PLUGIN: str(Path(__file__).parent / "tripwire")}
            environment |= {"PYTEST_ADDOPTS": "-p code_env_tripwire", "PYTHONPATH": _PLUGIN, "CODE_ENV_TRIPWIRE": _ADDS}
        with self._new_box(shown) as box, _packed({_TESTS: stage.tests}) as tests:
            box.clear(*paths, _LOGS, _TESTS)
            carried.seek(0)
            box.unpack(carried)
            box.clear(_VERIFIER_LOGS, _TESTS)  # An artifact could lie there.
            box.cut(paths, _LOGS, _TESTS)
            box.make(_VERIFIER_LOGS, self.directory, _ARTIFACTS, *([_ADDS] if tripwire else []))
            box.unpack(tests)
            command = [self._shell, f"{_TESTS}/test.sh"]
            ran = self._run_in(box, command, stage.verifier_s, environment, watched=_VERIFIER_LOGS)
            with tempfile.TemporaryFile() as file:
                box.pack([f"{_VERIFIER_LOGS}/reward.json", f"{_VERIFIER_LOGS}/reward.txt", _MARK], file, 1 << 20)
                files = _files_in(file)
            with tempfile.TemporaryFile() as file:
                box.pack([_TESTS], file, self._writable_bytes)
                return _Verified(ran, files, _changed(tests, file))

    def _new_box(self, shown: Mapping[str, str] | None = None) -> Box:
        # The verifier's box also holds the tests, and what they write.
        box = Box(
            self._image.root,
            writable_bytes=self._writable_bytes + _MORE_BYTES,
            memory_bytes=self.task.memory_bytes,
            shown=shown or {},
        )
        self._boxes.add(box)
        if self._ended:  # Only now: `end` may not have seen it.
            box.end()
        return box

    def _run_in(
        self,
        box: Box,
        command: list[str],
        limit_s: float,
        environment: Mapping[str, str] | None = None,
        watched: str | None = None,
    ) -> Ran:
        variables = {"PATH": self._image.search_path, "HOME": "/root", **self._image.variables}
        variables |= {**self.task.environment, **(environment or {})}
        return box.run(command, environment=variables, directory=self.directory, limit_s=limit_s, watched=watched)

    @functools.cached_property
    def _shell(self) -> str:
        return self._image.program(*_SHELLS)


def _scored(verified: _Verified, restored: tuple[str, ...]) -> Score:
    """What a run of the tests says."""
    ran = verified.ran
    found = Score(TrialOutcome.TAMPERED, 0.0, output=ran.output[-_SHOWN_CHARS:], restored=restored)
    if ran.code is None:
        why = f"the verifier reached its limit of {'memory' if ran.limit == 'memory' else 'time'}"
        return dataclasses.replace(found, outcome=TrialOutcome.LIMIT, message=why)
    if ran.code > _SIGNAL:
        why = f"the verifier was ended by signal {ran.code - _SIGNAL}"
        return dataclasses.replace(found, message=why)
    if ran.daemons and any(ran.writes.count(name) > 1 for name in ("reward.txt", "reward.json")):
        why = "the reward was written more than once, and a process was there whose parent had ended"
        return dataclasses.replace(found, message=why)
    if verified.changed:
        return dataclasses.replace(found, message=f"scripts of the tests were changed: {', '.join(verified.changed)}")
    by_name = {os.path.basename(path): text for path, text in verified.files.items()}
    try:
        reward, rewards = read_reward(by_name)
    except Contradiction as error:
        return dataclasses.replace(found, message=str(error))
    except ValueError as error:
        return dataclasses.replace(found, outcome=TrialOutcome.NO_VERDICT, reward=None, message=str(error))
    return dataclasses.replace(found, outcome=TrialOutcome.SCORED, reward=reward, rewards=rewards)


def _changed(before: IO[bytes], after: IO[bytes]) -> list[str]:
    """The scripts in a tar that another one does not have as they are there."""
    before.seek(0)
    after.seek(0)
    with tarfile.open(fileobj=before) as tar, tarfile.open(fileobj=after) as left:
        scripts = {member.name: member for member in tar if member.isfile() and member.name.endswith(_SCRIPTS)}
        for member in left:
            script = scripts.get(member.name)
            # Code under test can have written very much: what differs in size is not read.
            same_size = script is not None and member.isfile() and member.size == script.size
            if same_size and _content(left, member) == _content(tar, script):
                del scripts[member.name]
    return sorted(f"/{name}" for name in scripts)


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo | None) -> bytes:
    file = None if member is None else tar.extractfile(member)
    return b"" if file is None else file.read()


@contextlib.contextmanager
def _packed(directories: Mapping[str, Path]) -> Iterator[IO[bytes]]:
    """A tar of directories of this machine, by their paths in a box."""
    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            for name, directory in directories.items():
                add_tree(tar, directory, name.lstrip("/"))
        file.seek(0)
        yield file


def _files_in(file: IO[bytes]) -> dict[str, str]:
    """The texts of the files in a tar, by their paths; those of what is no file are empty."""
    file.seek(0)
    with tarfile.open(fileobj=file) as tar:
        return {
            f"/{member.name}": _content(tar, member if member.isfile() else None).decode("utf-8", "replace")
            for member in tar
        }


def _of(stage: Stage) -> str:
    return f" for the step {stage.name}" if stage.name else ""
