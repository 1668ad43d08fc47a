"""First code of a guardian's interpreter, run by path: makes the jail's package importable, and goes on there.

The packages above it are set up as names only. Their own `__init__.py` would import Gymnasium and NumPy.

The arguments are two descriptors: the control socket, and one that stands for the trainer's process
(pidfd_open(2)). With `probe` first, the arguments are a user and a group, see `probe.py`.
"""

import os
import signal
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
    name_packages("code_env.executors.local", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

    if sys.argv[1] == "probe":
        from code_env.executors.local.jail.probe import main as probe

        probe(int(sys.argv[2]), int(sys.argv[3]))
        sys.exit()

    # The trainer's own arrangements are inherited, and would keep us from waiting for our children, and programs
    # from passing directories that we make.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.umask(0o022)

    # Before anything is imported that would register one.
    from code_env.executors.local.jail import fork_hooks

    fork_hooks.collect()

    from code_env.executors.local.jail.guardian import main

    main(control_fd=int(sys.argv[1]), trainer_fd=int(sys.argv[2]))
