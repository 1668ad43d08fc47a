"""Ordinary programs that use what the jail restricts, counts or refuses: memory, files, threads, processes, libraries.

A refusal that closes a way around a limit must not close what honest programs do. So each of them writes in a jail
what it writes without one. A file in `ordinary/` is a sequence of blocks:

    #### name of the program
    ---- its conditions, from those in CONDITIONS
    its text
"""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from code_env import Limits, Program
from support import LEVELS, local
from tiers import sample

PROGRAMS = Path(__file__).parent / "ordinary"
CONDITIONS = {
    "processes": "it starts processes, and may",
    "memory": "it may use 2 GiB",
    "only full": "docs/local.md says that `contained` does not have it",
}
TIMES = {"cpu_s": 60, "wall_s": 600}
"""Far more than any needs, also beside other load: what is tried here is not how fast a machine is."""


@dataclass(frozen=True)
class Ordinary:
    """A program that works without a jail."""

    code: str
    language: str
    conditions: frozenset[str]

    @property
    def program(self) -> Program:
        """It with the limits that it needs: the usual ones, but for time and for what its conditions say."""
        more = {"processes": 8} if "processes" in self.conditions else {}
        if "memory" in self.conditions:
            more["memory_bytes"] = 2 << 30
        return Program(self.code, self.language, limits=Limits(**TIMES, **more))


def _ordinary() -> dict[str, Ordinary]:
    found = {}
    for path in sorted(PROGRAMS.glob("*.txt")):
        _, *blocks = re.split(r"(?m)^#### ", path.read_text(encoding="utf-8"))
        for block in blocks:
            name, text = block.split("\n", 1)
            conditions: set[str] = set()
            if text.startswith("---- "):
                line, text = text.removeprefix("---- ").split("\n", 1)
                conditions = {condition for condition in CONDITIONS if condition in line}
                assert sorted(line.split()) == sorted(" ".join(conditions).split()), (name, line)
            language = "javascript" if path.stem == "javascript" else "python"
            assert f"{path.stem}: {name}" not in found, name
            found[f"{path.stem}: {name}"] = Ordinary(text.rstrip("\n") + "\n", language, frozenset(conditions))
    return found


ORDINARY = _ordinary()


@pytest.fixture(scope="module")
def chosen(some):
    """Those that are tried, by name; one in twelve in the quick tier."""
    return {name: ORDINARY[name] for name in some(ORDINARY, 16)}


FORKED = """
import os, runpy, sys
import matplotlib.pyplot, numpy, pandas
for folder in sys.argv[1:]:
    child = os.fork()
    if not child:
        os.chdir(folder)
        for stream, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), stream)
        sys.argv, sys.path[0] = ["main.py"], ""
        runpy.run_path("main.py", run_name="__main__")
        sys.exit()
    _, status = os.waitpid(child, 0)
    with open(f"{folder}/exit_code", "w") as file:
        file.write(str(os.waitstatus_to_exitcode(status)))
"""
"""Runs the programs of some folders one after the other, and imports once what takes seconds to import."""


@pytest.fixture(scope="module")
def without_jail(tmp_path_factory, chosen):
    """What each writes without a jail."""
    top = tmp_path_factory.mktemp("ordinary")
    folders = {name: top / str(number) for number, name in enumerate(chosen)}
    for name, folder in folders.items():
        folder.mkdir()
        main = "main.js" if chosen[name].language == "javascript" else "main.py"
        (folder / main).write_text(chosen[name].code, encoding="utf-8")
    forked = [name for name in chosen if name.startswith(("numpy: ", "pandas: ", "matplotlib: "))]

    def run(name: str) -> tuple[int, str, str]:
        command = ("node", "main.js") if chosen[name].language == "javascript" else (sys.executable, "main.py")
        done = subprocess.run(command, capture_output=True, text=True, cwd=folders[name], stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr

    def found(name: str) -> tuple[int, str, str]:
        code, told, errors = [(folders[name] / file).read_text() for file in ("exit_code", "stdout", "stderr")]
        return int(code), told, errors

    with ThreadPoolExecutor(2) as threads:
        others = [name for name in chosen if name not in forked]
        running = threads.map(run, others)
        command = [sys.executable, "-c", FORKED, *(str(folders[name]) for name in forked)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        ended = {**dict(zip(others, running, strict=True)), **{name: found(name) for name in forked}}
    assert {name: one for name, one in ended.items() if one[0]} == {}
    return {name: told for name, (_, told, _) in ended.items()}


def test_an_ordinary_program_runs_as_without_a_jail(chosen, without_jail):
    """At both levels in one test, as each process of the tests would run them all once more without a jail."""
    # Most of what keeps them to their limits is the same in `contained`, so a part is enough there.
    parts = {
        "full": chosen,
        "contained": [name for name in sample(chosen, 8) if "only full" not in chosen[name].conditions],
    }
    assert set(parts) == set(LEVELS)
    wrong = {}
    for level, names in parts.items():
        with local(level) as executor:
            results = executor.run_many([chosen[name].program for name in names])
        for name, result in zip(names, results, strict=True):
            if (result.status, result.exit_code, result.stdout) != ("ok", 0, without_jail[name]):
                told = (result.status, result.exit_code, result.stdout, without_jail[name], result.stderr[-1000:])
                wrong[level, name] = told
    assert wrong == {}, wrong
