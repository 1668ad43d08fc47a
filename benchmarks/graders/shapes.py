"""The same tests in the forms that graders take: a `check` function, calls with expected values, inputs and outputs.

A form states the whole test or nothing: where a task cannot be put into the form that a grader takes, the answer is not
given to that grader and counts neither for nor against it.
"""

from __future__ import annotations

import ast
import json
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from code_env import AssertTest, CallTest, OutputTest, StdinTest, Task

Form = dict[str, Any]
"""A test as JSON; `form` has its name, and the driver hands the rest to the grader."""


def check(task: Task) -> Form | None:
    """HumanEval's form: a text that defines `check(candidate)`."""
    name = task.entry_point
    # A dotted name is a method; the format knows functions only.
    if name is None or "." in name:
        return None
    if all(isinstance(test, CallTest) for test in task.tests):
        lines = [_as_assert(test) for test in task.tests if isinstance(test, CallTest)]
        known = [line for line in lines if line is not None]
        if len(known) < len(lines):
            return None
        return {"form": "check", "test": _defined("\n".join(known)), "entry_point": name}
    (test,) = task.tests if len(task.tests) == 1 else (None,)
    # Classes of unittest need a runner, which the format has not.
    if not isinstance(test, AssertTest) or "unittest" in test.code:
        return None
    text = test.code if "def check(" in test.code else _defined(test.code)
    return {"form": "check", "test": text, "entry_point": name}


def calls(task: Task) -> Form | None:
    """Arguments and expected values, as Python's literals: evalplus compares values of any builtin type."""
    found = _calls(task)
    if found is None:
        return None
    inputs, expected, tolerance = found
    form = {"form": "calls", "inputs": repr(inputs), "expected": repr(expected), "tolerance": tolerance}
    return form | {"entry_point": task.entry_point}


def json_calls(task: Task) -> Form | None:
    """Arguments and expected values as JSON, an argument a line: APPS's form, and LiveCodeBench's `functional`."""
    found = _calls(task)
    if found is None or found[2]:
        return None
    inputs, expected, _ = found
    if not inputs or not all(inputs) or not _survives_json(inputs) or not _survives_json(expected):
        return None
    lines = ["\n".join(map(json.dumps, arguments)) for arguments in inputs]
    return {"form": "json", "inputs": lines, "outputs": [*map(json.dumps, expected)], "entry_point": task.entry_point}


def stdio(task: Task) -> Form | None:
    """Inputs and the outputs to them; only tests that compare text, as these graders know no tolerance."""
    pairs = []
    for test in task.tests:
        if isinstance(test, StdinTest) and test.compare.rule != "numbers":  # type: ignore[union-attr]
            pairs.append((test.stdin, test.stdout))
        elif isinstance(test, OutputTest):
            pairs.append(("", test.expected))
        else:
            return None
    return {"form": "stdio", "inputs": [given for given, _ in pairs], "outputs": [text for _, text in pairs]}


FORMS: dict[str, Callable[[Task], Form | None]] = {
    "check": check,
    "calls": calls,
    "json": json_calls,
    "stdio": stdio,
}


def first_form(task: Task, names: Sequence[str]) -> Form | None:
    """The task in the first of some forms that can hold it."""
    return next((form for name in names if (form := FORMS[name](task)) is not None), None)


def _defined(code: str) -> str:
    return "def check(candidate):\n" + textwrap.indent(code.strip() + "\n", "    ")


def _as_assert(test: CallTest) -> str | None:
    given = [*map(repr, test.args), *(f"{name}={value!r}" for name, value in test.kwargs.items())]
    call, expected = f"candidate({', '.join(given)})", repr(test.expected)
    rules = {
        "equal": f"assert {call} == {expected}",
        "close": f"assert abs({call} - {expected}) < 1e-6",
        "unordered": f"assert sorted({call}) == sorted({expected})",
    }
    return rules.get(test.compare.rule)  # type: ignore[union-attr]


def _calls(task: Task) -> tuple[list[list[Any]], list[Any], bool] | None:
    """Arguments, expected values, and whether they are compared with a tolerance; None if that is not all."""
    if task.entry_point is None or "." in task.entry_point:
        return None
    inputs, expected, rules = [], [], set()
    for test in task.tests:
        if isinstance(test, CallTest) and not test.kwargs:
            rules.add(test.compare.rule)  # type: ignore[union-attr]
            inputs.append(list(test.args))
            expected.append(test.expected)
        elif isinstance(test, AssertTest) and (literal := _literal_asserts(test.code, task.entry_point)) is not None:
            rules.add("equal")
            inputs += [given for given, _ in literal]
            expected += [value for _, value in literal]
        else:
            return None
    if rules not in ({"equal"}, {"close"}):
        return None
    return inputs, expected, rules == {"close"}


def _literal_asserts(code: str, entry_point: str) -> list[tuple[list[Any], Any]] | None:
    """Arguments and values of `assert f(literals) == literal`, if a text or its `check` asserts nothing else."""
    body = ast.parse(code).body
    functions = [one for one in body if isinstance(one, ast.FunctionDef) and one.name == "check"]
    statements = functions[0].body if functions else body
    found = []
    for statement in statements:
        match statement:
            case ast.Expr(ast.Constant()) | ast.Assert(ast.Constant()):  # A comment, or `assert True`.
                pass
            case ast.Assert(ast.Compare(ast.Call(ast.Name(name), arguments, []), [ast.Eq()], [value])):
                try:
                    given, wanted = [ast.literal_eval(one) for one in arguments], ast.literal_eval(value)
                except ValueError:
                    return None
                if name not in ("candidate", entry_point):
                    return None
                found.append((given, wanted))
            case _:
                return None
    return found or None


def _survives_json(value: Any) -> bool:
    try:
        return repr(json.loads(json.dumps(value))) == repr(value)
    except (TypeError, ValueError):
        return False
