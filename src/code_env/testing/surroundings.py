"""Checks of the files that go in and come back, and of the environment that a program finds."""

from __future__ import annotations

import os
import time

from code_env.executors import Executor, Limits

from .contract import Declared, check, core_check, equal, expect, output, run


@check
def files_go_in(executor: Executor) -> None:
    """`Program.files` are in the working directory, also in subfolders; modules among them can be imported."""
    files = {"data/in.bin": b"\x00\xff", "helper.py": b"VALUE = 7"}
    code = "import helper\nprint(helper.VALUE, open('data/in.bin', 'rb').read())"
    output(executor, code, "7 b'\\x00\\xff'\n", files=files)


@check
def files_come_back(executor: Executor) -> None:
    """The files of `Program.collect` that the program wrote come back; the others are left out."""
    code = "import os; os.mkdir('d'); open('d/out', 'wb').write(b'\\x00x'); print('done')"
    result = output(executor, code, "done\n", collect=("d/out", "missing", "d"))
    equal(dict(result.files), {"d/out": b"\x00x"}, "files")


@check
def collecting_follows_no_link(executor: Executor) -> None:
    """A link that points out of the working directory is not collected."""
    code = "import os; os.symlink('/etc/hostname', 'a'); os.symlink('/etc', 'b'); print('done')"
    result = output(executor, code, "done\n", collect=("a", "b/hostname"))
    equal(dict(result.files), {}, "files")


@check
def collecting_is_bounded(executor: Executor) -> None:
    """A file that is larger than the limits allow does not fill the trainer's memory; a FIFO does not block."""
    code = "import os; open('sparse', 'wb').truncate(40000); os.mkfifo('fifo'); print('done')"
    result = output(executor, code, "done\n", collect=("fifo", "sparse"), limits=Limits(file_bytes=50000))
    equal({name: len(data) for name, data in result.files.items()}, {"sparse": 40000}, "sizes of files")


@check
def nothing_is_left_for_the_next_program(executor: Executor) -> None:
    """The next program does not find the files and modules of an earlier program."""
    output(executor, "import json; json.mark = 1; open('left', 'w').write('x'); print(1)", "1\n")
    output(executor, "import json, os; print(hasattr(json, 'mark'), os.path.exists('left'))", "False False\n")


@check
def the_hosts_environment_stays_away(executor: Executor) -> None:
    """The program's environment does not have the trainer's environment variables."""
    name = "CODE_ENV_CONFORMANCE_SECRET"
    os.environ[name] = "secret"
    try:
        output(executor, f"import os; print(os.environ.get({name!r}))", "None\n")
    finally:
        del os.environ[name]


@core_check
def runs_repeat(executor: Executor) -> None:
    """The same program gives an equal result; the order of a set does not change from run to run."""
    code = "print({'a', 'b', 'c', 'd', 'e', 'f'}); print(hash('x'))"
    first, second = run(executor, code), run(executor, code)
    equal(first, second, "second result")
    expect(bool(first.stdout), "nothing was printed")


@check
def the_trainers_process_is_untouched(executor: Executor) -> None:
    """Running a program changes neither the working directory nor the standard streams of the trainer."""
    before = (os.getcwd(), os.fstat(0).st_ino, os.fstat(1).st_ino)
    output(executor, "import os; os.chdir('/'); os.write(1, b'x'); os.close(1); os.close(0)", "x")
    equal((os.getcwd(), os.fstat(0).st_ino, os.fstat(1).st_ino), before, "trainer's surroundings")


@check
def measurements_are_plausible(executor: Executor) -> None:
    """The measured CPU time and wall time are those of the program."""
    result = run(executor, "import time; time.sleep(0.3)\nx = 0\nfor i in range(10**6): x += i")
    expect(result.wall_s >= 0.3 and 0 < result.cpu_s < result.wall_s + 1, f"measured {result}")


@core_check
def names_do_not_pass_on(executor: Executor) -> None:
    """The next program does not find the names that an earlier program defined."""
    output(executor, "mark = 1\nprint(mark)", "1\n")
    result = run(executor, "mark")
    equal(result.error and result.error.name, "NameError", "error of a program that looks for a name of the last one")


@check
def the_working_directory_is_its_own(executor: Executor) -> None:
    """The working directory holds the program's file and `Program.files`, and nothing else."""
    code = "import os; print(sorted(os.listdir()), open(__file__).read().startswith('import os'))"
    output(executor, code, "['data.txt', 'main.py'] True\n", files={"data.txt": b"x"})


@check
def random_numbers_differ(executor: Executor) -> None:
    """Two programs draw different random numbers. Forks of one process would draw the same, unless seeded again."""
    code = "import random; print(random.random())"
    first, second = run(executor, code), run(executor, code)
    expect(first.stdout != second.stdout, f"two programs drew {first.stdout!r}")


@check
def the_network_is_off_where_declared(executor: Executor) -> None:
    """If `describe().network` is False, a program cannot connect to anything, and gets the error at once."""
    if executor.describe().network:
        raise Declared("programs reach the network")
    code = "import socket\ntry: socket.create_connection(('1.1.1.1', 53), timeout=2)\nexcept OSError: print('refused')"
    began = time.monotonic()
    output(executor, code, "refused\n")
    expect(time.monotonic() - began < 20, "the refusal came late")
