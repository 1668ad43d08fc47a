"""A plugin of pytest that adds a test that fails. Whoever still reports success has not looked at the results."""

import os

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Say that the plugin is there."""
    with open(os.environ["CODE_ENV_TRIPWIRE"], "w") as file:
        file.write("here")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Add the test between the tests of a module, with a name like theirs."""
    module = items[-1].getparent(pytest.Module) if items else None
    if module is not None:

        def test() -> None:
            raise AssertionError

        name = f"{items[-1].name.partition('[')[0]}_too"
        items.insert(len(items) // 2, pytest.Function.from_parent(module, name=name, callobj=test))
