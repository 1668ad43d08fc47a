"""Files that a program has left are read within their limit, and cost what is read."""

import os

import pytest

from code_env.harness.process.collecting import collect_files

MEBIBYTE = 1 << 20


@pytest.fixture
def directory(tmp_path):
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def test_a_file_of_several_pieces_comes_back_whole(tmp_path, directory):
    content = os.urandom(3 * MEBIBYTE + 5)
    (tmp_path / "a").write_bytes(content)
    assert collect_files(directory, ["a"], len(content)) == {"a": content}
    assert collect_files(directory, ["a"], len(content) - 1) == {}


def test_what_is_too_large_is_not_read(tmp_path, directory, monkeypatch):
    with open(tmp_path / "a", "wb") as file:
        file.truncate(1 << 40)
    (tmp_path / "b").write_bytes(b"1")
    read = []
    monkeypatch.setattr(os, "read", lambda fd, size, real=os.read: read.append(size) or real(fd, size))
    assert collect_files(directory, ["a", "b"], 16 * MEBIBYTE) == {"b": b"1"}
    assert len(read) == 2


def test_the_limit_is_for_all_files_together(tmp_path, directory):
    for name in "abc":
        (tmp_path / name).write_bytes(b"12")
    assert collect_files(directory, ["a", "b", "c", "none"], 5) == {"a": b"12", "b": b"12"}
