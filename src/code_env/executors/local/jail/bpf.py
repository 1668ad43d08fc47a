"""System call filters, as programs for the kernel's small virtual machine (BPF, seccomp(2)).

A filter is a binary search over ranges of call numbers. When a filter is installed, the kernel runs it for every
number, and a linear list of a hundred calls would take several times as long.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from typing import NamedTuple

from .linux import MACHINE, PreparedCall

ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
NOTIFY = 0x7FC00000
_KILL_PROCESS = 0x80000000

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_SYS_SECCOMP = {"x86_64": 317, "aarch64": 277}.get(MACHINE, -1)

_LAST_KNOWN = 450
"""The highest call number that the lists here cover. Calls with higher numbers are newer, and fail with ENOSYS."""


class Step(NamedTuple):
    """A check of one argument. Each result is an action, or None to go on with the next step."""

    argument: int
    values: tuple[int, ...] = ()
    """Masked values for which `then` applies. If there are none, `then` applies if any bit of the mask is set."""
    mask: int = 0xFFFFFFFF
    then: int | None = None
    otherwise: int | None = None
    high: bool = False
    """Whether to check the upper 32 bits of the argument instead of the lower ones."""


def failure(number: int) -> int:
    """Return the action that makes a call fail with this error number; 0 reports success without making the call."""
    return _ERRNO | number


Decision = int | tuple[Step, ...]


class Filter:
    """A filter that is ready to be installed, in a forked child too."""

    def __init__(self, decisions: dict[int, Decision]) -> None:
        code = _assemble(decisions)
        self._code = ctypes.create_string_buffer(b"".join(code))
        self._program = _Program(len(code), ctypes.cast(self._code, ctypes.c_void_p))
        self._notifies = any(
            decision == NOTIFY
            or (isinstance(decision, tuple) and any(NOTIFY in (step.then, step.otherwise) for step in decision))
            for decision in decisions.values()
        )
        self.call = self._prepare(_NEW_LISTENER if self._notifies else 0)

    def _prepare(self, flags: int) -> PreparedCall:
        mode, program = ctypes.c_uint(_SECCOMP_SET_MODE_FILTER), ctypes.byref(self._program)
        return PreparedCall(_SYS_SECCOMP, "seccomp", mode, ctypes.c_uint(flags), program)

    def install(self) -> int | None:
        """Install the filter for this process and all processes that it will start.

        Return the listener's descriptor if the filter passes calls to a listener, or else None.

        Raises:
            OSError: If the kernel refuses, or `no_new_privs` is not set.
        """
        if not self._notifies:
            self.call.make()
            return None
        try:
            return self._prepare(_NEW_LISTENER | _WAIT_KILLABLE).make()
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            return self.call.make()


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


_SECCOMP_SET_MODE_FILTER = 1
_NEW_LISTENER = 8
_WAIT_KILLABLE = 32  # Since Linux 5.19. Only a fatal signal interrupts a call that the listener has received.


# The instruction codes of linux/bpf_common.h, and the offsets of struct seccomp_data.
_LOAD, _AND = 0x20, 0x54
_JUMP, _IF_EQUAL, _IF_AT_LEAST, _IF_BITS = 0x05, 0x15, 0x35, 0x45
_RETURN = 0x06
_OFFSET_NUMBER, _OFFSET_ARCH, _OFFSET_ARGUMENTS = 0, 4, 16


def _instruction(code: int, k: int, jt: int = 0, jf: int = 0) -> bytes:
    return struct.pack("=HBBI", code, jt, jf, k)


def _assemble(decisions: dict[int, Decision]) -> list[bytes]:
    # The call numbers at which the decision changes, in ascending order; between them it stays the same.
    changes: list[tuple[int, Decision]] = [(0, ALLOW)]
    for number in sorted(decisions):
        if changes[-1][0] == number:
            changes.pop()
        changes += [(number, decisions[number]), (number + 1, ALLOW)]
    changes.append((_LAST_KNOWN + 1, failure(errno.ENOSYS)))
    merged = [changes[0]]
    for change in changes[1:]:
        if change[1] != merged[-1][1]:
            merged.append(change)
    return [
        _instruction(_LOAD, _OFFSET_ARCH),
        # Calls of another architecture (32-bit) have other numbers: the kernel kills the process for any of them.
        _instruction(_IF_EQUAL, _AUDIT_ARCH[MACHINE], jt=1),
        _instruction(_RETURN, _KILL_PROCESS),
        # The x32 calls have other numbers too. They begin at 2**30, above the last known number.
        _instruction(_LOAD, _OFFSET_NUMBER),
        *_search(merged),
    ]


def _search(changes: list[tuple[int, Decision]]) -> list[bytes]:
    if len(changes) == 1:
        decision = changes[0][1]
        return _decide(decision) if isinstance(decision, tuple) else [_instruction(_RETURN, decision)]
    middle = len(changes) // 2
    low, high = _search(changes[:middle]), _search(changes[middle:])
    # A conditional jump spans at most 255 instructions, an unconditional jump any number.
    return [_instruction(_IF_AT_LEAST, changes[middle][0], jf=1), _instruction(_JUMP, len(low)), *low, *high]


def _decide(steps: tuple[Step, ...]) -> list[bytes]:
    code: list[bytes] = []
    for step in steps:
        # Both architectures are little-endian.
        code += [_instruction(_LOAD, _OFFSET_ARGUMENTS + 8 * step.argument + 4 * step.high)]
        if not step.values:
            tests = [(_IF_BITS, step.mask)]
        else:
            code += [_instruction(_AND, step.mask)] if step.mask != 0xFFFFFFFF else []
            tests = [(_IF_EQUAL, value) for value in step.values]
        no = [] if step.otherwise is None else [_instruction(_RETURN, step.otherwise)]
        yes = [] if step.then is None else [_instruction(_RETURN, step.then)]
        if no and not yes:  # A match skips the `otherwise` action and goes on with the next step.
            code += [_instruction(kind, k, jt=len(tests) - i) for i, (kind, k) in enumerate(tests)] + no
        else:
            last = len(tests) - 1
            code += [
                _instruction(kind, k, jt=last - i, jf=len(yes) if i == last else 0) for i, (kind, k) in enumerate(tests)
            ]
            code += yes + no
    return code
