"""Programs in other languages than Python, and what is said where one cannot be run."""

import dataclasses
import os
import shutil
import stat

import pytest

from code_env import (
    CallTest,
    CellTest,
    CheckerTest,
    Limits,
    Outcome,
    OutputTest,
    Program,
    StdinTest,
    Task,
    TaskError,
    extract_code,
    judge,
)
from code_env.errors import UnsupportedProgram
from code_env.languages import LANGUAGES, canonical_name, find_language
from support import local, somewhere


@pytest.fixture(scope="module", params=["full", "contained", "subprocess"])
def executor(request):
    with somewhere(request.param) as made:
        yield made


def bash(*tests):
    return Task("t", "p", tests, language="bash", limits=Limits(cpu_s=1, wall_s=60))


SUM = bash(StdinTest("2 3\n", "5\n"), StdinTest("10 20\n", "30\n"))


def test_the_table_knows_each_name_once():
    names = [name for language in LANGUAGES for name in (language.name, *language.aliases)]
    assert len(set(names)) == len(names)
    assert [canonical_name(name) for name in ("js", "sh", "py", "befunge")] == [
        "javascript",
        "bash",
        "python",
        "befunge",
    ]
    assert find_language("befunge") is None


def test_fences_are_found_by_every_name_of_a_language():
    response = "```python\nprint(1)\n```\n```js\nlet x\n```\n```sh\necho\n```\n```\nother\n```"
    assert extract_code(response, "javascript") == "let x\n"
    assert extract_code(response, "bash") == "echo\n"
    assert extract_code(response, "python") == "print(1)\n"


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        (SUM, "read a b\necho $((a + b))"),
        (SUM, "awk '{ print $1 + $2 }'; exit 0"),
        (bash(OutputTest("1\n2\n3\n")), "for i in 1 2 3; do echo $i; done"),
        (
            bash(OutputTest("x y\n")),
            '#!/bin/bash\nset -euo pipefail\ndeclare -A m=([a]=x [b]=y)\nprintf \'%s %s\\n\' "${m[a]}" "${m[b]}"',
        ),
        (
            bash(CheckerTest("b a", "def check(i, o, a): return sorted(i.split()) == o.split()")),
            "read -a w; [[ ${w[0]} < ${w[1]} ]] && echo ${w[@]} || echo ${w[1]} ${w[0]}",
        ),
    ],
    ids=range(5),
)
def test_an_honest_bash_program_passes(task, answer, executor):
    if "awk" in answer:  # It takes the place of the shell: without that, it would be a process.
        answer = f"exec {answer.partition(';')[0]}"
    verdict = judge(task, answer, executor)
    assert (verdict.outcome, verdict.fraction, verdict.judge) == (Outcome.PASS, 1.0, "blind"), verdict.cases


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("echo 4", "expected '5', got '4'"),
        ("exit 0", "expected '5'"),
        ("echo 5; exit 3", "exit code 3"),
        ("if", "exit code 2"),
        ("kill -9 $$", "killed by signal 9"),
        ("while :; do :; done", "the time limit was reached"),
        ("echo PASSED; for fd in 3 4 5 6 7 8; do echo '{}' >&$fd; done", "expected '5'"),
    ],
)
def test_a_wrong_bash_program_fails(answer, message, executor):
    task = dataclasses.replace(SUM, limits=Limits(cpu_s=0.5, wall_s=60))
    verdict = judge(task, answer, executor)
    assert (verdict.outcome, verdict.cases[0].passed) == (Outcome.FAIL, False)
    assert message in verdict.cases[0].message


def test_bash_has_what_every_program_has(executor):
    code = 'echo "$1 $(<data)" >out; echo err >&2; ls >/dev/null 2>&1; compgen -e | tr "\\n" " "; exit 3'
    result = executor.run(
        Program(code, language="sh", argv=("a b",), files={"data": b"in"}, collect=("out",), limits=Limits(processes=4))
    )
    assert (result.status, result.exit_code, result.error) == ("error", 3, None), result
    assert dict(result.files) == {"out": b"a b in\n"}, result
    assert result.stderr == "err\n"
    assert set(result.stdout.split()) - {"OLDPWD", "PWD", "SHLVL", "_"} == {"HOME", "LANG", "PATH", "TMPDIR"}


COPIES_OF_NODE = """
const fs = require('fs'), { Worker } = require('worker_threads'), { pipeline } = require('stream/promises');
const same = (...names) => names.map((name) => fs.readFileSync(name).equals(fs.readFileSync('a')));
(async () => {
    fs.writeFileSync('a', Buffer.alloc(300000, 'abc'));
    fs.copyFileSync('a', 'b');
    await fs.promises.copyFile('a', 'c');
    fs.mkdirSync('d'); fs.cpSync('a', 'd/e'); fs.cpSync('d', 'f', { recursive: true });
    await pipeline(fs.createReadStream('a'), fs.createWriteStream('g'));
    fs.fsyncSync(fs.openSync('g', 'r+'));
    await new Promise((done) => new Worker('1 + 1', { eval: true }).on('exit', done));
    console.log(...same('b', 'c', 'd/e', 'f/e', 'g'));
    console.log(require('child_process').execFileSync('cat', ['a']).length);
})();
"""
COPIES_OF_BASH = """
head -c 300000 /dev/urandom >a
cp a b; cat a >c; cat a | cat >d; dd if=a of=e 2>/dev/null; mkdir f; cp -a a f; mv f g; cat <a >h; sync
for one in b c d e g/a h; do cmp a $one || echo differs; done
yes | head -n 1
"""


@pytest.mark.parametrize(
    ("language", "code", "stdout"),
    [("javascript", COPIES_OF_NODE, "true true true true true\n300000\n"), ("bash", COPIES_OF_BASH, "y\n")],
    ids=["javascript", "bash"],
)
def test_files_are_copied_in_every_way(language, code, stdout, executor):
    if language == "javascript" and shutil.which("node") is None:
        pytest.skip("no Node.js")
    result = executor.run(Program(code, language=language, limits=Limits(processes=4)))
    assert (result.status, result.stdout, result.stderr) == ("ok", stdout, ""), result


@pytest.mark.parametrize("level", ["full", "contained"])
def test_bash_starts_no_process_unless_it_may(level):
    with local(level) as executor:
        result = executor.run(Program("/bin/true; echo $?", language="bash", limits=Limits(wall_s=10)))
        assert "Resource temporarily unavailable" in result.stderr, result
        assert executor.run(Program("sleep 60 & echo on", language="bash", limits=Limits(processes=2))).stdout == "on\n"


@pytest.mark.parametrize("test", [CallTest((1,), expected=1)], ids=["call"])
def test_functions_in_bash_cannot_be_called(test):
    with pytest.raises(TaskError, match="functions in bash cannot be called; use stdin, output or checker tests"):
        Task("t", "p", (test,), entry_point="f", language="bash")


def test_notebooks_are_python():
    with pytest.raises(TaskError, match="of kind cell, which is for answers in python"):
        Task("t", "p", (CellTest("x", "1"),), language="javascript")


def test_values_that_only_python_has_are_refused():
    with pytest.raises(TaskError, match=r"values that only Python has \(tagged b\)"):
        Task("t", "p", (CallTest((b"x",), expected=1),), entry_point="f", language="javascript")


def test_a_missing_interpreter_is_named(executor, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnsupportedProgram, match=r"need the command 'node', and it is not on PATH; install Node\.js"):
        executor.submit(Program("1", language="js"))
    assert executor.describe().languages == {"python"}
    assert executor.run(Program("print(1)")).stdout == "1\n"


def test_an_interpreter_that_does_not_start_is_named(executor, monkeypatch, tmp_path):
    broken = tmp_path / "node"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(UnsupportedProgram, match=r"it does not start.*install Node\.js"):
        executor.submit(Program("1", language="js"))


def test_an_interpreter_lies_anywhere(monkeypatch, tmp_path):
    """Such as under nvm, in a home that is closed to others, behind a link or a script."""
    home = tmp_path / "home" / "versions" / "node" / "bin"
    home.mkdir(parents=True)
    node = shutil.copy2(shutil.which("node"), home / "node")
    os.chmod(tmp_path / "home", stat.S_IRWXU)
    shims = tmp_path / "shims"
    shims.mkdir()
    (shims / "node").write_text(f'#!/bin/sh\nexec {node} "$@"\n')
    (shims / "node").chmod(0o755)
    monkeypatch.setenv("PATH", f"{shims}:{os.environ['PATH']}")
    for level in ("full", "contained"):
        with local(level) as executor:
            result = executor.run(Program("console.log(process.execPath)", language="js"))
            assert result.stdout == f"{os.path.realpath(node)}\n", result


def test_other_executors_and_languages_are_refused(executor):
    for language in ("befunge", "cobol"):
        with pytest.raises(UnsupportedProgram, match=f"runs python, javascript, bash, not '{language}'"):
            executor.submit(Program("x", language=language))
    with pytest.raises(UnsupportedProgram, match="a peer is a program in python, not 'javascript'"):
        executor.submit(Program("print(1)", peer=Program("1", language="js")))
    with pytest.raises(UnsupportedProgram, match="one_process is for programs in python"):
        executor.submit(Program("1", language="js", peer=Program("1"), one_process=True))
    with pytest.raises(UnsupportedProgram, match="notebook is for programs in python"):
        executor.submit(Program("1", language="js", notebook=True))
