"""Packages of tasks: installed ahead, kept in a cache, and read by programs.

A task names its packages (`Task.packages`). `prepare` installs them into the cache, before anything is judged. An
executor that can do so shows a program the environment of its task, read-only, in place of the packages of its own
interpreter. What is not prepared is an error, never a wrong answer, and nothing is ever installed while judging.
"""

from .cache import Environment, PackageCache
from .preparing import Prepared, prepare

__all__ = ["Environment", "PackageCache", "Prepared", "prepare"]
