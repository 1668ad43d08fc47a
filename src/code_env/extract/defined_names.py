"""Finds the names that code defines, from its lines alone, without parsing."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence

_KEYWORDS = (
    r"(?:export[ \t]++)?(?:default[ \t]++)?(?:async[ \t]++)?"
    r"(?:(?:def|class|const|let|var)[ \t]++|function(?:[ \t]++\*?|\*)[ \t]*+)"
)

_BASH_FUNCTION = r"\(\)(?=\s*+[{(])"  # Without a body it is a call in other languages.

_DEFINED = re.compile(
    rf"^(?:{_KEYWORDS}(?P<name>\w+)|(?P<assigned>\w+)[ \t]*+(?:{_BASH_FUNCTION}|(?::[^=\n]{{0,99}})?=(?!=))"
    r"|(?:import|from)\b(?P<imported>[^\n]*))",
    re.MULTILINE,
)
_EXECUTED = re.compile(
    r"^(?![ \t\r\n)\]}#@]|//|/\*|[\"']{3}|\Z)"
    rf"(?!{_KEYWORDS}|(?:import|from)\b|\w+[ \t]*\(\)[ \t]*\{{|[A-Z_]\w*[ \t]*(?::[^=\n]{{0,99}})?=(?!=)"
    r"|\w+[ \t]*(?::[^=\n]{0,99})?=(?!=)[^(\n]*$)",
    re.MULTILINE,
)
"""A line without indentation that does more than define a name."""

_WORD = re.compile(r"\w+")


def definition_of(entry_point: str | None) -> Callable[[str], bool]:
    """Return a function that tells whether code defines an entry point; always False without an entry point.

    Example:
        >>> defines = definition_of("add")
        >>> defines("x = 1\\ndef add(a, b): ..."), defines("const add = (a, b) => a + b"), defines("add(1, 2)")
        (True, True, False)
    """
    if not entry_point:
        return lambda code: False
    pattern = _definition(entry_point)
    return lambda code: pattern.search(code) is not None


def before_definition(code: str, entry_point: str) -> str:
    """Return the code before the last definition of an entry point; all of it if it does not define the entry point.

    Example:
        >>> before_definition("let one = 1;\\nconst add = (a, b) => {\\n", "add")
        'let one = 1;\\n'
    """
    end = len(code)
    for found in _definition(entry_point).finditer(code):
        end = found.start()
    return code[:end]


@functools.lru_cache(maxsize=1024)
def _definition(entry_point: str) -> re.Pattern[str]:
    name = re.escape(entry_point.rpartition(".")[2])
    return re.compile(
        rf"^[ \t]*+(?:{_KEYWORDS}{name}(?!\w)"
        rf"|(?:(?:module\.)?exports\.|this\.|window\.)?{name}[ \t]*+(?:{_BASH_FUNCTION}|(?::[^=\n]*)?=(?!=)))",
        re.MULTILINE,
    )


def with_definitions_before(codes: Sequence[str], index: int, language: str) -> str:
    """Return the code at an index, after the earlier codes that define names which it uses but does not define.

    An earlier code is taken only if it contains nothing but definitions: other lines, for example a call, can fail.
    """
    code = codes[index]
    if index == 0:
        return code
    wanted, defined = set(_WORD.findall(code)), defined_names(code)
    taken = [code]
    for before in reversed(codes[:index]):
        names = defined_names(before)
        if not (names - defined) & wanted or _EXECUTED.search(before) is not None:
            continue
        if language == "javascript" and names & defined:  # JavaScript does not allow to define a name twice.
            continue
        taken.append(before if before.endswith("\n") else f"{before}\n")
        wanted |= set(_WORD.findall(before))
        defined |= names
    return "".join(reversed(taken))


def defined_names(code: str) -> set[str]:
    """Return the names that code defines on lines without indentation."""
    names: set[str] = set()
    for found in _DEFINED.finditer(code):
        if found["imported"] is not None:
            names.update(_WORD.findall(found["imported"]))
        else:
            names.add(found["name"] or found["assigned"])
    return names - {"import", "as", "from"}
