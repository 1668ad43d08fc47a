"""Small wheels, and suites that need them."""

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from code_env import AssertTest, OutputTest, Task, TaskSuite


def make_wheel(
    folder: Path, name: str, version: str, files: Mapping[str, str] | None = None, requires: Iterable[str] = ()
) -> Path:
    """A wheel of pure Python; by default its only module has a VERSION."""
    files = {f"{name}.py": f"VERSION = {version!r}\n"} if files is None else dict(files)
    about = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {one}\n" for one in requires)
    files[f"{about}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}"
    files[f"{about}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{about}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{about}/RECORD"])
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for inside, text in files.items():
            wheel.writestr(inside, text)
    return path


def task(name: str, packages: Iterable[str], code: str, expected: str) -> Task:
    """A task whose reference prints what is expected."""
    return Task(name, "Print it.", (OutputTest(expected),), reference=code, packages=tuple(packages))


def versions_suite(folder: Path) -> TaskSuite:
    """Two versions of one package, and a package that needs one of them; their wheels are put into a folder."""
    make_wheel(folder, "shelf", "1.0")
    make_wheel(folder, "shelf", "2.0")
    make_wheel(
        folder, "room", "1.0", {"room/__init__.py": "import shelf\n", "room/door.py": "OPEN = True\n"}, ["shelf<2"]
    )
    show = "import shelf\nprint(shelf.VERSION)"
    asserting = Task(
        "asserting",
        "Write f().",
        (AssertTest("import room.door\nassert room.door.OPEN\nassert f() == room.shelf.VERSION"),),
        entry_point="f",
        reference="import shelf\ndef f():\n    return shelf.VERSION",
        packages=("room",),
    )
    tasks = [task("old", ["shelf<2"], show, "1.0"), task("new", ["shelf"], show, "2.0"), asserting]
    return TaskSuite("versions", tasks)
