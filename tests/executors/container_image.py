"""A small image for containers, made from files of this machine: no registry is asked."""

import re
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

NAME = "localhost/code-env-test:1"

TOOLS = ("sh", "bash", "tar", "gzip", "mktemp", "rm", "cat", "env", "sleep", "ls", "id")


def libraries(path):
    """The shared libraries that a program loads, and the loader."""
    told = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
    return [Path(found) for found in re.findall(r"(/\S+) \(0x", told)]


def add(tar, path, name=None):
    """A file that root owns, with what a link leads to in its place."""
    # An engine that an ordinary user runs knows few owners.
    tar.add(Path(path).resolve(), name or str(path).lstrip("/"), recursive=False, filter=of_root)


def of_root(entry):
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def write_image(target):
    """Write the root file system of an image with this interpreter, a shell and a few tools, as a tar archive."""
    base, version = Path(sys.base_prefix), f"python{sys.version_info.major}.{sys.version_info.minor}"
    tools = {name: found for name in TOOLS if (found := Path("/bin") / name).exists()}
    interpreter = Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib"))
    loaded = {interpreter, *tools.values(), *library.glob("lib-dynload/*.so")}
    with tarfile.open(target, "w") as tar:
        for directory in ("tmp", "proc", "sys", "dev", "etc", "run"):
            entry = tarfile.TarInfo(directory)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if directory == "tmp" else 0o755
            tar.addfile(entry)
        for name, found in tools.items():
            add(tar, found, f"bin/{name}")
        for found in sorted({path for program in loaded for path in libraries(program)}):
            add(tar, found)
        add(tar, interpreter, str(base / "bin" / version).lstrip("/"))
        for name in ("bin/python3", "usr/bin/python3"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, str(base / "bin" / version)
            tar.addfile(entry)
        left_out = {"test", "tests", "idlelib", "site-packages", "dist-packages", "ensurepip", "tkinter"}
        for path in sorted(library.rglob("*")):
            parts = path.relative_to(library).parts
            if path.is_file() and left_out.isdisjoint(parts) and not parts[0].startswith("config-"):
                add(tar, path)
    return target
