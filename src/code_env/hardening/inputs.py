"""Makes inputs for a task: those of its tests, and others that resemble them, within the domain that these show."""

from __future__ import annotations

import ast
import dataclasses
import random
import re
from typing import Any, NamedTuple

from code_env.errors import TaskError
from code_env.executors.base import Executor
from code_env.harness.judge.nodes import parse
from code_env.judging.judge import judge
from code_env.tasks.kinds import StdinTest
from code_env.tasks.task import Task

from .domain import Domain
from .lines import Counts
from .table import SHOWN_CHARS, Outcome, calls, run_tables

POOL = 300
"""How many inputs are made for a task."""

_MORE = 4
"""Where a task states its domain, how many times as many inputs are drawn: the others are sorted out."""

_LARGER = 20
"""How many more inputs are made that are much larger than those of the tests."""

TEST_CHARS = 3000
"""The longest value, as text, that becomes a test, and the longest of the larger inputs."""

_TRIES = 20
"""How many inputs are drawn at most for one that is taken."""

_MOST_CHARS = 20_000
"""The longest input that is varied, as text."""

_MOST_DIGITS = 4000
"""The longest number in a text that is varied as a number: Python reads no longer ones."""

_MARK = "code_env input: "

_RECORDER = """

def _code_env_recorded(function):
    import functools
    @functools.wraps(function)
    def recorded(*args, **kwargs):
        print({mark!r} + repr((args, kwargs)), flush=True)
        return function(*args, **kwargs)
    return recorded

{name} = _code_env_recorded({name})
"""

_NUMBER = re.compile(r"-?\d+")


class TriedInput(NamedTuple):
    """An input on which the reference of a task answers."""

    text: str
    """For a function `repr((args, kwargs))`, for a program its standard input."""
    outcome: Outcome
    """What the reference made of it, twice."""
    of_tests: bool
    """Whether a test of the task gives it too."""


def inputs_of(
    task: Task, executor: Executor, seed: int = 0, count: int = POOL, shown_chars: int = SHOWN_CHARS
) -> list[TriedInput]:
    """Make inputs on which the reference of a task answers, with what it answers.

    They resemble the inputs of the tests, and lie within the domain that these and the statement show. A few have one
    argument that is up to a thousand times as large. A function's task can state its domain instead:
    `metadata["requires"]` is a condition on the parameters of its reference, such as `n > 1`.

    Args:
        task: A task in Python with a reference.
        executor: Where the reference runs.
        seed: The same seed gives the same inputs.
        count: How many inputs there are at most, without the larger ones.
        shown_chars: Of an outcome, how much is kept as text.

    Raises:
        TaskError: If the stated domain is no condition on the parameters of the reference.
    """
    stated = _condition(task)
    seeds = _seeds(task, executor)
    draw = random.Random(f"{seed} {task.id}")
    values = [(_arguments(seed) or ((), {})) if calls(task) else ((*_parts(seed),), {}) for seed in seeds]
    domain = Domain([args for args, _ in values], task.prompt, _parameters(task)) if stated is None else None
    near = _around(seeds, values, count if stated is None else _MORE * count, draw, domain, calls(task))
    larger = set(_larger(values, draw, domain) if calls(task) else ()) - set(near)
    drawn = [*near, *sorted(larger)]
    program = task.program(task.reference or "")
    programs = [program, program, *([stated] if stated is not None else [])]
    tables = [table for table in run_tables(task, programs, drawn, executor, shown_chars) if table is not None]
    if len(tables) < len(programs):
        return []
    allowed = tables.pop() if stated is not None else None
    if allowed and not any(outcome.answers for outcome in allowed):
        raise _no_condition(task, f"it fails for each input, the first time with {allowed[0].text}")
    once, again = tables
    tried = [
        TriedInput(text, outcome, text in seeds)
        for place, (text, outcome, other) in enumerate(zip(drawn, once, again, strict=True))
        if outcome.answers and outcome == other
        if text in seeds or allowed is None or allowed[place].text == "True"
    ]
    return [*[one for one in tried if one.text not in larger][:count], *[one for one in tried if one.text in larger]]


def _condition(task: Task) -> str | None:
    """A program whose entry point says whether arguments lie in the domain that a task states; None without one."""
    requires = task.metadata.get("requires")
    if requires is None:
        return None
    reference = task.program(task.reference or "")
    try:
        ast.parse(requires, mode="eval")
        arguments = ast.unparse(_without_annotations(_arguments_of(reference, task.entry_point)))
    except (SyntaxError, TypeError, ValueError) as error:
        raise _no_condition(task, error) from None
    return f"{reference}\n\ndef {task.entry_point}({arguments}):\n    return bool({requires})\n"


def _parameters(task: Task) -> list[str]:
    """The names of the reference's parameters; none where it is no function that is defined at the top level."""
    try:
        arguments = _arguments_of(task.program(task.reference or ""), task.entry_point)
    except (SyntaxError, ValueError):
        return []
    return [one.arg for one in (*arguments.posonlyargs, *arguments.args)]


def _arguments_of(program: str, name: str | None) -> ast.arguments:
    """The parameters of a function of a program.

    Raises:
        ValueError: If there is no such function.
    """
    functions = [node for node in parse(program).body if isinstance(node, ast.FunctionDef)]
    (*_, function) = (node for node in functions if node.name == name)
    return function.args


def _no_condition(task: Task, why: object) -> TaskError:
    return TaskError(
        f"task {task.id!r}: metadata['requires'] is a condition on the parameters of the function "
        f"{task.entry_point!r}, as Python writes it, such as 'n > 1'; got {task.metadata['requires']!r:.100}: {why}"
    )


def _without_annotations(arguments: ast.arguments) -> ast.arguments:
    for one in ast.walk(arguments):
        if isinstance(one, ast.arg):
            one.annotation = None
    return arguments


def _seeds(task: Task, executor: Executor) -> list[str]:
    """The inputs that the tests of a task give to an answer."""
    if not calls(task):
        return list(dict.fromkeys(test.stdin if isinstance(test, StdinTest) else "" for test in task.tests))
    # A function in an answer may be async, or be no function at all. Then nothing is recorded, or the tests fail.
    recording = (task.reference or "") + _RECORDER.format(mark=_MARK, name=task.entry_point)
    limits = dataclasses.replace(task.limits, output_bytes=4 << 20)
    told = judge(dataclasses.replace(task, limits=limits), recording, executor).execution.stdout
    found = [line.partition(_MARK)[2] for line in told.splitlines() if _MARK in line]
    return list(dict.fromkeys(text for text in found if _arguments(text) is not None))


def _arguments(text: str) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of a recorded call; None if a literal cannot express them."""
    if len(text) > _MOST_CHARS:
        return None
    try:
        args, kwargs = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return args, kwargs


def _literal(value: Any) -> str:
    """The text of plain data, in which the order of a set's elements does not depend on their hashes."""
    match value:
        case set() if value:
            return ", ".join(sorted(map(_literal, value))).join("{}")
        case list():
            return ", ".join(map(_literal, value)).join("[]")
        case tuple():
            return (", ".join(map(_literal, value)) + ("," if len(value) == 1 else "")).join("()")
        case dict():
            return ", ".join(f"{_literal(key)}: {_literal(item)}" for key, item in value.items()).join("{}")
    return repr(value)


_Call = tuple[tuple[Any, ...], dict[str, Any]]


def _around(
    seeds: list[str], values: list[_Call], count: int, draw: random.Random, domain: Domain | None, is_call: bool
) -> list[str]:
    """The seeds, and inputs made from them by small changes; within a domain, if one is given."""
    if not any(seeds):  # There are none, or the program reads nothing.
        return seeds
    found = dict.fromkeys(seeds)
    counts = Counts([] if is_call else seeds)
    for _ in range(count * _TRIES):
        if len(found) >= count:
            break
        args, kwargs = draw.choice(values)
        for _ in range(draw.choice((1, 1, 2, 3))):
            args = _varied_arguments(args, [other for other, _ in values], draw)
        text = _literal((args, kwargs)) if is_call else "".join(map(str, args))
        if domain is None or (domain.allows(args) and counts.allows(text)):
            found[text] = None
    return list(found)[:count]


def _larger(values: list[_Call], draw: random.Random, domain: Domain | None) -> list[str]:
    """Inputs with one argument that is much larger; within a domain but for its sizes, if one is given."""
    found: dict[str, None] = {}
    for _ in range(_LARGER * _TRIES if any(args for args, _ in values) else 0):
        if len(found) >= _LARGER:
            break
        args, kwargs = draw.choice(values)
        if not args:
            continue
        place = draw.randrange(len(args))
        args = (*args[:place], _enlarged(args[place], draw), *args[place + 1 :])
        text = _literal((args, kwargs))
        if len(text) <= TEST_CHARS and (domain is None or domain.allows(args, of_any_size=True)):
            found[text] = None
    return list(found)


def _enlarged(value: Any, draw: random.Random) -> Any:
    """A number or a sequence some times as large, a list perhaps in another order; anything else as it is."""
    factor = draw.choice((3, 10, 30, 100, 1000))
    match value:
        case bool():
            return value
        case int():
            return value * factor + draw.randrange(factor)
        case str() | tuple():
            return value * factor
        case list():
            longer = value * factor
            return draw.sample(longer, len(longer)) if draw.random() < 0.5 else longer
    return value


def _parts(text: str) -> list[Any]:
    """A text as its numbers and what lies between them."""
    numbers = _NUMBER.findall(text)
    between = _NUMBER.split(text)
    if len(text) > _MOST_CHARS or any(len(number) > _MOST_DIGITS or str(int(number)) != number for number in numbers):
        return [text]
    return [part for pair in zip(between, [*map(int, numbers), ""], strict=True) for part in pair]


def _varied_arguments(args: tuple[Any, ...], others: list[tuple[Any, ...]], draw: random.Random) -> tuple[Any, ...]:
    if not args:
        return args
    place = draw.randrange(len(args))
    seen = [other[place] for other in others if place < len(other)]
    new = draw.choice(seen) if draw.random() < 0.15 else _varied(args[place], seen, draw)
    return (*args[:place], new, *args[place + 1 :])


def _varied(value: Any, seen: list[Any], draw: random.Random) -> Any:
    """A value that differs a little from another; `seen` are others that were there in its place."""
    match value:
        case bool():
            return not value
        case int():
            most = max([abs(one) for one in seen if type(one) is int] or [10])
            return draw.choice(
                (value + 1, value - 1, -value, 2 * value, value // 2, 0, 1, draw.randint(-most, 2 * most))
            )
        case float():
            return draw.choice((value + 1, value - 0.5, -value, 2 * value, value / 2, round(value, 1), 0.0))
        case str():
            return _varied_text(value, seen, draw)
        case list() | tuple():
            return type(value)(_varied_items(list(value), seen, draw))
        case set():
            return set(_varied_items(sorted(value, key=repr), seen, draw))
        case dict() if value:
            key = draw.choice(list(value))
            less = {name: item for name, item in value.items() if name != key}
            more = {name: item for one in (*seen, value) if isinstance(one, dict) for name, item in one.items()}
            name = draw.choice(list(more))
            changed = {**value, key: _varied(value[key], list(more.values()), draw)}
            return draw.choice((less, {**value, name: more[name]}, changed, changed))
    return value


def _varied_items(items: list[Any], seen: list[Any], draw: random.Random) -> list[Any]:
    known = [item for one in seen if isinstance(one, list | tuple) for item in one]
    known += [item for one in seen if isinstance(one, set) for item in sorted(one, key=repr)]
    place = draw.randrange(len(items) + 1)
    more = [*items[:place], draw.choice(known), *items[place:]] if known else items
    if not items:
        return more
    place %= len(items)
    changed = [*items[:place], _varied(items[place], known, draw), *items[place + 1 :]]
    match draw.randrange(14):
        case 0:
            return [*items[:place], *items[place + 1 :]]
        case 1 | 2:
            return more
        case 3:
            return items[::-1]
        case 4:
            try:
                return sorted(items)
            except TypeError:
                return changed
        case 5:
            return [*items, items[place]]
        case 6:
            return draw.sample(items, len(items))
    return changed


def _varied_text(text: str, seen: list[Any], draw: random.Random) -> str:
    known = "".join(one for one in seen if isinstance(one, str)) or "a"
    character = draw.choice(known)
    place = draw.randrange(len(text) + 1)
    words = text.split(" ")
    start, end = sorted((draw.randrange(len(text) + 1), place))
    return draw.choice(
        (
            text[:place] + character + text[place:],
            text[:place] + character + text[place:],
            text[:place] + character + text[place + 1 :],
            text[:place] + character + text[place + 1 :],
            text[:place] + text[place + 1 :],
            text[start:end],
            text[:place] + text[place : place + 2][::-1] + text[place + 2 :],
            text[::-1],
            text + text[:place],
            text[: place + 1].swapcase() + text[place + 1 :],
            " ".join(draw.sample(words, len(words))),
            _NUMBER.sub(lambda found: str(int(found[0]) + draw.choice((1, -1, 10))), text, count=1)
            if len(text) < _MOST_DIGITS
            else text,
        )
    )
