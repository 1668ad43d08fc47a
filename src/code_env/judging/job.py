"""What the executor is asked for a judged run: the answer's program, and the judge as its peer.

The answer goes to one sandbox, the tests to the other. The peer depends on the task alone, so an
executor may let one serve all answers to a task.
"""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

from code_env.executors.program import MAX_SECONDS, Limits, Program
from code_env.harness.process.limits import WHOLE_RUN
from code_env.languages import PYTHON, find_language
from code_env.tasks.kinds import (
    AssertTest,
    CallTest,
)
from code_env.tasks.task import Task

_PEER_CODE = "from code_env_harness.judge.main import main\nmain()\n"

_PEER_MEMORY_BYTES = 1024 * 1024 * 1024
"""Room for the largest value that a program may hand over, decoded."""

_PEER_OUTPUT_BYTES = 8 * 1024 * 1024
"""Room for a report on thousands of cases; beyond it the middle would be missing."""

_TOGETHER_S, _TOGETHER_WALL_S = 0.2, 1.0
"""How long all calls together may take in one process, in seconds of CPU time and on the clock; few need as much."""

_PEER_SPARE_S = 2.0
"""Time that the judge needs for itself, beside what it spends on the program's behalf, in seconds."""


def program_for(task: Task, answer: str, *, until_failure: bool = False, together: bool = False) -> Program:
    """The program to submit in order to judge an answer.

    Args:
        task: The task.
        answer: The answer.
        until_failure: Whether tests after the first that fails need not run.
        together: Whether to try to have all calls made in the process that has loaded the answer, if `may_be_together`.
            The report says whether that made no difference.
    """
    return Program(
        code=task.program(answer),
        language=task.language,
        files=task.files,
        limits=_limits(task, together),
        one_process=together or in_one_process(task),
        peer=_peer_for(task, until_failure, together),
        imports=_imports_beside(task) if task.judge == "shared" and task.language == PYTHON.name else (),
    )


def _imports_beside(task: Task) -> tuple[str, ...]:
    """What a suite that runs in the program's process may import there: all words of its text."""
    text = "\n".join([task.setup, *(test.code for test in task.tests if isinstance(test, AssertTest))])
    return ("code_env_harness.shared_suite", *sorted(set(re.findall(r"\w+", text))))


_RECENT = 16
_recent: dict[tuple[int, bool, bool], tuple[Task, Program]] = {}
"""The peers of the last tasks, by the task's `id`, which the task's being here keeps its own."""


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
    return Program(code=_PEER_CODE, stdin=json.dumps(_job(task) | how), limits=limits)


def in_one_process(task: Task) -> bool:
    """Whether nothing is asked but one suite, for which the answer is loaded once."""
    return len(task.tests) == 1 and isinstance(task.tests[0], AssertTest) and task.language == PYTHON.name


def may_be_together(task: Task) -> bool:
    """Whether all tests are calls, which one process may make if the answer keeps nothing from call to call."""
    return task.language == PYTHON.name and all(isinstance(test, CallTest) for test in task.tests)


def _limits(task: Task, together: bool) -> Limits:
    """What a run may use, or each of its tests.

    Calls that share a process have little: those that use more are made again alone.
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
    """For each name that the task says is a function or a class, whether it is a class."""
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
