"""Faults of the loopback server of E2B, and what the real SDK makes of each."""

import pytest

from e2b_server import Fault, LoopbackServer
from executors.e2b.loopback_sandboxes import new

pytest.importorskip("e2b_code_interpreter", reason="needs the extra e2b", exc_type=ImportError)
connectrpc_errors = pytest.importorskip("connectrpc.errors", exc_type=ImportError)
e2b = pytest.importorskip("e2b", exc_type=ImportError)
httpx = pytest.importorskip("httpx", exc_type=ImportError)

CREATE = [
    (Fault.UNAUTHORIZED, e2b.AuthenticationException, "401"),
    (Fault.BAD_REQUEST, e2b.SandboxException, "400"),
    (Fault.FORBIDDEN, e2b.SandboxException, "403"),
    (Fault.NOT_FOUND, e2b.SandboxException, "404"),
    (Fault.INTERNAL, e2b.SandboxException, "500"),
    (Fault.RATE_LIMITED, e2b.RateLimitException, "Rate limit exceeded"),
    (Fault.CONCURRENCY, e2b.RateLimitException, "maximum number of concurrent"),
    (Fault.RATE_LIMITED_NOT_JSON, ValueError, "Expecting value"),
    (Fault.NOT_JSON, ValueError, "Expecting value"),
    (Fault.EMPTY_JSON, KeyError, "templateID"),
    (Fault.BAD_GATEWAY, e2b.SandboxException, "502"),
    (Fault.UNAVAILABLE, e2b.ServiceBusyException, "503"),
    (Fault.PLACEMENT_TIMEOUT, e2b.SandboxException, "504"),
    (Fault.RESET, httpx.WriteError, None),
    (Fault.FIN, httpx.RemoteProtocolError, None),
    (Fault.RESET_AFTER, httpx.WriteError, None),
    (Fault.STALL, httpx.ReadTimeout, None),
    (Fault.UNANSWERED, httpx.ReadTimeout, None),
]


@pytest.mark.parametrize(("fault", "kind", "text"), CREATE)
def test_what_a_create_raises(server, fault, kind, text):
    server.faults.add("create", fault)
    with pytest.raises(kind, match=text) as raised:
        new(server, retries=0, request_timeout=0.2)
    assert type(raised.value) is kind or kind is ValueError
    assert server.created == (fault in (Fault.RESET_AFTER, Fault.UNANSWERED))
    assert server.faults.injected == {("create", fault): 1}


RUN_CODE = [
    (Fault.UNAUTHORIZED, e2b.SandboxException, "401 Unauthorized"),
    (Fault.BAD_REQUEST, e2b.SandboxException, "400"),
    (Fault.NOT_FOUND, e2b.NotFoundException, None),
    (Fault.INTERNAL, e2b.SandboxException, "500"),
    (Fault.RATE_LIMITED, e2b.SandboxException, "429 Too Many Requests"),
    (Fault.NOT_JSON, ValueError, None),
    (Fault.GONE, e2b.TimeoutException, "likely due to sandbox timeout"),
    (Fault.PORT_CLOSED, e2b.TimeoutException, "likely due to sandbox timeout"),
    (Fault.UNAVAILABLE, e2b.SandboxException, "503"),
    (Fault.PLACEMENT_TIMEOUT, e2b.SandboxException, "504"),
    (Fault.RESET, httpx.WriteError, None),
    (Fault.FIN, httpx.RemoteProtocolError, None),
    (Fault.RESET_AFTER, httpx.WriteError, None),
    (Fault.RESET_MIDSTREAM, httpx.ReadError, None),
    (Fault.TRUNCATED, httpx.RemoteProtocolError, None),
    (Fault.KILLED_MIDSTREAM, e2b.TimeoutException, "was killed while the request was in progress"),
    (Fault.STALL, e2b.TimeoutException, "Execution timed out"),
    (Fault.UNANSWERED, e2b.TimeoutException, "Execution timed out"),
    (Fault.STALL_MIDSTREAM, e2b.TimeoutException, "Execution timed out"),
]


@pytest.mark.parametrize(("fault", "kind", "text"), RUN_CODE)
def test_what_run_code_raises(server, fault, kind, text):
    sandbox = new(server)
    server.faults.add("run_code", fault)
    with pytest.raises(kind, match=text) as raised:
        sandbox.run_code("print(1, flush=True)\n2", timeout=0.3 if "answered" in fault or "silent" in fault else 100)
    assert type(raised.value) is kind or kind is ValueError
    assert sandbox.is_running() == (fault is not Fault.KILLED_MIDSTREAM)


def test_a_cell_without_an_end_looks_like_a_cell_that_did_less(server):
    sandbox = new(server)
    server.faults.add("run_code", Fault.NO_END)
    cell = sandbox.run_code("print(1, flush=True)\n2")
    assert (cell.logs.stdout, cell.text, cell.error) == (["1\n"], None, None)


COMMANDS = [
    (Fault.UNAUTHORIZED, e2b.AuthenticationException, None),
    (Fault.BAD_REQUEST, e2b.InvalidArgumentException, None),
    (Fault.FORBIDDEN, e2b.SandboxException, None),
    (Fault.NOT_FOUND, e2b.NotFoundException, None),
    (Fault.INTERNAL, e2b.SandboxException, None),
    (Fault.RATE_LIMITED, e2b.RateLimitException, None),
    (Fault.GONE, e2b.SandboxNotRunningException, None),
    (Fault.PORT_CLOSED, e2b.SandboxUnreachableException, None),
    (Fault.UNAVAILABLE, e2b.SandboxUnreachableException, None),
    (Fault.PLACEMENT_TIMEOUT, e2b.TimeoutException, None),
    (Fault.RESET, connectrpc_errors.ConnectError, None),
    (Fault.FIN, e2b.SandboxUnreachableException, None),
    (Fault.RESET_AFTER, connectrpc_errors.ConnectError, None),
    (Fault.RESET_MIDSTREAM, connectrpc_errors.ConnectError, None),
    (Fault.TRUNCATED, e2b.SandboxUnreachableException, None),
    (Fault.KILLED_MIDSTREAM, e2b.SandboxNotRunningException, None),
    (Fault.NO_END, Exception, "without an end event"),
    (Fault.STALL, e2b.TimeoutException, "Request timed out"),
    (Fault.UNANSWERED, e2b.TimeoutException, "Request timed out"),
    (Fault.STALL_MIDSTREAM, e2b.TimeoutException, "Request timed out"),
]


@pytest.mark.parametrize(("fault", "kind", "text"), COMMANDS)
def test_what_a_command_raises(server, fault, kind, text):
    sandbox = new(server)
    server.faults.add("commands", fault)
    with pytest.raises(kind, match=text) as raised:
        sandbox.commands.run("echo 1", timeout=0.3 if "answered" in fault or "silent" in fault else 100)
    assert type(raised.value) is kind
    assert sandbox.is_running() == (fault is not Fault.KILLED_MIDSTREAM)


FILES = [
    (Fault.BAD_REQUEST, e2b.InvalidArgumentException),
    (Fault.UNAUTHORIZED, e2b.AuthenticationException),
    (Fault.NOT_FOUND, e2b.FileNotFoundException),
    (Fault.INTERNAL, e2b.SandboxException),
    (Fault.DISK_FULL, e2b.NotEnoughSpaceException),
    (Fault.RATE_LIMITED, e2b.RateLimitException),
    (Fault.GONE, e2b.SandboxNotRunningException),
    (Fault.PORT_CLOSED, e2b.SandboxUnreachableException),
    (Fault.RESET, httpx.WriteError),
    (Fault.FIN, httpx.RemoteProtocolError),
    (Fault.TRUNCATED, httpx.RemoteProtocolError),
    (Fault.KILLED_MIDSTREAM, e2b.SandboxNotRunningException),
    (Fault.STALL, httpx.ReadTimeout),
]


@pytest.mark.parametrize(("fault", "kind"), FILES)
def test_what_a_write_raises(server, fault, kind):
    sandbox = new(server)
    server.faults.add("files", fault)
    with pytest.raises(kind) as raised:
        sandbox.files.write("a", "1", request_timeout=0.2 if fault is Fault.STALL else 100)
    assert type(raised.value) is kind


KILL = [
    (Fault.INTERNAL, e2b.SandboxException, False),
    (Fault.RESET, httpx.WriteError, False),
    (Fault.RESET_AFTER, httpx.WriteError, True),
    (Fault.UNANSWERED, httpx.ReadTimeout, True),
]


@pytest.mark.parametrize(("fault", "kind", "killed"), KILL)
def test_what_a_kill_raises(server, fault, kind, killed):
    sandbox = new(server)
    server.faults.add("kill", fault)
    with pytest.raises(kind):
        sandbox.kill(request_timeout=0.2)
    assert sandbox.kill() != killed


def test_refused_connections(server):
    sandbox = new(server)
    with server.refusing(), pytest.raises(e2b.SandboxUnreachableException):
        sandbox.commands.run("true")
    assert sandbox.commands.run("echo back").stdout == "back\n"


def test_the_sdk_retries_a_create(server):
    server.faults.retry_after_s = 0
    server.faults.add("create", Fault.RATE_LIMITED, times=3)
    new(server)
    server.faults.add("create", Fault.RATE_LIMITED, times=4)
    with pytest.raises(e2b.RateLimitException):
        new(server)
    assert server.faults.injected["create", Fault.RATE_LIMITED] == 7
    assert server.created == 1


def test_a_fault_may_spare_calls_and_a_misspelt_operation_is_refused(server):
    sandbox = new(server)
    server.faults.add("kill", Fault.INTERNAL, after=1)
    assert sandbox.kill()
    with pytest.raises(e2b.SandboxException):
        sandbox.kill()
    with pytest.raises(ValueError, match="no operation 'creates'"):
        server.faults.add("creates", Fault.RESET)


def test_random_faults_follow_from_the_seed_whatever_was_called_before():
    def drawn(seed, before=0):
        with LoopbackServer() as server:
            for _ in range(before):
                server.faults.take("create")
            server.faults.random({"create": 0.2, "kill": {Fault.INTERNAL: 0.1}}, seed=seed)
            return [(server.faults.take("create"), server.faults.take("kill")) for _ in range(300)]

    first = drawn(1)
    assert first == drawn(1, before=7) != drawn(2)
    assert 30 < sum(create is not None for create, _ in first) < 90
    assert {kill for _, kill in first} == {None, Fault.INTERNAL}
