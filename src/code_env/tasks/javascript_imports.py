"""Makes test code in JavaScript that begins as a module does a script, which runs beside the answer.

What a script cannot begin with is put in another form on the same line: `#!` as a comment, and `import` statements as
calls of `require`. They must come before all else. `import(...)` may stand anywhere; see `javascript.py`.
"""

from __future__ import annotations

import re

_BETWEEN = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|;|(['\"])use strict\1)+", re.DOTALL)
_NAMES = r"(?:(?P<whole>[\w$]+)\s*(?:,\s*)?)?(?:\*\s*as\s+(?P<all>[\w$]+)|\{(?P<parts>[^{}]*)\})?"
_IMPORT = re.compile(
    rf"import\b\s*(?:{_NAMES}\s*\bfrom\b\s*)?(?P<module>'[^'\n]*'|\"[^\"\n]*\")(?=[ \t]*(?:;|//|\n|\Z))"
)
_DEFAULT = re.compile(r"\bdefault: ([\w$]+)\s*,?")


def as_script(code: str) -> str:
    """Return the code as a script.

    Example:
        >>> as_script("import assert, { equal as same } from 'node:assert';")
        "const assert = require('node:assert'), { equal: same } = require('node:assert');"
    """
    if code.startswith("#!"):
        code = f"//{code[2:]}"
    pieces: list[str] = []
    position = 0
    while True:
        between = _BETWEEN.match(code, position)
        if between is not None:
            pieces.append(between[0])
            position = between.end()
        found = _IMPORT.match(code, position)
        if found is None:
            return "".join([*pieces, code[position:]])
        pieces.append(_required(found))
        position = found.end()


def _required(found: re.Match[str]) -> str:
    """The statement in place of an `import` statement, with as many lines."""
    module = f"require({found['module']})"
    bound = [name for name in (found["whole"], found["all"]) if name]
    if found["parts"] is not None:
        parts = re.sub(r"\s+as\s+", ": ", found["parts"])
        # A module of Node is its own `default`.
        bound += _DEFAULT.findall(parts)
        bound.append("{" + _DEFAULT.sub("", parts) + "}")
    text = f"const {', '.join(f'{name} = {module}' for name in bound)}" if bound else module
    return text + "\n" * (found[0].count("\n") - text.count("\n"))
