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
    return {name: ORDINARY[name] for name in some(ORDINARY, 12)}


@pytest.fixture(scope="module")
def without_jail(tmp_path_factory, chosen):
    """What each writes without a jail."""
    top = tmp_path_factory.mktemp("ordinary")

    def run(number: int, one: Ordinary) -> subprocess.CompletedProcess:
        directory = top / str(number)
        directory.mkdir()
        command, name = ("node", "main.js") if one.language == "javascript" else (sys.executable, "main.py")
        (directory / name).write_text(one.code, encoding="utf-8")
        return subprocess.run([command, name], capture_output=True, cwd=directory, stdin=subprocess.DEVNULL)

    with ThreadPoolExecutor(2) as threads:
        done = dict(zip(chosen, threads.map(run, range(len(chosen)), chosen.values()), strict=True))
    assert {name: one.stderr for name, one in done.items() if one.returncode} == {}
    return {name: one.stdout.decode() for name, one in done.items()}


@pytest.mark.parametrize("level", LEVELS)
def test_an_ordinary_program_runs_as_without_a_jail(level, chosen, without_jail):
    here = chosen
    if level == "contained":  # Most of what keeps them to their limits is the same there, so a part is enough.
        here = {name: chosen[name] for name in sample(chosen, 3) if "only full" not in chosen[name].conditions}
    with local(level) as executor:
        results = dict(zip(here, executor.run_many([one.program for one in here.values()]), strict=True))
    wrong = {
        name: (result.status, result.exit_code, result.stdout, without_jail[name], result.stderr[-1000:])
        for name, result in results.items()
        if (result.status, result.exit_code, result.stdout) != ("ok", 0, without_jail[name])
    }
    assert wrong == {}, wrong
