"""A child of a worker: from the fork to the first line of the program.

The order of its steps matters. It closes the worker's socket first; then reads its order; then gives up, one
layer after the other, what a program must not have; then says in its report pipe that it is up; and
only then looks at the program. What fails before that is the sandbox's fault, what fails after is the program's.

A served program (one with a peer) is not run in this process: the harness compiles it and forks a child
for each test. This process stays trusted, so it keeps the right to fork, and `_JailedTests` takes it from each
test's process.
"""

from __future__ import annotations

import atexit
import codecs
import contextlib
import gc
import json
import logging
import marshal
import os
import random
import resource
import signal
import sys
from typing import Any, NoReturn

from code_env.harness.answering import answer_alone
from code_env.harness.confinement import Confinement
from code_env.harness.forks import ForkGate
from code_env.harness.limits import ProcessLimits, die_with_parent
from code_env.harness.main_module import COMPILE_ERRORS, compile_program, describe_error, run_as_main
from code_env.harness.serving import serve
from code_env.harness.watching import end_descendants

from . import fork_hooks, landlock, linux, seccomp, wire

BROKEN_EXIT_CODE = 97
"""Exit code of a child that could not become its program."""

_dup2, _close, _closerange, _exit, _write, _read = os.dup2, os.close, os.closerange, os._exit, os.write, os.read
_syscall = linux.syscall_function
_open, _chdir, _setrlimit, _loads, _gc_enable = os.open, os.chdir, resource.setrlimit, marshal.loads, gc.enable
_setsid = os.setsid
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
_ALL_DESCRIPTORS = 1 << 30

_REPORT, _CHANNEL = wire.FIRST + 4, wire.FIRST + 5
_LAST_JOINED = _CHANNEL + 2
"""The last descriptor that may join a program to its partner: the channel, the bell, the socket for further ones."""


class ChildLayers:
    """What a child gives up, built in the worker so that the child need only ask for it.

    Args:
        rules: Paths and rights of a program, see `landlock.Ruleset`.
        full: Whether namespaces keep the program apart, with a /proc of its own to read.
        user: User to become; None if it is that user already.
        private: Whether that user needs a right beyond its own to reach the interpreter: to pass
            directories that are closed to it. Landlock still decides on what is read there.
    """

    def __init__(
        self, rules: list[tuple[str, int]], *, full: bool, user: int | None = None, private: bool = False
    ) -> None:
        self.user, self.full = user, full
        self.capabilities = linux.CapabilitySet(*([linux.CAP_DAC_READ_SEARCH] if private else []))
        self.rules = landlock.Ruleset(rules)
        # A process that serves tests measures them, and reads /proc for that.
        server_rules = rules if full else [*rules, ("/proc", landlock.READ_FILE | landlock.READ_DIR)]
        self.server_rules = landlock.Ruleset(server_rules)
        self._shared_user = not full and user is None
        self._stray_signals = not full and landlock.version() < landlock.SIGNAL_SCOPE_VERSION
        self._truncates = full or landlock.version() >= landlock.TRUNCATE_VERSION
        self._filters = {counted: self._filter(counted) for counted in (False, True)}
        self.plain: tuple[linux.PreparedCall, ...] = ()
        """All layers of a program that may start no processes, in their order, if nothing else is to be done."""
        if full:
            self.plain = (self.capabilities.call, self.rules.restriction, self._filters[False].call)

    def become_user(self) -> None:
        """Become the user that is the worker's programs' alone."""
        if self.user is not None:
            linux.prctl(linux.PR_SET_KEEPCAPS, 1)
            os.setgroups([])
            os.setresgid(self.user, self.user, self.user)
            os.setresuid(self.user, self.user, self.user)
            # So that those who are the same user may measure it; nothing else lets them in.
            linux.prctl(linux.PR_SET_DUMPABLE, 1)

    def confine(self, rules: landlock.Ruleset, directory: str | None) -> None:
        """Give up all capabilities, and what the rules do not grant.

        Args:
            rules: What may be read and written.
            directory: The only one of the worker's where this program may write; needed at level `contained`.
        """
        self.capabilities.apply()
        rules.restrict()
        if directory is not None and not self.full:
            # The rules were made for all programs of the worker; this is the one's own part of what they grant.
            own = landlock.Ruleset([(directory, landlock.WORK), ("/dev/null", landlock.WRITE_FILE)], landlock.CHANGE)
            own.restrict()
            os.close(own.fd)

    def filter_calls(self, *, counted: bool) -> int | None:
        """Install the last layer; the listener of forks if they are counted."""
        filter_ = self._filter(counted, os.getpid()) if self._stray_signals else self._filters[counted]
        return filter_.install()

    def _filter(self, counted: bool, signals_of: int | None = None) -> seccomp.Filter:
        return seccomp.program_filter(
            counted=counted, shared_user=self._shared_user, truncates=self._truncates, signals_of=signals_of
        )


def become_program(layers: ChildLayers, sock: int, size: int, gate: ForkGate | None) -> NoReturn:
    """Become what the order says.

    Written for few pages touched, not for few lines: each page that a fork writes to has to be copied, which
    costs more than what is done there. So: no contexts, no helpers, nothing that could be done before.

    Args:
        layers: What to give up.
        sock: Descriptor of the worker's socket.
        size: Length of the order in bytes.
        gate: Counts the processes that the program starts; None if it may start none.
    """
    try:
        _close(sock)
        role, directory, code, argv, files, rlimits, rest = _loads(_read(wire.FIRST, size))
        _dup2(wire.FIRST + 1, 0)
        _dup2(wire.FIRST + 2, 1)
        _dup2(wire.FIRST + 3, 2)
        _closerange(wire.FIRST, wire.FIRST + 4)
        _chdir(directory)
        if files:
            _put_files(files)
        fd = _open("main.py", _NEW_FILE, 0o644)
        if _write(fd, code) != len(code):
            raise OSError("the program does not fit into its working directory")
        _close(fd)
        _setsid()
        if layers.user is not None:
            _give_away(layers.user)
        if role == "served":
            _serve(layers, argv, rest)
        for which, soft, hard in rlimits:
            _setrlimit(which, (soft, hard))
        if layers.user is not None:
            layers.become_user()
        for layer in layers.plain if gate is None else ():
            if _syscall(*layer.args) < 0:
                layer.make()  # Once more, for its error.
        if gate is not None or not layers.plain:
            _confine(layers, gate, directory)
        else:
            _closerange(_LAST_JOINED + 1, _ALL_DESCRIPTORS)
        if rest is not None or files or b"random" in code or b"statistics" in code or b"logging" in code:
            _prepare_interpreter(rest)
        _gc_enable()
        _write(_REPORT, b"{}\n")
    except BaseException as error:
        with contextlib.suppress(BaseException):
            _write(2, f"{type(error).__name__}: {error}\n".encode())
        _exit(BROKEN_EXIT_CODE)
    if role == "loaded":
        answer_alone(code, "main.py", argv, _CHANNEL, _CHANNEL + 1)
    try:
        compiled = compile_program(code.removeprefix(codecs.BOM_UTF8).decode(), "main.py")
    except COMPILE_ERRORS as error:
        _refuse(error)
    else:
        run_as_main(compiled, argv, _send_report)


def _send_report(error: dict[str, str]) -> None:
    view = memoryview(json.dumps(error).encode() + b"\n")
    while view:
        view = view[_write(_REPORT, view) :]


def _refuse(error: BaseException) -> NoReturn:
    # It shows the program's line; the frames are ours.
    described = describe_error(error.with_traceback(None))
    _send_report(described)
    sys.stderr.write(described["traceback"])
    sys.stderr.flush()
    _exit(1)


def _serve(layers: ChildLayers, argv: list[str], rest: dict[str, Any]) -> NoReturn:
    """Be the serving process of a judged run: trusted, and so with the right to fork."""
    try:
        _closerange(_CHANNEL + 1, wire.OWN)
        if layers.user is not None:
            layers.become_user()
        if not layers.full:
            linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        layers.confine(layers.server_rules, rest["scratch"])
        _prepare_interpreter(rest)
        _gc_enable()
        _write(_REPORT, b"{}\n")
        _close(_REPORT)
        limits = ProcessLimits(**rest["limits"])
        serve("main.py", argv, limits, _CHANNEL, _JailedTests(layers, rest["processes"], rest["scratch"]))
        _exit(0)
    except BaseException as error:
        _write(2, describe_error(error)["traceback"].encode())
    finally:
        _exit(BROKEN_EXIT_CODE)


def _confine(layers: ChildLayers, gate: ForkGate | None, directory: str) -> None:
    """The layers of a program for which it takes more than three calls."""
    if not layers.full:
        # No namespace ends it with its worker.
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    layers.confine(layers.rules, os.path.dirname(directory))
    kept = [] if gate is None else gate.descriptors()
    for fd in range(_REPORT + 1, wire.OWN):
        if fd not in kept and not _CHANNEL <= fd <= _LAST_JOINED:
            with contextlib.suppress(OSError):
                _close(fd)
    _closerange(wire.OWN, _ALL_DESCRIPTORS)
    listener = layers.filter_calls(counted=gate is not None)
    if gate is not None and listener is not None:
        gate.hand_over(listener)
        fork_hooks.restore()


def _put_files(files: dict[str, bytes]) -> None:
    for name, content in files.items():
        if "/" in name:
            os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as file:
            file.write(content)


def _give_away(user: int) -> None:
    for directory, _, names in os.walk("."):
        for name in (".", *names):
            os.chown(os.path.join(directory, name), user, user)


def _prepare_interpreter(rest: dict[str, Any] | None) -> None:
    """What few programs need of the interpreter; asked for by those whose text, or a file, may.

    Args:
        rest: The parts of the order that most have not, if there are any.
    """
    if rest is not None:
        os.environ.update(rest["environment"])
        sys.path[0] = rest["path"]
    # Every fork has the same generators, in the same state.
    random.seed()
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
    atexit.register(logging.shutdown)


class _JailedTests(Confinement):
    """Takes from each test's process what the serving process keeps for itself."""

    ends_all = True

    def __init__(self, layers: ChildLayers, processes: int, scratch: str) -> None:
        self._layers, self._processes = layers, processes
        self.scratch, self.stamps_changes, self.refuses_forks = scratch, layers.full, not processes
        # Orphans of a test are this process's to count and to end.
        linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)

    def gate(self) -> ForkGate | None:
        return ForkGate(self._processes)

    def enter(self, parent: int, *, counted: bool) -> int | None:
        layers = self._layers
        if layers.plain and not counted:
            # As `become_program`: few pages touched. It has no capabilities any more, and dies with its namespace.
            for layer in layers.plain[1:]:
                if _syscall(*layer.args) < 0:
                    layer.make()
            _closerange(wire.OWN, _ALL_DESCRIPTORS)
            return None
        die_with_parent(parent)
        layers.rules.restrict()
        _closerange(wire.OWN, _ALL_DESCRIPTORS)
        listener = layers.filter_calls(counted=counted)
        fork_hooks.restore()
        return listener

    def clean(self) -> None:
        end_descendants()


def prepare() -> None:
    """Do once, in the server, what every child would have to do for the first time."""
    marshal.loads(wire.pack(("program", "", b"", [], {}, [(0, 1, 2)], None)))
    describe_error(ValueError("x"))
