"""What descriptors of a run can hold, as their entries in /proc tell."""

import os

import pytest

from code_env.harness.process import descriptors
from code_env.harness.process.descriptors import descriptor_bytes


@pytest.mark.parametrize("target", ["/gone/file", "socket:[1]", "pipe:[1]"])
def test_a_process_that_is_ending_has_no_files_of_proc(target, tmp_path, monkeypatch):
    """Its descriptors still show their targets when neither these nor its root can be found."""
    (tmp_path / "fd").mkdir()
    os.symlink(target, tmp_path / "fd" / "3")
    monkeypatch.setattr(descriptors, "directory_of", lambda pid: str(tmp_path))
    held, seen = descriptor_bytes([os.getpid()], too_much=1 << 40, text=1 << 20)
    assert (held, seen.in_proc) == (0, False)
