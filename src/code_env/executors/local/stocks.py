"""What servers have loaded, and which of them a program is forked from.

All that a server holds is copied with each fork: page tables, mappings of libraries. A program that needs little is
therefore forked from a server that holds little, which takes a third less than to fork it from one that has
everything at hand. What it imports is looked for in its text, and if that is a wrong guess it costs time and nothing
else: a module that is not there is imported by the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from code_env.executors.program import Program
from code_env.languages import PYTHON


class Stock(NamedTuple):
    """What a server has loaded."""

    modules: tuple[str, ...]
    """Modules, beside what the harness needs."""
    judges: bool
    """Whether it has the judge's half of the harness as well, for peers and for suites that run beside a program."""
    language: str = PYTHON.name
    """Language of the programs that it starts; one that is not Python has its interpreter in view."""

    @property
    def is_heavy(self) -> bool:
        """Whether there are modules among them that take long to import."""
        return not set(self.modules).issubset(COMMON_MODULES)


LEAN_MODULES = (
    *("bisect", "collections", "collections.abc", "contextlib", "copy", "encodings.utf_8_sig", "enum", "functools"),
    *("heapq", "itertools", "json", "keyword", "math", "operator", "os", "re", "string", "struct", "sys", "textwrap"),
    *("time", "traceback", "types", "typing", "warnings", "weakref"),
)
"""What most short programs import, and what the harness needs anyway."""

COMMON_MODULES = (
    *LEAN_MODULES,
    *("abc", "array", "ast", "base64", "calendar", "cmath", "csv", "dataclasses", "datetime", "decimal", "fractions"),
    *("hashlib", "inspect", "io", "logging", "numbers", "pathlib", "queue", "random", "statistics", "tempfile"),
    *("threading", "unicodedata", "urllib.parse", "zlib"),
)
"""What programs commonly import; a module that a program is the first to import costs it its import."""

LEAN = Stock(LEAN_MODULES, judges=False)
COMMON = Stock(COMMON_MODULES, judges=True)

_ALWAYS_THERE = frozenset(("__future__", "abc", "atexit", "builtins", "errno", "gc", "io", "signal", "stat"))
_IN_LEAN = _ALWAYS_THERE | {name.partition(".")[0] for name in LEAN_MODULES}

_IMPORT = re.compile(r"(?:^|[\n;:])[ \t]*(?:import[ \t]+([^\n;#]+)|from[ \t]+([\w.]+)[ \t]+import\b)")
_DYNAMIC = re.compile(r"__import__|importlib|\bexec\b|\beval\b")


def stock_for(program: Program, heavy: Iterable[str]) -> Stock:
    """What the server shall have loaded from which a program is forked.

    Args:
        program: The program.
        heavy: Modules that take long to import; a server has them if the program names them.
    """
    if program.language != PYTHON.name:
        return LEAN._replace(language=program.language)
    named = tuple(name for name in heavy if name in program.code or name in program.imports)
    stock = LEAN if _needs_little(program, named) else COMMON
    return Stock((*stock.modules, *named), stock.judges) if named else stock


def _needs_little(program: Program, beside: tuple[str, ...]) -> bool:
    """Whether a program seems to import nothing but what the lean server has, and some modules beside."""
    if _DYNAMIC.search(program.code) or any(str(name).endswith(".py") for name in program.files):
        return False
    return _IN_LEAN.union(beside).issuperset((*imported(program.code), *program.imports))


def imported(code: str) -> list[str]:
    """Names of top-level modules that a text seems to import: a search, no parse.

    >>> imported("import os.path as p, sys\\nfrom typing import List")
    ['os', 'sys', 'typing']
    """
    names = []
    for several, one in _IMPORT.findall(code):
        for name in (one or several).split(","):
            words = name.split() or [""]
            names.append(words[0].partition(".")[0])
    return [name for name in names if name]
