"""Levels are what the kernel grants: with user namespaces taken away for real, `contained` runs or is refused."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from code_env import Limits, Program, Status, make_executor
from code_env.executors.local import work_directory
from code_env.testing.running import check_names
from support import PATIENCE_S, local
from tiers import sample

CHECK = """
import json, sys
from code_env import make_executor
from code_env.errors import IsolationUnavailable
from code_env.testing import examine
names = sys.argv[1:] or None
with make_executor("local") as executor:
    found = {"level": executor.describe().level, "why": executor.why_not_full()}
try:
    with make_executor("local", min_isolation="full") as executor:
        executor.describe()
except IsolationUnavailable as error:
    found["refused"] = str(error)
checked = examine(lambda: make_executor("local", workers=2), names)
found["failed"] = {one.check: one.reason for one in checked if one.outcome == "fails"}
print(json.dumps(found))
"""


SOME_CHECKS = sample(check_names(), 8)
"""What is looked at of a level on a further way to it: what keeps programs to their limits is the same."""


def check(*prefix, names=()):
    command = [*prefix, sys.executable, "-c", CHECK, *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["failed"] == {}
    return found


def test_contained_runs_and_conforms_where_a_filter_refuses_user_namespaces(no_user_namespaces):
    found = check(*no_user_namespaces)
    assert found["level"] == "contained"
    assert "user namespace" in found["why"]
    assert "doctor" in found["refused"]


def test_contained_runs_and_conforms_where_a_sysctl_allows_none():
    """In a user namespace of our own, whose limit we may set; root there, and nobody else."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("no unshare command")
    script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    found = check(unshare, "--user", "--map-root-user", "sh", "-c", script, "sh", names=SOME_CHECKS)
    assert found["level"] == "contained"
    assert "user namespace" in found["why"]


def readable_interpreter():
    """An interpreter that every user can run, in the version that this one has."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for path in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}", "/usr/bin/python3"):
        real = Path(os.path.realpath(path))
        if real.exists() and all(one.stat().st_mode & 0o001 for one in real.parents):
            told = subprocess.run([path, "-c", "import sys; print(sys.version_info >= (3, 11))"], capture_output=True)
            if told.stdout == b"True\n":
                return path
    return None


AS_USER = """
import json, os, sys
from code_env import Program, make_executor
import code_env.abuses, code_env.executors.local.executor, code_env.testing
import code_env.executors.local.server as server
python, package, user, checks, *names = sys.argv[1:]
server.BOOT = type(server.BOOT)(package) / "executors/local/jail/boot.py"
os.setgroups([])
os.setresgid(int(user), int(user), int(user))
os.setresuid(int(user), int(user), int(user))
os.environ["TMPDIR"] = os.environ["HOME"] = os.path.dirname(package)
with make_executor("local", python=python) as executor:
    level = executor.describe().level
checked = code_env.testing.examine(lambda: make_executor("local", workers=2, python=python), checks.split())
failed = {one.check: one.reason for one in checked if one.outcome == "fails"}
sys.executable = python
abuses = [abuse for abuse in code_env.abuses.ABUSES if abuse.name in names]
with make_executor("local", workers=2, python=python) as executor:
    let_through = [finding.name for finding in code_env.abuses.probe(executor, abuses) if not finding.held]
print(json.dumps([level, os.getuid(), len(abuses), let_through, failed]))
"""

ABUSES = (
    "memory of threads whose first one has ended",
    "memory of a child whose first thread has ended",
    "memory that grows down as a stack",
    "descriptors in a table for each thread",
    "sockets filled by several processes",
    "pages in sockets for a byte each",
    "filters and rules of the kernel's memory",
    "timers and signals that all others lack",
    "hears of what others do with files",
    "acts on the disk and the memory of all",
    "reads what is noted with a secret",
    "the kernel forgets ignored children",
    "the kernel forgets the children of a process whose memory another writes to",
)
"""What the kernel may grant to one user and not to another."""


@pytest.mark.parametrize("filtered", [False, True])
def test_an_ordinary_user_gets_the_same(filtered, no_user_namespaces, tmp_path_factory):
    if os.geteuid() != 0:  # Then this process is one.
        found = check(*(no_user_namespaces if filtered else []), names=SOME_CHECKS)
        assert found["level"] == ("contained" if filtered else "full")
        return
    python = readable_interpreter()
    if python is None:
        pytest.skip("no interpreter that every user can run")
    place = Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True).stdout.strip())
    try:
        import code_env

        shutil.copytree(Path(code_env.__file__).parent, place / "code_env")
        place.chmod(0o755)
        os.chown(place, 54321, 54321)
        prefix = no_user_namespaces if filtered else []
        given = (python, str(place / "code_env"), "54321", " ".join(SOME_CHECKS), *ABUSES)
        command = [*prefix, sys.executable, "-c", AS_USER, *given]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == ["contained" if filtered else "full", 54321, len(ABUSES), [], {}]
    finally:
        shutil.rmtree(place)


def test_what_is_described_is_what_runs(jail):
    described = jail.describe()
    assert described.peer == "isolated"
    assert not described.network
    assert {"cpu_s", "wall_s", "memory_bytes", "output_bytes", "file_bytes", "processes"} == described.enforces
    with make_executor("local") as executor:
        assert executor.describe().level in ("full", "contained")


MANY_NAMES_AND_A_LARGE_FILE = """
import os, time
for n in range(20000): os.mknod(str(n))
time.sleep(0.7)  # A look ends meanwhile, and the next one is long in coming.
fd = os.open('large', os.O_CREAT | os.O_RDWR)
for _ in range(40): os.write(fd, bytes(8 << 20))
os.ftruncate(fd, 0)
"""


def test_files_in_memory_count_however_seldom_one_looks(monkeypatch):
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(work_directory, "_ROOMY_BYTES", 4096)
    limits = Limits(memory_bytes=64 << 20, file_bytes=700 << 20, cpu_s=20, wall_s=200)
    with local("contained") as executor:
        large = executor.run(Program(MANY_NAMES_AND_A_LARGE_FILE, limits=limits))
        assert (large.status, large.peak_memory_bytes > 64 << 20) == (Status.MEMORY, True), large
        names = executor.run(
            Program("import os\nfor n in range(60000): os.mknod(str(n))", limits=Limits(memory_bytes=48 << 20))
        )
        assert (names.status, names.peak_memory_bytes > 48 << 20) == (Status.MEMORY, True), names


def test_contained_writes_to_memory_where_there_is_room_and_nobody_named_a_place(monkeypatch):
    show = Program("import os\nprint(os.getcwd())")
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(work_directory, "_ROOMY_BYTES", 4096)
    with local("contained") as executor:
        assert executor.run(show).stdout.startswith("/dev/shm/code_env-")
    monkeypatch.setattr(work_directory, "_ROOMY_BYTES", 1 << 62)
    with local("contained") as executor:
        assert executor.run(show).stdout.startswith(f"{tempfile.gettempdir()}/code_env-")
    monkeypatch.setenv("TMPDIR", "/var/tmp")
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(work_directory, "_ROOMY_BYTES", 4096)
    with local("contained") as executor:
        assert executor.run(show).stdout.startswith("/var/tmp/code_env-")
