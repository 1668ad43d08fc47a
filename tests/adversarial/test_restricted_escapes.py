"""Ways out of RestrictedPython's policy: each is stopped there, and what it would find outside is the jail."""

import pytest
from hacks_restricted import attempts

from code_env import Program, Status, make_executor

ATTEMPTS = dict(attempts())
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


@pytest.fixture(scope="module", params=OPTIONS)
def outcomes(request):
    with make_executor("restricted", workers=2, **OPTIONS[request.param]) as executor:
        results = executor.run_many([Program(code) for code in ATTEMPTS.values()])
        # The order of results is that of the programs.
        yield dict(zip(ATTEMPTS, results, strict=True))


@pytest.fixture(scope="module")
def without_policy(executor):
    return dict(zip(ATTEMPTS, executor.run_many([Program(code) for code in ATTEMPTS.values()]), strict=True))


def test_there_are_many():
    assert len(ATTEMPTS) >= 200


@pytest.mark.parametrize("name", ATTEMPTS)
def test_no_attempt_gets_out(outcomes, name):
    result = outcomes[name]
    assert MARK not in result.stdout
    assert result.status in (Status.REFUSED, Status.ERROR, Status.OK)
    if result.status is Status.REFUSED:
        assert "ine " in result.error.message


@pytest.mark.parametrize("name", [name for name in ATTEMPTS if not name.endswith("(policy)")])
def test_an_attempt_is_no_dud(without_policy, name):
    assert MARK in without_policy[name].stdout, without_policy[name].stderr
