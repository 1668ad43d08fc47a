"""Programs that attack their jail, each beside honest ones; canaries tell whether any got anywhere."""

import collections
import os

import pytest

from code_env import Program
from code_env.abuses import ABUSES, LOOK, Canaries, left_over, settle
from code_env.harness.watching import descendants

KINDS = {
    *("processes", "memory", "disk", "output", "cpu", "signals"),
    *("files", "heap", "contamination", "network", "kernel", "liveness"),
}


@pytest.fixture
def canaries(tmp_path):
    with Canaries(tmp_path) as canaries:
        yield canaries


@pytest.fixture(scope="module")
def fresh(jail):
    """What programs find where nothing was done."""
    return settle(jail)


def test_there_are_abuses_of_every_kind():
    kinds = collections.Counter(abuse.kind for abuse in ABUSES)
    assert set(kinds) == KINDS
    assert sum(kinds.values()) >= 120
    assert min(kinds.values()) >= 5
    assert len({abuse.name for abuse in ABUSES}) == len(ABUSES)


@pytest.mark.parametrize("abuse", ABUSES, ids=lambda abuse: abuse.name)
def test_an_abuse_gets_nowhere(abuse, canaries, fresh, jail, honest):
    processes = set(descendants(os.getpid()))
    result = jail.run(canaries.program(abuse))
    assert canaries.look(result) == []
    assert result.status != "sandbox_error", result
    assert not left_over(processes)
    # On every worker, as far as one can tell.
    assert {one.stdout for one in jail.run_many([Program(LOOK)] * 4)} == {fresh}
