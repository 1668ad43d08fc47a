"""Builds the request for a judged run: the answer's program, with the judge as its peer.

The answer goes to one sandbox, the tests go to the other. The peer depends on the task only, so an
executor may use the same peer for all answers to a task.
"""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

from code_env.executors.limits import MAX_SECONDS, Limits
from code_env.executors.program import Program
from code_env.harness.process.limits import WHOLE_RUN
from code_env.languages import PYTHON, find_language
from code_env.tasks.kinds import (
    AssertTest,
    CallTest,
    CheckerTest,
    HarborTest,
)
from code_env.tasks.task import Task

_PEER_CODE = "from code_env_harness.judge.main import main\nmain()\n"

_PEER_MEMORY_BYTES = 1024 * 1024 * 1024
"""Memory for the largest value that a program may hand over, after decoding."""

_PEER_OUTPUT_BYTES = 8 * 1024 * 1024
"""Enough for a report on thousands of cases; the middle of a longer report would be dropped."""

_TOGETHER_S, _TOGETHER_WALL_S = 0.2, 1.0
"""Limits for all tests together in one process, in seconds of CPU time and of wall time; few answers need so long."""

_PEER_SPARE_S = 2.0
"""Time that the judge needs for its own work, in addition to the time limits of the program, in seconds."""


def program_for(task: Task, answer: str, *, until_failure: bool = False, together: bool = False) -> Program:
    """The program to submit in order to judge an answer.

    Args:
        task: The task.
        answer: The answer.
        until_failure: Whether tests after the first that fails need not run.
        together: Whether to try to run all tests in the one process that loaded the answer; only for a task for which
            `may_be_together` is true. The report says whether the results are the same as those of separate processes.
    """
    first = task.tests[0]
    if isinstance(first, HarborTest):
        return Program(answer, task.language, limits=task.limits, image=task.image, trial=first.folder)
    return Program(
        code=task.program(answer),
        language=task.language,
        files=task.files,
        limits=_limits(task, together),
        one_process=together or in_one_process(task),
        peer=_peer_for(task, until_failure, together),
        packages=task.packages,
        image=task.image,
        imports=_imports_beside(task) if task.judge == "shared" and task.language == PYTHON.name else (),
    )


def _imports_beside(task: Task) -> tuple[str, ...]:
    """The modules that a suite in the program's process may import: every word of its text may be a name."""
    text = "\n".join([task.setup, *(test.code for test in task.tests if isinstance(test, AssertTest))])
    return ("code_env_harness.shared_suite", *sorted(set(re.findall(r"\w+", text))))


_RECENT = 16
_recent: dict[tuple[int, bool, bool], tuple[Task, Program]] = {}
"""The peers of the last tasks, by the task's `id`. Each entry holds the task, so that no other object gets its `id`."""


def _peer_for(task: Task, until_failure: bool, together: bool) -> Program:
    key = (id(task), until_failure, together)
    known = _recent.get(key)
    if known is not None:
        return known[1]
    peer = _peer(task, {"until_failure": until_failure, "one_process": together or in_one_process(task)})
    while len(_recent) >= _RECENT:
        _recent.pop(next(iter(_recent)), None)
    _recent[key] = (task, peer)
    return peer


def _peer(task: Task, how: dict[str, bool]) -> Program:
    limits = Limits(
        cpu_s=min(MAX_SECONDS, WHOLE_RUN * task.limits.cpu_s + _PEER_SPARE_S),
        wall_s=min(MAX_SECONDS, WHOLE_RUN * task.limits.wall_s + _PEER_SPARE_S),
        memory_bytes=max(_PEER_MEMORY_BYTES, task.limits.memory_bytes),
        output_bytes=_PEER_OUTPUT_BYTES,
    )
    # Only code of the task needs its packages here: else one judge serves tasks with any packages.
    needs_packages = task.judge != "shared" and any(isinstance(test, AssertTest | CheckerTest) for test in task.tests)
    packages = task.packages if needs_packages else ()
    return Program(code=_PEER_CODE, stdin=json.dumps(_job(task) | how), limits=limits, packages=packages)


def in_one_process(task: Task) -> bool:
    """Whether the only test is a Python `assert` suite, for which the answer is loaded once, in one process."""
    return len(task.tests) == 1 and isinstance(task.tests[0], AssertTest) and task.language == PYTHON.name


def may_be_together(task: Task) -> bool:
    """Whether all tests are calls, after at most one `assert` suite.

    One process may run them all if the answer keeps no state between calls. A suite runs first, so it must not be
    hidden if a call is public.
    """
    first, *others = task.tests
    if task.language != PYTHON.name or not all(isinstance(test, CallTest) for test in others):
        return False
    if isinstance(first, AssertTest):
        return bool(others) and task.judge != "shared" and (not first.hidden or all(test.hidden for test in others))
    return isinstance(first, CallTest)


def _limits(task: Task, together: bool) -> Limits:
    """The limits of a run, or of each of its tests.

    Tests that share a process get a short time limit; if they exceed it, each is run again in its own process.
    """
    limits = task.limits
    if not together and (limits.total_cpu_s is None or not in_one_process(task)):
        return limits
    cpu_s, wall_s = (_TOGETHER_S, _TOGETHER_WALL_S) if together else (limits.cpu_s, limits.wall_s)
    cpu_s = min(cpu_s, limits.cpu_s, limits.total_cpu_s or limits.cpu_s)
    return dataclasses.replace(limits, cpu_s=cpu_s, wall_s=min(wall_s, limits.wall_s))


def _job(task: Task) -> dict[str, Any]:
    return {
        "entry_point": task.entry_point,
        "prefix": "" if task.prefix == task.setup else task.prefix,
        "setup": task.setup,
        "judge": task.judge,
        "wall_s": task.limits.wall_s,
        "is_class": _is_class(task),
        "tests": [test.job(find_language(task.language)) for test in task.tests],
    }


_DEFINITION = re.compile(r"(?m)^[ \t>]*(?:async[ \t]+)?(?P<kind>def|class)[ \t]+(?P<name>\w+)")
_BEFORE = re.compile(r"(?i)\b(?P<kind>function|class)[ \t]+[`'\"*]*(?P<name>\w+)")
_AFTER = re.compile(r"(?i)(?P<name>\w+)[`'\"*]*[ \t]+(?P<kind>function|class)\b")


def _is_class(task: Task) -> dict[str, bool]:
    """For each name that the task calls a function or a class: whether it is a class."""
    if not any(isinstance(test, AssertTest) for test in task.tests):
        return {}
    found: dict[str, bool] = {}
    told = [
        (_DEFINITION, task.reference or ""),
        *((pattern, task.prompt) for pattern in (_DEFINITION, _BEFORE, _AFTER)),
    ]
    for pattern, text in told:
        for match in pattern.finditer(text):
            found.setdefault(match["name"], match["kind"].lower() == "class")
    return found
