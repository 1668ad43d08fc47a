"""The first code of an interpreter in the jail, run by path: makes the jail's package importable, and continues there.

The packages above the jail's are only names, because their own `__init__.py` would import Gymnasium and NumPy.

The first argument names the role of the process. The numbers after it depend on the role: for `guardian` the
descriptors of the control socket and of the trainer's process (pidfd_open(2)); for `server` the descriptors of the
control socket and of a file with the configuration; for `box` the descriptor of its control socket; for `probe` a user
and a group.
"""

import os
import sys
import types


def name_packages(package: str, directory: str) -> None:
    """Make a package and the packages above it importable without running their code.

    Args:
        package: The full name of the package.
        directory: The directory of the package; each package above it is in the directory around that.
    """
    while package:
        module = types.ModuleType(package)
        module.__path__ = [directory]
        sys.modules[package] = module
        package, directory = package.rpartition(".")[0], os.path.dirname(directory)


if __name__ == "__main__":
    if sys.hexversion < 0x030B0000:  # The Python of an image can be of any version.
        sys.exit(f"{sys.executable} is Python {'.'.join(map(str, sys.version_info[:3]))}; programs need 3.11 or newer")
    # Python may store compiled code of the modules that are imported here, as in any other program.
    sys.dont_write_bytecode = False
    name_packages("code_env.executors.local", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

    role, numbers = sys.argv[1], list(map(int, sys.argv[2:]))
    if role == "probe":
        from code_env.executors.local.jail.probe import main as probe

        probe(*numbers)
        sys.exit()

    # This comes before any import that would register a fork hook.
    from code_env.executors.local.jail import fork_hooks

    fork_hooks.collect()

    from code_env.harness.process.limits import restore_signals

    # This process inherits the trainer's signal handling and umask. These could keep it from waiting for its children,
    # and programs from passing through directories that it makes.
    restore_signals()
    os.umask(0o022)

    if role == "server":
        from code_env.executors.local.jail.server import main as serve

        serve(*numbers)
    elif role == "box":
        from code_env.executors.local.jail.box import main as be_box

        be_box(*numbers)
    else:
        from code_env.executors.local.jail.guardian import main as guard

        guard(*numbers)
