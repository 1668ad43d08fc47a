"""Runs a child's steps in the server in advance, so that no child does anything for the first time.

When Python does something for the first time, it stores what it learns: where it found an attribute of a type, and
which types of values an instruction meets. This writes to memory, and the kernel copies each page that a child writes
to. These copies are most of the cost of a child. So the server runs the same steps with programs of its own, which
leave nothing behind except this stored knowledge.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from code_env.harness.process.confinement import Confinement
from code_env.harness.process.limits import ProcessLimits
from code_env.harness.process.sockets import SHUT_WR, socket_pair
from code_env.harness.program import answering, main_module
from code_env.harness.program.serving import serve
from code_env.harness.wire.bell_channel import RingingChannel
from code_env.harness.wire.channel import Channel, Kind, pack_request

_ROUNDS = 10
"""How often the server repeats each step: Python 3.11 begins to specialize code after eight runs."""

_LIMITS = ProcessLimits(cpu_s=5.0, wall_s=15.0, memory_bytes=1 << 29, file_bytes=1 << 24)

_PROGRAM = b"""
import sys
def f(x):
    return [y for y in x]
for line in sys.stdin:
    f(line.split())
sys.stdin.readline()
try:
    a, b = map(int, input().split())
except EOFError:
    print(*f([]), sep="", end="", flush=True)
"""
"""A program that does what most programs do, with no input and no output."""

_HELPERS = "from typing import List\n\ndef twice(x: int) -> int:\n    return 2 * x\n"

_TESTS = """
METADATA = {"author": "", "dataset": "test"}

def check(candidate):
    assert candidate(1, 2) == 3, "a message"
    assert candidate([1, 2], [3.5]) == [1, 2, 3.5]
    assert candidate("a", "b") == "ab" and True
    for n in range(3):
        assert candidate(n, n) == twice(n)
"""

_ANSWER = b"""
from typing import List
def add(a: int, b: int) -> int:
    return a + b
"""


class _Ended(BaseException):
    """Raised where a process would end."""


class _Unchanged(Confinement):
    """A confinement for tests that change nothing."""

    refuses_forks = ends_all = True
    steps = ()

    def __init__(self) -> None:
        self.scratch = os.getcwd()
        self._never, self._kept = os.pipe()

    def notice_changes(self, directories: list[str]) -> int | None:
        return self._never

    def close(self) -> None:
        """Close its pipe."""
        os.close(self._never)
        os.close(self._kept)


def rehearse(*, judges: bool) -> None:
    """Run all steps of a child.

    Args:
        judges: Whether to run the steps of a judge too.
    """
    for _ in range(_ROUNDS):
        if judges:
            _judge()
        _compile_and_run()
        _serve_runs()
        _answer_calls()
    linecache.cache.clear()
    sys.modules.pop(answering.MODULE_NAME)


def _compile_and_run() -> None:
    names = main_module.prepare_main("main.py", [])
    code = main_module.compile_program(_PROGRAM, "main.py")
    _play(lambda: main_module.run_as_main(code, names, lambda error: None), main_module)


def _serve_runs() -> None:
    mine, theirs = socket_pair()
    confinement = _Unchanged()
    try:
        with mine, theirs:
            peer = Channel(mine.fileno())
            peer.send(Kind.RUN, b"")
            mine.shutdown(SHUT_WR)
            serve({"main.py": b"pass"}, "main.py", [], _LIMITS, [], theirs.fileno(), confinement)
    finally:
        confinement.close()


def _answer_calls() -> None:
    mine, theirs = socket_pair()
    listen, ring = os.pipe()
    try:
        with mine, theirs:
            begin = {"n": 1, "op": "begin", "names": ["add"], "last": False, "target": "add"}
            call = {"n": 3, "op": "call", "target": "add", "args": [1, 2], "kwargs": {}}
            peer = Channel(mine.fileno())
            peer.send(Kind.MESSAGE, pack_request({**begin, "inputs": [[[1, 2], {}]]}))
            peer.send(Kind.MESSAGE, pack_request(call))
            mine.shutdown(SHUT_WR)
            code = main_module.compile_program(_ANSWER, "main.py")
            _play(lambda: answering.answer(code, [], RingingChannel(theirs.fileno(), ring)), answering)
    finally:
        os.close(listen)
        os.close(ring)


def _judge() -> None:
    # These imports use the harness's name in every sandbox. They are here because few servers have these modules.
    from code_env_harness.judge.remote import RemoteModule  # type: ignore[import-not-found]
    from code_env_harness.judge.suite import CompiledSuite, SuiteRun  # type: ignore[import-not-found]

    run = SuiteRun(CompiledSuite(_HELPERS, "", _TESTS, "add", foresees=True))
    mine, theirs = socket_pair()
    with mine, theirs:
        program = Channel(theirs.fileno())
        for reply in _REPLIES:
            program.send_json(Kind.MESSAGE, reply)
        module = RemoteModule(Channel(mine.fileno()), 1.0, objects=False, per_message=False)
        if run.begin(module) is None:
            run.run(module)
        theirs.shutdown(SHUT_WR)
        module.end()
    sys.modules.pop("tests")


_VALUES = (3, [1, 2, 3.5], "ab", 0, 2, 4)
_REPLIES: tuple[dict[str, Any], ...] = (
    {"n": 0, "error": None},
    {"n": 1, "callable": {"add": True}, "exceptions": {}},
    *({"n": number, "value": value, "changed": []} for number, value in enumerate(_VALUES, start=2)),
)


def _play(part: Callable[[], NoReturn], module: Any) -> None:
    """Run a step up to the point where its process would end."""

    def end(exit_code: int) -> NoReturn:
        raise _Ended

    original, module._exit = module._exit, end
    try:
        part()
    except _Ended:
        pass
    finally:
        module._exit = original
