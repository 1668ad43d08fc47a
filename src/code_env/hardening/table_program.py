"""Runs a program on a table of inputs, in one process; `table.py` sends this file to an executor as a program.

The file `answer.py` holds the program, and `inputs.json` the inputs. The arguments are the name of the function to call
(empty: the program reads standard input and prints), the CPU time for one input in seconds, in which form outcomes are
compared ("as it is", "unordered" or "tokens"), and how many characters of an outcome are shown. For each input a line
is printed: a JSON list of what kind of outcome it was, its text, and a digest of its whole text.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import hashlib
import io
import json
import os
import signal
import sys
from typing import Any

_MOST_SLOW = 3
"""After so many inputs that take too long, the others are not tried."""


class TooSlow(BaseException):
    """An input took too long. No `except Exception` of a program catches it."""


def main() -> None:
    """Run the program on each input, and print the outcomes."""
    entry_point, seconds, form, chars = sys.argv[1], float(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    with open("answer.py", encoding="utf-8") as file:
        code = compile(file.read(), "answer.py", "exec", dont_inherit=True)
    with open("inputs.json", encoding="utf-8") as file:
        inputs: list[str] = json.load(file)
    told = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    signal.signal(signal.SIGVTALRM, _stop)
    function = _load(code)[entry_point] if entry_point else None
    slow = 0
    for text in inputs:
        kind, shown, whole = "slow", "", ""
        if slow < _MOST_SLOW:
            signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
            try:
                kind, shown, whole = _printed(code, text, form) if function is None else _returned(function, text, form)
            except TooSlow:
                slow += 1
            except Exception as error:
                kind, shown = "raises", type(error).__name__
                whole = shown
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        digest = hashlib.blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        print(json.dumps([kind, shown[:chars], digest]), file=told, flush=True)


def _stop(*_: object) -> None:
    raise TooSlow


def _load(code: Any) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "answer"}
    exec(code, names)
    return names


def _returned(function: Any, text: str, form: str) -> tuple[str, str, str]:
    args, kwargs = copy.deepcopy(ast.literal_eval(text))
    with contextlib.suppress(SystemExit):
        result = function(*args, **kwargs)
        # What changes its arguments often returns nothing else.
        told, kind = (result, "returns") if result is not None else ([None, *args], "changes")
        return kind, repr(told), _canonical(told, form)
    return "raises", "SystemExit", "SystemExit"


def _printed(code: Any, text: str, form: str) -> tuple[str, str, str]:
    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    try:
        with contextlib.suppress(SystemExit):
            exec(code, {"__name__": "__main__"})
        sys.stdout.flush()
        lines = sys.stdout.buffer.getvalue().decode("utf-8", "replace").split("\n")
    finally:
        sys.stdin, sys.stdout = sys.__stdin__, sys.__stdout__
    told = "\n".join(line.rstrip() for line in lines).rstrip("\n")
    if form == "tokens":
        return "prints", told, " ".join(told.split())
    return "prints", told, "\n".join(sorted(told.split("\n"))) if form == "unordered" else told


def _canonical(value: Any, form: str) -> str:
    """The text of a value, the same for values that tests take for equal."""
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() else f"{value:.9g}"
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, list | tuple):
        inside = [_canonical(one, form) for one in value]
        return ", ".join(sorted(inside) if form == "unordered" else inside).join("[]" if type(value) is list else "()")
    if isinstance(value, set | frozenset):
        return ", ".join(sorted(_canonical(one, form) for one in value)).join("{}")
    if isinstance(value, dict):
        items = [f"{_canonical(key, form)}: {_canonical(item, form)}" for key, item in value.items()]
        return ", ".join(sorted(items)).join("{}")
    if isinstance(value, str | bytes | complex) or value is None:
        return repr(value)
    return f"<{type(value).__name__}>"


if __name__ == "__main__":
    main()
