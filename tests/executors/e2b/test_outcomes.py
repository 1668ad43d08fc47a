"""How programs end, whatever they do to what runs them."""

import json

import pytest

from code_env import Limits, Program, Status

SHORT = Limits(cpu_s=0.5, wall_s=3)

ENDS = {
    "stdin": (Program("print(input()[::-1])", stdin="abc"), Status.OK, "cba\n"),
    "loop": (Program("print('kept', flush=True)\nwhile True: pass", limits=SHORT), Status.TIMEOUT, "kept\n"),
    "sleep": (Program("import time; time.sleep(60)", limits=Limits(wall_s=0.5)), Status.TIMEOUT, ""),
    "hard exit": (Program("import os; os._exit(0)"), Status.OK, ""),
    "exit code": (Program("import sys; print(1); sys.exit(3)"), Status.ERROR, "1\n"),
    "kills itself": (Program("import os; os.kill(os.getpid(), 9)"), Status.SIGNAL, ""),
    "flood": (
        Program("import os\nwhile True: os.write(1, b'x' * 65536)", limits=Limits(wall_s=200)),
        Status.OUTPUT_LIMIT,
        None,
    ),
    "exception": (Program("raise ValueError('no')"), Status.ERROR, ""),
    "syntax": (Program("def f(:"), Status.ERROR, ""),
    "memory error": (Program("x = bytearray(1 << 60)"), Status.MEMORY, ""),
    "javascript": (Program("console.log(6 * 7)", "javascript"), Status.OK, "42\n"),
    "javascript fails": (Program("throw new Error('no')", "javascript"), Status.ERROR, ""),
    "bash": (Program("read x; echo $x", "bash", stdin="hey"), Status.OK, "hey\n"),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_program_ends_as_it_does(name, executor, e2b):
    program, status, stdout = ENDS[name]
    before = e2b.created
    result = executor.run(program)
    assert (result.status, stdout is None or result.stdout == stdout) == (status, True), result
    assert e2b.created == before + 1


def test_an_orphan_that_holds_the_output_holds_nothing_up(executor):
    code = (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(30)\n    os._exit(0)\n"
        "print('parent', flush=True)"
    )
    result = executor.run(Program(code, limits=Limits(processes=2)))
    # If it were waited for, the time limit would end it first.
    assert (result.status, result.stdout) == (Status.OK, "parent\n")


def test_ten_megabytes_keep_head_and_tail(executor):
    result = executor.run(Program("print('a' * 5_000_000 + 'b' * 5_000_000)"))
    assert (result.status, result.stdout_truncated) == (Status.OK, True)
    assert result.stdout.startswith("a" * 65536)
    assert result.stdout.endswith("b" * 65535 + "\n")


def test_files_go_in_and_come_back(executor):
    data = bytes(range(256)) * 4000
    program = Program(
        "open('d/out', 'wb').write(open('d/in', 'rb').read()[::-1])",
        files={"d/in": data},
        collect=("d/out", "missing"),
    )
    result = executor.run(program)
    assert result.status == Status.OK, result
    assert result.files == {"d/out": data[::-1]}


@pytest.mark.parametrize(
    "line",
    [
        json.dumps({"nonce": "0" * 32, "result": {"status": "ok"}}),
        json.dumps({"nonce": None, "result": {}}),
        "{}",
        '{"nonce": ',
        "!",
        ">!!",
        ".",
        "[" * 100_000,
    ],
)
def test_a_forged_line_is_no_result(line, executor):
    code = f"""
import os
line = {line[:40]!r} * {max(1, len(line) // 40)} if {len(line) > 1000} else {line!r}
print(line)
fd = os.open(f"/proc/{{os.getppid()}}/fd/1", os.O_WRONLY)
os.write(fd, line.encode() + b"\\n")
os.write(fd, line.encode())
raise SystemExit(5)
"""
    result = executor.run(Program(code))
    assert (result.status, result.exit_code) == (Status.ERROR, 5), result


def test_who_kills_the_supervisor_is_held_responsible(executor, e2b):
    before = e2b.created
    result = executor.run(Program("import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(60)"))
    assert (result.status, result.error.name) == (Status.ERROR, "SandboxKilled")
    assert e2b.created == before + 2


def test_a_supervisor_that_is_killed_once_is_forgiven(executor, e2b, tmp_path):
    mark = tmp_path / "mark"
    code = f"""
import os, time
if not os.path.exists({str(mark)!r}):
    open({str(mark)!r}, "w").close()
    os.kill(os.getppid(), 9)
    time.sleep(60)
print("second")
"""
    result = executor.run(Program(code))
    assert (result.status, result.stdout) == (Status.OK, "second\n")


def test_who_stops_the_supervisor_is_held_responsible(make):
    executor = make(retry={"first_wait_s": 0.02, "silence_s": 3.0})
    result = executor.run(Program("import os, signal, time\nos.kill(os.getppid(), signal.SIGSTOP)\ntime.sleep(60)"))
    assert (result.status, result.error.name) == (Status.ERROR, "SandboxKilled")
    assert "it has stopped what runs it" in result.error.message


def test_a_program_finds_neither_its_order_nor_the_trainers_environment(executor, monkeypatch):
    monkeypatch.setenv("A_SECRET", "of the trainer")
    code = "import glob, os\nprint(os.environ.get('A_SECRET'), glob.glob('../**/job.json', recursive=True))\n"
    code += "print(os.path.exists(os.path.expanduser(f'/proc/{os.getppid()}/cwd/job.json')))"
    assert executor.run(Program(code)).stdout == "None []\nFalse\n"


def test_it_says_what_it_is(executor):
    told = executor.describe()
    assert (told.level, told.peer, told.network, told.notebooks) == ("machine", "isolated", False, True)
    assert told.languages == {"python", "javascript", "bash"}
    assert told.enforces == {"cpu_s", "wall_s", "memory_bytes", "output_bytes", "file_bytes"}
