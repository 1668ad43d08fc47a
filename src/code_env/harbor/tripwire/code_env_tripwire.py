"""A plugin of pytest that adds tests that fail. A run that still reports success does not report its results.

It is there in each run of a verifier, and a directory that it removes says whether to add the tests: so code under test
does not see from its environment which run this is.
"""

import os

import pytest

_PATH = os.environ.get("CODE_ENV_TRIPWIRE", "")
_adds = os.path.exists(_PATH)
if _adds:
    os.rmdir(_PATH)


def pytest_configure(config: pytest.Config) -> None:
    """Say that the plugin is there."""
    with open(f"{_PATH}.here", "w") as file:
        file.write("here")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Add a failing test for each kind of tests, between the others and with a name and a file like theirs."""
    if not _adds:
        return
    kinds = {type(item): item for item in items if isinstance(item, pytest.Function)}
    for item in kinds.values():
        name = f"{item.name.partition('[')[0]}_too"
        holder = item.cls or item.module
        code = f"def {name}({'' if item.cls is None else 'self'}):\n    raise AssertionError"
        found: dict[str, object] = {}
        exec(compile(code, str(item.path), "exec"), vars(item.module), found)
        setattr(holder, name, found[name])
        items.insert(len(items) // 2, type(item).from_parent(item.parent, name=name))
