"""What can go wrong on a machine that runs a program, and whose fault it is."""

from __future__ import annotations

from collections.abc import Callable


class MachineFault(Exception):
    """A machine, or the connection to it, failed, and the program on it did not cause that."""


class NoMachine(MachineFault):
    """No machine could be had in any of the tries."""


class MissingInterpreter(MachineFault):
    """The machine has no interpreter for the program's language."""


class SupervisorDied(Exception):
    """The supervisor, which runs the program, ended without a result, while its machine still answers."""


def described(error: BaseException, hide: Callable[[str], str] = str) -> str:
    """An exception in one line.

    Args:
        error: The exception.
        hide: Removes secrets from the text, before the text is cut.
    """
    return hide(f"{type(error).__name__}: {error}".strip(": ")).replace("\n", " ")[:500]
