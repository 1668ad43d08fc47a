"""The environments that the programs of one executor find in place of the packages of its interpreter."""

from __future__ import annotations

import os

from code_env.errors import PackagesNotPrepared
from code_env.packages import Environment, PackageCache

from .interpreter import Interpreter, interpreter_of
from .stocks import Stock

MOST_SERVERS = 8
"""How many servers with environments an executor keeps while no program of theirs runs."""


class Environments:
    """Finds environments in the cache, for one interpreter.

    Args:
        python: Path of the interpreter.
    """

    def __init__(self, python: str) -> None:
        self._python, self.cache = python, PackageCache()
        self._found: dict[tuple[str, ...], tuple[Environment, str]] = {}  # Each with the path of its interpreter.
        self._interpreters: dict[str, Interpreter] = {}

    def find(self, packages: tuple[str, ...]) -> Environment:
        """Return the environment with these packages.

        Raises:
            PackagesNotPrepared: If there is none.
            ExecutorError: If the interpreter does not answer.
        """
        found, python = self._found.get(packages, (None, ""))
        if found is None or not os.path.exists(python):
            found = self.cache.find(packages, self._python)
            self._found[packages] = found, str(found.python)
        return found

    def stock(self, base: Stock, packages: tuple[str, ...]) -> Stock:
        """Return a stock that also has the environment of these packages.

        Raises:
            PackagesNotPrepared: As `find`.
        """
        found = self.find(packages)
        return base._replace(modules=(*base.modules, *found.modules), environment=found.key)

    def with_key(self, key: str) -> Environment:
        """Return the environment with this key.

        Raises:
            PackagesNotPrepared: If it is not there any more.
        """
        found = self.cache.read(key)
        if found is None:
            raise PackagesNotPrepared(
                f"an environment was removed from {self.cache.directory} while it was used; run `code-env prepare "
                "SUITE` again"
            )
        return found

    def interpreter(self, environment: Environment) -> Interpreter:
        """Return the interpreter of an environment, as a program finds it.

        Raises:
            ExecutorError: If it does not answer.
        """
        known = self._interpreters.get(environment.key)
        if known is None:
            known = self._interpreters[environment.key] = interpreter_of(environment)
        return known
