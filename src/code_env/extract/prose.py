"""Finds text that is certainly not code. Text that might be code is run, and fails if it is not code."""

from __future__ import annotations

import re

_FIRST_LINE = re.compile(r"^[ \t]*+(?![\s#])[^\n]{1,300}", re.MULTILINE)
_SENTENCE = re.compile(
    r"""(?:\*\*|[-*][ ]|\d{1,3}[.)][ ])?            # Bold, or a list item.
        (?:[A-Z][\w'’]*|i|i'm|sorry|sure|here|the|this|we|you|unfortunately|okay)
        (?:,?(?:[ ]\*{0,2}[\w'’]+\*{0,2},?){2}(?:[ ][^=]|[.:!?]|$)|(?:,?[ ][\w'’]+){0,40}[.!?]$)""",
    re.VERBOSE,
)
_HEADING = re.compile(r"\*\*[^*=]{1,200}\*\*|[^\W\d_][\w ,'’*-]{0,200}[:：]\**\s*$")
_COMPOUND = re.compile(r"(?:def|class|if|elif|else|for|while|with|try|except|finally|match|case|async|default)\b")
_LITERAL = re.compile(r"""["'][^"'\\\n]*["']|[^\w$@;|&<>=!/]*\d[\d\s.,_:()\[\]{}+-]*|\.{3}|…""")
_CONSTANTS = frozenset(("True", "False", "None", "null", "undefined", "Yes", "No"))
_COMMANDS = re.compile(r"\$ |(?:python3?|pip3?|node|npm|npx|bash|sh|chmod|cd|cat|echo) [\w./<|-]")


def is_prose(text: str) -> bool:
    """Return whether the first line of a text that is not a comment is certainly a sentence or a heading.

    Example:
        >>> is_prose("Here is the code:\\nx = 1"), is_prose("x = 1\\n# That is all.")
        (True, False)
    """
    first = _FIRST_LINE.search(text)
    if first is None:
        return False
    line = first[0].strip()
    if _SENTENCE.match(line):
        return True
    if _HEADING.match(line):
        return _COMPOUND.match(line) is None
    # A sentence in a writing system without spaces between words, such as Chinese.
    return line[0] > "\u2e80" and line[0].isalpha() and not any(mark in line for mark in "=(")


def is_no_code(text: str) -> bool:
    """Return whether a text is certainly not a program: it is prose, or only a value that is not used.

    Example:
        >>> [is_no_code(text) for text in ("42", "'No.'", "I cannot do that.", "print(42)", "pass")]
        [True, True, True, False, False]
    """
    stripped = text.strip()
    if _LITERAL.fullmatch(stripped) or stripped in _CONSTANTS:
        return True
    return is_prose(text)


def runs_a_program(code: str, language: str) -> bool:
    """Return whether code only shows how to run a program.

    Each line is then a shell command; in bash, it is a command that names a script.

    Example:
        >>> runs_a_program("echo 1 2 | python sum.py", "python"), runs_a_program("read -r a b", "bash")
        (True, False)
    """
    lines = [line.strip() for line in code.split("\n") if line.strip() and not line.startswith("#")]
    if language == "bash":
        return bool(lines) and all(map(_runs_a_script, lines))
    return bool(lines) and all(map(_COMMANDS.match, lines))


def _runs_a_script(line: str) -> bool:
    return line.startswith(("./", "chmod ")) or "| ./" in line or (".sh" in line and "sh " in line)
