"""SandboxFusion's requests: by its own client, by verl's, and field by field."""

import base64
import importlib.util
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest
import sandbox_fusion

from code_env import evaluation, extract_code, load_suite
from serving.server_process import served
from support import PATIENCE_S, wait_until


def run_code(server, code, **fields):
    request = sandbox_fusion.RunCodeRequest(code=code, language=fields.pop("language", "python"), **fields)
    return answered(sandbox_fusion.run_code, request, server)


def run_jupyter(server, cells, **fields):
    return answered(sandbox_fusion.run_jupyter, sandbox_fusion.RunJupyterRequest(cells=cells, **fields), server)


def answered(call, request, server):
    """What a client is answered; it asks again where a busy machine had no answer in the time that clients wait."""

    def ask():
        try:
            return call(request, endpoint=server.address, max_attempts=1, client_timeout=PATIENCE_S)
        except Exception as error:
            if "code 504" not in str(error):
                raise
            return None

    return wait_until(ask)


def test_a_program_as_its_own_client_sees_it(server):
    files = {"in.txt": base64.b64encode(b"\xffdata").decode(), "none.txt": None}
    code = (
        "import sys, os\nprint(input(), open('in.txt', 'rb').read(), os.path.exists('none.txt'))\n"
        "open('out.bin', 'wb').write(b'\\xfe')\nsys.stderr.write('e')"
    )
    done = run_code(server, code, stdin="hello", files=files, fetch_files=["out.bin", "missing"])
    assert (done.status, done.message, done.compile_result) == ("Success", "", None)
    assert (done.run_result.status, done.run_result.return_code) == ("Finished", 0)
    assert done.run_result.stdout == "hello b'\\xffdata' False\n"
    assert done.run_result.stderr == "e"
    assert done.files == {"out.bin": base64.b64encode(b"\xfe").decode()}


@pytest.mark.parametrize(
    ("code", "status", "command", "return_code"),
    [
        ("print(1)", "Success", "Finished", 0),
        ("1/0", "Failed", "Finished", 1),
        ("import sys; sys.exit(7)", "Failed", "Finished", 7),
        ("import os; os.abort()", "Failed", "Finished", -6),
        ("print('so far', flush=True)\nwhile True: pass", "Failed", "TimeLimitExceeded", None),
        ("import time\ntime.sleep(100)", "Failed", "TimeLimitExceeded", None),
        ("x = bytearray(1 << 30)", "Failed", "Finished", 1),
    ],
)
def test_how_a_program_ended(server, code, status, command, return_code):
    done = run_code(server, code, run_timeout=1, memory_limit_MB=256) if "1 << 30" not in code else None
    if done is None:  # The client's model does not have this field.
        _, done = server.post("/run_code", {"code": code, "language": "python", "memory_limit_MB": 256})
        found = (done["status"], done["run_result"]["status"], done["run_result"]["return_code"])
    else:
        found = (done.status, done.run_result.status, done.run_result.return_code)
    assert found[:2] == (status, command)
    assert found[2] == return_code or "1 << 30" in code


@pytest.mark.parametrize("size", [100_000, 150_000, 5_000_000])
def test_the_whole_output_comes_back(server, size):
    """The original says of 150,000 bytes and more that the program ran out of time."""
    done = run_code(server, f"import sys\nprint('x' * {size})\nsys.stderr.write('y' * {size})")
    assert done.status == "Success"
    assert (done.run_result.stdout, done.run_result.stderr) == ("x" * size + "\n", "y" * size)


def test_a_notebook(server):
    cells = ["a = 1", "a", "print(a)", "1/0", "a + 1", "import sys; _ = sys.stderr.write('e')"]
    done = run_jupyter(server, cells)
    assert done.status == "Success"
    assert [cell.stdout for cell in done.cells] == ["", "", "1\n", "", "", ""]
    assert [cell.display for cell in done.cells] == [[], [{"text/plain": "1"}], [], [], [{"text/plain": "2"}], []]
    assert [[error["ename"] for error in cell.error] for cell in done.cells][3] == ["ZeroDivisionError"]
    assert done.cells[-1].stderr == "e"
    done = run_jupyter(server, ["while True: pass"], total_timeout=1)
    assert (done.status, done.driver.status, done.cells) == ("Failed", "TimeLimitExceeded", [])


def test_other_languages(server):
    assert run_code(server, "console.log(6 * 7)", language="nodejs").run_result.stdout == "42\n"
    assert server.post("/run_code", {"code": "", "language": "cpp"})[1]["status"] == "SandboxError"


@pytest.mark.parametrize(
    ("request_", "where"),
    [
        ({"language": "python"}, ["body", "code"]),
        ({"code": 3, "language": "python"}, ["body", "code"]),
        ({"code": "", "language": "cobol"}, ["body", "language"]),
        ({"code": "", "language": "python", "run_timeout": "soon"}, ["body", "run_timeout"]),
        ({"code": "", "language": "python", "files": {"a": "?"}}, ["body", "files", "a"]),
        ({"code": "", "language": "python", "files": {"../a": ""}}, ["body"]),
        ({"code": "", "language": "python", "fetch_files": [1]}, ["body", "fetch_files"]),
        ([], ["body"]),
    ],
)
def test_a_wrong_field_is_named(server, request_, where):
    status, told = server.post("/run_code", request_)
    assert status == 422
    assert [problem["loc"] for problem in told["detail"]] == [where]


def test_a_batch_is_answered_line_by_line(server):
    programs = [{"code": f"print({number})", "language": "python"} for number in range(40)]
    lines = server.lines("/run_code_batch", {"requests": [*programs, {"code": 1, "language": "python"}]})
    assert sorted(line["number"] for line in lines) == list(range(41))
    told = {line["number"]: line for line in lines}
    assert [told[number]["response"]["run_result"]["stdout"] for number in range(40)] == [f"{n}\n" for n in range(40)]
    assert told[40]["status"] == 422


@pytest.mark.parametrize("before", [2, 8])
def test_a_request_that_cannot_be_done_in_time_is_sent_again(before):
    """The client waits for its program's time and ten seconds; here only one program runs at a time.

    The executor has four at a time, so one waits there or in the server's own queue.
    """
    with served("--workers", 1) as server, ThreadPoolExecutor(12) as threads:
        sleeping = {"code": "while True: pass", "language": "python", "run_timeout": 30, "compile_timeout": 0}
        busy = [threads.submit(server.post, "/run_code", sleeping) for _ in range(before)]
        wait_until(lambda: f"code_env_running {min(before, 4)}.0" in server.send("GET", "/metrics")[1])
        quick = {"code": "print(1)", "language": "python", "run_timeout": 0.1, "compile_timeout": -7.5}
        status, told = threads.submit(server.post, "/run_code", quick).result()
        assert (status, told) == (504, {"error": "there was no answer within 0.6 s, and the client gives up then"})
        server.process.terminate()
        assert {one.result()[0] for one in busy} <= {200, 504}


@pytest.mark.shared_data
def test_humaneval_as_the_original_judges_it(server, data):
    """One request for each task, by 128 clients at once; none is refused."""
    suite = load_suite(data / "humaneval" / "HumanEval.jsonl.gz")
    completions = data / "llm_completions" / "humaneval.text-davinci-003.reflexion.jsonl"
    samples = evaluation.read_samples(completions, suite)

    def passes(task, answer):
        code = task.program(extract_code(answer, entry_point=task.entry_point))
        check = f"{task.tests[0].code}\ncheck({task.entry_point})"
        return run_code(server, f"{code}\n{check}", run_timeout=20).status == "Success"

    with ThreadPoolExecutor(128) as threads:
        references = list(threads.map(lambda task: passes(task, task.reference), suite))
        davinci = list(threads.map(lambda one: passes(suite.task(one.task_id), one.completion), samples))
    assert (sum(references), sum(davinci)) == (164, 93)


@pytest.mark.packaging
def test_verl_s_own_request(server, tmp_path):
    """The function with which verl asks SandboxFusion, from its wheel."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(tmp_path), "verl==0.9.1"]
    subprocess.run(command, check=True, timeout=PATIENCE_S)
    name = "verl/utils/reward_score/sandbox_fusion/utils.py"
    zipfile.ZipFile(next(tmp_path.glob("verl*.whl"))).extract(name, tmp_path)
    spec = importlib.util.spec_from_file_location("verl_sandbox_fusion", tmp_path / name)
    verl = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(verl)
    cases = {"inputs": ["1 2", "3 4", "5 6"], "outputs": ["3", "7", "11"]}
    url = f"{server.address}/run_code"
    for answer, expected in (
        ("print(sum(map(int, input().split())))", [True, True, True]),
        ("print(3)", [True, False, False]),
        ("while True: pass", [-3, -3, -3]),
    ):
        found, _ = verl.check_correctness(url, cases, answer, timeout=1, language="python")
        assert found == expected
