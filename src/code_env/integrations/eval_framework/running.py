"""Runs a program against tests, as eval-framework's `tasks/utils.py` does."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args
from weakref import WeakKeyDictionary

from code_env.checks import require_choice
from code_env.errors import (
    ExecutorMisconfigured,
    ImageNotPrepared,
    NoVerdict,
    PackagesNotPrepared,
    TaskError,
    UnsupportedProgram,
)
from code_env.executors.base import Executor
from code_env.executors.limits import Limits
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult as ProgramResult
from code_env.executors.result import Status
from code_env.judging.judge import judge as judge_answer
from code_env.judging.pending import ATTEMPTS
from code_env.judging.verdict import Verdict
from code_env.tasks.task import JudgeMode

from .._common.misspelt import refuse_further
from .._common.runs import time_limits, why_ended, with_verdict
from .._common.shared_executor import executor_for, lent_executor
from .._common.suites import assert_task
from .contexts import ExecutionResult, MergeFunction, ParseFunction
from .imports import imported_names

Packages = Literal["installed", "prepared"]
"""Which packages programs find: those of the executor's interpreter, or prepared ones."""

_MEMORY_BYTES = 1 << 30
"""The memory limit, in bytes: enough for the packages that these benchmarks import."""


@refuse_further
def execute_python_code_with_tests(
    code: str,
    test_code: str,
    package_mapping: Mapping[str, str | None],
    merge_code_fn: MergeFunction | None = None,
    image: str | None = None,
    timeout: int = 60,
    parse_output_fn: ParseFunction | None = None,
    *,
    dockerfile: str | None = None,
    executor: Executor | str | None = None,
    judge: JudgeMode = "blind",
    limits: Mapping[str, Any] | None = None,
    packages: Packages = "installed",
) -> ExecutionResult:
    """Run a program against tests.

    Args:
        code: The program.
        test_code: The tests: asserts, or `unittest` classes.
        package_mapping: Maps each package that program and tests can import to the name under which it is installed;
            None for modules of Python itself.
        merge_code_fn: Merges program and tests into one program. If only `parse_output_fn` is given, the tests are
            appended to the program.
        image: The name of an image to run in, on the executor `container`, or, if `local` is given as the executor, in
            its jail; see docs/images.md. It must have the packages.
        timeout: The time limit for program and tests together, in seconds.
        parse_output_fn: Decides from the output of the merged program, standard error first, whether it passed. **The
            program itself can write this output.** Without this function the tests run apart from the program, and the
            judge decides.
        dockerfile: The path of a build file, whose image the executor `local` runs in.
        executor: Where the program runs: an executor, or the name of an executor.
        judge: The judge mode if there is no parse function.
        limits: Further limits, or limits that replace those of `timeout`, for example `{"cpu_s": 1}`; see `Limits` for
            their names.
        packages: Which packages are found: those that are `installed` for the executor's interpreter, or `prepared`
            ones, as the mapping names them for what program and tests import; see `prepare_packages`.

    Raises:
        NoVerdict: If the sandbox failed.
        TaskError: If the tests are not Python or test nothing, if there is a merge function and no parse function, or
            if a limit is unknown or out of range.
        ExecutorMisconfigured: If no engine for containers runs a program in the image.
        UnsupportedProgram: If what failed imports a package that is missing; the message names the package to install.
            Also for an image or a dockerfile on an executor that cannot run in it.
        ImageNotPrepared: If `local` is to run in an image that is not prepared; a kind of UnsupportedProgram.
        PackagesNotPrepared: If packages are to be prepared, and are not; a kind of UnsupportedProgram.
        ValueError: If `packages` has another value.
        TypeError: If a keyword is not an argument of this function.

    Example:
        >>> execute_python_code_with_tests("def f(): return 1", "assert f() == 2", {})
        ExecutionResult(success=False, output='0 of 1 tests passed\\nassert f() == 2: left is 1, right is 2')
    """
    require_packages(packages)
    if dockerfile and image:
        raise TaskError(f"give an image or a dockerfile, not both; got {image!r} and {dockerfile!r}")
    if merge_code_fn is not None and parse_output_fn is None:
        raise TaskError(
            "merge_code_fn makes one program of answer and tests, and without parse_output_fn nothing tells how that "
            "did; give both, or neither to have the tests judged apart"
        )
    each = time_limits(timeout, _MEMORY_BYTES).with_values(limits)
    with _place(executor, image, dockerfile) as (runs_on, own_image):
        is_prepared = packages == "prepared" and not own_image
        requirements = requirements_of(code, test_code, package_mapping) if is_prepared else ()
        where: dict[str, Any] = {"packages": requirements, "image": own_image}
        if parse_output_fn is None:
            task = dataclasses.replace(assert_task(test_code, each, "test_code", judge), **where)
            found = described(with_verdict(judge_answer(task, code, runs_on)))
            told = found.output
        else:
            merged = (merge_code_fn or _one_behind_the_other)(code, test_code)
            result = run(runs_on, Program(merged, limits=each, **where))
            told = f"{result.stderr}{result.stdout}".strip()
            found = _parsed(result, told, parse_output_fn)
        if not found.success and not is_prepared:
            names = _imported(code, test_code, package_mapping, told)
            _require_packages(runs_on, names, package_mapping, own_image)
        return found


def _parsed(result: ProgramResult, told: str, parse_output_fn: ParseFunction) -> ExecutionResult:
    if result.status not in (Status.OK, Status.ERROR):
        return ExecutionResult(False, f"{why_ended(result)}\n{told}".strip())
    success, output = parse_output_fn(told)
    return ExecutionResult(bool(success), str(output))


def require_packages(packages: str) -> None:
    """Check what is said of the packages that programs find.

    Raises:
        ValueError: If it is neither `installed` nor `prepared`.
    """
    require_choice("packages", packages, get_args(Packages), ValueError)


@contextlib.contextmanager
def _place(
    executor: Executor | str | None, image: str | None, dockerfile: str | None
) -> Iterator[tuple[Executor, str]]:
    """The executor to run on, and the image that programs name. Errors say what to do for eval-framework's contexts."""
    with contextlib.ExitStack() as stack:
        wanted, own_image = dockerfile or image, ""
        if wanted and not dockerfile and executor in (None, "container"):
            try:
                place = stack.enter_context(lent_executor("container", {"image": wanted}))
            except ExecutorMisconfigured as error:
                raise ExecutorMisconfigured(
                    f"{error}. CodeExecutionPassAtOne(image='ignore') runs on the packages here"
                ) from None
        else:
            place = executor_for("local" if dockerfile and executor is None else executor)
            if wanted and not place.describe().images:
                raise UnsupportedProgram(
                    f"the image {wanted!r} needs the executor 'container' or 'local', and another was given: "
                    f"{executor!r:.100}. CodeExecutionPassAtOne(image='ignore') runs on the packages there"
                )
            own_image = wanted or ""
        try:
            yield place, own_image
        except PackagesNotPrepared as error:
            raise PackagesNotPrepared(
                f"{error}. For contexts, call code_env.integrations.eval_framework.prepare_packages(responses) once"
            ) from None
        except ImageNotPrepared as error:
            raise ImageNotPrepared(
                f"{error}. For contexts, call code_env.images.prepare_images([{own_image!r}]) once, or leave the image "
                "out with CodeExecutionPassAtOne(image='ignore')"
            ) from None


def _one_behind_the_other(code: str, test_code: str) -> str:
    return f"{code}\n\n{test_code}"


def described(verdict: Verdict) -> ExecutionResult:
    """A verdict as a result, with what failed as its output."""
    lines = [f"{verdict.tests_passed} of {verdict.tests_total} tests passed"]
    lines += [case.message or "not reached" for case in verdict.cases if not case.passed]
    return ExecutionResult(verdict.passed, "\n".join(lines))


def run(executor: Executor, program: Program) -> ProgramResult:
    """Run a program, up to `ATTEMPTS` times if the sandbox fails, and return its result.

    Raises:
        NoVerdict: If the sandbox fails every time.
    """
    for _ in range(ATTEMPTS):
        result = executor.run(program)
        if result.status is not Status.SANDBOX_ERROR:
            return result
    raise NoVerdict(f"the sandbox failed {ATTEMPTS} times: {why_ended(result)}")


_MISSED = re.compile(r"No module named ['\"]?(\w+)")

_known_imports: WeakKeyDictionary[Executor, dict[tuple[str, str], bool]] = WeakKeyDictionary()
"""For each executor, images and packages that this module has looked for, and whether they can be imported there."""

_LOOK = "import importlib.util, json\nprint(json.dumps([importlib.util.find_spec(name) is not None for name in NAMES]))"


def requirements_of(code: str, test_code: str, mapping: Mapping[str, str | None]) -> tuple[str, ...]:
    """The packages that a program and its tests import, by the names under which they are installed.

    Args:
        code: The program.
        test_code: The tests.
        mapping: As in `execute_python_code_with_tests`.

    Example:
        >>> requirements_of("import json, yaml", "import bs4", {"json": None, "yaml": "pyyaml", "bs4": "soup"})
        ('pyyaml', 'soup')
    """
    return tuple(sorted({str(mapping[name]) for name in _imported(code, test_code, mapping)}))


def _imported(code: str, test_code: str, mapping: Mapping[str, str | None], told: str = "") -> list[str]:
    """The names in a mapping that program and tests import, or that a run missed by what it told of itself.

    The modules of Python itself are left out.
    """
    # Each for itself, because a program can end within a string.
    names = imported_names(code) | imported_names(test_code) | set(_MISSED.findall(told))
    return [name for name, package in mapping.items() if package is not None and name in names]


def _require_packages(executor: Executor, names: Sequence[str], mapping: Mapping[str, str | None], image: str) -> None:
    """Check that programs can import packages. Only what failed needs it: who passes does not miss anything.

    Raises:
        UnsupportedProgram: If a package cannot be imported.
    """
    missing = [name for name, there in _importable(executor, names, image).items() if not there]
    if missing and image:
        raise UnsupportedProgram(f"{', '.join(missing)} cannot be imported in the image {image}, which must have it")
    if missing:
        packages = " ".join(str(mapping[name]) for name in missing)
        raise UnsupportedProgram(
            f"{', '.join(missing)} cannot be imported where programs run; install {packages} into the environment of "
            "the executor's interpreter, give an executor that has it, or use packages='prepared'"
        )


def _importable(executor: Executor, names: Sequence[str], image: str) -> dict[str, bool]:
    known = _known_imports.setdefault(executor, {})
    unknown = [name for name in names if (image, name) not in known]
    if unknown:
        look = Program(_LOOK.replace("NAMES", repr(unknown)), limits=Limits(cpu_s=20, wall_s=60), image=image)
        result = run(executor, look)
        if result.status is not Status.OK:
            raise NoVerdict(f"packages could not be looked for: {why_ended(result)}")
        known.update(zip([(image, name) for name in unknown], json.loads(result.stdout), strict=True))
    return {name: known[image, name] for name in names}
