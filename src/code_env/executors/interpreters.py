"""The interpreters of languages other than Python: their paths, and the files that they read when they start.

An interpreter is searched on the trainer's PATH when the first program in its language is submitted. Programs get a new
environment, which has no variables of the trainer.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import code_env.harness as harness
from code_env.errors import UnsupportedProgram
from code_env.harness.interpreted.commands import Command
from code_env.languages import LANGUAGES, PYTHON, Language, find_language

from .limits import Limits
from .program import Program, require_program

_TIMEOUT_S = 60.0
"""How long an interpreter may take to print its path, in seconds: the first read from disk is slow."""

_MIB = 1 << 20

_lock = threading.Lock()


@dataclass(frozen=True)
class CommandInterpreter:
    """An interpreter that runs programs."""

    language: Language
    """The language of the programs."""
    path: str
    """The executable file."""
    readable: tuple[str, ...] = ()
    """Paths that must be readable in the sandbox, so that the interpreter can start."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of its programs, which the language's own replace."""

    def command(self, limits: Limits, drivers: str) -> dict[str, Any]:
        """How to run a program, as plain data for its order; see `Command`.

        Args:
            limits: The limits of the program.
            drivers: Directory of the drivers, as the program's process sees it.
        """
        memory_mib = max(1, limits.memory_bytes // _MIB)
        language = self.language
        return Command(
            interpreter=[self.path, *(option.format(memory_mib=memory_mib) for option in language.options)],
            driver=f"{drivers}/{language.driver}/{_first_file(language)}" if language.driver else "",
            file=language.file,
            environment={**self.variables, **language.environment},
            out_of_memory=language.out_of_memory,
        )._asdict()


def refuse_unsupported(
    program: Program,
    executor: str,
    languages: Collection[str] | None = None,
    *,
    here: bool = True,
    packages: bool = False,
    images: bool = False,
) -> None:
    """Refuse a program that an executor cannot run.

    Args:
        program: The program.
        executor: The executor's name.
        languages: Names of the languages that the executor runs; all languages of the table by default.
        here: Whether the interpreter must be on this machine, unless the program is in an image.
        packages: Whether the executor runs programs with packages of their own.
        images: Whether it runs programs in images.

    Raises:
        UnsupportedProgram: If the program is in none of these languages, if its peer is not in Python or cannot drive
            it, if its interpreter is not installed, or if it needs packages of its own or an image and cannot have
            them.
        TypeError: If it is not a `Program`.
    """
    require_program(program)
    language = find_language(program.language)
    if language is None or (languages is not None and language.name not in languages):
        known = ", ".join(one.name for one in LANGUAGES if languages is None or one.name in languages)
        raise UnsupportedProgram(f"the {executor} executor runs {known}, not {program.language!r}")
    if program.peer is not None and program.peer.language != PYTHON.name:
        raise UnsupportedProgram(f"a peer is a program in {PYTHON.name}, not {program.peer.language!r}")
    if program.packages and not packages:
        raise UnsupportedProgram(
            f"the {executor} executor has only the packages of its own interpreter, and this program is to find "
            f"{', '.join(program.packages)}; take an executor that can (describe().packages), such as 'local', or give "
            "tasks no packages: suite.with_packages([])"
        )
    if program.image and not images:
        raise UnsupportedProgram(
            f"the {executor} executor runs no programs in images, and this program names {program.image!r}; take an "
            "executor that can (describe().images), such as 'local'"
        )
    if language is PYTHON:
        return
    for what, wanted in (("one_process", program.one_process), ("notebook", program.notebook)):
        if wanted:
            raise UnsupportedProgram(f"{what} is for programs in {PYTHON.name}, not {language.name!r}")
    if here and not program.image:
        interpreter_for(language)


def installed_languages() -> frozenset[str]:
    """Names of the languages whose interpreter is on PATH, and Python."""
    return frozenset(one.name for one in LANGUAGES if not one.interpreter or shutil.which(one.interpreter))


def interpreter_for(language: Language) -> CommandInterpreter:
    """The interpreter of a language other than Python.

    Raises:
        UnsupportedProgram: If it is not on PATH, or does not start; the message says how to install it.
    """
    found = shutil.which(language.interpreter)
    if found is None:
        raise UnsupportedProgram(
            f"programs in {language.name} need the command {language.interpreter!r}, and it is not on PATH; "
            f"{language.install}"
        )
    with _lock:
        return _ask(language, os.path.abspath(found))


@functools.lru_cache(maxsize=64)
def _ask(language: Language, found: str) -> CommandInterpreter:
    environment = {"PATH": os.environ.get("PATH", os.defpath), **language.environment}
    # With LD_TRACE_LOADED_OBJECTS the dynamic loader prints the libraries of an executable, and does not run it.
    try:
        path = _output([found, *language.locate], environment).strip()
        if not os.path.isfile(path):
            raise ValueError(f"it says that it is {path!r}")
        libraries = _output([path], {**environment, "LD_TRACE_LOADED_OBJECTS": "1"})
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise UnsupportedProgram(
            f"programs in {language.name} need {found}, and it does not start: {error}; {language.install}"
        ) from error
    files = [path, *(word for word in libraries.split() if os.path.isabs(word))]
    readable = {name for file in files for name in (file, os.path.realpath(file)) if os.path.exists(name)}
    return CommandInterpreter(language, os.path.realpath(path), tuple(sorted(readable)))


def _output(command: list[str], environment: dict[str, str]) -> str:
    return subprocess.run(
        command,
        capture_output=True,
        check=True,
        timeout=_TIMEOUT_S,
        env=environment,
        stdin=subprocess.DEVNULL,
        text=True,
    ).stdout


def driver_files(language: Language) -> dict[str, str]:
    """The source files of a language's driver, by path below the directory of the drivers."""
    if not language.driver:
        return {}
    directory = drivers_directory() / language.driver
    return {f"{language.driver}/{file.name}": file.read_text(encoding="utf-8") for file in sorted(directory.iterdir())}


def drivers_directory() -> Path:
    """The directory of the drivers in this package."""
    return Path(harness.__file__).with_name("interpreted")


def _first_file(language: Language) -> str:
    return f"driver{Path(language.file).suffix}"
