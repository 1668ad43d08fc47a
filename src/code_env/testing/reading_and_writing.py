"""Checks of what a program prints and reads."""

from __future__ import annotations

from code_env.executors import Executor, Limits, Status

from .contract import check, core_check, equal, expect, output, run


@core_check
def output_comes_back(executor: Executor) -> None:
    """What a program prints is its `stdout`, and exit code 0 is `ok`."""
    equal(output(executor, "print('hello')", "hello\n").exit_code, 0, "exit code")


@check
def streams_are_apart(executor: Executor) -> None:
    """Standard error is not mixed into standard output."""
    result = output(executor, "import sys; print('out'); print('err', file=sys.stderr)", "out\n")
    equal(result.stderr, "err\n", "stderr")


@core_check
def a_missing_last_newline_stays_missing(executor: Executor) -> None:
    """Nothing is added to the output."""
    output(executor, "print('x', end='')", "x")


@core_check
def unicode_survives(executor: Executor) -> None:
    """Text beyond ASCII is the same on the way in and out."""
    output(executor, "print(input()[::-1], 'λ→日本')", "é𝄞 λ→日本\n", stdin="𝄞é\n")


@check
def binary_output_is_replaced(executor: Executor) -> None:
    """Bytes that are not UTF-8 do not break the result."""
    output(executor, "import os; os.write(1, b'a\\xff\\xfeb')", "a\ufffd\ufffdb")


@core_check
def stdin_ends(executor: Executor) -> None:
    """Reading after the end of the input raises EOFError, and what the program printed until then is kept."""
    result = run(executor, "print(input())\ninput()", stdin="one")
    equal((result.stdout, result.error and result.error.name), ("one\n", "EOFError"), "output and error")


@check
def an_empty_input_is_at_its_end(executor: Executor) -> None:
    """A program without input reaches the end of its input at once, and does not wait."""
    output(executor, "import sys; print(repr(sys.stdin.read()))", "''\n")


@check
def stdin_can_be_read_in_every_way(executor: Executor) -> None:
    """All common ways to read standard input give the same input."""
    reads = (
        "import sys; t = sys.stdin.buffer.read()",
        "t = open(0, 'rb').read()",
        "t = open('/dev/stdin', 'rb').read()",
        "import os\nt = b''\nwhile (p := os.read(0, 3)): t += p",
        "import sys; t = ''.join(sys.stdin).encode()",
    )
    for read in reads:
        output(executor, f"{read}\nprint(t)", "b'3 4\\n5'\n", stdin="3 4\n5")


@core_check
def large_input_arrives_whole(executor: Executor) -> None:
    """An input of a million characters arrives whole."""
    output(executor, "print(len(input()))", "1000000\n", stdin="x" * 1_000_000)


@core_check
def input_may_stay_unread(executor: Executor) -> None:
    """A program need not read its input."""
    output(executor, "print(1)", "1\n", stdin="x" * 1_000_000)


@core_check
def lines_are_read_one_by_one(executor: Executor) -> None:
    """The input of most programming problems can be read: a number n, then n lines."""
    code = "print(sum(int(word) for _line in range(int(input())) for word in input().split()))"
    output(executor, code.replace("_line", "line"), "21\n", stdin="2\n1 2\n3 15\n")


@check
def arguments_arrive(executor: Executor) -> None:
    """In `sys.argv` the arguments come after the program's name."""
    output(executor, "import sys; print(sys.argv[1:])", "['a b', 'ç']\n", argv=("a b", "ç"))


@core_check
def long_output_keeps_head_and_tail(executor: Executor) -> None:
    """Of a long output `output_bytes` are kept at each end; the middle is dropped, and the result says so."""
    result = run(executor, "print('a' * 5000 + 'b' * 5000)", limits=Limits(output_bytes=100))
    equal(result.status, Status.OK, "status")
    expect(result.stdout.startswith("a" * 100) and result.stdout.endswith("b" * 99 + "\n"), "head and tail differ")
    expect(result.stdout_truncated and not result.stderr_truncated, "the result does not say what was dropped")
    expect(len(result.stdout) < 400, f"{len(result.stdout)} characters came back")


@check
def a_flood_ends_the_program(executor: Executor) -> None:
    """More than 16 MiB in one stream end the program with `output_limit`."""
    for stream in ("stdout", "stderr"):
        code = f"import sys\nwhile True: sys.{stream}.write('x' * 100000)"
        result = run(executor, code, limits=Limits(wall_s=100))  # On a busy machine nobody reads for seconds.
        equal(result.status, Status.OUTPUT_LIMIT, f"status after a flood of {stream}")
