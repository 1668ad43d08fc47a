"""The calls of E2B's old `CodeInterpreter`, and the rewards of the guide that are written with them."""

import pytest

from code_env import Isolation, NoVerdict, SessionDied, TaskError, UnsupportedProgram, make_executor
from code_env.integrations.code_interpreter import CodeInterpreter
from integrations import rewardkit_guide as guide
from support import BrokenExecutor

ADD = "def add_numbers(a, b):\n    return a + b\n"
CASES = [
    {"code": "result = add_numbers(2, 3)", "expected": "5"},
    {"code": "result = add_numbers(-1, 1)", "expected": "0"},
]
PLOT = "import matplotlib.pyplot as plt\nplt.plot([10, 15])\nplt.show()"


@pytest.fixture
def run(executor):
    """Run cells in one interpreter; give the last execution."""

    def of(*cells, **limits):
        with CodeInterpreter(executor, limits) as sandbox:
            return [sandbox.notebook.exec_cell(cell) for cell in cells][-1]

    return of


@pytest.mark.parametrize(
    ("response", "score"),
    [("print(6 * 7)", 1.0), ("6 * 7", 1.0), ("print('the answer')", 0.0), ("print('42 or so')", 1.0), ("1 / 0", 0.0)],
)
def test_the_guide_s_first_reward(response, score):
    assert guide.e2b_code_execution_reward(response=response, expected_output="42") == score


def test_the_guide_s_usage_example():
    assert guide.advanced_code_evaluation(ADD, CASES) == 1.0
    assert guide.advanced_code_evaluation(ADD.replace("a + b", "5"), CASES) == 0.5
    assert guide.advanced_code_evaluation("def broken(:", CASES) == 0.0


def test_the_guide_s_reward_for_files():
    operations = [
        {"path": "a.txt", "content": "hello"},
        {"path": "b.txt", "type": "exists"},
        {"path": "c.txt", "content": "never written"},
        {"path": "d.txt", "type": "exists"},
    ]
    writes = "open('a.txt', 'w').write('hello\\n')\nopen('b.txt', 'w').close()"
    assert guide.file_based_code_reward(writes, operations) == 0.5


def test_the_guide_s_reward_for_an_analysis(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text("price\n10\n15\n")
    answer = "p = [int(x) for x in open('dataset.csv').read().split()[1:]]\nprint(f'The Mean is {sum(p) / len(p)}')\n"
    insights = ["the mean is 12.5", "the highest"]
    assert guide.data_analysis_reward(answer, str(path), insights) == 0.5
    assert guide.data_analysis_reward(f"{answer}{PLOT}", str(path), insights) == 0.75


@pytest.mark.parametrize(
    ("cell", "text", "stdout"),
    [
        ("print(1)\n2", "2", ["1\n"]),
        ("print('a')\nprint('b')", "a\nb\n", ["a\n", "b\n"]),
        ("result = 3", "3", []),
        ("'text'", "text", []),
        ("print(\"'quoted'\", end='')", "'quoted'", ["'quoted'"]),
        ("x = 1", "", []),
    ],
)
def test_what_a_cell_shows(run, cell, text, stdout):
    execution = run(cell)
    assert (execution.text, execution.logs.stdout, execution.error) == (text, stdout, None)
    assert [result.formats for result in execution.results] == [("text/plain",)] * bool(text)


def test_what_went_wrong(run):
    failed = run("import sys\nprint('seen', file=sys.stderr)\n1 / 0")
    assert (failed.error.name, failed.error.value) == ("ZeroDivisionError", "division by zero")
    assert "line 3, in <module>" in failed.error.traceback
    assert failed.logs.stderr == ["seen\n"]
    assert run("while True: pass", cpu_s=0.2).error.name == "TimeoutError"
    assert run("import os\nos._exit(0)").error.name == "InterpreterEnded"


def test_state_and_files(executor):
    with CodeInterpreter(executor) as sandbox:
        sandbox.files.write("in/a.txt", "3")
        sandbox.files.write("b.bin", b"\xff")
        sandbox.notebook.exec_cell("n = int(open('in/a.txt').read()) + len(open('b.bin', 'rb').read())")
        sandbox.notebook.exec_cell("open('out.txt', 'w').write(str(n))")
        assert sandbox.files.read("out.txt") == "4"
        with pytest.raises(UnicodeDecodeError):
            sandbox.files.read("b.bin")
        with pytest.raises(TaskError, match="not a path inside"):
            sandbox.files.write("/etc/x", "")
    with pytest.raises(SessionDied, match="it was closed"):
        sandbox.notebook.exec_cell("1")


def test_a_failing_sandbox_is_no_result():
    class Broken(BrokenExecutor):
        def describe(self):
            return Isolation(level="none", peer="same_machine", sessions="replay")

    with CodeInterpreter(Broken()) as sandbox, pytest.raises(NoVerdict, match=r"no luck.*is to be run again"):
        sandbox.notebook.exec_cell("1")


def test_what_is_wrong_is_said_at_once():
    with pytest.raises(TaskError, match="unknown limit 'cpu'"):
        CodeInterpreter(limits={"cpu": 1})
    with make_executor("restricted", workers=1) as executor, pytest.raises(UnsupportedProgram, match="no sessions"):
        CodeInterpreter(executor)
