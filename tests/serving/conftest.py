"""A server for tests that do not care which one."""

import pytest

from serving.server_process import served


@pytest.fixture(scope="module")
def server():
    with served("--workers", 2) as one:
        yield one
