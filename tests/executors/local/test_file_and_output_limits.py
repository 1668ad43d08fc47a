"""Limits of what a program writes, to files and to its output."""

import pytest

import code_env
from code_env import Limits, Program, Status
from code_env.executors import files
from code_env.executors.local import file_watch
from code_env.executors.local.jailed_program import JailedProgram
from support import local


@pytest.fixture(scope="module")
def contained():
    with local("contained") as executor:
        yield executor


def test_the_input_is_none_of_its_files(jail):
    code = "import sys, time\ntime.sleep(0.5)\nprint(len(sys.stdin.read()))"
    result = jail.run(Program(code, stdin="a" * 3_000_000, limits=Limits(file_bytes=1_000_000)))
    assert (result.status, result.stdout) == (Status.OK, "3000000\n"), result


def test_files_together_are_limited_as_linux_limits_them(jail):
    code = (
        "import errno, os\nwritten = 0\ntry:\n    for n in range(100):\n        with open(f'f{n}', 'wb') as f:\n"
        "            f.write(b'x' * 100000)\n            f.flush()\n            written += 100000\n"
        "except OSError as error:\n    print(error.errno in (errno.ENOSPC, errno.EFBIG), written < 2_000_000)"
    )
    result = jail.run(Program(code, limits=Limits(file_bytes=1_000_000)))
    if jail.describe().level == "full":
        assert (result.status, result.stdout) == (Status.OK, "True True\n"), result
    else:
        assert (result.status, result.error.name) == (Status.ERROR, "OSError"), result
    uncaught = jail.run(Program("open('f', 'wb').write(b'x' * 2_000_000)", limits=Limits(file_bytes=1_000_000)))
    assert (uncaught.status, uncaught.error.name) == (Status.ERROR, "OSError")


def test_each_program_has_its_own_limit_whatever_the_one_before_it_had(jail):
    """Where a worker keeps a file system that a program has not touched for the next one."""
    with local(jail.describe().level, workers=1) as executor:
        for before, mib, fails in ((8, 1, True), (1, 8, False), (8, 8, False), (1, 1, True)):
            executor.run(Program("pass", limits=Limits(file_bytes=before << 20)))
            program = Program("open('f', 'wb').write(bytes(4 << 20))", limits=Limits(file_bytes=mib << 20))
            assert (executor.run(program).status is not Status.OK) is fails, (before, mib)


def test_a_file_under_many_names_is_charged_once(jail):
    code = """
import os
with open("one", "wb") as file:
    file.write(bytes(1 << 20))
for number in range(20):
    os.link("one", f"name-{number}")
import time
time.sleep(0.2)
print("done")
"""
    result = jail.run(Program(code, limits=Limits(file_bytes=4 << 20)))
    assert (result.status, result.stdout) == (Status.OK, "done\n"), result


def test_names_count_as_bytes_do(jail, monkeypatch):
    """An empty file takes the kernel's memory too, and so does another name of a file; and each look takes longer."""
    makes = {
        "files": "open(f'{n}', 'w').close()",
        "links": "open('x', 'a').close()\n    os.link('x', f'{n}')",
        "directories": "os.mkdir(f'{n}')",
    }
    for module in (files, file_watch):  # So `contained` has fewer to look at; at `full` Linux counts.
        monkeypatch.setattr(module, "MAX_NAMES", 10_000)
    limits = Limits(cpu_s=100, wall_s=1000, file_bytes=8 << 20)
    codes = {name: f"import os\nfor n in range(10**7):\n    {make}" for name, make in makes.items()}
    results = dict(zip(makes, jail.run_many([Program(code, limits=limits) for code in codes.values()]), strict=True))
    ended = {name: (result.status, result.error and result.error.name) for name, result in results.items()}
    assert ended == dict.fromkeys(makes, (Status.ERROR, "OSError")), results
    assert jail.run(Program("import os\nprint(os.listdir('.'), len(os.listdir('..')))")).stdout == "['main.py'] 1\n"


MANY_NAMES_THEN_FILES = """
import os, time
for n in range(60_000):
    {make}
for n in range(120):
    fd = os.open(f's{{n}}', os.O_CREAT | os.O_RDWR)
    os.posix_fallocate(fd, 0, 16 << 20)
    os.close(fd)
for n in range(120):
    os.unlink(f's{{n}}')
"""


@pytest.mark.parametrize("make", ["open(f'{n}', 'w').close()", "os.link('main.py', f'{n}')", "os.mkdir(f'{n}')"])
def test_many_names_hide_no_large_files(make, contained):
    """A look at many names takes long, and then looks rest: meanwhile the program held 2 GB, and let go of them."""
    limits = Limits(cpu_s=10, wall_s=100)
    result = contained.run(Program(MANY_NAMES_THEN_FILES.format(make=make), limits=limits))
    assert (result.status, result.error and result.error.name) == (Status.ERROR, "OSError"), result


def test_many_directories_are_too_much_early(contained):
    """In memory an empty directory takes nothing, but the trainer has to open each to look into it."""
    code = "import os, time\nfor n in range(5_000): os.mkdir(f'{n}')\ntime.sleep(100)"
    result = contained.run(Program(code, limits=Limits(cpu_s=10, wall_s=100, file_bytes=4 << 20)))
    assert (result.status, result.error.message) == (
        Status.ERROR,
        "[Errno 28] its files together passed file_bytes=4194304",
    ), result
    honest = "import os\nfor n in range(2000): os.makedirs(f'{n % 40}/{n}')\nprint(len(os.listdir('.')))"
    assert contained.run(Program(honest)).stdout == "41\n"


MANY_FILES = """
import os, pathlib
path = pathlib.Path('.')
for level in range(60):
    path /= f'level-{level}'
path.mkdir(parents=True)
for n in range(2000):
    place = path.parents[n % 60] / 'some'
    place.mkdir(exist_ok=True)
    (place / str(n)).write_text(str(n))
found = sum(int(pathlib.Path(top, name).read_text()) for top, _, names in os.walk('.') for name in names if name.isdigit())
print(found == sum(range(2000)))
"""


def test_thousands_of_small_files_in_deep_directories_are_fine(jail):
    limits = Limits(file_bytes=32 << 20)
    assert jail.run(Program(MANY_FILES, limits=limits)).stdout == "True\n"
    task = code_env.Task(id="t", prompt="", tests=(code_env.StdinTest("", "True\n"),), limits=limits)
    verdict = code_env.judge(task, MANY_FILES, jail)
    assert verdict.passed, verdict


def test_input_files_are_not_charged(jail):
    files = {"data": b"x" * 3_000_000}
    code = "open('out', 'wb').write(open('data', 'rb').read()[:900_000]); print('done')"
    result = jail.run(Program(code, files=files, collect=("out",), limits=Limits(file_bytes=1_000_000)))
    assert (result.stdout, len(result.files["out"])) == ("done\n", 900_000), result


def test_output_keeps_head_and_tail_and_a_flood_ends_it(jail, honest):
    result = jail.run(Program("print('head')\nprint('x' * 1_000_000)\nprint('tail')"))
    assert (result.status, result.stdout_truncated) == (Status.OK, True)
    assert result.stdout.startswith("head\n")
    assert result.stdout.endswith("tail\n")
    flood = jail.run(Program("import os\nwhile True: os.write(1, b'\\xff' * 65536)", limits=Limits(wall_s=100)))
    assert flood.status is Status.OUTPUT_LIMIT


def test_single_bytes_wake_the_trainer_seldom(jail, monkeypatch):
    """They would take the trainer as much CPU time as the program. All of them arrive, those before its end too."""
    read, reads = JailedProgram.read, []
    monkeypatch.setattr(JailedProgram, "read", lambda self, fd: (reads.append(fd), read(self, fd)))
    code = "import os\nfor n in range(60_000): os.write(1 + n % 2, b'%d' % (n % 10))\nos.write(1, bytes(200_000))"
    result = jail.run(Program(code, limits=Limits(output_bytes=1 << 20)))
    assert (result.status, result.stdout) == (Status.OK, "02468" * 6000 + "\0" * 200_000), result.status
    assert result.stderr == "13579" * 6000
    # Two streams, each at most twice in 5 ms; what is large is read at once.
    assert len(reads) < 50 + 4 * 200 * result.wall_s, (len(reads), result.wall_s)
