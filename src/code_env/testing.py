"""The contract of an executor as runnable checks.

Each check is a function that takes an executor and raises `ConformanceFailure` if it breaks the
contract. What an executor declares in `describe()` that it does not do, it is not held to. A new
executor's first test::

    import pytest
    from code_env.testing import CHECKS

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_conformance(check, executor):
        check(executor)
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, wait
from typing import Any

from code_env.errors import ExecutorClosed, UnsupportedProgram
from code_env.executors import ExecutionResult, Executor, Limits, Program, Status
from code_env.languages import LANGUAGES

Check = Callable[[Executor], None]
"""A check: takes an executor, raises `ConformanceFailure` if it fails."""


class ConformanceFailure(AssertionError):
    """An executor breaks the contract; the text says how."""


CHECKS: list[Check] = []
"""Checks that take an executor and leave it usable."""

LIFE_CHECKS: list[Check] = []
"""Checks that take a fresh executor and close it."""


def check_executor(make: Callable[[], Executor]) -> dict[str, str]:
    """Run every check; the failures by the check's name, empty if the executor conforms.

    Args:
        make: Builds a fresh executor.

    Example:
        >>> from code_env import make_executor
        >>> check_executor(lambda: make_executor("local"))
        {}
    """
    failures: dict[str, str] = {}

    def attempt(check: Check, executor: Executor) -> None:
        try:
            check(executor)
        except ConformanceFailure as failure:
            failures[check.__name__] = str(failure)
        except Exception as error:  # An executor that raises where it must not.
            failures[check.__name__] = f"{type(error).__name__}: {error}"

    with make() as executor:
        for check in CHECKS:
            attempt(check, executor)
    for check in LIFE_CHECKS:
        with make() as executor:
            attempt(check, executor)
    return failures


def _check(function: Check) -> Check:
    CHECKS.append(function)
    return function


def _life_check(function: Check) -> Check:
    LIFE_CHECKS.append(function)
    return function


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise ConformanceFailure(message)


def _equal(actual: Any, expected: Any, what: str) -> None:
    _expect(actual == expected, f"{what}: expected {expected!r}, got {actual!r}")


def _run(executor: Executor, code: str, **fields: Any) -> ExecutionResult:
    return executor.run(Program(code, **fields))


def _output(executor: Executor, code: str, expected: str, **fields: Any) -> ExecutionResult:
    result = _run(executor, code, **fields)
    _equal((result.status, result.stdout), (Status.OK, expected), f"status and output (stderr: {result.stderr!r})")
    return result


def _enforces(executor: Executor, limit: str) -> bool:
    return limit in executor.describe().enforces


# What a program prints and reads


@_check
def output_comes_back(executor: Executor) -> None:
    """What a program prints is its `stdout`, and exit code 0 is `ok`."""
    _equal(_output(executor, "print('hello')", "hello\n").exit_code, 0, "exit code")


@_check
def streams_are_apart(executor: Executor) -> None:
    """Standard error is not mixed into standard output."""
    result = _output(executor, "import sys; print('out'); print('err', file=sys.stderr)", "out\n")
    _equal(result.stderr, "err\n", "stderr")


@_check
def a_missing_last_newline_stays_missing(executor: Executor) -> None:
    """Nothing is added to the output."""
    _output(executor, "print('x', end='')", "x")


@_check
def unicode_survives(executor: Executor) -> None:
    """Text beyond ASCII is the same on the way in and out."""
    _output(executor, "print(input()[::-1], 'λ→日本')", "é𝄞 λ→日本\n", stdin="𝄞é\n")


@_check
def binary_output_is_replaced(executor: Executor) -> None:
    """Bytes that are not UTF-8 do not break the result."""
    _output(executor, "import os; os.write(1, b'a\\xff\\xfeb')", "a\ufffd\ufffdb")


@_check
def stdin_ends(executor: Executor) -> None:
    """Reading past the end raises EOFError, and an empty input is at its end."""
    result = _run(executor, "print(input())\ninput()", stdin="one")
    _equal((result.stdout, result.error and result.error.name), ("one\n", "EOFError"), "output and error")
    _output(executor, "import sys; print(repr(sys.stdin.read()))", "''\n")


@_check
def stdin_can_be_read_in_every_way(executor: Executor) -> None:
    """The idioms of real programs reach the same input."""
    reads = (
        "import sys; t = sys.stdin.buffer.read()",
        "t = open(0, 'rb').read()",
        "t = open('/dev/stdin', 'rb').read()",
        "import os\nt = b''\nwhile (p := os.read(0, 3)): t += p",
        "import sys; t = ''.join(sys.stdin).encode()",
    )
    for read in reads:
        _output(executor, f"{read}\nprint(t)", "b'3 4\\n5'\n", stdin="3 4\n5")


@_check
def large_input_arrives_whole(executor: Executor) -> None:
    """An input of a million characters arrives whole, also where the program reads none of it."""
    _output(executor, "import sys; print(len(sys.stdin.read()))", "1000000\n", stdin="x" * 1_000_000)
    _output(executor, "print(1)", "1\n", stdin="x" * 1_000_000)


@_check
def arguments_arrive(executor: Executor) -> None:
    """`argv` follows the program's name."""
    _output(executor, "import sys; print(sys.argv[1:])", "['a b', 'ç']\n", argv=("a b", "ç"))


@_check
def long_output_keeps_head_and_tail(executor: Executor) -> None:
    """Beyond `output_bytes` at each end the middle is dropped, and the result says so."""
    result = _run(executor, "print('a' * 5000 + 'b' * 5000)", limits=Limits(output_bytes=100))
    _equal(result.status, Status.OK, "status")
    _expect(result.stdout.startswith("a" * 100) and result.stdout.endswith("b" * 99 + "\n"), "head and tail differ")
    _expect(result.stdout_truncated and not result.stderr_truncated, "the result does not say what was dropped")
    _expect(len(result.stdout) < 400, f"{len(result.stdout)} characters came back")


@_check
def a_flood_ends_the_program(executor: Executor) -> None:
    """More than 16 MiB in one stream end the program with `output_limit`."""
    for stream in ("stdout", "stderr"):
        result = _run(executor, f"import sys\nwhile True: sys.{stream}.write('x' * 100000)")
        _equal(result.status, Status.OUTPUT_LIMIT, f"status after a flood of {stream}")


# How a program ends


@_check
def exit_codes_come_back(executor: Executor) -> None:
    """Another exit code than 0 is `error`; a text goes to standard error with code 1."""
    result = _run(executor, "import sys; sys.exit(3)")
    _equal((result.status, result.exit_code, result.error), (Status.ERROR, 3, None), "sys.exit(3)")
    result = _run(executor, "import sys; sys.exit('bye')")
    _equal((result.exit_code, result.stderr), (1, "bye\n"), "sys.exit('bye')")
    _equal(_run(executor, "import sys; print(1); sys.exit()").status, Status.OK, "sys.exit()")


@_check
def an_exception_is_described(executor: Executor) -> None:
    """Name, message and a traceback that shows the program's own frames only."""
    result = _run(executor, "print('before')\ndef f():\n    raise ValueError('no good')\nf()")
    error = result.error
    _expect(error is not None, "no error came back")
    if error is not None:
        _equal((error.name, error.message), ("ValueError", "no good"), "error")
        _expect("in f" in error.traceback and "harness" not in error.traceback, f"traceback: {error.traceback}")
    _equal((result.status, result.exit_code, result.stdout), (Status.ERROR, 1, "before\n"), "status and output")
    _expect(result.stderr.rstrip().endswith("ValueError: no good"), f"stderr: {result.stderr}")


@_check
def code_that_does_not_compile_is_an_error(executor: Executor) -> None:
    """A syntax error, a NUL and a lone surrogate are the program's errors, not ours."""
    for code in ("def f(:", "print(1)\0", "x = '\ud800'"):
        result = _run(executor, code)
        _equal(result.status, Status.ERROR, f"status of {code!r}")
        _expect(result.error is not None, f"no error came back for {code!r}")


@_check
def a_signal_is_told(executor: Executor) -> None:
    """Death by a signal is `signal`, with its number."""
    result = _run(executor, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    _equal((result.status, result.signal, result.exit_code), (Status.SIGNAL, 11, None), "end by SIGSEGV")


@_check
def a_hard_exit_is_an_exit(executor: Executor) -> None:
    """`os._exit(0)` is an exit with code 0, and loses what was not flushed."""
    result = _run(executor, "import os; print('kept', flush=True); print('lost'); os._exit(0)")
    _equal((result.status, result.exit_code, result.stdout), (Status.OK, 0, "kept\n"), "os._exit(0)")


@_check
def threads_and_exit_handlers_are_waited_for(executor: Executor) -> None:
    """As Python does at its end: threads first, then `atexit`."""
    code = (
        "import atexit, threading, time\natexit.register(lambda: print('handler'))\n"
        "threading.Thread(target=lambda: (time.sleep(0.1), print('thread'))).start()\nprint('main')"
    )
    _output(executor, code, "main\nthread\nhandler\n")


@_check
def a_main_block_runs(executor: Executor) -> None:
    """The program is `__main__`, importable as such."""
    code = "import sys\nclass C: pass\nif __name__ == '__main__': print(sys.modules[C.__module__].C is C)"
    _output(executor, code, "True\n")


@_check
def deep_recursion_in_a_big_stack_works(executor: Executor) -> None:
    """A thread with a stack of 256 MiB that it hardly touches is within the default limits."""
    code = (
        "import sys, threading\nsys.setrecursionlimit(10**6)\nthreading.stack_size(256 << 20)\n"
        "def f(n): return 0 if n == 0 else 1 + f(n - 1)\n"
        "t = threading.Thread(target=lambda: print(f(20000))); t.start(); t.join()"
    )
    _output(executor, code, "20000\n")


# Limits


@_check
def a_loop_runs_into_the_cpu_limit(executor: Executor) -> None:
    """An endless loop ends with `timeout`, and what it printed is kept."""
    result = _run(executor, "print('kept', flush=True)\nwhile True: pass", limits=Limits(cpu_s=0.5, wall_s=10))
    _equal((result.status, result.stdout), (Status.TIMEOUT, "kept\n"), "status and output")


@_check
def a_stubborn_loop_runs_into_the_cpu_limit(executor: Executor) -> None:
    """A loop that catches everything and ignores signals ends all the same."""
    code = (
        "import signal\nfor s in range(1, 32):\n    try: signal.signal(s, signal.SIG_IGN)\n    except OSError: pass\n"
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
    )
    _equal(_run(executor, code, limits=Limits(cpu_s=0.5, wall_s=10)).status, Status.TIMEOUT, "status")


@_check
def a_sleeper_runs_into_the_wall_limit(executor: Executor) -> None:
    """Waiting costs no CPU time; the wall time limit ends it, and what it printed is kept."""
    code = "import time; print('kept', flush=True); time.sleep(60)"
    result = _run(executor, code, limits=Limits(wall_s=0.5))
    _equal((result.status, result.stdout), (Status.TIMEOUT, "kept\n"), "status and output")


@_check
def memory_is_limited(executor: Executor) -> None:
    """A program that touches more than `memory_bytes` ends with `memory`."""
    if not _enforces(executor, "memory_bytes"):
        return
    code = "print('kept', flush=True)\nx = []\nwhile True: x.append(bytearray(b'x' * (4 << 20)))"
    result = _run(executor, code, limits=Limits(memory_bytes=128 << 20))
    _equal((result.status, result.stdout), (Status.MEMORY, "kept\n"), "status and output")


@_check
def one_giant_allocation_is_a_memory_error(executor: Executor) -> None:
    """An allocation far beyond the limit raises MemoryError; uncaught it is `memory`, caught it is not."""
    if not _enforces(executor, "memory_bytes"):
        return
    _equal(_run(executor, "x = bytearray(1 << 40)").status, Status.MEMORY, "status, uncaught")
    _output(executor, "try: x = bytearray(1 << 40)\nexcept MemoryError: print('caught')", "caught\n")


@_check
def file_size_is_limited(executor: Executor) -> None:
    """Writing a file beyond `file_bytes` raises OSError in the program."""
    if not _enforces(executor, "file_bytes"):
        return
    code = "try:\n    with open('f', 'wb') as f: f.write(b'x' * 100000)\nexcept OSError: print('refused')"
    _output(executor, code, "refused\n", limits=Limits(file_bytes=50000))


@_check
def a_descendant_does_not_hold_the_result_up(executor: Executor) -> None:
    """A child that keeps the streams open ends with the program that started it."""
    code = "import os, time\nif os.fork() == 0:\n    time.sleep(60)\n    os._exit(0)\nprint('parent', flush=True)"
    result = _run(executor, code, limits=Limits(wall_s=20, processes=4))
    _equal((result.status, result.stdout), (Status.OK, "parent\n"), "status and output")
    _expect(result.wall_s < 15, f"the result came after {result.wall_s:.1f} s")


# Files and surroundings


@_check
def files_go_in(executor: Executor) -> None:
    """`Program.files` lie in the working directory, also in folders, also as modules."""
    files = {"data/in.bin": b"\x00\xff", "helper.py": b"VALUE = 7"}
    code = "import helper\nprint(helper.VALUE, open('data/in.bin', 'rb').read())"
    _output(executor, code, "7 b'\\x00\\xff'\n", files=files)


@_check
def files_come_back(executor: Executor) -> None:
    """Of `Program.collect` what was written comes back, and what was not is left out."""
    code = "import os; os.mkdir('d'); open('d/out', 'wb').write(b'\\x00x'); print('done')"
    result = _output(executor, code, "done\n", collect=("d/out", "missing", "d"))
    _equal(dict(result.files), {"d/out": b"\x00x"}, "files")


@_check
def collecting_follows_no_link(executor: Executor) -> None:
    """A link out of the working directory brings nothing back."""
    code = "import os; os.symlink('/etc/hostname', 'a'); os.symlink('/etc', 'b'); print('done')"
    result = _output(executor, code, "done\n", collect=("a", "b/hostname"))
    _equal(dict(result.files), {}, "files")


def _notebook(executor: Executor, code: str, *cells: str) -> ExecutionResult | None:
    """What a notebook gives; None where the executor refuses to run any, as it may."""
    try:
        return _run(executor, code, notebook=True, cells=cells)
    except UnsupportedProgram:
        return None


@_check
def a_notebook_keeps_its_last_value(executor: Executor) -> None:
    """Only the last expression's, and not where there is none."""
    _equal(_run(executor, "1").results, (), "results of a program that is no notebook")
    shown, printed = _notebook(executor, "1\nx = 2\n[x, 'a']"), _notebook(executor, "print(1)")
    if shown is not None and printed is not None:
        _equal(shown.results, ({"text/plain": "[2, 'a']"},), "results")
        _equal(printed.results, (), "results of a program whose last value is None")


@_check
def cells_share_the_programs_names(executor: Executor) -> None:
    """Each gives its last expression, else what it prints, else the variable `result`; a failing one ends alone."""
    cells = ("result = x * 2", "print(x)\nx += 1", "x", "1 / 0", "def broken(:", "raise SystemExit(3)", "result")
    ran = _notebook(executor, "x = 3", *cells)
    if ran is None:
        return
    _equal(ran.status, Status.OK, "status")
    _equal([cell.text for cell in ran.cells], ["6", "3\n", "4", "", "", "", "6"], "what the cells gave")
    errors = [cell.error.name if cell.error else None for cell in ran.cells]
    _equal(errors, [None, None, None, "ZeroDivisionError", "SyntaxError", "SystemExit", None], "errors of the cells")
    _equal(ran.stdout, "3\n", "standard output")


@_check
def cells_need_a_program_that_has_not_failed(executor: Executor) -> None:
    """None is run after an uncaught exception; all are after an exit with code 0."""
    failed, left = _notebook(executor, "print(1)\n1 / 0", "2"), _notebook(executor, "x = 5\nraise SystemExit", "x")
    if failed is None or left is None:
        return
    _equal((failed.status, failed.exit_code, failed.stdout, failed.cells), (Status.ERROR, 1, "1\n", ()), "the result")
    _equal([cell.text for cell in left.cells], ["5"], "what the cell gave")


@_check
def collecting_is_bounded(executor: Executor) -> None:
    """A file that a program cannot have made within its limits does not fill our memory; a FIFO does not block."""
    code = "import os; open('sparse', 'wb').truncate(40000); os.mkfifo('fifo'); print('done')"
    result = _output(executor, code, "done\n", collect=("fifo", "sparse"), limits=Limits(file_bytes=50000))
    _equal({name: len(data) for name, data in result.files.items()}, {"sparse": 40000}, "sizes of files")


@_check
def nothing_is_left_for_the_next_program(executor: Executor) -> None:
    """Files and modules of one program are not there for the next."""
    _output(executor, "import json; json.mark = 1; open('left', 'w').write('x'); print(1)", "1\n")
    _output(executor, "import json, os; print(hasattr(json, 'mark'), os.path.exists('left'))", "False False\n")


@_check
def the_hosts_environment_stays_away(executor: Executor) -> None:
    """A secret in the trainer's environment is not in the program's."""
    name = "CODE_ENV_CONFORMANCE_SECRET"
    os.environ[name] = "secret"
    try:
        _output(executor, f"import os; print(os.environ.get({name!r}))", "None\n")
    finally:
        del os.environ[name]


@_check
def runs_repeat(executor: Executor) -> None:
    """The same program gives an equal result; the order of a set does not change from run to run."""
    program = Program("print({'a', 'b', 'c', 'd', 'e', 'f'}); print(hash('x'))")
    first, second = executor.run(program), executor.run(program)
    _equal(first, second, "second result")
    _expect(bool(first.stdout), "nothing was printed")


@_check
def the_trainers_process_is_untouched(executor: Executor) -> None:
    """Running a program changes neither working directory nor standard streams of the trainer."""
    before = (os.getcwd(), os.fstat(0).st_ino, os.fstat(1).st_ino)
    _output(executor, "import os; os.chdir('/'); os.write(1, b'x'); os.close(1); os.close(0)", "x")
    _equal((os.getcwd(), os.fstat(0).st_ino, os.fstat(1).st_ino), before, "trainer's surroundings")


@_check
def measurements_are_plausible(executor: Executor) -> None:
    """CPU and wall time are those of the program."""
    result = _run(executor, "import time; time.sleep(0.3)\nx = 0\nfor i in range(10**6): x += i")
    _expect(result.wall_s >= 0.3 and 0 < result.cpu_s < result.wall_s + 1, f"measured {result}")


# Ways to run


@_check
def many_results_keep_their_order(executor: Executor) -> None:
    """`run_many` gives results in the order of the programs, more than there are workers."""
    results = executor.run_many(Program(f"print({n})") for n in range(12))
    _equal([result.stdout for result in results], [f"{n}\n" for n in range(12)], "outputs")


@_check
def a_cancelled_future_ends_its_program(executor: Executor) -> None:
    """Cancelling frees the worker long before the program's limits would."""
    future = executor.submit(Program("import time; time.sleep(60)", limits=Limits(wall_s=50)))
    wait([future], timeout=0.5)
    _expect(future.cancel(), "the future of a running program cannot be cancelled")
    try:
        future.result()
    except CancelledError:
        pass
    else:
        raise ConformanceFailure("a cancelled future gave a result")
    _output(executor, "print('next')", "next\n", limits=Limits(wall_s=10))


@_check
def it_works_from_asyncio(executor: Executor) -> None:
    """`arun` and `arun_many` await results, and cancelling a task ends its program."""

    async def session() -> list[str]:
        slow = asyncio.create_task(executor.arun(Program("import time; time.sleep(60)")))
        await asyncio.sleep(0.2)
        slow.cancel()
        results = await executor.arun_many([Program("print(1)"), Program("print(2)")])
        return [result.stdout for result in results]

    _equal(asyncio.run(session()), ["1\n", "2\n"], "outputs")


@_check
def it_works_from_threads(executor: Executor) -> None:
    """Several threads may submit at once."""
    outputs: dict[int, str] = {}

    def work(number: int) -> None:
        outputs[number] = executor.run(Program(f"print({number})")).stdout

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _equal(outputs, {number: f"{number}\n" for number in range(4)}, "outputs")


@_check
def an_unknown_language_is_refused(executor: Executor) -> None:
    """What an executor cannot run it refuses at once."""
    try:
        executor.submit(Program("x", language="befunge"))
    except UnsupportedProgram:
        return
    raise ConformanceFailure("a program in an unknown language was accepted")


_HELLO = {"javascript": "console.log('hello ' + require('fs').readFileSync(0))", "bash": "read x; echo hello $x"}
"""A program that greets what it reads, in other languages than Python."""


@_check
def declared_languages_run(executor: Executor) -> None:
    """A program in each language that `describe()` names runs, by every name of the language."""
    for name in sorted(executor.describe().languages & set(_HELLO)):
        for other in (name, *(known.aliases[0] for known in LANGUAGES if known.name == name)):
            result = _output(executor, _HELLO[name], "hello you\n", language=other, stdin="you")
            _equal((result.exit_code, result.error), (0, None), f"exit code and error in {name}")


# Peers

_CONVERSE = """
from code_env_harness.channel import Kind, open_channel, pack_request, parse_json
channel = open_channel()
def expect(kind):
    frame = channel.receive(10)
    assert frame is not None and frame[0] == kind, frame
    return frame[1]
expect(Kind.HELLO)
error = parse_json(expect(Kind.COMPILED))["error"]
"""


def _converse(executor: Executor, code: str, rest: str, **fields: Any) -> ExecutionResult | None:
    """The result of a program whose peer greets it and goes on with `rest`; None if peers are refused."""
    program = Program(code, peer=Program(_CONVERSE + rest, stdin="for the peer"), **fields)
    if executor.describe().peer == "none":
        try:
            executor.submit(program)
        except UnsupportedProgram:
            return None
        raise ConformanceFailure("a program with a peer was accepted")
    result = executor.run(program)
    peer = result.peer
    _expect(peer is not None, "no peer's result came back")
    if peer is not None:
        _equal((peer.status, peer.stderr), (Status.OK, ""), "how the peer ended")
    return result


def _peer_output(result: ExecutionResult) -> str:
    return result.peer.stdout if result.peer is not None else ""


@_check
def a_peer_runs_a_program(executor: Executor) -> None:
    """The peer gives the input and gets the output; the program's streams and the peer's are apart."""
    rest = """
import sys
channel.send(Kind.RUN, b"3 4")
output = b""
while (frame := channel.receive(10))[0] == Kind.OUTPUT:
    output += frame[1]
print(sys.stdin.read(), output, parse_json(frame[1])["status"])
"""
    result = _converse(executor, "print(sum(map(int, input().split())))", rest)
    if result is not None:
        _equal(_peer_output(result), "for the peer b'7\\n' ok\n", "what the peer saw")
        _equal((result.status, result.stdout), (Status.OK, ""), "the program's own streams")


@_check
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
    if result is not None:
        _equal(_peer_output(result), "None\n42\n", "what the peer saw")


@_check
def a_peer_calls_a_program_that_is_one_process(executor: Executor) -> None:
    """With `one_process` the process that loads the code answers its peer itself, and rings for it."""
    if executor.describe().peer == "none":
        return
    peer = Program(_ONE_PROCESS_PEER)
    for number in (1, 2, 3):  # A peer may be kept; what it said before must not come again.
        code = f"def add(x): return x + {number}"
        result = _run(executor, code, peer=peer, one_process=True)
        _equal(_peer_output(result), f"None\n{number + 20}\n", "what the peer saw")


_ONE_PROCESS_PEER = """
import os
from code_env_harness.channel import Kind, conversations, pack_request, parse_json
from code_env_harness.quiet import QuietChannel

for channel, bell in conversations():
    channel = QuietChannel(channel, bell)
    channel.send(Kind.MESSAGE, pack_request({"n": 1, "op": "call", "target": "add", "args": [20], "kwargs": {}}))
    print(parse_json(channel.receive(20)[1])["error"])
    print(parse_json(channel.receive(20)[1])["value"], flush=True)
"""


@_check
def a_peer_hears_of_code_that_does_not_compile(executor: Executor) -> None:
    """The program's process says so, also to a peer that comes up late."""
    result = _converse(executor, "def f(:", "print(error['name'])")
    if result is not None:
        _equal(_peer_output(result), "SyntaxError\n", "what the peer saw")


@_check
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
    if result is not None:
        _equal(_peer_output(result), "timeout\nok\n", "what the peer saw")


# The executor's own life


@_life_check
def closing_is_idempotent_and_final(executor: Executor) -> None:
    """`close` may be called twice; afterwards `submit` raises `ExecutorClosed`."""
    _output(executor, "print(1)", "1\n")
    executor.close()
    executor.close()
    try:
        executor.submit(Program("print(1)"))
    except ExecutorClosed:
        return
    raise ConformanceFailure("a closed executor took a program")


@_life_check
def closing_ends_what_runs(executor: Executor) -> None:
    """`close` does not wait for a program's limits."""
    future = executor.submit(Program("import time; time.sleep(60)", limits=Limits(wall_s=50)))
    wait([future], timeout=0.5)
    _expect(not future.done(), "a program that sleeps has ended")
    started = time.monotonic()
    executor.close()
    _expect(time.monotonic() - started < 20, "close() waited for the program")
    _expect(future.done(), "a program still runs after close()")


@_life_check
def an_unused_executor_closes(executor: Executor) -> None:
    """Nothing needs to have run."""
    executor.close()
