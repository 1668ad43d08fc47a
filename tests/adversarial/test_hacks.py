"""No hack earns anything, every honest twin passes in full, and each result is an ordinary verdict.

The verdict is made by the same code on every executor. So all hacks run on the best one, and a sample on the others.
"""

import dataclasses
import tomllib
from pathlib import Path

import pytest

from adversarial.loading import hacks
from code_env import Outcome, judge_many, make_executor
from tiers import sample

HACKS = hacks()
TOPICS = list(dict.fromkeys(hack.topic for hack in HACKS))


def name_of(hack):
    return hack.name


def twins_of(hacks):
    """Tasks and honest answers, each pair once."""
    # A task cannot be hashed; hacks of the same task share one object.
    return list({(id(hack.task), hack.twin): (hack.task, hack.twin) for hack in hacks}.values())


def answer(hack):
    """The task and the text of a hack: one that loops ends soon, and only large values need time.

    Whatever earns something in any mode has it after 0.05 s, on a busy machine too.
    """
    if hack.topic == "odd_values":
        return hack.task, hack.code
    return dataclasses.replace(hack.task, limits=hack.task.limits.with_values({"cpu_s": 0.2})), hack.code


def judged(answers, executor):
    """Answers, each a task and a text, with their verdicts."""
    return list(zip(answers, judge_many(answers, executor), strict=True))


def earns_nothing(hack, verdict):
    if verdict.outcome not in (Outcome.FAIL, Outcome.POLICY_ERROR):
        return False
    return sum(case.passed for case in verdict.cases) <= hack.may_earn_one_case


def test_there_are_enough_hacks_of_every_kind():
    assert len({hack.name for hack in HACKS}) == len(HACKS) > 900
    assert {hack.kind for hack in HACKS} == {"call", "stdin", "assert", "output"}


def earning(hacks, executor):
    """The hacks that earn something, with their verdicts."""
    verdicts = judge_many(map(answer, hacks), executor)
    return {hack.name: v for hack, v in zip(hacks, verdicts, strict=True) if not earns_nothing(hack, v)}


def refused(hacks, executor):
    """The honest twins that do not pass in full, with what their verdicts say."""
    found = judged(twins_of(hacks), executor)
    return {
        twin: (v.outcome, v.execution.status, v.execution.cpu_s, v.execution.wall_s, [case.message for case in v.cases])
        for (_, twin), v in found
        if (v.outcome, v.fraction) != (Outcome.PASS, 1.0)
    }


@pytest.mark.parametrize("topic", TOPICS)
def test_no_hack_earns_anything(topic, executor, some):
    assert earning(some([hack for hack in HACKS if hack.topic == topic], 12, name_of), executor) == {}


@pytest.mark.parametrize("topic", TOPICS)
def test_honest_twins_pass_in_full(topic, executor, some):
    assert refused(some([hack for hack in HACKS if hack.topic == topic], 12, name_of), executor) == {}


def test_it_is_the_same_on_other_executors(other, some):
    hacks = some(sample(HACKS, 40, name_of), 12, name_of)
    assert earning(hacks, other) == {}
    assert refused(hacks, other) == {}


# In the other modes the program has more of a say; how far that goes is known, and no secret.

AWARDED = tomllib.loads(Path(__file__).with_name("awarded.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def asserting(some):
    """The hacks that are tested by code beside them, by the mode; those that earn something with `objects` always.

    With `shared`, in which an answer can do what it likes to its tests, one in three is enough.
    """
    hacks = [hack for hack in HACKS if hack.kind == "assert"]

    def chosen(mode):
        some_of = sample(hacks, 3, name_of) if mode == "shared" else hacks
        names = {*AWARDED["objects"], *map(name_of, some(some_of, 16, name_of))}
        return [hack for hack in hacks if hack.name in names]

    return chosen


def in_mode(mode, answers):
    with make_executor("local", workers=2) as executor:
        return judged([(dataclasses.replace(task, judge=mode), code) for task, code in answers], executor)


@pytest.mark.parametrize("mode", ["objects", "shared"])
def test_what_a_mode_lets_through_is_listed_by_name(mode, asserting):
    hacks = asserting(mode)
    verdicts = [verdict for _, verdict in in_mode(mode, map(answer, hacks))]
    assert {(verdict.valid, verdict.judge) for verdict in verdicts} == {(True, mode)}
    awarded = {
        hack.name
        for hack, verdict in zip(hacks, verdicts, strict=True)
        if verdict.fraction > 0.0 and not hack.may_earn_one_case
    }
    assert awarded == set(AWARDED[mode]) & set(map(name_of, hacks))


@pytest.mark.parametrize("mode", ["objects", "shared"])
def test_an_honest_twin_passes_in_every_mode(mode, asserting):
    assert [twin for (_, twin), verdict in in_mode(mode, twins_of(asserting(mode))) if not verdict.passed] == []
