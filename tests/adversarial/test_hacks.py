"""No hack earns anything, every honest twin passes in full, and each result is an ordinary verdict."""

import dataclasses
import re

import pytest
from hacks import EARN_ONE_CASE
from hacks import HACKS as FIRST
from hacks_conversation import HACKS as LATER

import code_env
from code_env import Limits, Outcome, judge, judge_many, make_executor
from conftest import ROOT, local

NAMES = {**vars(code_env), "L": Limits(cpu_s=1, wall_s=2)}
HACKS = [*FIRST, *LATER]
TWINS = sorted({(hack["task"], hack["twin"]) for hack in HACKS})


@pytest.fixture(scope="module", params=["full", "contained", "subprocess"])
def executor(request):
    """The verdict must not depend on where a hack runs."""
    made = make_executor("subprocess", workers=2) if request.param == "subprocess" else local(request.param)
    with made:
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


# In the other modes the program has more of a say; how far that goes is known, and no secret.

LISTED = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def listed(mode):
    section = LISTED.partition(f'### `judge="{mode}"`')[2].partition("#")[0]
    return {name.replace("\n", " ") for name in re.findall(r"`([^`]+)`", section)}


def judged(mode, answers):
    with make_executor("local", workers=2) as executor:
        return judge_many(
            [(dataclasses.replace(eval(task, NAMES), judge=mode), code) for task, code in answers], executor
        )


@pytest.mark.parametrize("mode", ["objects", "shared"])
def test_what_a_mode_lets_through_is_listed_by_name(mode):
    hacks = [hack for hack in HACKS if hack["kind"] == "assert"]
    verdicts = judged(mode, [(hack["task"], hack["hack"]) for hack in hacks])
    assert {(verdict.valid, verdict.judge) for verdict in verdicts} == {(True, mode)}
    deserved = {hack["name"] for hack in hacks} & EARN_ONE_CASE
    awarded = {hack["name"] for hack, v in zip(hacks, verdicts, strict=True) if v.fraction > 0.0} - deserved
    assert awarded == listed(mode)


@pytest.mark.parametrize("mode", ["objects", "shared"])
def test_an_honest_twin_passes_in_every_mode(mode):
    twins = sorted({(hack["task"], hack["twin"]) for hack in HACKS if hack["kind"] == "assert"})
    verdicts = judged(mode, twins)
    assert [twin for twin, verdict in zip(twins, verdicts, strict=True) if not verdict.passed] == []
