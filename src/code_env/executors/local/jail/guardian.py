"""The outermost process of the jail, between the trainer and the server. It ends when either of them ends.

The guardian enters the namespaces, so its child, the server, is process 1 in them. When the guardian kills the server,
the kernel kills all processes inside. Where there are no namespaces, the guardian is the reaper of all orphans
(PR_SET_CHILD_SUBREAPER), and kills them one by one. The trainer can end in any way, `kill -9` included: its pidfd
becomes readable. If the guardian is killed, the kernel kills the server, because the server has asked for that.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from code_env.harness.process.limits import die_with_parent
from code_env.harness.process.memory_file import memory_file
from code_env.harness.process.sockets import Socket
from code_env.harness.process.watching import end_descendants, open_pidfd
from code_env.harness.process.workspace import empty_directory

from . import linux, namespaces, wire

if TYPE_CHECKING:
    from .configuration import ImageConfiguration, ServerConfiguration


def main(control_fd: int, trainer_fd: int) -> NoReturn:
    """Start a server with the trainer's configuration, and watch it.

    Args:
        control_fd: The control socket.
        trainer_fd: A pidfd of the trainer's process.
    """
    control = Socket(fileno=control_fd)
    config: ServerConfiguration = json.loads(control.recv(wire.MAX_MESSAGE))
    try:
        server_pid = _start(config, control, trainer_fd)
    except OSError as error:
        control.send(json.dumps({"error": str(error)}).encode())
        os._exit(1)
    control.close()
    poll = select.poll()
    poll.register(trainer_fd, select.POLLIN)
    server_fd = open_pidfd(server_pid)
    if server_fd is not None:
        poll.register(server_fd, select.POLLIN)
    poll.poll()
    os.kill(server_pid, signal.SIGKILL)
    os.waitpid(server_pid, 0)
    end_descendants()
    if config["base"] is not None:
        # Remove the directories of programs, in case the trainer could not do it.
        with contextlib.suppress(OSError):
            empty_directory(config["base"])
            os.rmdir(config["base"])
    os._exit(0)


def _start(config: ServerConfiguration, control: Socket, trainer_fd: int) -> int:
    if config["level"] == "full":
        namespaces.enter(config["user"], config["group"])
    else:
        linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    guardian = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            die_with_parent(0 if config["level"] == "full" else guardian)
            os.close(trainer_fd)
            _become_server(control, config)
        except OSError as error:
            control.send(json.dumps({"error": str(error)}).encode())
        finally:
            os._exit(1)
    return pid


def _become_server(control: Socket, config: ServerConfiguration) -> NoReturn:
    """Start the server in a fresh interpreter.

    Each fork copies what memory keeps of all forks before it, so one fork less is worth the start.
    """
    if os.getuid() != 0:  # Root gets them back when it executes a program.
        linux.CapabilitySet.full().apply()
    descriptors = [control.fileno(), memory_file("configuration", json.dumps(config).encode())]
    for fd in descriptors:
        os.set_inheritable(fd, True)
    command = [*sys.orig_argv[: -len(sys.argv) + 1], "server", *map(str, descriptors)]
    if config["image"] is None:
        os.execv(sys.executable, command)
    _start_in_image(config, config["image"], command)


def _start_in_image(config: ServerConfiguration, image: ImageConfiguration, command: list[str]) -> NoReturn:
    """Start the server by the interpreter of an image, which is found and works only within the image.

    Somebody else made the image, so nothing of it runs before the view is locked.
    """
    namespaces.build_view(
        config["readable"], config["masked"], config["drivers"], image=image["root"], package=image["package"]
    )
    linux.set_host_name("sandbox")
    namespaces.become_user()
    namespaces.lock_view()
    server = os.fork()
    if server != 0:
        os.waitpid(server, 0)
        os._exit(1)
    namespaces.mount_proc("/proc")
    linux.CapabilitySet.full().apply()
    command[0] = image["python"]
    boot = next(number for number, text in enumerate(command) if text.endswith("/boot.py"))
    command[boot] = namespaces.PACKAGE + command[boot].removeprefix(image["package"])
    os.execve(command[0], command, image["environment"])
