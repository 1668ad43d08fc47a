"""Notebooks: rich results and cells in the sandbox's kernel."""

import pytest

from code_env import Limits, Program, Status
from e2b_server import Fault


def notebook(executor, code, *cells, **fields):
    return executor.run(Program(code, notebook=True, cells=cells, **fields))


def test_rich_results_come_back(executor):
    code = """
class Rich:
    def _repr_html_(self): return "<b>7</b>"
    def __repr__(self): return "seven"
Rich()
"""
    assert notebook(executor, code).results == ({"text/plain": "seven", "text/html": "<b>7</b>"},)


def test_a_session_has_the_results_of_its_cells_alone(executor):
    pytest.importorskip("matplotlib")
    with executor.open_session(limits=Limits(cpu_s=20, wall_s=60)) as session:
        assert session.run("import matplotlib.pyplot as plt\nprint('before')\nplt.figure()").stdout == "before\n"
        cell = session.run("class Rich:\n    def _repr_html_(self): return '<b>7</b>'\nplt.plot([1])\nRich()")
        value, figure = cell.results
    assert (cell.status, cell.stdout, value["text/html"]) == (Status.OK, "", "<b>7</b>")
    assert figure["image/png"].startswith(b"\x89PNG")


def test_figures_are_pictures(executor):
    pytest.importorskip("matplotlib")
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\n5"
    result = notebook(executor, code, limits=Limits(wall_s=60))
    assert result.status is Status.OK, result
    figure, value = result.results
    assert list(figure) == ["image/png"]
    assert figure["image/png"].startswith(b"\x89PNG")
    assert value == {"text/plain": "5"}


def test_cells_give_results_output_and_the_variable(executor):
    result = notebook(executor, "x = 3", "result = x", "print(x)\nresult = 4", "1 / 0", "def f(): result = 5", "x + 1")
    assert [cell.text for cell in result.cells] == ["3", "3\n", "", "", "4"]
    assert [cell.variable for cell in result.cells] == ["3", "4", None, None, None]
    assert [cell.error and cell.error.name for cell in result.cells] == [None, None, "ZeroDivisionError", None, None]
    assert (result.status, result.stdout) == (Status.OK, "3\n")


def test_input_arguments_and_files_are_there(executor):
    code = (
        "import sys\nline = input()\nrest = sys.stdin.read()\n"
        "open('out', 'w').write(open('in').read() + line)\nprint(rest, sys.argv[1:])\ninput()"
    )
    result = notebook(executor, code, stdin="a\nb", argv=("c",), files={"in": b"x"}, collect=("out", "none"))
    assert (result.stdout, result.error.name) == ("b ['c']\n", "EOFError")
    assert result.files == {"out": b"xa"}


@pytest.mark.parametrize(
    ("code", "status", "exit_code"),
    [
        ("raise SystemExit", Status.OK, 0),
        ("raise SystemExit(0)", Status.OK, 0),
        ("raise SystemExit(3)", Status.ERROR, 3),
        ("raise SystemExit('bye')", Status.ERROR, 1),
        ("raise ValueError('no')", Status.ERROR, 1),
        ("def f(:", Status.ERROR, 1),
        ("x = bytearray(1 << 60)", Status.MEMORY, 1),
        ("while True: pass", Status.TIMEOUT, None),
        ("while True: print('x' * 100_000)", Status.OUTPUT_LIMIT, None),
        ("import os; os._exit(7)", Status.ERROR, None),
    ],
)
def test_a_notebook_ends_as_it_does(code, status, exit_code, executor):
    result = notebook(executor, code, limits=Limits(wall_s=1 if status is Status.TIMEOUT else 200))
    assert (result.status, result.exit_code) == (status, exit_code), result


@pytest.mark.parametrize("first", ["pass", "import time; time.sleep(1.9)", "import time; time.sleep(1.98)"])
def test_what_is_near_its_limit_is_a_timeout(first, executor, e2b):
    before = e2b.created
    result = notebook(executor, first, "import time; time.sleep(3)", "1", limits=Limits(wall_s=2))
    assert (result.status, result.exit_code) == (Status.TIMEOUT, None), result
    assert e2b.created == before + 1


REMOVES = "import os, shutil; shutil.rmtree(os.path.expanduser('~/.code_env'))"


@pytest.mark.parametrize(
    "code",
    [
        "import builtins; builtins.open = None",
        "import builtins; builtins.open = builtins.any = None",
        "import ast, base64; base64.b64encode = ast.iter_child_nodes = None",
        REMOVES,
    ],
)
def test_a_program_cannot_keep_its_cells_from_ending(code, executor, e2b):
    before = e2b.created
    result = notebook(executor, code, "result = 6 * 7")
    assert result.status is Status.OK, result
    assert [cell.variable for cell in result.cells] == ["42"]
    assert e2b.created == before + 1


def test_a_program_without_its_note_takes_too_long_all_the_same(executor):
    assert notebook(executor, f"{REMOVES}\nwhile True: pass", limits=Limits(wall_s=1)).status is Status.TIMEOUT


def test_any_text_is_input(executor):
    result = notebook(executor, "import sys; print(ascii(sys.stdin.read()))", stdin="\ud800\0x")
    assert result.stdout == "'\\ud800\\x00x'\n", result


def test_a_kernel_that_dies_twice_is_the_programs(executor, e2b):
    before = e2b.created
    assert notebook(executor, "import os; os._exit(7)").error.name == "SandboxKilled"
    assert e2b.created == before + 2


@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.name)
def test_faults_are_no_results(fault, make, e2b):
    """A stream that was cut short looks like one that has ended; a dead line like a loop."""
    executor = make(request_timeout_s=3.0)
    e2b.faults.add("run_code", fault, after=1)
    result = notebook(executor, "print(1)\n6 * 7", limits=Limits(wall_s=3))
    assert (result.status, result.stdout, result.results) == (Status.OK, "1\n", ({"text/plain": "42"},)), result


def test_what_fails_three_times_is_a_fault_of_the_sandbox(make, e2b):
    e2b.faults.add("run_code", Fault.NO_END, times=6)  # Of the beginning in each sandbox, and of the program.
    result = notebook(make(), "1")
    assert result.status is Status.SANDBOX_ERROR
