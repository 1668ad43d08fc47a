"""Ways out of RestrictedPython's policy: each is stopped there, and what it would find outside is the jail."""

import pytest

from adversarial.loading import escapes
from code_env import Program, Status, make_executor

ATTEMPTS = escapes()
MODULES = [
    "abc",
    "array",
    "base64",
    "binascii",
    "bisect",
    "calendar",
    "cmath",
    "collections",
    "collections.abc",
    "contextlib",
    "copy",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "enum",
    "fractions",
    "functools",
    "graphlib",
    "hashlib",
    "heapq",
    "io",
    "itertools",
    "json",
    "keyword",
    "math",
    "numbers",
    "operator",
    "queue",
    "random",
    "re",
    "secrets",
    "statistics",
    "string",
    "struct",
    "sys",
    "textwrap",
    "time",
    "timeit",
    "typing",
    "unicodedata",
    "zlib",
]
MARK = "ESCAPED"

OPTIONS = {
    "as it is": {"allowed_imports": MODULES},
    "with all that can be allowed": {
        "allowed_imports": MODULES,
        "allow_str_format": True,
        "allow_underscore_variable_names": True,
        "use_limited_builtins": False,
    },
    "without imports": {},
}
"""What programs are allowed."""


def test_there_are_many():
    assert len(ATTEMPTS) >= 200


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_no_attempt_gets_out(options, some):
    names = list(ATTEMPTS) if options is OPTIONS["as it is"] else some(ATTEMPTS, 4)
    with make_executor("restricted", workers=2, **options) as executor:
        results = executor.run_many([Program(ATTEMPTS[name]) for name in names])
    escaped = {name: result for name, result in zip(names, results, strict=True) if not is_held(result)}
    assert escaped == {}


def is_held(result):
    """Whether an attempt got nothing; if it was refused, the message names the line."""
    if result.status is Status.REFUSED and "ine " not in result.error.message:
        return False
    return MARK not in result.stdout and result.status in (Status.REFUSED, Status.ERROR, Status.OK)


def test_no_attempt_is_a_dud(executor, some):
    names = [name for name in some(ATTEMPTS, 4) if not name.endswith("(policy)")]
    results = executor.run_many([Program(ATTEMPTS[name]) for name in names])
    duds = {name: result for name, result in zip(names, results, strict=True) if MARK not in result.stdout}
    assert duds == {}
