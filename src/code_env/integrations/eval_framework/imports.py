"""Finds the modules that a program imports, from its text alone.

A model wrote the program, so it is not parsed here, and it can be of any form and length: each step takes linear time
and cannot fail. Imports in comments and strings are no imports.
"""

from __future__ import annotations

import re

_NO_CODE = re.compile(
    r"""\#[^\n]*
    |\"{3}(?:[^"\\]++|\\.|"(?!""))*+(?:\"{3}|\\?\Z)|'{3}(?:[^'\\]++|\\.|'(?!''))*+(?:'{3}|\\?\Z)
    |"(?:[^"\\\n]++|\\(?:\r\n|.))*+"?|'(?:[^'\\\n]++|\\(?:\r\n|.))*+'?
    |\\\r?\n""",
    re.VERBOSE | re.DOTALL,
)
"""A comment, a string, or the end of a line that goes on in the next."""

_NAME = re.compile(r"[\"'][\w.]+[\"']")

_IMPORT = re.compile(
    r"""(?:^|[;:])[ \t\f]*+
        (?:import[ \t\f]++(?P<several>[\w., \t\f]++)|from[ \t\f]++(?P<one>\w[\w.]*+)[ \t\f]*+import\b)
    |\b(?:__import__|import_module)[ \t]*+\([ \t\n]*+["'](?P<called>\w++)""",
    re.VERBOSE | re.MULTILINE,
)

_FIRST = re.compile(r"(?:^|,)[ \t\f]*+(\w++)")


def imported_names(text: str) -> set[str]:
    """Return the names of the modules that a program imports, without those of submodules.

    Args:
        text: The program.

    Example:
        >>> sorted(imported_names("import os.path, yaml as y  # import json\\ntry: from bs4 import Tag\\nexcept: pass"))
        ['bs4', 'os', 'yaml']
    """
    names: set[str] = set()
    for found in _IMPORT.finditer(_NO_CODE.sub(_short, text)):
        if found["several"]:
            names.update(_FIRST.findall(found["several"]))
        else:
            names.add(found["called"] or found["one"].partition(".")[0])
    return names


def _short(found: re.Match[str]) -> str:
    """What stands for a comment, a string or the end of a line; a string that can name a module stands for itself."""
    if found[0][0] in "\"'":
        return found[0] if _NAME.fullmatch(found[0]) else "''"
    return "" if found[0][0] == "#" else " "
