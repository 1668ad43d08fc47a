"""The programs that graders judge: attacks, plain wrong answers, and right programs.

Attacks are those of `tests/adversarial`, one kind a file there. Right programs are the honest twins of the attacks, the
idioms of `tests/conformance/idioms`, HumanEval's reference solutions, and programs that compute for a while.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from code_env import AssertTest, CallTest, Limits, StdinTest, Task, load_suite

TESTS = Path(__file__).parents[2] / "tests"
if str(TESTS) not in sys.path:
    # Behind all else, so that nothing there hides a module of this folder.
    sys.path.append(str(TESTS))

ATTACK, WRONG, RIGHT = "attack", "wrong", "right"

_FAMILIES = ("ending", "reading", "running", "writing")

_NOT_IN_312 = ("recursion through C in a thread with a large stack",)
"""Python 3.12 bounds this kind of recursion whatever a program sets, so there it is not right."""

LIMITS = Limits(cpu_s=5, wall_s=20, output_bytes=1_000_000)
"""What an idiom may use here; the tests of the idioms give the same."""


@dataclass(frozen=True)
class Item:
    """A program with the task that it answers."""

    name: str
    """Unique among all."""
    group: str
    """`attack`, `wrong` or `right`."""
    kind: str
    """The row of the table that it counts in."""
    task: Task
    code: str
    reference_s: float = 0.1
    """About how long a right answer takes, for the grader that sets its limit by that."""


def attacks() -> Iterator[Item]:
    """The hacks in Python, by the file that they are in."""
    for hack in _hacks():
        yield Item(hack.name, ATTACK, hack.topic.replace("_", " "), hack.task, hack.code)


def wrong_answers() -> Iterator[Item]:
    """An answer to each task of the attacks that does nothing and attacks nobody: no grader should award one."""
    for number, task in enumerate(_once(item.task for item in attacks())):
        if task.entry_point is None or "." not in task.entry_point:
            code = f"def {task.entry_point}(*given):\n    return None\n" if task.entry_point else "pass\n"
            yield Item(f"wrong answer {number}", WRONG, "plain wrong answers", task, code)


def twins() -> Iterator[Item]:
    """The honest program beside each attack, each once, and under the name of the first attack that has it."""
    seen: set[tuple[int, str]] = set()
    for hack in _hacks():
        # Hacks of the same task share one object. Where programs may start others, they need a grader that allows it.
        if (id(hack.task), hack.twin) not in seen and not hack.task.limits.processes:
            seen.add((id(hack.task), hack.twin))
            kind = f"beside attacks: {hack.kind} tests"
            yield Item(f"twin of {hack.name}", RIGHT, kind, hack.task, hack.twin)


def idioms() -> Iterator[Item]:
    """Ordinary ways to read, write, run and end, as programs with input and output."""
    for family in _FAMILIES:
        module = importlib.import_module(f"conformance.idioms.{family}")
        for name, idiom in getattr(module, family.upper()).items():
            if name in _NOT_IN_312 and sys.version_info[:2] == (3, 12):
                continue
            test = StdinTest(idiom.stdin, idiom.stdout, compare="exact")
            limits = LIMITS.with_values(idiom.limits)
            yield Item(name, RIGHT, f"idioms: {family}", Task(name, "p", (test,), limits=limits), idiom.code)


def references(path: Path) -> Iterator[Item]:
    """HumanEval's solutions."""
    for task in load_suite(path):
        # The reference is a body; with its prompt it is a program that every grader can take.
        yield Item(task.id, RIGHT, "HumanEval's references", task, f"{task.prompt}{task.reference}")


def slow_programs() -> Iterator[Item]:
    """Right programs that compute for parts of a second, one to each amount and form of test."""
    for tenths in (2, 5, 10, 15):
        # About 0.1 s of CPU time for each 1.5 million rounds on a machine of 2025; nothing rests on how much exactly.
        rounds = tenths * 1_500_000
        loop = f"    total = 0\n    for number in range({rounds}):\n        total += number & 1\n"
        call = f"def add(a, b):\n{loop}    return a + b + total - total\n"
        read = f"def main():\n{loop}    print(sum(map(int, input().split())) + total - total)\n\nmain()\n"
        check = AssertTest("assert add(1, 2) == 3")
        label = f"{tenths / 10} s of computing"
        for form, test, code in (
            ("assert", check, call),
            ("call", CallTest((1, 2), {}, 3), call),
            ("stdin", StdinTest("1 2\n", "3\n"), read),
        ):
            task = Task(f"slow-{tenths}-{form}", "p", (test,), None if form == "stdin" else "add", limits=LIMITS)
            yield Item(f"{label}, {form}", RIGHT, "up to 1.5 s of computing", task, code, tenths / 10)


def material(humaneval: Path | None, most: int | None = None) -> list[Item]:
    """All programs, or at most so many of each kind."""
    everything = [*attacks(), *wrong_answers(), *twins(), *idioms(), *slow_programs()]
    if humaneval is not None:
        everything += references(humaneval)
    names = [item.name for item in everything]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"programs of the same name: {sorted(repeated)}")
    return everything if most is None else list(first_of_each_kind(everything, most))


def first_of_each_kind(items: Iterable[Item], most: int) -> Iterator[Item]:
    """At most so many items of each kind."""
    taken: dict[tuple[str, str], int] = {}
    for item in items:
        taken[item.group, item.kind] = taken.get((item.group, item.kind), 0) + 1
        if taken[item.group, item.kind] <= most:
            yield item


def _hacks() -> list[Any]:
    # By its name, as the tests have no types for mypy to find.
    found: list[Any] = importlib.import_module("adversarial.loading").hacks()
    return found


def _once(tasks: Iterable[Task]) -> list[Task]:
    return list({id(task): task for task in tasks}.values())
