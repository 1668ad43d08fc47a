"""Programs that attack their jail, beside honest ones; canaries tell whether any got anywhere."""

import collections
from functools import partial

import pytest

from adversarial.batches import breaches
from code_env.abuses import ABUSES, Canaries, settle
from tiers import sample

KINDS = [
    *("processes", "memory", "disk", "output", "cpu", "signals"),
    *("files", "heap", "contamination", "network", "kernel", "liveness"),
]
SPENDING = ("memory", "disk", "output", "cpu", "liveness")
"""Those that take seconds of what there is until a limit stops them. At the lower level a part of them is enough; what
looks for a way out, each runs at both."""


@pytest.fixture(scope="module")
def fresh(jail):
    """What programs find where nothing was done."""
    return settle(jail)


def test_there_are_abuses_of_every_kind():
    kinds = collections.Counter(abuse.kind for abuse in ABUSES)
    assert set(kinds) == set(KINDS)
    assert sum(kinds.values()) >= 120
    assert min(kinds.values()) >= 5
    assert len({abuse.name for abuse in ABUSES}) == len(ABUSES)


def name_of(abuse):
    return abuse.name


def shortened(abuse):
    """An abuse with 0.3 s: most attack from their first moment on, and show as much in that as in a second."""
    return abuse._replace(limits=abuse.limits.with_values({"cpu_s": 0.3})) if abuse.limits.cpu_s == 1 else abuse


@pytest.mark.parametrize("kind", KINDS)
def test_no_abuse_gets_anywhere(kind, jail, some, alone, fresh, tmp_path):
    abuses = [abuse for abuse in ABUSES if abuse.kind == kind]
    if kind in SPENDING and jail.describe().level != "full":
        abuses = sample(abuses, 3, name_of)
    abuses = some(abuses, 16, name_of)
    programs = {abuse.name: partial(Canaries.program, abuse=shortened(abuse)) for abuse in abuses}
    assert breaches(jail, programs, tmp_path, alone, fresh) == {}
