"""Root file systems for tests: a Python of this machine and the libraries that it needs, at other places than here."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

LEFT_OUT = shutil.ignore_patterns(
    *("*-packages", "test", "tests", "idlelib", "ensurepip", "lib2to3", "tkinter", "__pycache__", "*.a", "config-*")
)


def make_root(root: Path) -> Path:
    """Make a root file system with the Python that runs the tests, in /usr/local, and some files of its own."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    library = Path(os.__file__).parent
    shutil.copytree(library, root / "usr/local/lib" / version, ignore=LEFT_OUT, symlinks=True)
    (root / "usr/local/bin").mkdir(parents=True)
    binary = root / "usr/local/bin" / version
    shutil.copy2(os.path.realpath(sys.executable), binary)
    (binary.parent / "python3").symlink_to(version)
    for name in ("site-packages", "dist-packages"):  # The second is Debian's.
        packages = root / "usr/local/lib" / version / name
        packages.mkdir()
        (packages / "of_the_image.py").write_text("ANSWER = 42\n")
    for path in libraries(binary, *(root / "usr/local/lib" / version / "lib-dynload").glob("*.so")):
        target = root / path[1:]
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
    for name in ("etc", "home", "media", "mnt", "opt", "root", "run", "srv"):
        (root / name).mkdir(exist_ok=True)
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc/motd").write_text("an image\n")
    (root / "tmp").mkdir()
    (root / "tmp/hidden").write_text("under the program's scratch")
    return root


def add_programs(root: Path, *names: str) -> None:
    """Copy programs of this machine into the /bin of a root file system, with their libraries."""
    for name in names:
        found = Path(os.path.realpath(shutil.which(name) or f"/bin/{name}"))
        for source, target in [(found, root / "bin" / name)] + [
            (Path(path), root / path[1:]) for path in libraries(found)
        ]:
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)


def libraries(*binaries: Path) -> set[str]:
    """The shared libraries of binaries, with the loader, by their paths on this machine."""
    told = subprocess.run(["ldd", *map(str, binaries)], capture_output=True, text=True).stdout
    return set(re.findall(r"(?:=> |^\t)(/\S+) \(", told, re.MULTILINE))
