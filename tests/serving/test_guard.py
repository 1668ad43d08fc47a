"""Who is let in, and what a server bears: its answers stay right, whatever other clients do."""

import base64
import json
import os
import random
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from code_env.harness.process.watching import descendants
from serving.server_process import served
from support import PATIENCE_S, wait_until

PROGRAM = {"code": "print(6 * 7)", "language": "python"}


@pytest.fixture(scope="module")
def locked():
    with served("--workers", 1, "--max-body", 1, token="secret") as one:
        yield one


def test_a_token_is_asked_for(locked):
    basic = base64.b64encode(b"any:secret").decode()
    assert locked.post("/run_code", PROGRAM)[0] == 401
    assert locked.post("/run_code", PROGRAM, Authorization="Bearer wrong")[0] == 401
    assert locked.post("/run_code", PROGRAM, Authorization="Basic ???")[0] == 401
    assert locked.post("/run_code", PROGRAM, Authorization="Bearer secret")[0] == 200
    assert locked.post("/run_code", PROGRAM, Authorization=f"Basic {basic}")[0] == 200
    assert locked.send("GET", "/metrics")[0] == 401
    assert locked.send("GET", "/health") == (
        200,
        {"status": "ok", "version": locked.send("GET", "/health")[1]["version"]},
    )


def test_web_pages_of_other_sites_are_refused(server):
    for headers in (
        {"Host": "evil.example"},
        {"Host": f"evil.example:{server.port}"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": f"http://127.0.0.1:{server.port + 1}"},
        {"Host": "[::1"},
        {"Origin": "http://[x"},
    ):
        assert server.post("/run_code", PROGRAM, **headers)[0] in (400, 403), headers
    own = {"Origin": f"http://127.0.0.1:{server.port}"}
    assert server.post("/run_code", PROGRAM, **own)[0] == 200


def test_a_web_page_gets_no_socket(server):
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(
            b"GET /v1/programs HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example\r\nConnection: Upgrade\r\n"
            b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        assert b" 403 " in connection.recv(100)


def test_beyond_loopback_a_token_is_needed():
    command = [sys.executable, "-m", "code_env.cli", "serve", "--host", "0.0.0.0", "--port", "0"]
    environment = {name: value for name, value in os.environ.items() if name != "CODE_ENV_TOKEN"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (2, "")
    assert "0.0.0.0 needs a token, since it runs what it is sent: set CODE_ENV_TOKEN" in done.stderr


def test_a_body_is_bounded(locked):
    token = {"Authorization": "Bearer secret"}
    status, told = locked.post("/run_code", PROGRAM | {"stdin": "x" * (1 << 20)}, **token)
    assert (status, told) == (413, {"error": "the body may have 1048576 bytes; --max-body sets another limit"})
    assert locked.send("POST", "/run_code", b"{" * 500_000, **token)[0] == 422
    assert locked.send("GET", "/run_code", **token)[0] == 405
    assert locked.send("GET", "/nothing", **token)[0] == 404


def test_what_is_served_about_it(server):
    server.post("/run_code", PROGRAM)
    assert 'code_env_programs_total{status="ok"}' in server.send("GET", "/metrics")[1]
    assert server.send("GET", "/v1/ping") == (200, "pong")
    assert server.send("GET", "/v1/doctor")[1]["level"] in ("full", "contained")
    described = server.send("GET", "/openapi.json")[1]
    assert {"/run_code", "/judge", "/tasks/{digest}"} <= described["paths"].keys()
    assert "/judge_batch" in server.send("GET", "/")[1]


def test_many_clients_and_some_that_misbehave(server):
    """One in twenty sends nonsense, cuts the connection, or goes away while its program runs."""
    number = random.Random(5)
    kinds = [number.choice(["bad JSON", "cut", "gone", "wrong host"]) if n % 20 == 0 else "" for n in range(1000)]

    def ask(n):
        if kinds[n] == "bad JSON":
            return server.send("POST", "/run_code", b'{"code": ')[0] == 422
        if kinds[n] == "wrong host":
            return server.post("/run_code", PROGRAM, Host="evil.example")[0] == 400
        body = json.dumps({"code": f"print({n} * 2)", "language": "python"}).encode()
        if kinds[n]:
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                sent = len(body) + 100 if kinds[n] == "cut" else len(body)
                head = f"POST /run_code HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {sent}\r\n\r\n"
                connection.sendall(head.encode() + body)
            return True
        status, told = server.send("POST", "/run_code", body)
        return status == 200 and told["run_result"]["stdout"] == f"{n * 2}\n"

    with ThreadPoolExecutor(64) as threads:
        assert [n for n, right in enumerate(threads.map(ask, range(1000))) if not right] == []
    assert "Traceback" not in server.said


def test_programs_of_clients_that_are_gone_are_ended(server):
    body = json.dumps({"code": "while True: pass", "language": "python", "run_timeout": 1000}).encode()
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(
            f"POST /run_code HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        )
        wait_until(lambda: "code_env_running 1.0" in server.send("GET", "/metrics")[1])
    wait_until(lambda: "code_env_running 0.0" in server.send("GET", "/metrics")[1])


def test_a_killed_jail_loses_nothing():
    """The processes that run programs are killed, again and again, and each answer is right."""
    with served("--workers", 2) as server, ThreadPoolExecutor(16) as threads:
        server.post("/run_code", PROGRAM)
        code = "import time\ntime.sleep(0.02)\nprint({} * 2)"
        futures = [
            threads.submit(server.post, "/run_code", {"code": code.format(n), "language": "python"}) for n in range(300)
        ]
        for at in (50, 150, 250):
            futures[at].result()
            pids = descendants(server.process.pid)
            os.kill(pids[1], signal.SIGKILL)
        assert [one.result()[1]["run_result"]["stdout"] for one in futures] == [f"{n * 2}\n" for n in range(300)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_ended_answers_what_it_can(number):
    with served("--workers", 1, "--grace", 3) as server, ThreadPoolExecutor(9) as threads:
        server.post("/run_code", PROGRAM)
        short = {"code": "import time\ntime.sleep(1)\nprint('short')", "language": "python"}
        first = threads.submit(server.post, "/run_code", short)
        wait_until(lambda: "code_env_running 1.0" in server.send("GET", "/metrics")[1])
        loop = {"code": "while True: pass", "language": "python", "run_timeout": 100}
        others = [threads.submit(server.post, "/run_code", loop) for _ in range(6)]
        wait_until(lambda: "code_env_waiting 3.0" in server.send("GET", "/metrics")[1])
        pids = descendants(server.process.pid)
        code = server.stop(number)
        assert first.result()[1]["run_result"]["stdout"] == "short\n"
        assert {other.result()[0] for other in others} == {504}
        assert code in (0, 130)
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
