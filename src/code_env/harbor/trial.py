"""One agent's work on a task, and what it is worth."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, Literal, NamedTuple

from code_env.errors import ExecutorError, TaskError
from code_env.executors.local.box import Box, Ran, TooLarge
from code_env.executors.local.jail.notices import TOO_MANY
from code_env.images import ImageCache
from code_env.tasks.formats.harbor import HarborTask, Stage
from code_env.text import printable

from .carrying import carry
from .scoring import Contradiction, Score, TrialOutcome, read_reward
from .surroundings import TESTS, Surroundings, of_agent, of_verifier
from .tars import changed_scripts, packed, scripts_in, texts_in

WRITABLE_BYTES = 2 << 30
"""How much an agent may write unless told otherwise, in bytes."""

_MORE_BYTES = 256 << 20
_LOGS, _VERIFIER_LOGS, _SOLUTION = "/logs", "/logs/verifier", "/solution"
_ARTIFACTS = "/logs/artifacts"
_PLUGIN, _ADDS, _MARK = "/code_env_tripwire", "/logs/tripwire", "tripwire.here"
_SHOWN_CHARS = 4000

_Plugin = Literal["left out", "here", "adds tests"]
"""What a run of the tests has of our plugin of pytest."""


class _Verified(NamedTuple):
    ran: Ran
    files: dict[str, str]
    """The files with the reward, by their paths; those that are no files are empty."""
    changed: list[str]
    """The scripts of the tests that are no longer as they were, or were not meanwhile."""

    @property
    def loads_plugin(self) -> bool:
        """Whether pytest has loaded our plugin, which leaves a file; code under test can only remove it later."""
        return _MARK in self.ran.writes


class _Untouched(NamedTuple):
    """What the tests say of the image as it was."""

    takes_tripwire: bool
    """Whether pytest has loaded our plugin."""
    gives_reward: bool


_known_untouched: dict[str, _Untouched] = {}
"""What is known already, by all that it depends on."""


class Trial:
    """One agent's work on a task.

    The agent's commands run on the files of the image, in a box; processes that it starts stay until `submit`. A stage
    is scored in another box: the image as it was, with the working directory and the artifacts as the agent left them,
    but for files that configure the tests. The tests are never in the agent's box, nothing of its processes is in the
    verifier's, and the reward is read from outside. If a stage has a verifier's environment of its own, it is scored
    there, and only the artifacts are carried over.

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
        TaskError: If neither the task nor the image says where the agent works, or there are no tests.

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
        self.task, self._agents = task, of_agent(task, cache)
        self._verifiers = {stage.name: of_verifier(stage, self._agents, cache) for stage in task.stages}
        self._writable_bytes, self._tripwire = writable_bytes, tripwire
        self._stack = contextlib.ExitStack()
        self._boxes: list[Box] = []
        self._ended = False
        self.scores: list[Score] = []
        """The scores of the stages so far."""
        self.directory = self._agents.directory
        """The working directory."""
        if self.directory == "/":
            raise TaskError(
                f"{task.path}: neither the image's WORKDIR nor workdir in [environment] says where the agent works"
            )
        with contextlib.ExitStack() as stack:
            for surroundings in (self._agents, *self._verifiers.values()):
                stack.enter_context(cache.hold(surroundings.image))
            self._box = stack.enter_context(self._new_box(self._agents))
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
        words = self._agents.shell_words(command, self._box)
        return self._run(words, self.stage.agent_s if limit_s is None else limit_s)

    def solve(self) -> Ran:
        """Run the task's own solution of the stage.

        Raises:
            TaskError: If it has none.
            ExecutorError: If the box has ended.
        """
        stage = self.stage
        if stage.solution is None:
            raise TaskError(f"{self.task.path}: there is no solution/solve.sh{_of(stage)}")
        with packed({_SOLUTION: stage.solution}) as file:
            self._box.unpack(file)
        return self._run([self._agents.shell, f"{_SOLUTION}/solve.sh"], stage.agent_s, self.task.solution_environment)

    def submit(self) -> Score:
        """End the agent's processes, and say what its work on the stage is worth. Then the next stage begins.

        Raises:
            ExecutorError: If a box cannot start.
        """
        stage = self.stage
        problem = self._collect(stage)
        self._box.stop()
        if problem:
            self.scores.append(Score(TrialOutcome.NOT_COLLECTED, 0.0, message=problem))
            return self.scores[-1]
        verifiers = self._verifiers[stage.name]
        own = [self.directory] if verifiers is self._agents else []
        paths = list(dict.fromkeys([*own, *self.task.artifacts, *stage.artifacts, _ARTIFACTS]))
        with tempfile.TemporaryFile() as left, tempfile.TemporaryFile() as carried:
            try:
                self._box.pack(paths, left, self._writable_bytes)
            except TooLarge as error:
                self.scores.append(Score(TrialOutcome.TOO_LARGE, 0.0, message=printable(str(error))))
                return self.scores[-1]
            restored = carry(left, carried, verifiers.image.root, paths)
            score, takes_tripwire = self._scored(stage, paths, carried, restored)
            if score.outcome is TrialOutcome.NO_VERDICT and self._untouched(stage).gives_reward:
                why = f"without the agent's work there is a reward, and with it: {score.message}"
                score = dataclasses.replace(score, outcome=TrialOutcome.TAMPERED, reward=0.0, message=why)
            elif score.outcome is TrialOutcome.LIMIT and not self._untouched(stage).gives_reward:
                score = dataclasses.replace(score, outcome=TrialOutcome.NO_VERDICT, reward=None)
            if takes_tripwire and score.outcome is TrialOutcome.SCORED and (score.reward or 0.0) > 0.0:
                score = self._checked(stage, score, paths, carried)
        self.scores.append(score)
        return score

    def _collect(self, stage: Stage) -> str:
        """Run what collects the agent's work; return why that has failed, or an empty text."""
        for hook in stage.collecting:
            ran = self._run(self._agents.shell_words(hook.command, self._box), hook.limit_s)
            if ran.code != 0:
                how = f"the exit code is {ran.code}"
                if ran.limit is not None:
                    how = f"it reached its limit of {ran.limit_word}"
                return printable(f"{hook.command}: {how}; {ran.output[-_SHOWN_CHARS:]}")
        return ""

    def end(self) -> None:
        """End all boxes from another thread: what runs in them raises an `ExecutorError`."""
        self._ended = True
        for box in tuple(self._boxes):
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

    @property
    def _plugin(self) -> _Plugin:
        """What the first run of the tests has of the plugin."""
        return "here" if self._tripwire else "left out"

    def _scored(
        self, stage: Stage, paths: list[str], carried: IO[bytes], restored: tuple[str, ...]
    ) -> tuple[Score, bool]:
        """What the tests say of the agent's work, and whether they take the tripwire."""
        score, is_loaded = self._verified(stage, paths, carried, restored, plugin=self._plugin)
        if not self._tripwire or is_loaded or self._untouched(stage).takes_tripwire:
            return score, self._tripwire
        # A pytest that does not find the plugin fails by that.
        if score.reward != 1.0 and _may_run_pytest(self._verifiers[stage.name].tests_of(stage)):
            score, _ = self._verified(stage, paths, carried, restored, plugin="left out")
        return score, False

    def _verified(
        self, stage: Stage, paths: list[str], carried: IO[bytes], restored: tuple[str, ...], *, plugin: _Plugin
    ) -> tuple[Score, bool]:
        """What a run of the tests says, and whether pytest has loaded the plugin.

        If a box fails only with what the agent left, that is the agent's fault.
        """
        for _ in range(2):
            try:
                verified = self._verify(stage, paths, carried, plugin=plugin)
                return _score_of(verified, restored), verified.loads_plugin
            except ExecutorError as error:
                failure = error
        try:
            with packed({}) as nothing:
                self._verify(stage, [], nothing, plugin=plugin)
        except ExecutorError:
            raise failure from None
        return Score(TrialOutcome.TAMPERED, 0.0, message=printable(str(failure)), restored=restored), False

    def _checked(self, stage: Stage, score: Score, paths: list[str], carried: IO[bytes]) -> Score:
        """The score, after another run of the tests with one that has to fail."""
        again, _ = self._verified(stage, paths, carried, score.restored, plugin="adds tests")
        if again.outcome is TrialOutcome.SCORED and (again.reward or 0.0) < (score.reward or 0.0):
            return score
        if again.outcome is TrialOutcome.NO_VERDICT:
            return score  # The tests have stopped without a reward, as they may when one fails.
        why = again.message or f"the reward is {again.reward} too"
        why = f"with a test that has to fail, {why}"
        return Score(TrialOutcome.TAMPERED, 0.0, message=why, output=again.output, restored=score.restored)

    def _untouched(self, stage: Stage) -> _Untouched:
        """What the tests say of the image as it was."""
        verifiers = self._verifiers[stage.name]
        paths = sorted(verifiers.tests_of(stage).rglob("*"))
        files = [(str(path), path.lstat().st_mtime_ns, path.lstat().st_size) for path in paths]
        task = dataclasses.replace(self.task, stages=(stage,))
        key = repr((verifiers.image.root, files, self._tripwire, self._writable_bytes, task))
        if key not in _known_untouched:
            with packed({}) as nothing:
                verified = self._verify(stage, [], nothing, plugin=self._plugin)
            gives_reward = _score_of(verified, ()).outcome is TrialOutcome.SCORED
            _known_untouched[key] = _Untouched(verified.loads_plugin, gives_reward)
        return _known_untouched[key]

    def _verify(self, stage: Stage, paths: list[str], carried: IO[bytes], *, plugin: _Plugin) -> _Verified:
        """Run the tests in a box of their own."""
        shown, environment, limit_s = {}, dict(self.task.verifier_environment), stage.verifier_s
        verifiers = self._verifiers[stage.name]
        if plugin != "left out":  # Code under test is not to see by these which run it is in.
            shown = {_PLUGIN: str(Path(__file__).parent / "tripwire")}
            before = verifiers.variables(environment)
            environment["PYTHONPATH"] = ":".join(filter(None, [_PLUGIN, before.get("PYTHONPATH")]))
            environment["PYTEST_ADDOPTS"] = f"{before.get('PYTEST_ADDOPTS', '')} -p code_env_tripwire".strip()
            environment["CODE_ENV_TRIPWIRE"] = _ADDS
        if plugin == "adds tests":
            limit_s *= 2  # A run that was just within its limit is not to reach it this time.
        with self._new_box(verifiers, shown) as box, packed({TESTS: verifiers.tests_of(stage)}) as tests:
            # What an image of the verifier's own has beside the artifacts stays.
            box.clear(_LOGS, TESTS, *(paths if verifiers is self._agents else []))
            carried.seek(0)
            box.unpack(carried)
            box.clear(_VERIFIER_LOGS, TESTS)  # An artifact could lie there.
            box.cut(paths, _LOGS, TESTS)
            box.make(_VERIFIER_LOGS, verifiers.directory, _ARTIFACTS, *([_ADDS] if plugin == "adds tests" else []))
            box.unpack(tests)
            ran = box.run(
                [verifiers.shell, f"{TESTS}/test.sh"],
                environment=verifiers.variables(environment),
                directory=verifiers.directory,
                limit_s=limit_s,
                watched=[_LOGS, _VERIFIER_LOGS],
                kept=scripts_in(tests),
            )
            with tempfile.TemporaryFile() as file:
                box.pack([f"{_VERIFIER_LOGS}/reward.json", f"{_VERIFIER_LOGS}/reward.txt"], file, 1 << 20)
                files = texts_in(file)
            with tempfile.TemporaryFile() as file:
                box.pack([TESTS], file, self._writable_bytes)
                return _Verified(ran, files, sorted({*changed_scripts(tests, file), *ran.touched}))

    def _new_box(self, surroundings: Surroundings, shown: Mapping[str, str] | None = None) -> Box:
        # The verifier's box also holds the tests, and what they write.
        box = surroundings.box(self._writable_bytes + _MORE_BYTES, shown or {})
        self._boxes.append(box)
        if self._ended:  # Only now: `end` may not have seen it.
            box.end()
        return box

    def _run(self, command: list[str], limit_s: float, more: Mapping[str, str] = MappingProxyType({})) -> Ran:
        """Run a command in the agent's box, with some more environment variables."""
        return self._box.run(
            command, environment=self._agents.variables(more), directory=self.directory, limit_s=limit_s
        )


def _score_of(verified: _Verified, restored: tuple[str, ...]) -> Score:
    """What a run of the tests says."""
    ran = verified.ran
    tampered = Score(TrialOutcome.TAMPERED, 0.0, output=ran.output[-_SHOWN_CHARS:], restored=restored)
    if ran.limit is not None:
        why = f"the verifier reached its limit of {ran.limit_word}"
        return dataclasses.replace(tampered, outcome=TrialOutcome.LIMIT, message=why)
    if ran.signal is not None:
        return dataclasses.replace(tampered, message=f"the verifier was ended by signal {ran.signal}")
    if TOO_MANY in ran.writes:
        return dataclasses.replace(tampered, message="so many files were written that not all writes were seen")
    if ran.daemons and any(ran.writes.count(name) > 1 for name in ("reward.txt", "reward.json")):
        why = "the reward was written more than once, and a process was there whose parent had ended"
        return dataclasses.replace(tampered, message=why)
    if verified.changed:
        why = f"scripts of the tests were changed: {', '.join(verified.changed)}"
        return dataclasses.replace(tampered, message=why)
    by_name = {os.path.basename(path): text for path, text in verified.files.items()}
    try:
        reward, rewards = read_reward(by_name)
    except Contradiction as error:
        return dataclasses.replace(tampered, message=str(error))
    except ValueError as error:
        return dataclasses.replace(tampered, outcome=TrialOutcome.NO_VERDICT, reward=None, message=str(error))
    return dataclasses.replace(tampered, outcome=TrialOutcome.SCORED, reward=reward, rewards=rewards)


def _may_run_pytest(tests: Path) -> bool:
    """Whether a file of the tests names it."""
    return any(b"pytest" in path.read_bytes() for path in tests.rglob("*") if path.is_file())


def _of(stage: Stage) -> str:
    return f" for the step {stage.name}" if stage.name else ""
