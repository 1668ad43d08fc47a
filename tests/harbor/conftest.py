"""An image with a shell, Python and pytest, from which the images of all tasks are built."""

import compileall
import dataclasses
import importlib.util
import os
import shutil
from pathlib import Path

import pytest

from code_env.caches import FileLock
from code_env.harbor import Trial, read_folder
from code_env.images import prepare_images
from images.archives_made import packed_tar
from images.rootfs import add_programs, make_root

HERE = Path(__file__).parent

collect_ignore = ["tasks"]

TOOLS = ("sh", "bash", "cat", "cp", "chmod", "grep", "ls", "ln", "mkdir", "mv", "rm", "setsid", "sed", "sleep", "touch")
PACKAGES = ("_pytest", "pytest", "pluggy", "iniconfig", "packaging", "py", "pygments")
LEXERS = {"__init__.py", "_mapping.py", "diff.py", "python.py"}


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """A directory that all workers of pytest share."""
    own = tmp_path_factory.getbasetemp()
    directory = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "harbor"
    directory.mkdir(exist_ok=True)
    return directory


def add_pytest(library):
    """Add pytest to a Python, compiled as in most images: all tests of a trial begin anew, and would compile it."""
    packages, other = library / "site-packages", library / "dist-packages"
    for name in PACKAGES:
        source = Path(importlib.util.find_spec(name).origin)
        if source.name == "__init__.py":
            shutil.copytree(source.parent, packages / name, ignore=left_out)
        else:
            shutil.copy2(source, packages)
        added = name if source.name == "__init__.py" else source.name
        (other / added).symlink_to(f"../{packages.name}/{added}")
    assert compileall.compile_dir(library, quiet=2, stripdir=library.parents[3])


def left_out(folder, names):
    """What is not copied: what is compiled for another path, and the many languages that Pygments knows."""
    lexers = set(names) - LEXERS if folder.endswith("/pygments/lexers") else set()
    return lexers | {"__pycache__"}


@pytest.fixture(scope="session")
def base(shared):
    """A tar of a root file system."""
    with FileLock.take(shared / "lock", shared=False, wait=True):
        if not (shared / "base.tar").exists():
            root = make_root(shared / "root")
            add_programs(root, *TOOLS)
            (library,) = (root / "usr/local/lib").glob("python3.*")
            add_pytest(library)
            packed_tar(shared / "unfinished.tar", root).rename(shared / "base.tar")
    return shared / "base.tar"


@pytest.fixture(scope="session", autouse=True)
def cache_of_images(shared):
    """All tests share the steps of build files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODE_ENV_CACHE", str(shared / "cache"))
        yield


@pytest.fixture(scope="session")
def tasks(base, shared):
    """The folders, beside the image that they build on. No test changes them: their images are built once."""
    place = shared / "tasks"
    with FileLock.take(shared / "lock", shared=False, wait=True):
        if not place.exists():
            shutil.copytree(HERE / "tasks", shared / "unfinished")
            (shared / "unfinished/base.tar").symlink_to(base)
            (shared / "unfinished").rename(place)
    return place


@pytest.fixture
def begun(tasks):
    """Begins trials of a task, by the name of its folder."""
    trials = []

    def begin(name, **options):
        task = read_folder(tasks / name)
        if "memory_bytes" in options:
            task = dataclasses.replace(task, memory_bytes=options.pop("memory_bytes"))
        if "verifier_s" in options:
            stage = dataclasses.replace(task.stages[0], verifier_s=options.pop("verifier_s"))
            task = dataclasses.replace(task, stages=(stage,))
        prepare_images([task.image])
        trials.append(Trial(task, **options))
        return trials[-1]

    yield begin
    for trial in trials:
        trial.close()
