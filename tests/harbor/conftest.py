"""An image with a shell, Python and pytest, from which the images of all tasks are built."""

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

from code_env.caches import FileLock
from images.archives_made import packed_tar
from images.rootfs import add_programs, make_root

collect_ignore = ["tasks"]

TOOLS = ("sh", "bash", "cat", "cp", "chmod", "grep", "ls", "ln", "mkdir", "mv", "rm", "setsid", "sed", "sleep", "touch")
PACKAGES = ("_pytest", "pytest", "pluggy", "iniconfig", "packaging", "py", "pygments")


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """A directory that all workers of pytest share."""
    own = tmp_path_factory.getbasetemp()
    directory = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "harbor"
    directory.mkdir(exist_ok=True)
    return directory


@pytest.fixture(scope="session")
def base(shared):
    """A tar of a root file system."""
    with FileLock.take(shared / "lock", shared=False, wait=True):
        if not (shared / "base.tar").exists():
            root = make_root(shared / "root")
            add_programs(root, *TOOLS)
            for packages in (root / "usr/local/lib").glob("python3.*/*-packages"):
                for name in PACKAGES:
                    source = Path(importlib.util.find_spec(name).origin)
                    if source.name == "__init__.py":
                        shutil.copytree(source.parent, packages / name, ignore=shutil.ignore_patterns("__pycache__"))
                    else:
                        shutil.copy2(source, packages)
            packed_tar(shared / "unfinished.tar", root).rename(shared / "base.tar")
    return shared / "base.tar"


@pytest.fixture(scope="session", autouse=True)
def cache_of_images(shared):
    """All tests share the steps of build files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODE_ENV_CACHE", str(shared / "cache"))
        yield
