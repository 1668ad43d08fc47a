"""Sessions by their ids, over real HTTP."""

import base64
import contextlib
import json
import os
import threading
import time
from functools import partial

import pytest

from code_env.harness.process.watching import descendants
from serving.server_process import served
from support import is_alive, wait_until


@pytest.fixture(scope="module")
def small():
    """A server that keeps three sessions."""
    with served("--workers", 2, "--sessions", 3) as one:
        yield one


def opened(server, **values):
    status, told = server.post("/sessions", values)
    assert status == 201, told
    return told["session"]


def run(server, session, cell):
    status, told = server.post(f"/sessions/{session}/run", {"cell": cell})
    assert status == 200, told
    return told


@contextlib.contextmanager
def a_session(server, **values):
    session = opened(server, **values)
    yield session
    server.send("DELETE", f"/sessions/{session}")


def test_cells_keep_their_state(small):
    files = {"in/a.txt": base64.b64encode(b"data").decode()}
    with a_session(small, files=files, limits={"cpu_s": 0.3}) as session:
        assert run(small, session, "x = open('in/a.txt').read()")["status"] == "ok"
        told = run(small, session, "import sys\nprint('out')\nprint('err', file=sys.stderr)\nx")
        assert {name: told[name] for name in ("text", "stdout", "stderr", "results", "error", "state")} == {
            "text": "'data'",
            "stdout": "out\n",
            "stderr": "err\n",
            "results": [{"text/plain": "'data'"}],
            "error": None,
            "state": "idle",
        }
        assert run(small, session, "1 / 0")["error"]["name"] == "ZeroDivisionError"
        assert run(small, session, "while True: pass")["status"] == "timeout"
        assert run(small, session, "x")["text"] == "'data'"
        status, looked = small.send("GET", f"/sessions/{session}")
        assert (status, looked["state"], looked["ended"], looked["spent"]["cells"]) == (200, "idle", "", 5)
        assert "code_env_sessions 1.0" in small.send("GET", "/metrics")[1]


def test_branches(small):
    with a_session(small) as session:
        run(small, session, "import random\nx = 1")
        status, told = small.post(f"/sessions/{session}/fork", {"n": 2, "reseed": [1, 2]})
        assert status == 201
        one, other = told["sessions"]
        run(small, one, "x += 1")
        assert [run(small, each, "x")["text"] for each in (session, one, other)] == ["1", "2", "1"]
        drawn = {run(small, each, "random.random()")["text"] for each in (one, other)}
        assert len(drawn) == 2
        for each in (one, other):
            assert small.send("DELETE", f"/sessions/{each}")[0] == 204


def test_there_is_a_largest_number_and_the_error_says_so(small):
    sessions = [opened(small) for _ in range(3)]
    for path, values in (("/sessions", {}), (f"/sessions/{sessions[0]}/fork", {})):
        status, told = small.post(path, values)
        assert status == 503
        assert "3 sessions are open on this executor, which may have 3" in told["error"]
    for session in sessions:
        assert small.send("DELETE", f"/sessions/{session}")[0] == 204
    status, told = small.send("GET", f"/sessions/{sessions[0]}")
    assert status == 404
    assert "it was closed, or ended long ago" in told["error"]


def test_an_idle_one_is_ended_and_its_client_is_told(small):
    session = opened(small, ttl_s=0.05)
    wait_until(lambda: small.send("GET", f"/sessions/{session}")[1]["state"] == "dead")
    status, told = small.post(f"/sessions/{session}/run", {"cell": "1"})
    assert status == 410
    assert "it was not used for 0.05 s" in told["error"]


@pytest.mark.parametrize(
    ("path", "values", "status", "told"),
    [
        ("/sessions", {"limits": {"cpu": 1}}, 422, "unknown limit 'cpu'"),
        ("/sessions", {"files": {"../x": ""}}, 422, "not a path inside"),
        ("/sessions", {"ttl_s": 0}, 422, "ttl_s must be a number of seconds above 0"),
        ("/sessions/none/run", {"cell": "1"}, 404, "there is no session 'none'"),
        ("/sessions/{}/run", {}, 422, "Field required"),
        ("/sessions/{}/fork", {"n": 0}, 422, "n must be a whole number from 1 to 1024; got 0"),
        ("/sessions/{}/fork", {"reseed": "x"}, 422, "reseed must be true, false or a list of seeds"),
        ("/sessions/{}/fork", {"reseed": [1, 2]}, 422, "1 branches need 1 seeds; got 2"),
    ],
)
def test_a_wrong_request_is_told(small, path, values, status, told):
    with a_session(small) as session:
        answered, said = small.post(path.format(session), values)
    assert answered == status
    assert told in json.dumps(said)


def test_one_cell_runs_at_a_time_and_a_client_that_goes_interrupts_it(small):
    with a_session(small, limits={"cpu_s": 600, "wall_s": 600}) as session:
        run(small, session, "x = 1")
        connection = small.connection()
        connection.request("POST", f"/sessions/{session}/run", json.dumps({"cell": "x = 2\nwhile True: pass"}))
        wait_until(lambda: small.send("GET", f"/sessions/{session}")[1]["state"] == "busy")
        assert small.post(f"/sessions/{session}/run", {"cell": "1"})[0] == 409
        connection.close()
        wait_until(lambda: small.send("GET", f"/sessions/{session}")[1]["state"] == "idle")
        assert run(small, session, "x")["text"] == "1"


def test_a_cell_whose_client_is_gone_before_it_begins_does_not_run(small):
    with a_session(small, limits={"cpu_s": 600, "wall_s": 600}) as session:
        for after_s in (0.0, 0.0005, 0.001, 0.002, 0.004, 0.008) * 2:
            connection = small.connection()
            cell = "x = 1\nimport time\ntime.sleep(300)"
            connection.request("POST", f"/sessions/{session}/run", json.dumps({"cell": cell}))
            time.sleep(after_s)
            connection.close()
            wait_until(lambda: "code_env_running 0.0" in small.send("GET", "/metrics")[1])
        # The server can read of the last client only now, and then that cell is busy until it is seen to be unwanted.
        look = partial(small.post, f"/sessions/{session}/run", {"cell": "x"})
        assert wait_until(lambda: (told := look())[0] == 200 and told)[1]["error"]["name"] == "NameError"


def test_all_end_with_the_server():
    with served("--workers", 2, "--grace", 0) as server:
        session = opened(server, limits={"cpu_s": 600, "wall_s": 600})
        answers = []
        cell = {"cell": "while True: pass"}
        client = threading.Thread(target=lambda: answers.append(server.post(f"/sessions/{session}/run", cell)))
        client.start()
        wait_until(lambda: server.send("GET", f"/sessions/{session}")[1]["state"] == "busy")
        started = descendants(server.process.pid)
        assert started
        assert server.stop() == 0
        client.join()
        assert answers[0][0] == 504
        wait_until(lambda: not any(map(is_alive, started)))
        assert server.said == ""
        assert not os.path.exists(f"/proc/{server.process.pid}")
