"""Stocks: what servers have loaded, and from which server a program is forked.

Each fork copies everything that a server holds: page tables, mappings of libraries. So a program that needs little is
forked from a server that holds little. This takes a third less time than a fork of a server that has loaded everything.
A search in the program's text finds its imports. A wrong guess costs only time: the program imports a missing module
itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from code_env.executors.program import Program
from code_env.languages import PYTHON


class Stock(NamedTuple):
    """The modules that a server has loaded, and the language of its programs."""

    modules: tuple[str, ...]
    """Modules, in addition to those that the harness needs."""
    judges: bool
    """Whether it also has the judge's half of the harness, for peers and for suites that run beside a program."""
    sessions: bool = False
    """Whether its workers serve sessions instead of programs."""
    language: str = PYTHON.name
    """Language of the programs that it starts. If it is not Python, these programs can also read its interpreter."""
    environment: str = ""
    """Name of the environment whose packages its programs find (`code_env.packages`); empty for those of the executor's
    interpreter."""
    image: str = ""
    """The image that its programs run in, as they name it; empty for this machine's files."""

    @property
    def is_apart(self) -> bool:
        """Whether its programs have packages or an image of their own. Of such servers only some are kept."""
        return bool(self.environment or self.image)

    @property
    def is_heavy(self) -> bool:
        """Whether some of its modules take long to import."""
        return not set(self.modules).issubset(COMMON_MODULES)


LEAN_MODULES = (
    *("bisect", "collections", "collections.abc", "contextlib", "copy", "encodings.utf_8_sig", "enum", "functools"),
    *("heapq", "itertools", "json", "keyword", "math", "operator", "os", "re", "string", "struct", "sys", "textwrap"),
    *("time", "traceback", "types", "typing", "warnings", "weakref"),
)
"""Modules that most short programs import, and modules that the harness needs anyway."""

COMMON_MODULES = (
    *LEAN_MODULES,
    *("abc", "array", "ast", "base64", "calendar", "cmath", "csv", "dataclasses", "datetime", "decimal", "fractions"),
    *("hashlib", "inspect", "io", "logging", "numbers", "pathlib", "queue", "random", "statistics", "tempfile"),
    *("threading", "unicodedata", "urllib.parse", "zlib"),
)
"""Modules that programs commonly import. A program must import all other modules itself, which takes time."""

LEAN = Stock(LEAN_MODULES, judges=False)
COMMON = Stock(COMMON_MODULES, judges=True)
SESSIONS = Stock(COMMON_MODULES, judges=False, sessions=True)

_ALWAYS_THERE = frozenset(("__future__", "abc", "atexit", "builtins", "errno", "gc", "io", "signal", "stat"))
_IN_LEAN = _ALWAYS_THERE | {name.partition(".")[0] for name in LEAN_MODULES}

_IMPORT = re.compile(r"(?:^|[\n;:])[ \t]*(?:import[ \t]+([^\n;#]+)|from[ \t]+([\w.]+)[ \t]+import\b)")
_DYNAMIC = re.compile(r"__import__|importlib|\bexec\b|\beval\b")


def stock_for(program: Program, heavy: Iterable[str]) -> Stock:
    """Return the stock of the server from which to fork a program.

    Args:
        program: The program.
        heavy: Modules that take long to import; the stock has those that the program names.
    """
    if program.language != PYTHON.name:
        return LEAN._replace(language=program.language)
    named = tuple(name for name in heavy if name in program.code or name in program.imports)
    stock = LEAN if _needs_little(program, named) else COMMON
    return stock._replace(modules=(*stock.modules, *named)) if named else stock


def _needs_little(program: Program, beside: tuple[str, ...]) -> bool:
    """Return whether a program seems to import only modules of the lean server and the modules in `beside`."""
    if _DYNAMIC.search(program.code) or any(str(name).endswith(".py") for name in program.files):
        return False
    return _IN_LEAN.union(beside).issuperset((*imported(program.code), *program.imports))


def imported(code: str) -> list[str]:
    """Return the names of top-level modules that a text seems to import. It searches the text, and does not parse it.

    >>> imported("import os.path as p, sys\\nfrom typing import List")
    ['os', 'sys', 'typing']
    """
    names = []
    for several, one in _IMPORT.findall(code):
        for name in (one or several).split(","):
            words = name.split() or [""]
            names.append(words[0].partition(".")[0])
    return [name for name in names if name]
