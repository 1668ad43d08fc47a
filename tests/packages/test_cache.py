import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from code_env import PackageError, PackagesNotPrepared
from code_env.caches import FileLock, cache_directory
from code_env.packages import Environment, PackageCache
from support import wait_until

KEY = "a" * 24


def put(cache: PackageCache, key: str = KEY, size: int = 100) -> Environment:
    """An environment that holds nothing but an interpreter."""
    with cache.making(key) as folder:
        environment = Environment(key, folder, ("x",), {"x": "1"}, ("x",), "lib/python3/site-packages", size)
        environment.python.parent.mkdir(parents=True)
        environment.python.symlink_to(sys.executable)
        cache.write(environment)
    return cache.read(key)


@pytest.fixture
def cache(tmp_path):
    return PackageCache(tmp_path)


def left(cache: PackageCache) -> list[str]:
    return sorted(path.name for path in cache.directory.iterdir())


def test_what_was_written_is_read(cache):
    environment = put(cache)
    assert environment.path == cache.directory / KEY
    assert (environment.requirements, environment.modules, environment.versions) == (("x",), ("x",), {"x": "1"})
    assert left(cache) == [KEY, f"{KEY}.lock"]


def test_the_directory_is_the_variable_s_or_the_user_s(monkeypatch, tmp_path):
    monkeypatch.setenv("CODE_ENV_CACHE", str(tmp_path))
    assert cache_directory() == tmp_path
    monkeypatch.delenv("CODE_ENV_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "code_env"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_directory() == Path.home() / ".cache/code_env"


def test_the_key_is_of_requirements_and_interpreter(cache):
    key = cache.key(("numpy",), sys.executable)
    assert len(key) == 24
    assert int(key, 16) >= 0
    assert key == cache.key(("numpy",), sys.executable)
    assert key != cache.key(("numpy==2",), sys.executable)
    # Another virtual environment of the same installation may use it too.
    assert key == cache.key(("numpy",), str(Path(sys.executable).resolve()))


def test_what_is_not_there_names_the_command(cache):
    with pytest.raises(PackagesNotPrepared, match=r"numpy, pandas.* not prepared .*code-env prepare SUITE"):
        cache.find(("numpy", "pandas"), sys.executable)


def test_a_failed_installation_leaves_nothing(cache):
    def install():
        with cache.making(KEY) as folder:
            (folder / "environment.json").write_text("{}")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        install()
    assert left(cache) == []


def test_a_full_disk_is_an_error_of_ours(cache):
    def install():
        with cache.making(KEY):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(PackageError, match=r"cannot be written: .*No space left.*CODE_ENV_CACHE"):
        install()
    assert left(cache) == []


def test_what_is_somebody_else_s_is_left(cache):
    others = ["app", "images", "app.lock", "app.1.partial", "B" * 24, "c" * 24, f"{KEY}.tar", f"{KEY}.x.partial"]
    for name in others:
        (cache.directory / name / "dist").mkdir(parents=True)
    put(cache)
    (cache.directory / f"{KEY}.{'0' * 8}.partial").mkdir()
    cache.prune(0)
    assert left(cache) == sorted(others)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"versions": 1}'])
def test_a_damaged_record_is_no_environment(cache, text):
    environment = put(cache)
    (environment.path / "environment.json").write_text(text)
    assert cache.read(KEY) is None
    assert cache.entries() == []
    assert put(cache) == environment


def test_an_environment_without_its_interpreter_is_none(cache):
    environment = put(cache)
    environment.python.unlink()
    environment.python.symlink_to("/gone/python")
    assert cache.read(KEY) is None
    cache.prune()
    assert left(cache) == []


def test_one_installs_and_the_others_wait(cache):
    installed, found = [], []

    def one():
        with cache.making(KEY) as folder:
            if folder is None:
                found.append(1)
                return
            installed.append(1)
            environment = Environment(KEY, folder, ("x",), {}, (), "lib", 1)
            environment.python.parent.mkdir(parents=True)
            environment.python.symlink_to(sys.executable)
            cache.write(environment)

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(installed), len(found)) == (1, 7)
    assert left(cache) == [KEY, f"{KEY}.lock"]


_INSTALLS = """
import sys, time
from pathlib import Path
from code_env.packages import PackageCache
cache = PackageCache(Path(sys.argv[1]))
with cache.making(sys.argv[2]) as folder:
    (folder / "venv").mkdir()
    print("half", flush=True)
    time.sleep(1000)
"""


def test_a_killed_installation_is_no_environment_and_is_cleared_away(cache):
    process = subprocess.Popen([sys.executable, "-c", _INSTALLS, str(cache.directory.parent), KEY], stdout=-1)
    assert process.stdout.readline() == b"half\n"
    assert cache.read(KEY) is None
    cache.prune(0)  # It is at work, so nothing is taken from it.
    assert len(left(cache)) == 2
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert cache.read(KEY) is None
    assert len(left(cache)) == 2
    assert put(cache).key == KEY
    assert left(cache) == [KEY, f"{KEY}.lock"]


def test_a_killed_installation_is_cleared_away_by_prune(cache):
    process = subprocess.Popen([sys.executable, "-c", _INSTALLS, str(cache.directory.parent), KEY], stdout=-1)
    process.stdout.readline()
    process.kill()
    process.communicate()
    cache.prune()
    assert left(cache) == []


def test_the_least_recently_used_is_removed_first(cache):
    environments = [put(cache, f"{n}" * 24) for n in range(4)]
    for age, environment in enumerate(reversed(environments)):
        os.utime(cache.directory / f"{environment.key}.lock", (1000 - age, 1000 - age))
    assert cache.entries() == environments[::-1]
    cache.hold(environments[0]).close()
    assert cache.prune(400) == []
    assert cache.prune(200) == environments[1:3]
    assert cache.entries() == [environments[0], environments[3]]
    assert left(cache) == sorted(
        name for one in (environments[0], environments[3]) for name in (one.key, f"{one.key}.lock")
    )


def test_one_in_use_is_never_removed(cache):
    used, unused = put(cache, "1" * 24), put(cache, "2" * 24)
    with cache.hold(used), cache.hold(used):
        assert cache.prune(0) == [unused]
        assert cache.entries() == [used]
    assert cache.prune(0) == [used]
    assert left(cache) == []


_HOLDS = """
import sys, time
from pathlib import Path
from code_env.packages import PackageCache
cache = PackageCache(Path(sys.argv[1]))
lock = cache.hold(cache.read(sys.argv[2]))
print("held", flush=True)
time.sleep(1000)
"""


def test_who_is_killed_does_not_use_it_any_more(cache):
    environment = put(cache)
    process = subprocess.Popen([sys.executable, "-c", _HOLDS, str(cache.directory.parent), KEY], stdout=-1)
    assert process.stdout.readline() == b"held\n"
    assert cache.prune(0) == []
    process.kill()
    process.communicate()
    assert cache.prune(0) == [environment]


def test_what_was_removed_cannot_be_held(cache):
    environment = put(cache)
    cache.prune(0)
    with pytest.raises(PackagesNotPrepared, match="were removed"):
        cache.hold(environment)


def test_holders_and_removers_at_once_never_meet(cache):
    """Who has the lock of an environment finds it, whoever removes and installs it meanwhile."""
    put(cache)
    problems, stop = [], threading.Event()

    def use():
        while not stop.is_set():
            environment = cache.read(KEY)
            if environment is None:
                continue
            try:
                with cache.hold(environment):
                    for _ in range(20):
                        if cache.read(KEY) is None:
                            problems.append("gone while it was held")
            except PackagesNotPrepared:
                pass

    users = [threading.Thread(target=use) for _ in range(3)]
    for user in users:
        user.start()
    for _ in range(60):
        cache.prune(0)
        put(cache) if cache.read(KEY) is None else None
    stop.set()
    for user in users:
        user.join()
    assert problems == []


def test_a_cache_that_only_can_be_read_is_used():
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        cache = PackageCache(Path(directory))
        environment = put(cache)
        cache.directory.chmod(0o555)
        (cache.directory / f"{KEY}.lock").chmod(0o444)
        own = os.geteuid()
        if own == 0:  # Root may write everywhere.
            os.seteuid(65534)
        try:
            with pytest.raises(OSError, match="denied"):
                (cache.directory / "new").mkdir()
            cache.hold(environment).close()
        finally:
            os.seteuid(own)
            cache.directory.chmod(0o755)


def test_a_cache_that_is_no_directory_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(PackageError, match=r"cannot be written.*CODE_ENV_CACHE"),
        PackageCache(tmp_path / "file").making(KEY),
    ):
        pass
    assert PackageCache(tmp_path / "file").entries() == []


def test_a_lock_waits_for_the_one_before(tmp_path):
    path = tmp_path / "lock"
    first = FileLock.take(path, shared=False, wait=False)
    assert FileLock.take(path, shared=True, wait=False) is None
    taken = []
    thread = threading.Thread(target=lambda: taken.append(FileLock.take(path, shared=True, wait=True)))
    thread.start()
    path.unlink()  # Its holder removes it: who waits must not get a lock on a file that is gone.
    first.close()
    wait_until(lambda: taken)
    thread.join()
    assert path.exists()
    assert FileLock.take(path, shared=False, wait=False) is None
    taken[0].close()
    FileLock.take(path, shared=False, wait=False).close()


def test_the_record_is_plain_json(cache):
    record = json.loads((put(cache).path / "environment.json").read_text())
    assert sorted(record) == ["contents", "modules", "requirements", "site_packages", "size_bytes", "versions"]
