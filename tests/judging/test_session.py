"""Tests of a notebook session: cells, files that are left, and insights in the output."""

import dataclasses

import pytest

from code_env import (
    AssertTest,
    CallTest,
    CellTest,
    CodeExecEnv,
    FileTest,
    InsightTest,
    Limits,
    Outcome,
    OutputTest,
    Status,
    StdinTest,
    Task,
    TaskError,
    TaskSuite,
    judge,
    judge_many,
    load_suite,
    save_suite,
)

ADD = "def add(a, b):\n    return a + b\n"


def task(*tests, **fields):
    return Task("t", "p", tests, **{"entry_point": "add", **fields})


def passed(verdict):
    return [case.passed for case in verdict.cases]


@pytest.mark.parametrize(
    ("code", "expected", "passes"),
    [
        ("result = add(2, 3)", "5", True),
        ("result = add(2, 3)", "6", False),
        ("add(2, 3)", "5", True),
        ("print(add(2, 3))", "5", True),
        ("print(add(2, 3))\nNone", "5", True),
        ("result = 7\nprint(5)", "5", True),
        ("result = 7\nprint(5)", "7", False),
        ("result = 7\nadd(2, 3)", "5", True),
        ("x = add(2, 3)", "5", False),
        ("add('a', 'b')", "ab", True),
        ("add('a', 'b')", "'ab'", True),
        ("add('a', 'b')", '"ab"', False),
        ("result = add('a', 'b')", "ab", True),
        ("print(repr('ab'))", "ab", False),
        ("add([1], [2])", "[1, 2]", True),
        ("print('a')\nprint('b')", "a\nb", True),
        ("add(2, 3", "5", False),
        ("1 / 0", "", False),
        ("pass", "", True),
    ],
)
def test_a_cell_gives_its_last_expression_or_output_or_result(executor, code, expected, passes):
    verdict = judge(task(CellTest(code, expected)), ADD, executor)
    assert (verdict.passed, verdict.judge) == (passes, "blind"), verdict


def test_a_cell_finds_what_those_before_it_left(everywhere):
    cells = (CellTest("x = add(1, 1)\nx", "2"), CellTest("1 / 0", ""), CellTest("x += 1\nx", "3"), CellTest("x", "3"))
    verdict = judge(task(*cells), ADD, everywhere)
    assert passed(verdict) == [True, False, True, True]
    assert [case.status for case in verdict.cases] == ["ok", "error", "ok", "ok"]
    assert verdict.cases[1].message == "ZeroDivisionError: division by zero"
    assert [cell.text for cell in verdict.execution.cells] == ["2", "", "3", "3"]


def test_public_cells_run_apart_from_hidden_ones(executor):
    keeps = "seen = []\ndef add(a, b):\n    seen.append((a, b))\n    return a + b\n"
    tests = (CellTest("add(1, 2)", "3"), CellTest("add(3, 4)\nseen", "[(3, 4)]", hidden=False))
    verdict = judge(task(*tests), keeps, executor)
    assert verdict.passed
    assert [cell.text for cell in verdict.execution.cells] == ["[(3, 4)]", "3"]


@pytest.mark.parametrize(
    ("test", "code", "passes"),
    [
        (FileTest("out.txt", "hello"), "open('out.txt', 'w').write('hello\\n')", True),
        (FileTest("out.txt", "hello"), "open('out.txt', 'w').write('hullo')", False),
        (FileTest("out.txt", "hello", compare="exact"), "open('out.txt', 'w').write('hello\\n')", False),
        (FileTest("out.txt"), "open('out.txt', 'w')", True),
        (FileTest("out.txt"), "pass", False),
        (FileTest("a/b/out.txt", "x"), "import os\nos.makedirs('a/b')\nopen('a/b/out.txt', 'w').write('x')", True),
        (FileTest("out"), "import os\nos.mkdir('out')", False),
        (FileTest("out"), "import os\nos.symlink('/etc/passwd', 'out')", False),
        (FileTest("out"), "import os\nos.mkfifo('out')", False),
        (FileTest("a/out"), "import os\nos.symlink('/etc', 'a')", False),
        (FileTest("out", "x"), "open('out', 'wb').write(b'\\xff\\xfe')", False),
        (FileTest("out"), "open('out', 'w').truncate(10 << 20)", False),
        (FileTest("out"), "open('out', 'w')\n1 / 0", False),
        (FileTest("out"), "open('out', 'w')\nraise SystemExit(1)", False),
        (FileTest("out"), "open('out', 'w')\nraise SystemExit", True),
        (FileTest("out", "late"), "import atexit\natexit.register(lambda: open('out', 'w').write('late'))", True),
        (FileTest("given", "as given"), "pass", True),
        (InsightTest("mean is 3"), "print('The  Mean\\nis 3.0.')", True),
        (InsightTest("mean is 3"), "print('the mean is 3.5')", False),
        (InsightTest("mean is 3"), "print('the mean is 35')", False),
        (InsightTest("mean is 3"), "'the mean is 3'", True),
        (InsightTest("mean is 3"), "print('x' * 5000, 'mean is 3')", False),
        (InsightTest("mean is 3", max_chars=9000), "print('x' * 5000, 'mean is 3')", True),
        (InsightTest("an is 3", find="rewardkit_substring"), "print('x' * 5000, 'mean is 35')", True),
        (InsightTest("mean is 3"), "import sys\nprint('mean is 3', file=sys.stderr)", False),
        (InsightTest("mean is 3"), "print('mean is 3')\n1 / 0", False),
    ],
)
def test_files_and_insights(executor, test, code, passes):
    verdict = judge(task(test, files={"given": b"as given"}), code, executor)
    assert (verdict.passed, verdict.judge) == (passes, "blind"), verdict
    assert passes or verdict.cases[0].message


def test_all_kinds_go_into_one_verdict(everywhere):
    code = ADD + "if __name__ == '__main__':\n    open('out', 'w').write('x')\n    print('sum is', add(1, 2))\n"
    tests = (
        StdinTest("", "sum is 3"),
        CellTest("add(1, 2)", "3"),
        CallTest((1, 2), expected=3),
        FileTest("out", "x"),
        AssertTest("assert add(1, 2) == 3"),
        InsightTest("sum is 3"),
        OutputTest("sum is 3"),
    )
    verdict = judge(task(*tests), code, everywhere)
    assert verdict.passed, verdict
    worse = judge(task(*tests), code.replace("a + b", "a + b + 1"), everywhere)
    assert passed(worse) == [False, False, False, True, False, False, False]


def test_an_insight_is_not_found_in_what_a_test_prints(everywhere):
    verdict = judge(task(CellTest("print('max is', 5)", "max is 5"), InsightTest("max is 5")), "pass", everywhere)
    assert passed(verdict) == [True, False]


def test_an_insight_is_found_in_every_line_of_a_value(executor):
    code = "'\\n'.join(['max is 5', 'min is 1'])"
    assert judge(task(InsightTest("max is 5"), InsightTest("min is 1")), code, executor).passed


@pytest.mark.parametrize("kind", ["results", "error"])
@pytest.mark.parametrize("depth", [900, 980, 995, 1400])
def test_records_nested_deep_are_a_failed_test(everywhere, kind, depth):
    forges = f"""
import sys, gc, os
kernel = next(one for one in gc.get_objects() if type(one).__name__ == '_Kernel')
sys.setrecursionlimit(10000)
x = []
for _ in range({depth}): x = [x]
kernel._send({{'cell': 1, '{kind}': x}})
os._exit(0)
"""
    verdict = judge(task(CellTest("1", "secret")), forges, everywhere)
    assert (verdict.outcome, verdict.fraction) == (Outcome.FAIL, 0.0)


@pytest.mark.parametrize("to", ["/etc", "/proc/self", "/"])
def test_a_link_in_place_of_its_directory_is_not_followed(everywhere, to):
    moves = f"import os\nhere = os.getcwd()\nos.rename(here, here + '2')\nos.symlink('{to}', here)"
    tests = [FileTest(name) for name in ("passwd", "hostname", "environ", "etc/passwd")]
    verdict = judge(task(*tests), moves, everywhere)
    assert (verdict.valid, verdict.fraction) == (True, 0.0), verdict


def test_a_program_without_its_directory_still_has_its_cells(everywhere):
    removes = "import os, shutil\nhere = os.getcwd()\nos.chdir('/')\nshutil.rmtree(here, ignore_errors=True)\nx = 5"
    verdict = judge(task(CellTest("x", "5"), FileTest("out")), removes, everywhere)
    assert passed(verdict) == [True, False], verdict


def test_values_are_compared_as_what_they_stand_for(executor):
    code = "import numpy as np\ndef f(): return None\nx = np.int64(3)"
    tests = (
        CellTest("x", "3"),
        CellTest("result = np.mean([1, 3])", "2.0"),
        CellTest("result = f()", "None"),
        CellTest("def g():\n    result = 9\ng()", ""),
    )
    assert passed(judge(task(*tests, limits=Limits(cpu_s=20)), code, executor)) == [True] * 4


CHEATS = {
    "no code": "",
    "exits at once": "raise SystemExit(0)",
    "leaves hard": "import os\nos._exit(0)",
    "dies": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "always equal": "class A:\n    def __eq__(self, o): return True\n    def __repr__(self): return ''\n"
    "def add(a, b): return A()",
    "no names for cells": "import builtins\nbuiltins.print = lambda *a: None\ndef add(a, b): return None",
    "forged records": "import os, json\nline = json.dumps({'cell': 1, 'results': [{'text/plain': '*'}], 'stdout': '*',"
    " 'error': None, 'variable': '*'}).encode() + b'\\n'\nfor fd in range(30):\n    try: os.write(fd, line)\n"
    "    except OSError: pass\ndef add(a, b): return 0",
    "forged frames": "import os, struct\nfor fd in range(3, 30):\n    for kind in b'NFEO':\n"
    "        try: os.write(fd, struct.pack('>IB', 2, kind) + b'{}')\n        except OSError: pass",
    "replaced harness": "import sys\nfor name in list(sys.modules):\n    if 'harness' in name:\n"
    "        for key in list(vars(sys.modules[name])): setattr(sys.modules[name], key, lambda *a, **k: '5')",
    "reads its cells": "import gc\ndef add(a, b):\n"
    "    return next((o for o in gc.get_objects() if isinstance(o, str) and o == 'c4n4ry'), 0)",
    "never ends": "while True: pass",
    "floods": "while True: print('x' * 100000)",
    "prints every word": "for i in range(10**5): print(i, 'word', i * 7)",
}


@pytest.mark.parametrize("name", CHEATS)
def test_cheats_get_nothing_and_always_a_verdict(everywhere, name):
    limits = Limits(cpu_s=1, wall_s=60)
    tests = (CellTest("add(2, 3)", "c4n4ry"), FileTest("out", "c4n4ry"), InsightTest("c4n4ry"))
    verdict = judge(task(*tests, limits=limits), CHEATS[name], everywhere)
    assert (verdict.outcome in (Outcome.FAIL, Outcome.POLICY_ERROR), verdict.fraction) == (True, 0.0), verdict


def test_what_came_before_a_timeout_counts(everywhere):
    code = "def add(a, b):\n    while a == 3: pass\n    return a + b\n"
    tests = (CellTest("add(1, 2)", "3"), CellTest("add(3, 4)", "7"), CellTest("add(5, 6)", "11"), FileTest("out"))
    verdict = judge(task(*tests, limits=Limits(cpu_s=1.5, wall_s=60)), code, everywhere)
    assert passed(verdict) == [True, False, False, False]
    assert [case.status for case in verdict.cases] == ["ok", "timeout", "timeout", "timeout"]
    assert verdict.execution.status is Status.TIMEOUT


def test_answers_do_not_see_one_another(everywhere):
    problem = task(CellTest("add(1, 2)", "3"), FileTest("seen", "1"))
    leaves = ADD + "import os\nn = '12'[os.path.exists('seen')]\nopen('seen', 'w').write(n)"
    verdicts = judge_many([(problem, leaves + f"  # {number}") for number in range(6)], everywhere)
    assert all(verdict.passed for verdict in verdicts), verdicts


def test_a_plot_comes_back(everywhere):
    code = "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()\nprint('done')"
    verdict = judge(task(InsightTest("done"), limits=Limits(cpu_s=20)), code, everywhere)
    assert verdict.passed
    assert [shown["image/png"][:4] for shown in verdict.execution.results] == [b"\x89PNG"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CellTest("x", 5), "expected must be text; got int"),
        (lambda: CellTest("x", "5", compare="equal"), "compare must be one of"),
        (lambda: FileTest("/etc/passwd"), "not a path inside the working directory"),
        (lambda: FileTest("../out"), "not a path inside the working directory"),
        (lambda: FileTest("main.py"), "the program itself lies there"),
        (lambda: FileTest("out", b"x"), "content must be text; got bytes"),
        (lambda: InsightTest(" "), "insight must not be blank"),
        (lambda: InsightTest("x", find="regex"), "find must be one of mention, rewardkit_substring; got 'regex'"),
        (lambda: InsightTest("x", max_chars=0), "max_chars must be a whole number of at least 1; got 0"),
    ],
)
def test_a_test_that_makes_no_sense_is_refused(make, message):
    with pytest.raises(TaskError, match=message):
        make()


def test_they_are_written_and_read(tmp_path):
    tests = (
        CellTest("x", "5", compare="numbers", weight=2.0),
        CellTest("y", "", hidden=False),
        FileTest("a/b", "text", compare="exact"),
        FileTest("a/b"),
        FileTest("empty", ""),
        InsightTest("mean"),
        InsightTest("mean", find="rewardkit_substring", max_chars=10),
    )
    suite = [task(*tests)]
    save_suite(suite, tmp_path / "suite.jsonl")
    assert list(load_suite(tmp_path / "suite.jsonl")) == suite


def test_the_policy_is_told_of_public_ones_only(executor):
    tests = (
        CellTest("add(1, 2)", "3", hidden=False),
        CellTest("add(20, 30)", "50"),
        FileTest("public.txt", hidden=False),
        FileTest("secret.txt"),
        InsightTest("secret finding"),
    )
    env = CodeExecEnv(TaskSuite("s", [task(*tests)]), executor=executor, max_turns=2)
    env.reset(seed=0)
    observation = env.step("def add(a, b): return a - b")[0]
    assert "Cell 'add(1, 2)', gave '-1'" in observation
    assert "File 'public.txt'" in observation
    assert not any(word in observation for word in ("20", "50", "secret"))
    env.close()


def test_a_draw_of_tests_takes_all_cells_or_none(executor):
    problem = task(CellTest("x = 1", ""), CellTest("x", "1"), CellTest("x + 1", "2"))
    env = CodeExecEnv(TaskSuite("s", [problem]), executor=executor, tests_per_step=1)
    env.reset(seed=0)
    assert len(env.step("pass")[4]["verdicts"][0].cases) == 3
    env.close()
    files = dataclasses.replace(problem, tests=(FileTest("a"), FileTest("b")))
    env = CodeExecEnv(TaskSuite("s", [files]), executor=executor, tests_per_step=1)
    env.reset(seed=0)
    assert len(env.step("pass")[4]["verdicts"][0].cases) == 1
    env.close()
