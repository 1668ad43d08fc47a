"""Judges cross a link once: the frames of one end, read by the other."""

import json

import pytest

from code_env import AssertTest, Program, Task, TaskError
from code_env.executors.remote import peers
from code_env.executors.remote.peers import PeersKept, PeersThere
from code_env.judging.job import program_for


def judged(name, answer="x = 1", size=0):
    return program_for(Task(name, "Write x.", (AssertTest(f"assert {name} == 1  #{'-' * size}"),)), answer)


class Link:
    """Both ends, and what crossed."""

    def __init__(self):
        self.there, self.kept, self.peers, self.forgotten = PeersThere(), PeersKept(), [], 0

    def send(self, *programs):
        numbered = dict(enumerate(programs))
        frame = json.loads(self.there.frame(numbered))
        self.there.sent(programs)
        self.peers.append(len(frame["peers"]))
        self.forgotten += len(frame["forget"])
        assert self.kept.programs(frame) == numbered
        return self


def test_a_judge_crosses_once():
    one, two = judged("one"), judged("two")
    link = (
        Link().send(one, judged("one", "x = 2")).send(two, one).send(judged("one", "x = 3"), two, Program("print(1)"))
    )
    assert link.peers == [1, 1, 0]


def test_a_frame_that_was_not_sent_changes_nothing():
    there, one = PeersThere(), judged("one")
    assert there.frame({0: one}) == there.frame({0: one})


def test_those_that_were_not_used_for_long_are_forgotten(monkeypatch):
    monkeypatch.setattr(peers, "MOST_BYTES", 50_000)
    link = Link()
    tasks = [judged(f"task_{number}", size=10_000) for number in range(10)]
    for task in tasks:
        link.send(tasks[0], task)
    assert link.peers == [1, 1, 1, 1, 1, 1, 1, 1, 1, 1], "the first is used always, and stays"
    link.send(tasks[1])
    assert link.peers[-1] == 1
    assert link.forgotten >= 5


def test_one_frame_may_have_more_than_is_kept(monkeypatch):
    monkeypatch.setattr(peers, "MOST_BYTES", 10_000)
    tasks = [judged(f"task_{number}", size=10_000) for number in range(3)]
    link = Link().send(*tasks).send(tasks[0]).send(tasks[0])
    assert link.peers == [3, 0, 0]
    assert link.forgotten == 2


def test_a_sender_cannot_have_everything_kept(monkeypatch):
    monkeypatch.setattr(peers, "_REFUSED_BYTES", 25_000)
    tasks = {number: judged(f"task_{number}", size=10_000) for number in range(3)}
    with pytest.raises(TaskError, match="a link keeps judges of at most 25000 bytes"):
        PeersKept().programs(json.loads(PeersThere().frame(tasks)))


@pytest.mark.parametrize(
    "frame",
    [
        {"programs": {}},
        {"programs": {"0": {"code": "x", "peer": "nobody"}}, "peers": {}, "forget": []},
        {"programs": {}, "peers": {}, "forget": ["nobody"]},
        {"programs": {"x": {"code": "x"}}, "peers": {}, "forget": []},
        {"programs": {"0": {"text": "x"}}, "peers": {}, "forget": []},
        {"programs": {}, "peers": {"a": 1}, "forget": []},
    ],
)
def test_a_malformed_frame_is_an_error(frame):
    with pytest.raises(TaskError):
        PeersKept().programs(frame)


def test_equal_programs_have_one_digest():
    assert judged("one").peer.digest == judged("one").peer.digest
    assert judged("one").peer.digest != judged("two").peer.digest
    assert Program("x", stdin="\udc80").digest != Program("x").digest
