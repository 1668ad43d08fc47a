"""Checks of how a program ends, and what the result says about that."""

from __future__ import annotations

from code_env.executors import Executor, Status

from .contract import check, core_check, equal, expect, output, run


@check
def exit_codes_come_back(executor: Executor) -> None:
    """An exit code other than 0 is `error`; `sys.exit` with a text prints it to standard error and gives code 1."""
    result = run(executor, "import sys; sys.exit(3)")
    equal((result.status, result.exit_code, result.error), (Status.ERROR, 3, None), "sys.exit(3)")
    result = run(executor, "import sys; sys.exit('bye')")
    equal((result.exit_code, result.stderr), (1, "bye\n"), "sys.exit('bye')")
    equal(run(executor, "import sys; print(1); sys.exit()").status, Status.OK, "sys.exit()")


@core_check
def an_exception_is_described(executor: Executor) -> None:
    """The error has a name, a message, and a traceback that shows only the program's own frames."""
    result = run(executor, "print('before')\ndef f():\n    raise ValueError('no good')\nf()")
    error = result.error
    expect(error is not None, "no error came back")
    if error is not None:
        equal((error.name, error.message), ("ValueError", "no good"), "error")
        expect("in f" in error.traceback and "harness" not in error.traceback, f"traceback: {error.traceback}")
    equal((result.status, result.exit_code, result.stdout), (Status.ERROR, 1, "before\n"), "status and output")
    expect(result.stderr.rstrip().endswith("ValueError: no good"), f"stderr: {result.stderr}")


@core_check
def code_that_does_not_compile_is_an_error(executor: Executor) -> None:
    """A syntax error, a NUL or a lone surrogate is an error of the program, not of the sandbox."""
    for code in ("def f(:", "print(1)\0", "x = '\ud800'"):
        result = run(executor, code)
        equal(result.status, Status.ERROR, f"status of {code!r}")
        expect(result.error is not None, f"no error came back for {code!r}")


@check
def a_signal_is_told(executor: Executor) -> None:
    """If a signal ends the program, the status is `signal`, with the signal's number."""
    result = run(executor, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    equal((result.status, result.signal, result.exit_code), (Status.SIGNAL, 11, None), "end by SIGSEGV")


@check
def a_hard_exit_is_an_exit(executor: Executor) -> None:
    """`os._exit(0)` is an exit with code 0; output that was not flushed is lost."""
    result = run(executor, "import os; print('kept', flush=True); print('lost'); os._exit(0)")
    equal((result.status, result.exit_code, result.stdout), (Status.OK, 0, "kept\n"), "os._exit(0)")


@check
def threads_and_exit_handlers_are_waited_for(executor: Executor) -> None:
    """As in plain Python: the interpreter waits for threads first, then calls the `atexit` handlers."""
    code = (
        "import atexit, threading, time\natexit.register(lambda: print('handler'))\n"
        "threading.Thread(target=lambda: (time.sleep(0.1), print('thread'))).start()\nprint('main')"
    )
    output(executor, code, "main\nthread\nhandler\n")


@core_check
def a_main_block_runs(executor: Executor) -> None:
    """The program's module is `__main__`."""
    output(executor, "if __name__ == '__main__': print('main')", "main\n")


@check
def the_main_module_can_be_imported(executor: Executor) -> None:
    """A class of the program can be found in the module that its `__module__` names."""
    output(executor, "import sys\nclass C: pass\nprint(sys.modules[C.__module__].C is C)", "True\n")


@check
def deep_recursion_in_a_big_stack_works(executor: Executor) -> None:
    """A thread may have a stack of 256 MiB within the default limits, if it uses little of it."""
    code = (
        "import sys, threading\nsys.setrecursionlimit(10**6)\nthreading.stack_size(256 << 20)\n"
        "def f(n): return 0 if n == 0 else 1 + f(n - 1)\n"
        "t = threading.Thread(target=lambda: print(f(20000))); t.start(); t.join()"
    )
    output(executor, code, "20000\n")


@core_check
def an_empty_program_is_ok(executor: Executor) -> None:
    """A program without any code ends with `ok`."""
    output(executor, "", "")


@core_check
def a_long_program_runs(executor: Executor) -> None:
    """A text of some 200,000 characters arrives whole."""
    output(executor, "x = 0\n" + "x = x + 1\n" * 20_000 + "print(x)", "20000\n")
