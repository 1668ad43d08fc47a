import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import threading

import pytest

from code_env import ExecutorError, PackageError, PackagesNotPrepared, TaskSuite, judge, load_suite
from code_env.caches import folders
from code_env.packages import PackageCache, prepare
from packages.wheels import make_wheel, task
from support import local, wait_until

UNCHANGED = "print('unchanged')"


def test_each_set_of_requirements_is_installed_once(packaged, wheels, prepared):
    told = []
    done = prepare(
        packaged,
        wheels=wheels,
        cache=prepared,
        progress=lambda *what: told.append(what),
    )
    assert (done.tasks, done.installed, len(done.environments)) == (3, 0, 3)
    assert [one.requirements for one in done.environments] == [("shelf<2",), ("shelf",), ("room",)]
    assert [one.versions for one in done.environments] == [
        {"shelf": "1.0"},
        {"shelf": "2.0"},
        {"room": "1.0", "shelf": "1.0"},
    ]
    assert told == [(0, 3, "shelf<2"), (1, 3, "shelf"), (2, 3, "room"), (3, 3, "")]


def test_what_is_damaged_is_installed_again(packaged, wheels, tmp_path):
    cache = PackageCache(tmp_path)
    environment = prepare(packaged, wheels=wheels, cache=cache).environments[0]
    (environment.packages / "shelf.py").unlink()
    with pytest.raises(PackagesNotPrepared, match="code-env prepare SUITE"):
        cache.find(environment.requirements, sys.executable)
    again = prepare(packaged, wheels=wheels, cache=cache)
    assert (again.environments[0], again.installed) == (environment, 1)
    assert (environment.packages / "shelf.py").is_file()


def test_what_lost_a_file_of_a_package_is_installed_again(tmp_path, monkeypatch):
    """Also if the package itself is there. Who cleans up old files removes one here and one there."""
    make_wheel(tmp_path / "wheels", "deep", "1.0", {"deep/__init__.py": "", "deep/inner/part.py": "X = 1\n"})
    suite = TaskSuite("deep", [task("one", ["deep"], "import deep.inner.part\nprint(deep.inner.part.X)", "1")])
    cache = PackageCache(tmp_path / "cache")
    (environment,) = prepare(suite, wheels=tmp_path / "wheels", cache=cache).environments
    (environment.packages / "deep/inner/part.py").unlink()
    monkeypatch.setattr(folders, "_known_whole", set())  # As in another process.
    with pytest.raises(PackagesNotPrepared, match="or parts of them are gone; run `code-env prepare SUITE`"):
        cache.find(environment.requirements, sys.executable)
    assert prepare(suite, wheels=tmp_path / "wheels", cache=cache).installed == 1
    assert (environment.packages / "deep/inner/part.py").is_file()


SETTINGS = {
    "pip": [
        *({name: "1"} for name in ("PIP_USER", "PIP_NO_DEPS", "PIP_DRY_RUN")),
        *({name: "elsewhere"} for name in ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT")),
    ],
    "uv": [{"UV_LINK_MODE": "symlink"}],
}


@pytest.mark.parametrize(("installer", "setting"), [(one, each) for one, some in SETTINGS.items() for each in some])
def test_settings_for_other_installations_change_nothing(installer, setting, wheels, packaged, tmp_path, monkeypatch):
    for name, value in setting.items():
        monkeypatch.setenv(name, str(tmp_path / value) if value == "elsewhere" else value)
    suite, cache = TaskSuite("room", [packaged[2]]), PackageCache(tmp_path / "cache")
    (environment,) = prepare(suite, wheels=wheels, cache=cache, installer=installer).environments
    assert environment.versions == {"room": "1.0", "shelf": "1.0"}
    assert not any(path.is_symlink() for path in environment.packages.rglob("*"))


def test_an_installation_that_went_elsewhere_is_an_error(wheels, packaged, tmp_path, monkeypatch):
    (tmp_path / "uv.toml").write_text(f'[pip]\ntarget = "{tmp_path}/elsewhere"\n')
    monkeypatch.setenv("UV_CONFIG_FILE", str(tmp_path / "uv.toml"))
    cache = PackageCache(tmp_path / "cache")
    with pytest.raises(PackageError, match=r"uv has not put shelf into .*; a setting such as `target`"):
        prepare(packaged, wheels=wheels, cache=cache, installer="uv")
    assert cache.entries() == []


def test_servers_import_what_was_asked_for_and_what_tasks_import(packaged, prepared):
    old, new, room = prepare(packaged, cache=prepared).environments
    assert (old.modules, new.modules) == (("shelf",), ("shelf",))
    assert room.modules == ("room", "room.door", "shelf")


def test_a_suite_without_packages_installs_nothing(tmp_path):
    done = prepare(load_suite("starter"), cache=PackageCache(tmp_path / "cache"))
    assert (done.tasks, done.installed, done.environments) == (0, 0, ())
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_uv_and_pip_install_the_same(installer, wheels, tmp_path):
    suite = TaskSuite("one", [task("one", ["room"], UNCHANGED, "unchanged")])
    (found,) = prepare(suite, wheels=wheels, cache=PackageCache(tmp_path), installer=installer).environments
    assert found.versions == {"room": "1.0", "shelf": "1.0"}
    assert found.modules == ("room",)
    assert sorted(path.name for path in found.packages.iterdir() if path.suffix == ".py") in (
        ["shelf.py"],
        ["_virtualenv.py", "shelf.py"],
    )
    assert list((found.packages / "__pycache__").glob("shelf.*.pyc"))
    assert all(path.name.startswith("python") for path in (found.prefix / "bin").iterdir())
    answer = subprocess.run([found.python, "-c", "import room; print(room.shelf.VERSION)"], capture_output=True)
    assert answer.stdout == b"1.0\n"


@pytest.mark.parametrize("installer", ["uv", "pip"])
@pytest.mark.parametrize(
    ("packages", "told"), [(["shelf==9"], "shelf"), (["nowhere-to-be-found"], "nowhere-to-be-found")]
)
def test_what_cannot_be_installed_is_an_error_and_leaves_nothing(installer, packages, told, wheels, tmp_path):
    suite = TaskSuite("one", [task("one", packages, UNCHANGED, "unchanged")])
    cache = PackageCache(tmp_path)
    with pytest.raises(PackageError, match=told) as error:
        prepare(suite, wheels=wheels, cache=cache, installer=installer)
    assert str(error.value).startswith(f"{', '.join(suite[0].packages)} cannot be installed: ")
    assert cache.entries() == []
    assert list(cache.directory.iterdir()) == []


@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_nothing_of_a_source_distribution_is_run(installer, tmp_path):
    source, mark = tmp_path / "sly-1.0", tmp_path / "mark"
    source.mkdir()
    (source / "setup.py").write_text(
        f"open({str(mark)!r}, 'w')\nfrom setuptools import setup\nsetup(name='sly', version='1.0')\n"
    )
    (source / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: sly\nVersion: 1.0\n")
    shutil.make_archive(str(tmp_path / "wheels" / "sly-1.0"), "gztar", tmp_path, "sly-1.0")
    suite = TaskSuite("one", [task("one", ["sly"], UNCHANGED, "unchanged")])
    with pytest.raises(PackageError, match="sly"):
        prepare(suite, wheels=tmp_path / "wheels", cache=PackageCache(tmp_path / "cache"), installer=installer)
    assert not mark.exists()


@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_nothing_of_a_wheel_is_run(installer, tmp_path):
    """A .pth file would run when the environment's interpreter starts, and a module when it is imported."""
    mark = tmp_path / "mark"
    code = f"open({str(mark)!r}, 'a').write('ran')"
    files = {"sly.py": code, "sly.pth": f"import os; {code}\n", "sitecustomize.py": code}
    make_wheel(tmp_path / "wheels", "sly", "1.0", files)
    suite = TaskSuite("one", [task("one", ["sly"], "import sly", "")])
    cache = PackageCache(tmp_path / "cache")
    for _ in range(2):
        (found,) = prepare(suite, wheels=tmp_path / "wheels", cache=cache, installer=installer).environments
    assert (found.packages / "sly.pth").exists()
    assert not mark.exists()
    # The mark shows what would have happened.
    subprocess.run([found.python, "-c", ""], check=True)
    assert mark.exists()


@pytest.mark.parametrize("named", ["shelf", None])
def test_a_folder_or_interpreter_that_is_not_there_is_an_error(named, tmp_path):
    suite = TaskSuite("one", [task("one", [named] if named else [], UNCHANGED, "unchanged")])
    cache = PackageCache(tmp_path / "cache")
    with pytest.raises(PackageError, match="none is no folder"):
        prepare(suite, wheels=tmp_path / "none", cache=cache)
    with pytest.raises(ExecutorError, match="none does not answer as a Python interpreter"):
        prepare(suite, python=str(tmp_path / "none"), cache=cache)


def test_the_cache_is_kept_small_but_not_below_what_the_suite_needs(packaged, wheels, tmp_path):
    cache = PackageCache(tmp_path)
    first = TaskSuite("first", [packaged[0]])
    (old,) = prepare(first, wheels=wheels, cache=cache, max_bytes=1).environments
    assert cache.entries() == [old]
    done = prepare(TaskSuite("second", packaged[1:]), wheels=wheels, cache=cache, max_bytes=1)
    assert cache.read(old.key) is None
    assert {one.key for one in cache.entries()} == {one.key for one in done.environments}


def test_many_prepare_at_once(packaged, wheels, tmp_path):
    cache, done = PackageCache(tmp_path), []
    threads = [
        threading.Thread(target=lambda: done.append(prepare([packaged[0]], wheels=wheels, cache=cache)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.installed for one in done) == [0, 0, 0, 1]
    assert len({one.environments[0].path for one in done}) == 1


_PREPARES = """
import sys
from pathlib import Path
from code_env import OutputTest, Task
from code_env.caches import folders
from code_env.packages import PackageCache, prepare
task = Task("one", "?", (OutputTest("1"),), packages=("shelf",))
prepare([task], wheels=sys.argv[2], cache=PackageCache(Path(sys.argv[1])))
"""


def test_a_killed_prepare_leaves_nothing_that_is_taken_for_an_environment(packaged, wheels, tmp_path):
    """Killed at different moments, whatever it was doing then."""
    cache = PackageCache(tmp_path)

    def is_emptied():
        cache.prune(0)
        return not list(cache.directory.iterdir())

    key = cache.key(("shelf",), sys.executable)
    for stage in ("venv", "venv/lib*/python*/site-packages/shelf.py"):
        process = subprocess.Popen(
            [sys.executable, "-c", _PREPARES, str(tmp_path), str(wheels)], start_new_session=True
        )
        begun = f"{key}.*.partial/{stage}"
        wait_until(lambda p=process, begun=begun: p.poll() is not None or list(cache.directory.glob(begun)))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        found = cache.read(key)
        assert found is None or (found.packages / "shelf.py").exists()
        wait_until(is_emptied)  # A killed installer holds the lock until the kernel has ended it.
    assert prepare([packaged[1]], wheels=wheels, cache=cache).installed == 1


def test_users_other_than_root_can_read_it(wheels, packaged, tmp_path):
    before = os.umask(0o077)
    try:
        (found,) = prepare([packaged[0]], wheels=wheels, cache=PackageCache(tmp_path)).environments
    finally:
        os.umask(before)
    closed = [path for path in (found.path, *found.prefix.rglob("*")) if not path.stat().st_mode & 0o004]
    assert closed == [found.path / "environment.json"] or closed == []


def test_the_interpreter_can_be_another(packaged, wheels, tmp_path):
    twin = tmp_path / "twin"
    twin.symlink_to(os.path.realpath(sys.executable))
    task = dataclasses.replace(packaged[0])
    (found,) = prepare([task], wheels=wheels, cache=PackageCache(tmp_path / "cache"), python=str(twin)).environments
    assert found.versions == {"shelf": "1.0"}


@pytest.mark.shared_data
def test_bigcodebench_passes_with_what_prepare_installs(data, tmp_path, monkeypatch):
    """From the index that uv and pip are configured for, and with nothing that this interpreter has installed."""
    monkeypatch.setenv("CODE_ENV_CACHE", str(tmp_path))
    suite = load_suite(data / "data_tasks" / "bigcodebench_sample.jsonl")
    prepare(suite)
    with local("full") as executor:
        for one in suite:
            assert judge(one, one.reference, executor).passed
            assert judge(one, "    pass\n", executor).fraction < 1.0
