"""`code-env serve --mcp`, called by the client of the package `mcp`."""

import asyncio
import json
import os
import subprocess
import sys

import pytest

from code_env import load_suite
from code_env.harness.process.watching import children_of, descendants
from code_env.serving.mcp_tools import tools
from code_env.tasks.formats.code_env import row_from_task
from support import PATIENCE_S, ImportedLate, is_alive, wait_until

mcp = ImportedLate("mcp")
mcp_client = ImportedLate("mcp.client")

COMMAND = ["-m", "code_env.cli", "serve", "--mcp", "--workers", "2", "--sessions", "3"]


async def use(play):
    """Let a client use a server; what it gave, and the processes that the server had."""
    before = set(children_of(os.getpid()))
    parameters = mcp.StdioServerParameters(command=sys.executable, args=COMMAND, env=dict(os.environ))
    async with mcp_client.Client(parameters) as client:

        async def call(tool, **arguments):
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, result.content
            return result.structured_content or result.content

        async def fail(tool, **arguments):
            result = await client.call_tool(tool, arguments)
            assert result.is_error, result.content
            return result.content[0].text

        given = await play(client, call, fail)
        (server,) = set(children_of(os.getpid())) - before
        started = [server, *descendants(server)]
    return given, started


def test_its_own_client_uses_every_tool():
    task = load_suite("starter")[0]

    async def play(client, call, fail):
        told = {"tools": sorted(tool.name for tool in (await client.list_tools()).tools)}
        told["program"] = await call("run_code", code="print(input() * 2)", stdin="ab")
        told["fault"] = await call("run_code", code="1 / 0")
        session = (await call("open_session", files={"a.txt": "3"}))["session"]
        await call("run_cell", session=session, cell="import random\nx = int(open('a.txt').read())")
        (branch,) = (await call("fork_session", session=session, reseed=True))["sessions"]
        await call("run_cell", session=branch, cell="x += 1")
        told["cells"] = [(await call("run_cell", session=one, cell="x"))[0].text for one in (session, branch)]
        plot = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
        told["figure"] = [block.type for block in await call("run_cell", session=session, cell=plot)]
        told["judged"] = await call("judge", task=row_from_task(task), answers=[task.reference, "x = 1"])
        told["errors"] = [
            await fail("fork_session", session=session, n=2),
            await fail("run_cell", session="none", cell="1"),
            await fail("judge", task={"id": "x"}, answers=["1"]),
            await fail("run_code", code="1", language="cobol"),
            await fail("open_session", files={"../x": ""}),
        ]
        return told

    told, started = asyncio.run(use(play))
    assert told["tools"] == ["fork_session", "judge", "open_session", "run_cell", "run_code"]
    assert (told["program"]["status"], told["program"]["stdout"]) == ("ok", "abab\n")
    assert (told["fault"]["status"], told["fault"]["error"]) == ("error", "ZeroDivisionError: division by zero")
    assert ['"text": "3"' in told["cells"][0], '"text": "4"' in told["cells"][1]] == [True, True]
    assert told["figure"] == ["text", "image"]
    assert [(one["valid"], one["passed"]) for one in told["judged"]["verdicts"]] == [(True, True), (True, False)]
    for error, words in zip(
        told["errors"],
        ["may have 3", "there is no session 'none'", "the row of a task was expected", "cobol", "not a path inside"],
        strict=True,
    ):
        assert words in error
    wait_until(lambda: not any(map(is_alive, started)))


def test_an_answer_that_is_no_unicode_is_judged(executor):
    async def judged():
        async with mcp_client.Client(tools(executor, 1, idle_s=60)) as client:
            task = {"id": "a", "prompt": "", "tests": [{"kind": "output", "expected": "1"}]}
            answers = ["print(1)", "print(1)  # \ud800"]
            return await client.call_tool("judge", {"task": task, "answers": answers})

    told = asyncio.run(judged())
    assert [one["passed"] for one in json.loads(told.content[0].text)["verdicts"]] == [True, False]


def test_without_its_package_the_command_says_so(tmp_path):
    (tmp_path / "mcp.py").write_text("raise ImportError")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, *COMMAND],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "install code-exec-env[mcp]" in done.stderr


@pytest.mark.parametrize("option", ["--port=1", "--unix=x", "--host=0.0.0.0", "--json"])
def test_options_of_the_other_server_are_refused(option):
    done = subprocess.run([sys.executable, *COMMAND, option], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 2
    assert f"--mcp has no {option.partition('=')[0]}" in done.stderr
