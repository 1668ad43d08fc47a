"""A look at what a program has made, however it has made it."""

import os
from pathlib import Path

import pytest

from code_env.executors.files import Look, mapped_without_name, open_without_name, remove_directory
from code_env.harness.process.limits import MAX_NAMES
from code_env.harness.process.workspace import empty_directory
from support import let_others_reach

PLENTY = 1 << 40


@pytest.fixture
def deep(tmp_path):
    """A directory with two thousand directories, each in the last, and a file in the deepest."""
    top = tmp_path / "top"
    top.mkdir()
    fd = os.open(top, os.O_RDONLY)
    for _ in range(2000):
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    file = os.open("f", os.O_WRONLY | os.O_CREAT, dir_fd=fd)
    os.write(file, bytes(1 << 20))
    os.close(file)
    os.close(fd)
    yield top
    remove_directory(top)
    assert not top.exists()


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def test_depth_hides_nothing_and_takes_no_descriptors(deep):
    before = descriptors()
    look = Look(deep, PLENTY)
    parts = 1
    while not look.go_on(50):
        parts += 1
        assert descriptors() <= before + 2
    assert parts == 41
    assert (look.names, look.bytes >= 1 << 20, look.is_too_much) == (2001, True, False)
    assert descriptors() == before


def test_a_look_that_is_left_keeps_no_descriptor(deep):
    before = descriptors()
    look = Look(deep, PLENTY)
    assert not look.go_on(500)
    look.close()
    assert descriptors() == before


def test_a_look_ends_where_there_is_too_much(tmp_path):
    for n in range(20):
        (tmp_path / str(n)).write_bytes(bytes(8192))
    look = Look(tmp_path, 8192 * 10)
    look.finish()
    assert look.is_too_much
    assert look.names <= 12
    many = Look(tmp_path, PLENTY)
    many.names = MAX_NAMES - 10
    many.finish()
    assert many.is_too_much
    assert many.names == MAX_NAMES + 1


def test_directories_count_with_what_they_take(tmp_path):
    for n in range(50):
        (tmp_path / str(n) / "below").mkdir(parents=True)
    directories = [directory for directory, _, _ in os.walk(tmp_path)]
    look = Look(tmp_path, PLENTY)
    look.finish()
    assert look.names == len(directories) - 1 == 100
    taken = sum(max(4096, 512 * os.stat(directory).st_blocks) for directory in directories)
    assert look.bytes == taken - (64 << 10) > 0


@pytest.fixture
def ordinary_user(tmp_path):
    """Root may read everything; so this process acts as another user meanwhile, who owns the directory."""
    if os.geteuid() != 0:
        yield
        return
    let_others_reach(tmp_path)
    os.chown(tmp_path, 65534, 65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("mode", [0, 0o100, 0o200, 0o300, 0o400, 0o500])
def test_closed_directories_hide_nothing_and_stay_closed(mode, tmp_path, ordinary_user):
    closed = tmp_path / "closed"
    (closed / "below").mkdir(parents=True)
    (closed / "below" / "f").write_bytes(bytes(1 << 20))
    (closed / "f").touch(0)
    (closed / "below").chmod(mode)
    closed.chmod(mode)
    (tmp_path / "last").mkdir()
    look = Look(tmp_path, PLENTY)
    while not look.go_on(1):
        pass
    assert (look.names, look.bytes >= 1 << 20, look.is_too_much) == (5, True, False)
    assert closed.stat().st_mode & 0o777 == mode
    closed.chmod(0o700)
    assert (closed / "below").stat().st_mode & 0o777 == mode
    closed.chmod(mode)
    empty_directory(str(tmp_path))
    assert not os.listdir(tmp_path)


def test_no_link_is_followed_and_a_file_counts_once(tmp_path):
    other = tmp_path / "other"
    inside = tmp_path / "inside"
    other.mkdir()
    inside.mkdir()
    (other / "big").write_bytes(bytes(1 << 20))
    (inside / "link").symlink_to(other)
    (inside / "f").write_bytes(bytes(8192))
    for n in range(5):
        os.link(inside / "f", inside / f"f{n}")
    look = Look(inside, PLENTY)
    look.finish()
    assert look.names == 7
    assert look.bytes < 4 * 8192


def test_a_directory_that_is_swapped_meanwhile_ends_a_look(tmp_path):
    (tmp_path / "inside" / "a" / "b").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "big").write_bytes(bytes(1 << 20))
    look = Look(tmp_path / "inside", PLENTY)
    assert not look.go_on(2)  # It is in `a` now.
    (tmp_path / "inside" / "a").rename(tmp_path / "outside" / "a")
    look.finish()
    assert look.bytes < 1 << 20


def test_files_without_a_name_are_found_by_descriptor_and_by_mapping(tmp_path):
    import ctypes

    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    addresses = []
    for name in ("open", "mapped"):
        fd = os.open(tmp_path / name, os.O_RDWR | os.O_CREAT)
        os.write(fd, bytes(1 << 20))
        addresses.append(libc.mmap(None, ctypes.c_size_t(4096), 1, 1, fd, ctypes.c_long(0)))
        os.unlink(tmp_path / name)
        if name == "mapped":
            os.close(fd)
        else:
            kept = fd
    try:
        pid = os.getpid()
        found = open_without_name([pid], tmp_path)
        assert list(found.values()).count(1 << 20) >= 1
        before = len(found)
        mapped_without_name(pid, Path(tmp_path), 1 << 20, found)
        assert len(found) == before + 1
        assert sum(found.values()) >= 2 << 20
        elsewhere = {}
        mapped_without_name(pid, Path(tmp_path) / "elsewhere", 1 << 20, elsewhere)
        assert elsewhere == {}
    finally:
        os.close(kept)
        for address in addresses:
            libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(4096))
