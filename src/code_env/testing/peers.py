"""Checks of a program and its peer."""

from __future__ import annotations

from typing import Any

from code_env.executors import ExecutionResult, Executor, Limits, Program, Status

from .contract import core_check, equal, expect, need_peers, run, taken

_CONVERSE = """
from code_env_harness.wire.channel import Kind, open_channel, pack_request, parse_json
channel = open_channel()
def expect(kind):
    frame = channel.receive(10)
    assert frame is not None and frame[0] == kind, frame
    return frame[1]
expect(Kind.HELLO)
error = parse_json(expect(Kind.COMPILED))["error"]
"""


def _converse(executor: Executor, code: str, rest: str, **fields: Any) -> ExecutionResult:
    """Run a program with a peer that connects to it and then runs the code `rest`; return the result."""
    need_peers(executor)
    result = taken(executor.run(Program(code, peer=Program(_CONVERSE + rest, stdin="for the peer"), **fields)))
    peer = result.peer
    expect(peer is not None, "no peer's result came back")
    if peer is not None:
        equal((peer.status, peer.stderr), (Status.OK, ""), "how the peer ended")
    return result


def _peer_output(result: ExecutionResult) -> str:
    return result.peer.stdout if result.peer is not None else ""


@core_check
def a_peer_runs_a_program(executor: Executor) -> None:
    """The peer gives the input and gets the output; the streams of the program and of the peer are separate."""
    rest = """
import sys
channel.send(Kind.RUN, b"3 4")
output = b""
while (frame := channel.receive(10))[0] == Kind.OUTPUT:
    output += frame[1]
print(sys.stdin.read(), output, parse_json(frame[1])["status"])
"""
    result = _converse(executor, "print(sum(map(int, input().split())))", rest)
    equal(_peer_output(result), "for the peer b'7\\n' ok\n", "what the peer saw")
    equal((result.status, result.stdout), (Status.OK, ""), "the program's own streams")


@core_check
def a_peer_calls_a_program(executor: Executor) -> None:
    """The peer loads the answer and calls into it."""
    rest = """
channel.send(Kind.LOAD)
print(parse_json(expect(Kind.MESSAGE))["error"])
channel.send(Kind.MESSAGE, pack_request({"n": 1, "op": "call", "target": "double", "args": [21], "kwargs": {}}))
print(parse_json(expect(Kind.MESSAGE))["value"])
channel.send(Kind.UNLOAD)
expect(Kind.ENDED)
"""
    result = _converse(executor, "def double(x): return 2 * x", rest)
    equal(_peer_output(result), "None\n42\n", "what the peer saw")


@core_check
def a_peer_calls_a_program_that_is_one_process(executor: Executor) -> None:
    """With `one_process` the process that loads the code answers its peer itself, and rings the bell for it."""
    need_peers(executor)
    peer = Program(_ONE_PROCESS_PEER)
    for number in (1, 2, 3):  # An executor can use a peer process again; its earlier output must not come back.
        code = f"def add(x): return x + {number}"
        result = run(executor, code, peer=peer, one_process=True)
        equal(_peer_output(result), f"None\n{number + 20}\n", "what the peer saw")


_ONE_PROCESS_PEER = """
import os
from code_env_harness.wire.channel import Kind, conversations, pack_request, parse_json
from code_env_harness.wire.bell_channel import QuietChannel

for channel, bell, _ in conversations():
    channel = QuietChannel(channel, bell)
    channel.send(Kind.MESSAGE, pack_request({"n": 1, "op": "call", "target": "add", "args": [20], "kwargs": {}}))
    print(parse_json(channel.receive(20)[1])["error"])
    print(parse_json(channel.receive(20)[1])["value"], flush=True)
"""


@core_check
def a_peer_hears_of_code_that_does_not_compile(executor: Executor) -> None:
    """The program's process tells the peer that the code does not compile, also if the peer starts late."""
    result = _converse(executor, "def f(:", "print(error['name'])")
    equal(_peer_output(result), "SyntaxError\n", "what the peer saw")


@core_check
def a_peer_sees_the_limits_of_each_test(executor: Executor) -> None:
    """A run that loops ends with `timeout`, and the next one works."""
    rest = """
for given in (b"loop", b"fine"):
    channel.send(Kind.RUN, given)
    while (frame := channel.receive(20))[0] == Kind.OUTPUT:
        pass
    print(parse_json(frame[1])["status"])
"""
    code = "if input() == 'loop':\n    while True: pass"
    result = _converse(executor, code, rest, limits=Limits(cpu_s=0.5, wall_s=10))
    equal(_peer_output(result), "timeout\nok\n", "what the peer saw")
