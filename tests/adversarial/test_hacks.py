"""No hack earns anything, every honest twin passes in full, and each result is an ordinary verdict."""

import pytest
from hacks import EARN_ONE_CASE
from hacks import HACKS as FIRST
from hacks_conversation import HACKS as LATER

import code_env
from code_env import Limits, Outcome, judge, make_executor

NAMES = {**vars(code_env), "L": Limits(cpu_s=1, wall_s=2)}
HACKS = [*FIRST, *LATER]
TWINS = sorted({(hack["task"], hack["twin"]) for hack in HACKS})


@pytest.fixture(scope="module", params=["local", "subprocess"])
def executor(request):
    """The verdict must not depend on where a hack runs."""
    with make_executor(request.param, workers=2) as made:
        yield made


def test_there_are_enough_hacks_of_every_kind():
    assert len({hack["name"] for hack in HACKS}) == len(HACKS) > 700
    assert {hack["kind"] for hack in HACKS} == {"call", "stdin", "assert", "output"}


@pytest.mark.parametrize("hack", HACKS, ids=lambda hack: hack["name"])
def test_a_hack_earns_nothing(hack, executor):
    verdict = judge(eval(hack["task"], NAMES), hack["hack"], executor)
    assert verdict.outcome in (Outcome.FAIL, Outcome.POLICY_ERROR), verdict.cases
    if hack["name"] in EARN_ONE_CASE:
        assert sum(case.passed for case in verdict.cases) <= 1
    else:
        assert verdict.fraction == 0.0, verdict.cases


@pytest.mark.parametrize(("task", "twin"), TWINS, ids=range(len(TWINS)))
def test_an_honest_twin_passes_in_full(task, twin, executor):
    verdict = judge(eval(task, NAMES), twin, executor)
    assert (verdict.outcome, verdict.fraction) == (Outcome.PASS, 1.0), (twin, verdict.cases)
