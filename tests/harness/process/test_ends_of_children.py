"""Who else could write to the memory of a process that chooses what happens when its children end."""

import os
import subprocess

import pytest

from code_env.harness.process import ends_of_children
from code_env.harness.process.ends_of_children import Layout, is_alone, layout_of, shares_memory

OWN, OTHER = Layout(1, 2, 3, 4), Layout(1, 5, 6, 7)


@pytest.mark.parametrize(
    ("threads", "shared", "layouts", "alone"),
    [
        ([10], set(), {10: OWN}, True),
        ([10, 11], set(), {10: OWN}, False),
        ([11], set(), {10: OWN}, False),  # The thread has ended.
        ([], set(), {}, False),
        ([10], set(), {10: OWN, 20: OWN}, True),  # 20 is a fork.
        ([10], {OWN}, {10: OWN, 20: OWN}, False),
        ([10], {OWN}, {10: OWN, 20: OTHER}, True),  # 20 has executed a program.
        ([10], {OTHER}, {10: OWN, 20: OTHER, 21: OTHER}, True),
        ([10], {OWN}, {10: OWN}, True),
    ],
)
def test_a_process_is_alone_if_nobody_runs_in_its_memory(threads, shared, layouts, alone, monkeypatch):
    monkeypatch.setattr(ends_of_children, "threads_of", lambda pid: threads)
    monkeypatch.setattr(ends_of_children, "layout_of", layouts.__getitem__)
    assert is_alone(10, shared, lambda: layouts) == alone


def test_a_layout_is_that_of_what_a_process_executed():
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        assert layout_of(child.pid) not in (layout_of(os.getpid()), Layout(0, 0, 0, 0))
        child.communicate(b"")
    pid = os.fork()
    if pid == 0:
        os._exit(0 if layout_of(os.getpid()) == layout_of(os.getppid()) else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_only_some_calls_share_memory():
    clone, vfork = ends_of_children._CLONE, ends_of_children._VFORK
    assert shares_memory(clone, 0x4111)
    assert not shares_memory(clone, 0x1200011)
    assert vfork == -1 or shares_memory(vfork, 0)
    assert not shares_memory(57, 0x100)
