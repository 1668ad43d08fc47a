"""The loopback server of E2B does what the service does, as the real SDK finds it."""

import asyncio
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from e2b_server import Fault, LoopbackServer, interpreter
from executors.e2b.loopback_sandboxes import access, new
from support import PATIENCE_S, wait_until

sdk = pytest.importorskip("e2b_code_interpreter", reason="needs the extra e2b", exc_type=ImportError)
e2b = pytest.importorskip("e2b", exc_type=ImportError)
httpx = pytest.importorskip("httpx", exc_type=ImportError)


def exists(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_sandbox_from_its_creation_to_its_end(server):
    sandbox = new(server, metadata={"run": "1"})
    new(server, metadata={"run": "2"})
    assert sandbox.is_running()
    assert (server.created, server.peak, len(server.sandboxes)) == (2, 2, 2)
    listed = sdk.Sandbox.list(query=e2b.SandboxQuery(metadata={"run": "1"}), **access(server))
    assert [info.sandbox_id for info in listed.next_items()] == [sandbox.sandbox_id]
    assert sandbox.get_info().metadata == {"run": "1"}
    ends = sandbox.get_info().end_at
    sandbox.set_timeout(2 * int(PATIENCE_S))
    assert sandbox.get_info().end_at > ends
    assert sdk.Sandbox.connect(sandbox.sandbox_id, **access(server)).is_running()
    assert sandbox.kill()
    assert not sandbox.kill()
    assert not sandbox.is_running()
    assert (server.created, len(server.sandboxes)) == (2, 1)
    with pytest.raises(e2b.SandboxNotRunningException, match="was not found"):
        sandbox.commands.run("true")
    assert [request.operation for request in server.requests][:3] == ["create", "create", "health"]


def test_the_variables_of_the_environment_are_enough(server, monkeypatch):
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    with sdk.Sandbox.create(timeout=600) as sandbox:
        assert sandbox.commands.run("echo hello").stdout == "hello\n"
    assert server.sandboxes == []


def test_pages(server):
    for _ in range(5):
        new(server)
    pages = sdk.Sandbox.list(limit=2, **access(server))
    sizes = []
    while pages.has_next:
        sizes.append(len(pages.next_items()))
    assert sizes == [2, 2, 1]


def test_a_key_makes_a_create_idempotent(server):
    first, second = (new(server, idempotency_key="again") for _ in range(2))
    assert first.sandbox_id == second.sandbox_id
    assert server.created == 1


def test_lifetimes(server):
    sandbox = new(server, timeout=1)
    command = sandbox.commands.run("sleep 60", background=True)
    with pytest.raises(e2b.SandboxNotRunningException):
        command.wait()
    assert not sandbox.is_running()
    with pytest.raises(e2b.SandboxException, match="Timeout cannot be greater than 24 hours"):
        new(server, timeout=24 * 3600 + 1)


def test_concurrency_is_limited_and_the_count_lags():
    with LoopbackServer(concurrency=2, count_lag_s=0.5) as server:
        first, _ = new(server), new(server)
        with pytest.raises(e2b.RateLimitException, match=r"maximum number of concurrent E2B sandboxes \(2\)"):
            new(server, retries=0)
        first.kill()
        with pytest.raises(e2b.RateLimitException):
            new(server, retries=0)
        time.sleep(0.5)
        assert new(server, retries=0).is_running()


def test_a_delete_may_be_slow():
    with LoopbackServer(delete_delay_s=0.3) as server:
        sandbox = new(server)
        with pytest.raises(httpx.TimeoutException):
            sandbox.kill(request_timeout=0.05)
        wait_until(lambda: not server.sandboxes)


def test_files(server):
    sandbox = new(server)
    written = sandbox.files.write_files(
        [{"path": "a.txt", "data": "text\n"}, {"path": "/home/user/d/ü b", "data": b"\0\xff\r\n--"}]
    )
    assert [info.path for info in written] == ["/home/user/a.txt", "/home/user/d/ü b"]
    assert sandbox.files.read("a.txt") == "text\n"
    assert bytes(sandbox.files.read("d/ü b", format="bytes")) == b"\0\xff\r\n--"
    assert b"".join(sandbox.files.read("a.txt", format="stream")) == b"text\n"
    assert [entry.path for entry in sandbox.files.list(".", depth=2)] == [
        "/home/user/a.txt",
        "/home/user/d",
        "/home/user/d/ü b",
    ]
    sandbox.files.write("zipped", "z" * 100, gzip=True)
    sandbox.files.write("streamed", iter([b"1", b"2"]))
    assert sandbox.files.read("zipped", gzip=True) + sandbox.files.read("streamed") == "z" * 100 + "12"
    assert sandbox.commands.run("cat streamed ~/a.txt").stdout == "12text\n"
    assert sandbox.files.get_info("zipped").size == 100
    assert sandbox.files.rename("zipped", "moved/z").path == "/home/user/moved/z"
    sandbox.files.remove("moved")
    assert not sandbox.files.exists("moved/z")
    assert [sandbox.files.make_dir("d"), sandbox.files.make_dir("new/er")] == [False, True]
    with pytest.raises(e2b.FileNotFoundException, match="does not exist"):
        sandbox.files.read("/etc/passwd")
    with pytest.raises(e2b.SandboxException, match="permission denied"):
        sandbox.files.write("../../etc/evil", "")
    with pytest.raises(e2b.InvalidArgumentException, match="is a directory"):
        sandbox.files.write("d", "")


def test_the_environment_of_commands_is_not_that_of_the_tests(server, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_TESTS", "1")
    sandbox = new(server, envs={"OF_SANDBOX": "1"})
    printed = sandbox.commands.run("env; pwd", envs={"OF_COMMAND": "2"}).stdout
    assert "SECRET" not in printed
    assert "OF_SANDBOX=1\n" in printed
    assert "OF_COMMAND=2\n" in printed
    assert sandbox.commands.run("python3 -c 'import sys; print(sys.prefix)'").stdout == os.sys.prefix + "\n"
    sandbox.files.write(".profile", "export FROM_PROFILE=3")
    assert sandbox.commands.run("echo $FROM_PROFILE").stdout == "3\n"


def test_commands(server):
    sandbox = new(server)
    heard = []
    done = sandbox.commands.run("echo out; echo err >&2", on_stdout=heard.append)
    assert (done.stdout, done.stderr, done.exit_code, heard) == ("out\n", "err\n", 0, ["out\n"])
    with pytest.raises(e2b.CommandExitException) as failed:
        sandbox.commands.run("echo before; exit 3")
    assert (failed.value.exit_code, failed.value.stdout) == (3, "before\n")
    with pytest.raises(e2b.CommandExitException) as failed:
        sandbox.commands.run("kill -9 $$")
    assert failed.value.exit_code == -1
    with pytest.raises(e2b.InvalidArgumentException, match="does not exist"):
        sandbox.commands.run("true", cwd="nowhere")
    assert len(sandbox.commands.run("head -c 3000000 /dev/zero | tr '\\0' x").stdout) == 3_000_000


def test_stdin_and_followers(server):
    sandbox = new(server)
    command = sandbox.commands.run("cat", background=True, stdin=True)
    command.send_stdin("a")
    sandbox.commands.stream_input(command.pid, ["b", "c"])
    assert [process.pid for process in sandbox.commands.list()] == [command.pid]
    follower = sandbox.commands.connect(command.pid)
    command.send_stdin("d")
    command.close_stdin()
    assert command.wait().stdout == "abcd"
    assert follower.wait().stdout.endswith("d")
    assert not sandbox.commands.kill(command.pid)
    assert sandbox.commands.run("cat").stdout == ""


def test_a_deadline_kills_a_command_and_a_disconnect_does_not(server):
    sandbox = new(server)
    with pytest.raises(e2b.TimeoutException):
        sandbox.commands.run("echo $$ > pid; exec sleep 60", timeout=0.3)
    wait_until(lambda: not exists(int(sandbox.files.read("pid"))))
    sandbox.commands.run("sleep 0.3; echo survived > said", background=True).disconnect()
    wait_until(lambda: sandbox.files.exists("said") and sandbox.files.read("said"))


def test_the_end_waits_for_the_streams(server):
    done = new(server).commands.run("(sleep 0.3; echo late) & echo early")
    assert done.stdout == "early\nlate\n"


def test_a_kill_ends_every_process(server):
    sandbox = new(server)
    command = sandbox.commands.run(
        "setsid sleep 60 & echo $! >> pids; cd /; setsid env -i sleep 60 & echo $! >> ~/pids; wait", background=True
    )
    wait_until(lambda: sandbox.files.exists("pids") and sandbox.files.read("pids").count("\n") == 2)
    pids = [command.pid, *map(int, sandbox.files.read("pids").split())]
    assert all(map(exists, pids))
    home = server.sandboxes[0].home
    sandbox.kill()
    wait_until(lambda: not any(map(exists, pids)))
    assert not home.exists()
    with pytest.raises(e2b.SandboxNotRunningException, match="ended before the stream completed"):
        command.wait()


def test_cells(server):
    sandbox = new(server)
    cell = sandbox.run_code("import sys\nprint('out'); print('err', file=sys.stderr)\nx = 'text'\nx")
    assert (cell.logs.stdout, cell.logs.stderr, cell.text, cell.execution_count) == (["out\n"], ["err\n"], "text", 1)
    assert sandbox.run_code("x * 2").text == "texttext"
    failed = sandbox.run_code("1 / 0").error
    assert (failed.name, failed.value) == ("ZeroDivisionError", "division by zero")
    assert sandbox.run_code("input()").error.name == "StdinNotImplementedError"
    left = sandbox.run_code("sys.exit(0)").error
    assert (left.name, left.value) == ("SystemExit", "0")
    assert sandbox.run_code("import subprocess; subprocess.call('echo sub', shell=True)").logs.stdout == ["sub\n"]
    assert sandbox.run_code("import os; os.environ['A']", envs={"A": "1"}).text == "1"
    assert sandbox.run_code("1", envs={"A": "'"}).error.name == "SyntaxError"
    assert sandbox.run_code("await __import__('asyncio').sleep(0, 5)").text == "5"


def test_rich_results(server):
    sandbox = new(server)
    code = "class Rich:\n def _repr_html_(self): return '<b>'\n def _repr_png_(self): return b'p'\ndisplay(1)\nRich()"
    shown, main = sandbox.run_code(code).results
    assert (shown.text, shown.is_main_result) == ("1", False)
    assert (main.html, main.png, main.is_main_result) == ("<b>", "cA==", True)
    assert sandbox.run_code("{'a': [1]}").results[0].json == {"a": [1]}
    plot = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\n"
    for code in (plot + "plt.show()", plot + "None"):
        (figure,) = [result for result in sandbox.run_code(code).results if result.png]
        assert figure.png.startswith("iVBOR")


def test_contexts(server):
    sandbox = new(server)
    sandbox.files.make_dir("work")
    context = sandbox.create_code_context(cwd="/home/user/work")
    sandbox.run_code("x = 1", context=context)
    assert sandbox.run_code("import os; os.path.basename(os.getcwd())", context=context).text == "work"
    assert sandbox.run_code("x").error.name == "NameError"
    assert sorted(c.language for c in sandbox.list_code_contexts()) == ["javascript", "python", "python"]
    sandbox.restart_code_context(context)
    assert sandbox.run_code("x", context=context).error.name == "NameError"
    sandbox.remove_code_context(context)
    with pytest.raises(e2b.NotFoundException, match="not found"):
        sandbox.run_code("1", context=context)
    with pytest.raises(e2b.SandboxException, match="Failed to create context"):
        sandbox.run_code("1", language="r")


def test_a_context_whose_process_ends_begins_anew(server):
    sandbox = new(server)
    for end in ("import os; os._exit(7)", "import os; os.kill(os.getpid(), 11)"):
        sandbox.run_code("x = 1")
        assert sandbox.run_code(end).error.name == "ContextRestarting"
        assert sandbox.run_code("x").error.name == "NameError"
    left = sandbox.run_code("exit()")
    assert left.error is None
    assert sandbox.run_code("1").error.name == "ContextRestarting"


def test_an_interrupted_context_is_poisoned(server, monkeypatch):
    """By the kernel's clock, which stands still here where a busy machine would decide what comes first."""
    sandbox = new(server)
    sandbox.run_code("")
    context = next(c for c in server.sandboxes[-1].contexts.values() if c.language == "python")

    def interrupted(times):
        with pytest.raises(e2b.TimeoutException, match="Execution timed out"):
            sandbox.run_code("while True: pass", timeout=0.15)
        wait_until(lambda: context.is_idle_after(times))

    monkeypatch.setattr(interpreter, "ABORTS_FOR_S", PATIENCE_S)
    interrupted(1)
    with pytest.raises(e2b.TimeoutException, match="Execution timed out"):
        sandbox.run_code("print('at once')", timeout=0.15)
    monkeypatch.setattr(interpreter, "ABORTS_FOR_S", 0.0)
    assert sandbox.run_code("print('later')").logs.stdout == ["later\n"]
    monkeypatch.setattr(interpreter, "SHORT_CELL_S", PATIENCE_S)
    interrupted(2)
    assert sandbox.run_code("print('alive')").error.name == "KeyboardInterrupt"
    monkeypatch.setattr(interpreter, "SHORT_CELL_S", 0.04)
    interrupted(1)
    interrupted(2)
    empty = sandbox.run_code("while True: pass")
    assert (empty.error, empty.logs.stdout, empty.results) == (None, [], [])


@pytest.mark.skipif(not any(os.access(f"{p}/node", os.X_OK) for p in os.environ["PATH"].split(":")), reason="no node")
def test_javascript(server):
    sandbox = new(server)
    cell = sandbox.run_code("console.log('hi'); [1, 2]", language="js")
    assert (cell.logs.stdout, cell.text) == (["hi\n"], "[ 1, 2 ]")
    assert sandbox.run_code("throw new TypeError('bad')", language="js").error.name == "TypeError"
    with pytest.raises(e2b.TimeoutException):
        sandbox.run_code("process.exit(3)", language="js", timeout=0.5)


def test_the_async_sdk(server):
    async def use():
        sandbox = await sdk.AsyncSandbox.create(**access(server, timeout=600))
        await sandbox.files.write("a", "1")
        command = await sandbox.commands.run("cat a; echo err >&2")
        cell = await sandbox.run_code("print('cell')\n40 + 2")
        with pytest.raises(e2b.CommandExitException):
            await sandbox.commands.run("exit 1")
        server.faults.add("commands", Fault.KILLED_MIDSTREAM)
        with pytest.raises(e2b.SandboxNotRunningException):
            await sandbox.commands.run("echo 1; sleep 0.1; echo 2")
        return command.stdout, command.stderr, cell.logs.stdout, cell.text, await sandbox.kill()

    assert asyncio.run(use()) == ("1", "err\n", ["cell\n"], "42", False)


def test_many_sandboxes_at_once_leave_nothing():
    threads, files = threading.active_count(), len(os.listdir("/proc/self/fd"))
    with LoopbackServer() as server:

        def use(number):
            with new(server) as sandbox:
                return sandbox.commands.run(f"echo {number}", timeout=PATIENCE_S).stdout

        with ThreadPoolExecutor(32) as pool:
            assert list(pool.map(use, range(128))) == [f"{number}\n" for number in range(128)]
        assert server.created == 128
        assert server.sandboxes == []
    wait_until(lambda: threading.active_count() <= threads)
    # The SDK keeps its own ends of some connections.
    assert len(os.listdir("/proc/self/fd")) <= files + 2 * 32
