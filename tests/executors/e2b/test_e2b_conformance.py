"""The contract, on the real SDK."""

import pytest

from code_env import make_executor
from code_env.testing import CHECKS, LIFE_CHECKS


@pytest.fixture(scope="module")
def kept(cloud):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in cloud.environment.items():
            patch.setenv(name, value)
        with make_executor("e2b") as executor:
            yield executor


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_e2b_conforms(check, kept):
    check(kept)


@pytest.mark.parametrize("check", LIFE_CHECKS, ids=lambda check: check.__name__)
def test_its_life_conforms(check, make):
    check(make())


def test_it_says_what_it_is(executor):
    told = executor.describe()
    assert (told.level, told.peer, told.network, told.notebooks) == ("machine", "isolated", False, True)
    assert told.languages == {"python", "javascript", "bash"}
    assert told.enforces == {"cpu_s", "wall_s", "memory_bytes", "output_bytes", "file_bytes"}
