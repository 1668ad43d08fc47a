"""An image with a shell, Python and pytest, from which the images of all tasks are built."""

import importlib.util
import shutil
from pathlib import Path

import pytest

from images.archives_made import packed_tar
from images.rootfs import add_programs, make_root

collect_ignore = ["tasks"]

TOOLS = ("sh", "bash", "cat", "cp", "chmod", "grep", "ls", "ln", "mkdir", "mv", "rm", "setsid", "sed", "sleep", "touch")
PACKAGES = ("_pytest", "pytest", "pluggy", "iniconfig", "packaging", "py", "pygments")


@pytest.fixture(scope="session")
def base(tmp_path_factory):
    """A tar of a root file system."""
    directory = tmp_path_factory.mktemp("base")
    root = make_root(directory / "root")
    add_programs(root, *TOOLS)
    for packages in (root / "usr/local/lib").glob("python3.*/*-packages"):
        for name in PACKAGES:
            source = Path(importlib.util.find_spec(name).origin)
            if source.name == "__init__.py":
                shutil.copytree(source.parent, packages / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, packages)
    return packed_tar(directory / "base.tar", root)


@pytest.fixture(scope="session", autouse=True)
def cache_of_images(tmp_path_factory):
    """All tests share the steps of build files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODE_ENV_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
