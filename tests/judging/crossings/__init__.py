"""Reads the pairs of honest and wrong answers in the files beside this one.

A file is a sequence of blocks, each with tests, a right answer to them, and any number of wrong ones:

    #### name of the idiom
    code of an `assert` test
    ==== right
    a program that passes
    ==== wrong: what is wrong with it
    a program that must not pass

`---- call` as the first line of the tests makes each `assert f(1) == 2` of them a `call` test.
"""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from code_env import AssertTest, CallTest, Limits, Task

LIMITS = Limits(cpu_s=2, wall_s=10)


@dataclass(frozen=True)
class Crossing:
    """An idiom: the tests, what passes them, and what does not."""

    name: str
    tests: str
    right: str
    wrong: dict[str, str]
    is_call: bool

    @property
    def task(self) -> Task:
        """The tests as a task, judged blind."""
        if not self.is_call:
            return Task(self.name, "p", (AssertTest(self.tests),), limits=LIMITS)
        calls = [statement.test for statement in ast.parse(self.tests).body]
        literal = ast.literal_eval
        tests = tuple(CallTest(tuple(map(literal, c.left.args)), {}, literal(c.comparators[0])) for c in calls)
        return Task(self.name, "p", tests, entry_point=calls[0].left.func.id, limits=LIMITS)


def crossings() -> list[Crossing]:
    """All of them."""
    found = [one for path in sorted(Path(__file__).parent.glob("*.txt")) for one in read(path)]
    names = [one.name for one in found]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"names that occur twice: {sorted(doubled)}")
    return found


def read(path: Path) -> list[Crossing]:
    before, *blocks = re.split(r"(?m)^#### ", path.read_text(encoding="utf-8"))
    if before.strip():
        raise ValueError(f"{path}: there is text before the first header")
    found = []
    for block in blocks:
        name, _, rest = block.partition("\n")
        tests, *answers = re.split(r"(?m)^==== ", rest)
        titled = dict(answer.split("\n", 1) for answer in answers)
        wrong = {title.removeprefix("wrong: "): code for title, code in titled.items() if title.startswith("wrong: ")}
        if "right" not in titled or len(wrong) + 1 != len(answers):
            raise ValueError(f"{path}: {name!r} needs one right answer, and wrong ones with a title of their own")
        is_call = tests.startswith("---- call\n")
        found.append(Crossing(name, tests.removeprefix("---- call\n"), titled["right"], wrong, is_call))
    return found
