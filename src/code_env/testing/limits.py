"""Checks of the limits of a program."""

from __future__ import annotations

from code_env.executors import Executor, Limits, Status

from .contract import check, core_check, equal, expect, need_limit, output, run


@core_check
def a_loop_runs_into_the_cpu_limit(executor: Executor) -> None:
    """An endless loop ends with `timeout`, and what it printed is kept."""
    result = run(executor, "print('kept', flush=True)\nwhile True: pass", limits=Limits(cpu_s=0.5, wall_s=10))
    equal((result.status, result.stdout), (Status.TIMEOUT, "kept\n"), "status and output")


@check
def a_stubborn_loop_runs_into_the_cpu_limit(executor: Executor) -> None:
    """An endless loop ends even if it catches all exceptions and ignores signals."""
    code = (
        "import signal\nfor s in range(1, 32):\n    try: signal.signal(s, signal.SIG_IGN)\n    except OSError: pass\n"
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
    )
    equal(run(executor, code, limits=Limits(cpu_s=0.5, wall_s=10)).status, Status.TIMEOUT, "status")


@check
def a_sleeper_runs_into_the_wall_limit(executor: Executor) -> None:
    """Waiting uses no CPU time; the limit of wall time ends the program, and what it printed is kept."""
    code = "import time; print('kept', flush=True); time.sleep(60)"
    result = run(executor, code, limits=Limits(wall_s=0.5))
    equal((result.status, result.stdout), (Status.TIMEOUT, "kept\n"), "status and output")


@core_check
def memory_is_limited(executor: Executor) -> None:
    """A program that touches more than `memory_bytes` ends with `memory`."""
    need_limit(executor, "memory_bytes")
    code = "print('kept', flush=True)\nx = []\nwhile True: x.append('x' * (4 << 20))"
    result = run(executor, code, limits=Limits(memory_bytes=128 << 20))
    equal((result.status, result.stdout), (Status.MEMORY, "kept\n"), "status and output")


@check
def one_giant_allocation_is_a_memory_error(executor: Executor) -> None:
    """An allocation far beyond the limit raises MemoryError. The status is `memory` only if that is not caught."""
    need_limit(executor, "memory_bytes")
    equal(run(executor, "x = bytearray(1 << 40)").status, Status.MEMORY, "status, uncaught")
    output(executor, "try: x = bytearray(1 << 40)\nexcept MemoryError: print('caught')", "caught\n")


@check
def file_size_is_limited(executor: Executor) -> None:
    """Writing a file beyond `file_bytes` raises OSError in the program."""
    need_limit(executor, "file_bytes")
    code = "try:\n    with open('f', 'wb') as f: f.write(b'x' * 100000)\nexcept OSError: print('refused')"
    output(executor, code, "refused\n", limits=Limits(file_bytes=50000))


@check
def a_descendant_does_not_hold_the_result_up(executor: Executor) -> None:
    """A child process that keeps the streams open ends together with the program that started it."""
    code = "import os, time\nif os.fork() == 0:\n    time.sleep(60)\n    os._exit(0)\nprint('parent', flush=True)"
    result = run(executor, code, limits=Limits(wall_s=20, processes=4))
    equal((result.status, result.stdout), (Status.OK, "parent\n"), "status and output")
    expect(result.wall_s < 15, f"the result came after {result.wall_s:.1f} s")


@check
def processes_are_limited(executor: Executor) -> None:
    """With `processes=0` the program cannot start another process, and the program itself continues."""
    need_limit(executor, "processes")
    code = "import os\ntry: os.fork()\nexcept OSError: print('refused')"
    output(executor, code, "refused\n")
