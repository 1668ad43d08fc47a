"""The paths and files that a server needs to start the interpreter of a language other than Python, at both levels."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from code_env.executors.interpreters import CommandInterpreter, driver_files, interpreter_for
from code_env.executors.limits import Limits
from code_env.harness.interpreted.commands import INHERITED
from code_env.images import Image
from code_env.languages import PYTHON, find_language

from .jail import namespaces


class Commands:
    """The interpreter of one language, and the place of its driver for a server's programs.

    Args:
        language: Name of the language; for Python there is no interpreter and no driver.
        base: The server's directory at level `contained`, where the drivers are written as files; None at `full`, where
            they are put into the server's view of the file system.
        image: The image whose interpreter runs the programs; None for this machine's.

    Raises:
        UnsupportedProgram: If the interpreter is not there, or does not start.
        ImageError: If the image has none.
    """

    def __init__(self, language: str, base: Path | None, image: Image | None = None) -> None:
        known = find_language(language)
        self.interpreter: CommandInterpreter | None = None
        self.readable: list[str] = []
        """Paths that programs must be able to read."""
        self.directories: list[str] = []
        """The directories that contain these paths."""
        self.drivers: dict[str, str] = {}
        """Texts of the driver's files, by path."""
        self._directory = namespaces.DRIVERS if base is None else f"{base}/drivers"
        if known is None or known is PYTHON:
            return
        self.drivers = driver_files(known)
        if image is not None:  # Its programs see all of it.
            path = image.program(known.interpreter)
            variables = {name: value for name, value in image.variables.items() if name not in INHERITED}
            self.interpreter = CommandInterpreter(known, path, variables=variables)
            return
        self.interpreter = interpreter_for(known)
        self.readable = [*self.interpreter.readable]
        self.directories = sorted({os.path.dirname(path) for path in self.readable})
        if base is not None and self.drivers:
            self._write()
            self.readable.append(self._directory)

    def _write(self) -> None:
        for name, text in self.drivers.items():
            path = Path(self._directory) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for path in (Path(self._directory), *Path(self._directory).rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)  # `mkdir` and `write_text` alone would apply the umask.

    def order(self, limits: Limits) -> dict[str, Any] | None:
        """Return how to run a program with these limits, for its order; None if the language is Python."""
        return None if self.interpreter is None else self.interpreter.command(limits, self._directory)
