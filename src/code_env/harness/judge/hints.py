"""Names the mode that works, for exceptions that tests meet because the program runs in another process.

Python raises these exceptions by itself, with texts that say nothing of a mode.
"""

from __future__ import annotations

_WORKS = 'judge="shared" allows it'

_TEXTS = {
    "called match pattern must be a type": f"the program's classes are in its own process; {_WORKS}",  # Python 3.11
    "called match pattern must be a class": f"the program's classes are in its own process; {_WORKS}",
    "must be called with a dataclass type or instance": f"the program's classes are in its own process; {_WORKS}",
    "exceptions must derive from BaseException": f"the program's objects are in its own process; {_WORKS}",
    "catching classes that do not inherit from BaseException is not allowed": (
        f"of the program's classes, only those that derive from Exception can be caught; {_WORKS}"
    ),
    "EOF when reading a line": f"the tests cannot give the program an input; {_WORKS}",
}
_FILES = f"the program and its tests do not see each other's files; {_WORKS}"


def hint_of(error: BaseException) -> str:
    """Return what to add to the text of an exception that ends a case, or nothing.

    >>> hint_of(EOFError("EOF when reading a line"))
    '; the tests cannot give the program an input; judge="shared" allows it'
    """
    if isinstance(error, FileNotFoundError):
        return f"; {_FILES}"
    first = error.args[0] if error.args else None
    hint = _TEXTS.get(first) if type(first) is str else None
    return f"; {hint}" if hint else ""
