"""The server: a warm interpreter inside the jail that forks workers.

The server imports the modules of its stock once, so that no program spends time on them. It also rehearses what its
children will do.

The server never holds a program, an input, an output or an expected value, nor anything of the trainer's environment.
Every program inherits the server's memory, so that memory holds nothing that a program must not see.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import select
import site
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from code_env.harness.process.limits import die_with_parent
from code_env.harness.process.sockets import Socket
from code_env.harness.process.watching import open_pidfd

from . import child, heap, linux, namespaces, own_paths, rehearsal, wire, worker

if TYPE_CHECKING:
    from .configuration import ServerConfiguration

_PROGRAMS_HARNESS = ("program.answering", "program.main_module", "program.serving")
_JUDGES_HARNESS = ("shared_suite", "judge.main")
_JUDGES_LATE_MODULES = ("asyncio",)
"""Modules that the judges' harness imports only where it needs them. A judge that is started for one verdict finds them
loaded. Servers of heavy modules leave them out: each fork of a program would copy them, and few of their judges need
them."""

_OOM_SCORE = "500"
"""The value of `oom_score_adj`: when the machine runs out of memory, the kernel kills programs before a trainer."""


def main(control_fd: int, config_fd: int) -> NoReturn:
    """Enter the jail, import, then start a worker for each message until the trainer is gone.

    Args:
        control_fd: The control socket.
        config_fd: A file that holds the configuration.
    """
    control = Socket(fileno=control_fd)
    os.set_inheritable(control_fd, False)
    with open(config_fd, "rb") as file:
        config: ServerConfiguration = json.load(file)
    try:
        _enter(config)
        _import(config)
        own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC) if config["level"] == "full" else -1
    except Exception as error:
        control.send(json.dumps({"error": f"{type(error).__name__}: {error}"[:4096]}).encode())
        os._exit(1)
    control.send(json.dumps({"level": config["level"]}).encode())
    poll = select.poll()
    workers: dict[int, int] = {}  # Pids, by a descriptor that becomes readable when the worker ends.
    poll.register(control_fd, select.POLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd == control_fd:
                pid = _start_worker(control, config, own_pids)
                pidfd = open_pidfd(pid)
                if pidfd is not None:
                    workers[pidfd] = pid
                    poll.register(pidfd, select.POLLIN)
            else:  # A worker has ended.
                poll.unregister(fd)
                os.close(fd)
                os.waitpid(workers.pop(fd), 0)


def _start_worker(control: Socket, config: ServerConfiguration, own_pids: int) -> int:
    """Start the worker that the next message asks for and return its pid; end this process if the trainer is gone."""
    data, fds = wire.receive(control)
    if not data:
        os._exit(0)
    if config["level"] == "full":
        namespaces.join_new_pid_namespace()
    pid = os.fork()
    if pid == 0:
        control.close()
        worker.main(Socket(fileno=fds[0]), config, json.loads(data))
    os.close(fds[0])
    if config["level"] == "full":
        namespaces.rejoin_pid_namespace(own_pids)
    return pid


def _enter(config: ServerConfiguration) -> None:
    """Import the modules of this package that the jail does not show, then enter the jail."""
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write(_OOM_SCORE)
    for name in (*_PROGRAMS_HARNESS, *(_JUDGES_HARNESS if config["judges"] else ())):
        importlib.import_module(f"code_env.harness.{name}")
    for name in _JUDGES_LATE_MODULES if config["judges"] and not config["heavy"] else ():
        importlib.import_module(name)
    if config["commands"]:
        worker.become_command = importlib.import_module("code_env.executors.local.jail.command_child").become_command
    if config["sessions"]:
        worker.serve_session = importlib.import_module("code_env.executors.local.jail.session_worker").serve
    if config["level"] == "contained" and config["judges"]:  # Programs of the other servers do not import these locks.
        with contextlib.suppress(ModuleNotFoundError):  # A Python without `multiprocessing`.
            importlib.import_module("code_env.executors.local.jail.locks").install()
    if config["policy"] is not None:
        # RestrictedPython is an installed package, and these are not on this process's path yet.
        own_path, sys.path[:] = list(sys.path), [*sys.path, *config["path"][1:]]
        importlib.import_module("code_env.harness.restricted.policy")
        sys.path[:] = own_path
    sys.dont_write_bytecode = True  # The environment sets the same for programs.
    # Peers import the harness under a name that is the same in every sandbox. Programs must not find other modules of
    # this package.
    harness = "code_env.harness"
    for name in [name for name in sys.modules if name.partition(".")[0] == "code_env"]:
        module = sys.modules.pop(name)
        if name == harness or name.startswith(f"{harness}."):
            sys.modules[name.replace(harness, "code_env_harness")] = module
    del os.environ["LD_BIND_NOW"]
    if config["level"] == "full":
        if config["image"] is None:
            namespaces.build_view(config["readable"], config["masked"], config["drivers"])
            linux.set_host_name("sandbox")
            namespaces.become_user()
        else:  # This process began in the view.
            namespaces.hide_package()
    die_with_parent(0 if config["level"] == "full" else os.getppid())


def _import(config: ServerConfiguration) -> None:
    """Import the modules of the stock from the paths that programs have, and prepare the memory for forks."""
    if config["image"] is None:
        sys.path[:] = config["path"]
        sys.prefix, sys.exec_prefix, sys.executable = config["prefix"], config["exec_prefix"], config["executable"]
    else:
        sys.path[:] = [namespaces.WORK_DIRECTORY, *sys.path, *filter(os.path.isdir, site.getsitepackages())]
    # This is what `site` gives every program. It leaves out the packages' .pth files, because some of them run code.
    site.setquit()
    site.setcopyright()
    site.sethelper()
    with _directories_of_imports(config):
        for name in config["modules"]:
            # If a module is missing or broken, the program that imports it gets the error.
            with contextlib.suppress(Exception, SystemExit):
                importlib.import_module(name)
    streams: Any = sys.modules.get("asyncio.selector_events")
    if streams is not None:  # Otherwise streams use `sendmsg`, which the jail refuses.
        streams._HAS_SENDMSG = False
    rehearsal.rehearse(judges=config["judges"])
    if config["policy"] is not None:
        from code_env_harness.restricted.policy import Policy  # type: ignore[import-not-found]

        child.policy = Policy(config["policy"])
    child.prepare()
    # Exit functions that the imports registered are only for programs that use these modules; see the child.
    atexit._clear()
    # The programs' directory does not exist yet, and the import system must not remember that.
    sys.path_importer_cache.pop(sys.path[0], None)
    heap.settle()


@contextlib.contextmanager
def _directories_of_imports(config: ServerConfiguration) -> Iterator[None]:
    """Give modules the directories that they would find in a program, for what they keep of these and write there.

    For example, matplotlib writes a list of fonts when it is imported.
    """
    if not config["heavy"]:
        yield
        return
    before = {name: os.environ[name] for name in ("HOME", "TMPDIR")}
    with contextlib.ExitStack() as stack:
        if config["level"] == "full":
            scratch = namespaces.SCRATCH
            stack.enter_context(namespaces.mounted_scratch())
        else:
            import shutil
            import tempfile

            scratch = os.path.realpath(tempfile.mkdtemp(prefix="code_env-"))
            stack.callback(shutil.rmtree, scratch, ignore_errors=True)
            tempfile.tempdir = None
        os.environ["TMPDIR"], os.environ["HOME"] = scratch, namespaces.work_in(scratch)
        os.mkdir(os.environ["HOME"])
        os.chdir(os.environ["HOME"])
        stack.callback(os.chdir, "/")
        yield
        os.environ.update(before)
    own_paths.forget()
    if config["level"] != "full":
        worker.own_paths = own_paths.OwnPaths(scratch)
