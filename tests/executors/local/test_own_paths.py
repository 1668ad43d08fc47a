"""What loaded modules keep of HOME, TMPDIR and the current directory is what a program's own import would keep."""

import functools
import sys
import types
from pathlib import Path, PurePosixPath

import pytest

import code_env
from code_env import Limits, Program
from code_env.executors.local.jail.namespaces import work_in
from code_env.executors.local.jail.own_paths import OwnPaths, forget
from support import LEVELS, local

MODULES = ["numpy", "pandas", "matplotlib.pyplot", "multiprocessing.process", "sysconfig"]

USES = {
    "numpy": "import numpy",
    "pandas": "import pandas",
    "matplotlib": "import matplotlib.pyplot",
    "much": "import random, numpy, pandas, matplotlib.pyplot",
}

TEMPFILE = """
import os, tempfile
from pathlib import Path
with tempfile.TemporaryDirectory() as directory:
    Path(directory, "x").write_text("y")
with tempfile.NamedTemporaryFile() as file:
    file.write(b"x")
os.close(tempfile.mkstemp(dir=".")[0])
print(tempfile.gettempdir() == os.environ["TMPDIR"] == tempfile.gettempdirb().decode())
"""

SEEN = """
import os, sys
import numpy, pandas, matplotlib.pyplot, matplotlib.font_manager, matplotlib.texmanager, multiprocessing.process
import multiprocessing.util, site, sysconfig, tempfile
paths = [
    os.getcwd(), os.path.expanduser("~"), tempfile.gettempdir(), site.getuserbase(), sysconfig.get_config_var("userbase"),
    matplotlib.get_configdir(), matplotlib.get_cachedir(), *matplotlib.font_manager.X11FontDirectories, matplotlib.texmanager.TexManager._cache_dir,
    multiprocessing.process.ORIGINAL_DIR, os.path.dirname(multiprocessing.util.get_temp_dir()),
]
print(all(map(os.path.isdir, (matplotlib.get_configdir(), matplotlib.get_cachedir()))))
print(*(str(one).replace(os.environ["TMPDIR"], "TMPDIR") for one in paths), sep="\\n")
"""


def test_temporary_files_can_be_made_beside_any_import(jail):
    programs = [Program(f"{code}\n{TEMPFILE}") for code in USES.values()]
    results = jail.run_many(programs)
    found = {name: (one.status, one.stdout) for name, one in zip(USES, results, strict=True)}
    assert found == dict.fromkeys(USES, ("ok", "True\n")), results


def test_temporary_files_can_be_made_by_tests_of_judged_runs(jail):
    made = (
        "import numpy, tempfile\ndef f(x):\n    with tempfile.TemporaryDirectory() as made: return numpy.abs(x).item()"
    )
    calls = (code_env.CallTest((-1,), {}, 1), code_env.CallTest((2,), {}, 2))
    task = code_env.Task("t", "", (*calls, code_env.AssertTest("assert f(-3) == 3")), entry_point="f")
    assert code_env.judge(task, made, jail).passed
    reads = f"import numpy\n{TEMPFILE}"
    task = code_env.Task("t", "", (code_env.StdinTest("", "True\n"), code_env.StdinTest("x", "True\n")))
    verdict = code_env.judge(task, reads, jail)
    assert verdict.passed, verdict


@pytest.mark.parametrize("level", LEVELS)
def test_paths_are_those_of_the_programs_own_import(level):
    limits = Limits(cpu_s=30, wall_s=100)  # The program's own import of matplotlib looks for all fonts.
    seen = []
    for preload in (MODULES, []):
        with local(level, preload=preload, workers=1) as executor:
            result = executor.run(Program(SEEN, limits=limits))
            assert result.status == "ok", result
            seen.append(result.stdout)
    assert seen[0] == seen[1]
    work = work_in("TMPDIR")
    assert seen[0].startswith(f"True\n{work}\n{work}\nTMPDIR\n{work}/.local\n")


def test_every_worker_has_its_own():
    code = f"{TEMPFILE}import matplotlib\nprint(matplotlib.get_cachedir()[:len(os.getcwd())] == os.getcwd())"
    with local("contained", workers=3) as executor:
        results = executor.run_many([Program(f"import matplotlib.pyplot, time\ntime.sleep(0.2)\n{code}")] * 6)
    assert {one.stdout for one in results} == {"True\nTrue\n"}, results


@pytest.fixture
def module():
    # Made here, because the garbage collector does not list what is older than the tests.
    class Slotted:
        __slots__ = ("empty", "path")

    class Named:
        where = "/here/is/x/class"

        def __init__(self) -> None:
            self.where = "/here/is/x/instance"

    made = types.ModuleType("keeps_paths")
    made.text, made.raw, made.path = "/here/is/x", b"a:/here/is/x:b", PurePosixPath("/here/is/x/y")
    made.several = ["/here/is/x/1", {"k": "/here/is/x/2"}, {"/here/is/x/3"}, ("/here/is/x/4", (Path("/here/is/x/5"),))]
    made.other, made.number = "/here/is/y", 3
    made.kind, made.instance, made.slotted = Named, Named(), Slotted()
    made.slotted.path = "/here/is/x/slot"

    def default(one="/here/is/x/default", *, other="/here/is/x/named"):
        return one, other

    made.default = default
    kept = "/here/is/x/cell"
    made.cell = lambda: kept
    made.computed = []

    @functools.cache
    def cached():
        made.computed.append(1)
        return "/here/is/x/cached"

    made.cached = cached
    made.cached()
    sys.modules["keeps_paths"] = made
    yield made
    del sys.modules["keeps_paths"]


def test_paths_are_found_wherever_a_module_keeps_them(module):
    new = "/there"
    OwnPaths("/here/is/x").move(new)
    assert (module.text, module.raw, module.path) == (new, f"a:{new}:b".encode(), PurePosixPath(f"{new}/y"))
    last = (f"{new}/4", (Path(f"{new}/5"),))
    assert module.several == [f"{new}/1", {"k": f"{new}/2"}, {f"{new}/3"}, last]
    assert (module.kind.where, module.instance.where) == (f"{new}/class", f"{new}/instance")
    assert module.slotted.path == f"{new}/slot"
    assert module.default() == (f"{new}/default", f"{new}/named")
    assert module.cell() == f"{new}/cell"
    assert (module.other, module.number) == ("/here/is/y", 3)
    module.cached()
    assert module.computed == [1, 1]


def test_what_is_forgotten_is_found_again(monkeypatch, tmp_path):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", "/gone")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    forget()
    assert tempfile.gettempdir() == str(tmp_path)
