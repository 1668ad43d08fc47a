"""First code of an interpreter of the jail's, run by path: makes the jail's package importable, and goes on there.

The packages above it are set up as names only. Their own `__init__.py` would import Gymnasium and NumPy.

The first argument says who it is to be: `guardian`, then with two descriptors, the control socket and one that
stands for the trainer's process (pidfd_open(2)); `server`, with the control socket and a file that holds its
configuration; or `probe`, with a user and a group.
"""

import os
import sys
import types


def name_packages(package: str, directory: str) -> None:
    """Make a package and those above it importable without running their code.

    Args:
        package: Its full name.
        directory: Where it lies; the others lie around it.
    """
    while package:
        module = types.ModuleType(package)
        module.__path__ = [directory]
        sys.modules[package] = module
        package, directory = package.rpartition(".")[0], os.path.dirname(directory)


if __name__ == "__main__":
    # What it imports of its own it may compile once and for all, as any program may.
    sys.dont_write_bytecode = False
    name_packages("code_env.executors.local", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

    role, numbers = sys.argv[1], list(map(int, sys.argv[2:]))
    if role == "probe":
        from code_env.executors.local.jail.probe import main as probe

        probe(*numbers)
        sys.exit()

    # Before anything is imported that would register one.
    from code_env.executors.local.jail import fork_hooks

    fork_hooks.collect()

    from code_env.harness.process.limits import restore_signals

    # The trainer's own arrangements are inherited, and would keep us from waiting for our children, and programs
    # from passing directories that we make.
    restore_signals()
    os.umask(0o022)

    if role == "server":
        from code_env.executors.local.jail.server import main as serve

        serve(*numbers)
    else:
        from code_env.executors.local.jail.guardian import main as guard

        guard(*numbers)
