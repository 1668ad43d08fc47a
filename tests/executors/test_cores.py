"""The cores that a process may use, in containers of both versions of control groups."""

import os

import pytest

from code_env.executors.cores import own_cores

AFFINITY = len(os.sched_getaffinity(0))


def root(tmp_path, own, **files):
    """A root directory with these files of control groups."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(own)
    for path, text in files.items():
        file = tmp_path / "sys/fs/cgroup" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("own", "files", "cores"),
    [
        ("0::/\n", {}, AFFINITY),
        ("0::/\n", {"cpu.max": "max 100000\n"}, AFFINITY),
        ("0::/\n", {"cpu.max": "100000 100000\n"}, 1),
        ("0::/\n", {"cpu.max": "50000 100000\n"}, 1),
        ("0::/\n", {"cpu.max": "6400000 100000\n"}, min(AFFINITY, 64)),
        ("0::/pods/a\n", {"pods/a/cpu.max": "max 100000\n", "pods/cpu.max": "100000 100000\n"}, 1),
        ("0::/not/seen/from/here\n", {"cpu.max": "100000 100000\n"}, 1),
        ("0::/\n", {"cpu.max": "nonsense"}, AFFINITY),
        ("2:cpu,cpuacct:/\n", {"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1),
        ("2:cpu,cpuacct:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, AFFINITY),
        ("2:cpuacct:/\n1:name=systemd:/x\n", {"cpu/cpu.cfs_quota_us": "1\n"}, AFFINITY),
    ],
)
def test_quotas_and_affinity(tmp_path, own, files, cores):
    assert own_cores(root(tmp_path, own, **files)) == cores


def test_without_proc(tmp_path):
    assert own_cores(tmp_path) == AFFINITY


def test_here():
    assert 1 <= own_cores() <= AFFINITY
