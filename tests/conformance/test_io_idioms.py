"""Reading and writing as real programs do it: each idiom runs alike on every executor, run or judged.

Five graders that gave programs a mocked `sys.stdin` judged right programs wrong. Here a program has
the descriptors, files and streams that `python main.py < input > output` has. The idioms are in `idioms/`.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from code_env import Limits, Program, StdinTest, Task, judge_many
from code_env.executors.loader import loader_environment
from conformance.idioms import IDIOMS
from conformance.idioms.failing import FAILING
from support import LEVELS, executor_of, local
from tiers import sample

EXECUTORS = ("local-full", "local-contained", "subprocess")


@pytest.fixture(scope="module", params=EXECUTORS)
def executor(request, cloud):
    name, _, level = request.param.partition("-")
    with local(level) if level else executor_of(name, cloud) as made:
        yield made


@pytest.fixture(scope="module", params=[*EXECUTORS, "e2b"])
def anywhere(request, cloud):
    """What runs on `e2b` runs there as on `subprocess`; how it is judged is another way."""
    name, _, level = request.param.partition("-")
    with local(level) if level else executor_of(name, cloud) as made:
        yield made


LIMITS = {"cpu_s": 5, "wall_s": 20, "output_bytes": 1_000_000}


ENVIRONMENT = {"PATH": os.defpath, "PYTHONUTF8": "1", **loader_environment(sys.executable)}


def limits_of(idiom):
    return Limits(**{**LIMITS, **idiom.limits})


@pytest.fixture(scope="module")
def idioms(some):
    """Those that are tried, by name; one in six in the quick tier."""
    for module in {idiom.needs for idiom in IDIOMS.values()} - {""}:
        pytest.importorskip(module)
    return {name: IDIOMS[name] for name in some(IDIOMS, 6)}


def in_python(directory, code, stdin=""):
    """`python main.py < input > output`, which all the others are held to."""
    directory.mkdir()
    (directory / "main.py").write_bytes(code.encode())
    (directory / "input").write_bytes(stdin.encode("utf-8", "surrogatepass"))
    with open(directory / "input", "rb") as file:
        command = [sys.executable, "main.py"]
        return subprocess.run(command, stdin=file, capture_output=True, cwd=directory, env=ENVIRONMENT)


def test_an_idiom_is_what_python_does(tmp_path, idioms):
    with ThreadPoolExecutor(2) as threads:
        runs = threads.map(
            lambda number, idiom: in_python(tmp_path / str(number), idiom.code, idiom.stdin),
            range(len(idioms)),
            idioms.values(),
        )
        done = dict(zip(idioms, runs, strict=True))
    wrong = {
        name: one for name, one in done.items() if (one.returncode, one.stdout.decode()) != (0, IDIOMS[name].stdout)
    }
    assert wrong == {}


def test_an_idiom_runs_as_it_does_in_python(executor, idioms):
    if executor.describe().level not in LEVELS:  # It starts an interpreter for each, as plain Python does.
        idioms = {name: idioms[name] for name in sample(idioms, 4)}
    programs = [Program(idiom.code, stdin=idiom.stdin, limits=limits_of(idiom)) for idiom in idioms.values()]
    results = dict(zip(idioms, executor.run_many(programs), strict=True))
    wrong = {
        name: result
        for name, result in results.items()
        if (result.status, result.exit_code, result.stdout) != ("ok", 0, idioms[name].stdout)
    }
    assert wrong == {}


def test_an_idiom_passes_when_judged(anywhere, idioms):
    # The judge is the same everywhere, and what is not `local` starts interpreters for each.
    one_in = {"full": 1, "contained": 4}.get(anywhere.describe().level, 24)
    idioms = {name: idioms[name] for name in sample(idioms, one_in)}
    answers = [
        (
            Task(name, "p", (StdinTest(idiom.stdin, idiom.stdout, compare="exact"),), limits=limits_of(idiom)),
            idiom.code,
        )
        for name, idiom in idioms.items()
    ]
    verdicts = dict(zip(idioms, judge_many(answers, anywhere), strict=True))
    assert {name: verdict.cases for name, verdict in verdicts.items() if not verdict.passed} == {}


@pytest.fixture(scope="module")
def failed_in_python(tmp_path_factory):
    """What plain Python makes of them."""
    directory = tmp_path_factory.mktemp("failing")
    done = {name: in_python(directory / str(n), code) for n, (name, (code, _, _)) in enumerate(FAILING.items())}
    assert all(one.returncode != 0 and one.stdout == b"a\n" for one in done.values()), done
    return done


def test_a_program_that_fails_does_so_as_in_python(executor, failed_in_python):
    results = executor.run_many([Program(code) for code, _, _ in FAILING.values()])
    task = Task("t", "p", (StdinTest("", "a\n"),), limits=Limits(**LIMITS))
    verdicts = judge_many([(task, code) for code, _, _ in FAILING.values()], executor)
    for (name, (_, exit_code, stderr)), result, verdict in zip(FAILING.items(), results, verdicts, strict=True):
        done = failed_in_python[name]
        assert (result.status == "ok", result.stdout) == (False, "a\n"), (name, result)
        if exit_code is not None:
            ours = result.exit_code if result.signal is None else -result.signal
            assert (ours, done.returncode) == (exit_code, exit_code), (name, result)
        if stderr is not None:
            assert (result.stderr, done.stderr.decode()) == (stderr, stderr), (name, result)
        assert verdict.outcome == "fail", (name, verdict)
