"""A child of a worker: from the fork to the first line of the program.

The order of its steps matters. The child closes the worker's socket first. Then it reads its order. Then it gives up,
one layer after the other, what a program must not have. Then it reports that it is up. Only after that does it look at
the program. A failure before the report is the sandbox's fault; a failure after it is the program's.

A served program never runs in this process: the harness compiles the program here and forks a child for each test. This
process stays trusted, so it keeps the right to fork. `JailedTests` takes this right away from each test's process.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import marshal
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

from code_env.harness.process.confinement import Confinement
from code_env.harness.process.forks import ForkGate
from code_env.harness.process.limits import ProcessLimits, die_with_parent, set_limits
from code_env.harness.process.watching import end_descendants
from code_env.harness.program.answering import answer_alone
from code_env.harness.program.main_module import (
    COMPILE_ERRORS,
    compile_program,
    describe_error,
    may_draw,
    prepare_main,
    reseed,
    run_as_main,
)
from code_env.harness.program.notebook import run_as_notebook, run_in_session
from code_env.harness.program.serving import serve

from . import fork_hooks, landlock, linux, seccomp, wire
from .bpf import Filter

NOT_BEGUN_EXIT_CODE = 97
"""Exit code of a child that could not become its program."""

_dup2, _close, _closerange, _exit, _write, _read = os.dup2, os.close, os.closerange, os._exit, os.write, os.read
_syscall = linux.syscall_function
_open, _chdir, _loads, _gc_enable = os.open, os.chdir, marshal.loads, gc.enable
_setsid, _setgroups, _setresgid, _setresuid = os.setsid, os.setgroups, os.setresgid, os.setresuid
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
_ALL_DESCRIPTORS = 1 << 30

REPORT, CHANNEL = wire.FIRST + 4, wire.FIRST + 5
"""The descriptors of a child's report and of its channel."""

_LAST_JOINED = CHANNEL + 2
"""The last descriptor that can join a program and its peer: the channel, the bell, the socket for further channels."""


class ChildLayers:
    """What a child gives up. The worker prepares it, so that the child only makes the calls.

    Args:
        rules: Paths and a program's rights there, see `landlock.Ruleset`.
        full: Whether namespaces isolate the program, with a /proc of its own that it can read.
        notices: Whether the child may have the kernel report changes to files.
        user: User to become; None if the worker is that user already.
        private: Whether that user needs a capability to reach the interpreter, because directories on the way are
            closed to it. Landlock still decides what it can read there.
        hears_of_children, asks_for_signals: See `seccomp.program_filter`.
    """

    def __init__(
        self,
        rules: list[tuple[str, int]],
        *,
        full: bool,
        notices: bool,
        user: int | None = None,
        private: bool = False,
        hears_of_children: bool = False,
        asks_for_signals: bool = False,
    ) -> None:
        self._hears_of_children, self._asks_for_signals = hears_of_children, asks_for_signals
        self.user, self.full, self.notices = user, full, notices
        self.capabilities = linux.CapabilitySet(*([linux.CAP_DAC_READ_SEARCH] if private else []))
        self.rules = landlock.Ruleset(rules)
        # A process that serves tests reads /proc to measure them, and writes there: see `ends_of_children`.
        of_proc = landlock.READ_FILE | landlock.READ_DIR | landlock.WRITE_FILE
        self.server_rules = landlock.Ruleset([*rules, ("/proc", of_proc)])
        self._shared_user = not full and user is None
        self._stray_signals = not full and landlock.version() < landlock.SIGNAL_SCOPE_VERSION
        self._truncates = full or landlock.version() >= landlock.TRUNCATE_VERSION
        self._filters = {counted: self._filter(counted) for counted in (False, True)}
        self._last_filter = seccomp.last_filter()
        self.plain: tuple[linux.PreparedCall, ...] = ()
        """The calls that enter all layers of a program that may start no processes, in order; empty if the calls are
        not the same for all programs."""
        self.of_test: tuple[linux.PreparedCall, ...] = ()
        """The same for a test's process, which has no capabilities any more."""
        if not self._stray_signals:
            # Where no namespace ends a program when its worker ends, the program asks the kernel to do so.
            ends = () if full else (linux.prepare_prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL),)
            own = (self.rules.restriction, self._filters[False].call)
            self.plain, self.of_test = (*ends, *self.capabilities.calls, *own), (*ends, *own)
        self._keep_capabilities = linux.prepare_prctl(linux.PR_SET_KEEPCAPS, 1)
        self._be_measurable = linux.prepare_prctl(linux.PR_SET_DUMPABLE, 1)

    def become_user(self) -> None:
        """Become the user that only this worker's programs run as, if there is one."""
        user = self.user
        if user is not None:
            self._keep_capabilities.make()
            _setgroups([])
            _setresgid(user, user, user)
            _setresuid(user, user, user)
            # Otherwise processes of the same user could not measure this process.
            self._be_measurable.make()

    @contextlib.contextmanager
    def as_user(self) -> Iterator[None]:
        """Act as the programs' user meanwhile: root of a container may lack the right to reach another user's memory.

        Only the effective user changes. So that user's programs can neither signal nor trace this process.
        """
        if self.user is None:
            yield
            return
        own_group, own_user, own_capabilities = os.getegid(), os.geteuid(), linux.CapabilitySet.full()
        _setresgid(-1, self.user, -1)
        _setresuid(-1, self.user, -1)
        try:
            own_capabilities.calls[0].make()  # Programs may have some of them, see `private`.
            yield
        finally:
            _setresuid(-1, own_user, -1)
            _setresgid(-1, own_group, -1)
            # The changes have undone these two.
            self._be_measurable.make()
            linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)

    def confine(self, rules: landlock.Ruleset) -> None:
        """Give up the capabilities, and everything that the rules do not grant."""
        self.capabilities.apply()
        rules.restrict()

    def filter_calls(self, gate: ForkGate | None) -> None:
        """Install the last layer.

        Args:
            gate: Receives the listener for forks; None if there must be no listener.

        Raises:
            OSError: If the kernel refuses.
        """
        counted = gate is not None
        filter_ = self._filter(counted, os.getpid()) if self._stray_signals else self._filters[counted]
        listener = filter_.install()
        if gate is not None and listener is not None:
            gate.hand_over(listener)
            self._last_filter.install()

    def try_filters(self) -> None:
        """Install every filter that `filter_calls` can install.

        Raises:
            OSError: If the kernel refuses, or has no listeners.
        """
        if self._filters[True].install() is None:
            raise OSError("seccomp gave no listener")
        # This comes last, because it forbids further filters. `_last_filter` is a part of it.
        self._filters[False].install()

    def _filter(self, counted: bool, signals_of: int | None = None) -> Filter:
        return seccomp.program_filter(
            counted=counted,
            shared_files=not self.full,
            shared_user=self._shared_user,
            truncates=self._truncates,
            signals_of=signals_of,
            asks_for_signals=self._asks_for_signals,
            hears_of_children=self._hears_of_children,
        )


def become_program(layers: ChildLayers, sock: int, size: int, gate: ForkGate | None) -> NoReturn:
    """Become the program that the order describes.

    This function is written to touch few memory pages, not to be short. The kernel copies each page that a fork writes
    to, and the copy costs more than the work itself. So there are no context managers, no helper functions, and nothing
    that could be done earlier.

    Args:
        layers: What to give up.
        sock: Descriptor of the worker's socket.
        size: Length of the order in bytes.
        gate: Counts the processes that the program starts; None if it may start none.
    """
    try:
        _close(sock)
        # The fields of a `ProgramOrder`. To make one, as `wire.unpack` does, would touch ten more pages, and a child
        # touches 220 in all.
        role, directory, code, argv, files, rlimits, further = _loads(_read(wire.FIRST, size))
        if further is not None:
            further = wire.FurtherOrder(*further)
        _dup2(wire.FIRST + 1, 0)
        _dup2(wire.FIRST + 2, 1)
        _dup2(wire.FIRST + 3, 2)
        _closerange(wire.FIRST, wire.FIRST + 4)
        if layers.user is not None:
            layers.become_user()
        _chdir(directory)
        if files:
            put_files(files)
        fd = _open("main.py", _NEW_FILE, 0o644)
        if _write(fd, code) != len(code):
            raise OSError("the program does not fit into its working directory")
        _close(fd)
        _setsid()
        if role == "served":
            _serve(layers, argv, {**files, "main.py": code}, rlimits, further)
        set_limits(rlimits)
        for layer in layers.plain if gate is None else ():
            if _syscall(*layer.args) < 0:
                layer.make()  # Make the call again, to raise its error.
        if gate is not None or not layers.plain:
            confine(layers, gate)
        else:
            _closerange(_LAST_JOINED + 1, _ALL_DESCRIPTORS)
        if further is not None:
            take_over(further, code)
        if files or b"logging" in code:
            _shut_logging_down()
        if may_draw(code, brings_files=bool(files)):
            reseed()
        _gc_enable()
        _write(REPORT, b"{}\n")
    except BaseException as error:
        with contextlib.suppress(BaseException):
            _write(2, f"{type(error).__name__}: {error}\n".encode())
        _exit(NOT_BEGUN_EXIT_CODE)
    if role == "loaded":
        answer_alone(code, "main.py", argv, CHANNEL, CHANNEL + 1)
    if further is not None and further.cells is not None:
        sys.argv += argv
        if further.history is not None:
            run_in_session(code, names, further.history, _send_report)
        run_as_notebook(code, "main.py", names, further.cells, _send_report)
    try:
        compiled = compile_program(code, "main.py")
    except COMPILE_ERRORS as error:
        _refuse(error)
    else:
        if argv:
            sys.argv += argv
        run_as_main(compiled, names, _send_report)


def _send_report(error: dict[str, Any]) -> None:
    view = memoryview(json.dumps(error).encode() + b"\n")
    while view:
        view = view[_write(REPORT, view) :]


def _refuse(error: BaseException) -> NoReturn:
    # The error shows the program's line; its frames are the harness's.
    described = describe_error(error.with_traceback(None))
    _send_report(described)
    sys.stderr.write(described["traceback"])
    sys.stderr.flush()
    _exit(1)


def _serve(
    layers: ChildLayers,
    argv: list[str],
    files: dict[str, bytes],
    rlimits: list[tuple[int, int, int]],
    further: wire.FurtherOrder,
) -> NoReturn:
    """Be the serving process of a judged run, which is trusted and so keeps the right to fork."""
    try:
        _closerange(CHANNEL + 1, wire.OWN)
        set_limits(rlimits)
        if not layers.full:
            linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        layers.confine(layers.server_rules)
        take_over(further, files["main.py"])
        if len(files) > 1 or b"logging" in files["main.py"]:
            _shut_logging_down()
        if may_draw(files["main.py"], brings_files=len(files) > 1):
            reseed()
        _gc_enable()
        _write(REPORT, b"{}\n")
        _close(REPORT)
        tests = JailedTests(layers, further.processes, further.scratch)
        serve(files, "main.py", argv, ProcessLimits(**further.limits), further.test_rlimits, CHANNEL, tests)
        _exit(0)
    except BaseException as error:
        told = str(error) if type(error).__name__ == "PolicyFault" else describe_error(error)["traceback"]
        _write(2, told.encode())
    finally:
        _exit(NOT_BEGUN_EXIT_CODE)


def confine(layers: ChildLayers, gate: ForkGate | None) -> None:
    """Enter the layers of a program that needs more than the calls in `ChildLayers.plain`."""
    if not layers.full:
        # No namespace ends the program when its worker ends.
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    layers.confine(layers.rules)
    kept = [] if gate is None else gate.descriptors()
    for fd in range(REPORT + 1, wire.OWN):
        if fd not in kept and not CHANNEL <= fd <= _LAST_JOINED:
            with contextlib.suppress(OSError):
                _close(fd)
    _closerange(wire.OWN, _ALL_DESCRIPTORS)
    layers.filter_calls(gate)
    if gate is not None:
        fork_hooks.restore()


def put_files(files: dict[str, bytes]) -> None:
    """Put files into the working directory."""
    for name, content in files.items():
        if "/" in name:
            os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as file:
            file.write(content)


def take_over(further: wire.FurtherOrder, code: bytes = b"") -> None:
    """Apply what only few programs need: further environment variables and the policy.

    Raises:
        PolicyFault: If a custom policy fails on the program's code.
    """
    os.environ.update(further.environment)
    if further.policy and policy is not None:
        policy.apply()
        policy.furnish(names)
        policy.look_over(code)


def _shut_logging_down() -> None:
    """Register the exit function of `logging` again, if the server has loaded the module."""
    logging = sys.modules.get("logging")
    if logging is not None:
        atexit.register(logging.shutdown)


class JailedTests(Confinement):
    """Takes away from each test's process the rights that the serving process keeps for itself."""

    ends_all = True

    def __init__(self, layers: ChildLayers, processes: int, scratch: str) -> None:
        self._layers, self._processes = layers, processes
        self.scratch, self.refuses_forks = scratch, not processes
        self.measures = layers.full  # A program may read /proc only at level `full`.
        if layers.of_test and not processes:
            self.steps = [(_syscall, layer.args) for layer in layers.of_test]
        if processes or not layers.full:
            # This process counts and ends the orphans of a test.
            linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)

    def notice_changes(self, directories: list[str]) -> int | None:
        """See `Confinement`."""
        if self._layers.notices:
            with contextlib.suppress(OSError):
                return linux.move_descriptor(linux.notice_changes(directories), wire.OWN)
        return None

    def gate(self) -> ForkGate | None:
        """See `Confinement`."""
        return ForkGate(self._processes)

    def enter(self, parent: int, gate: ForkGate | None) -> None:
        """See `Confinement`."""
        layers = self._layers
        die_with_parent(parent)
        layers.rules.restrict()
        _closerange(wire.OWN, _ALL_DESCRIPTORS)
        layers.filter_calls(gate)
        fork_hooks.restore()

    def clean(self) -> float:
        """See `Confinement`."""
        return end_descendants()


policy: Any = None
"""The policy of programs whose order asks for it. The server sets it if its configuration has a policy."""

names: dict[str, Any] = {}
"""The namespace of the `__main__` module that programs run in."""


def prepare() -> None:
    """Do once, in the server, what each child would otherwise do for the first time."""
    global names
    names = prepare_main("main.py", [])
    marshal.loads(wire.pack(wire.ProgramOrder("program", "", b"", [], {}, [(0, 1, 2)], None)))
    describe_error(ValueError("x"))
