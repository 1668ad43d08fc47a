"""Plays a child's parts once in the server, so that no child does anything for the first time.

What Python does for the first time it remembers: where a type's attribute was found, which kinds of value an
instruction meets. It remembers by writing, and a child has to copy each page that it writes to, which is most of what
it costs. So the server plays with programs of its own what children will do with those of others. What remains of it
are these memories.
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
"""An interpreter of version 3.11 begins to remember after eight times."""

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
"""Does what most programs do; reads nothing, writes nothing."""

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
    """In place of a process's end."""


class _Unchanged(Confinement):
    """Tests that leave all as it is."""

    refuses_forks = ends_all = True
    steps = ()

    def __init__(self) -> None:
        self.scratch = os.getcwd()
        self._never, self._kept = os.pipe()

    def notice_changes(self, directories: list[str]) -> int | None:
        return self._never

    def close(self) -> None:
        """Close what was made for it."""
        os.close(self._never)
        os.close(self._kept)


def rehearse(*, judges: bool) -> None:
    """Play all parts.

    Args:
        judges: Whether that of a judge as well.
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
    # By the name that the harness has in every sandbox, and only here: few servers have it.
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
    """Play a part to the moment at which its process would end."""

    def end(exit_code: int) -> NoReturn:
        raise _Ended

    original, module._exit = module._exit, end
    try:
        part()
    except _Ended:
        pass
    finally:
        module._exit = original
