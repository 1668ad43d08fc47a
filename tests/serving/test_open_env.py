"""OpenEnv's sessions, by their frames."""

import contextlib
import json

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from code_env import load_suite
from support import wait_until


@contextlib.contextmanager
def session(server, name="starter"):
    with connect(f"ws://127.0.0.1:{server.port}/envs/{name}/ws") as socket:
        yield lambda frame: (socket.send(frame if isinstance(frame, str) else json.dumps(frame)), receive(socket))[1]


def receive(socket):
    return json.loads(socket.recv())


def test_an_episode(server):
    suite = load_suite("starter")
    with session(server) as ask:
        first = ask({"type": "reset", "data": {"seed": 3, "episode_id": "mine"}})
        assert first["type"] == "observation"
        assert (first["data"]["reward"], first["data"]["done"]) == (None, False)
        shown = first["data"]["observation"]
        task = suite.task(shown["task_id"])
        assert shown["text"] == shown["messages"][-1]["content"] == task.prompt
        assert ask({"type": "state"})["data"] == {"episode_id": "mine", "step_count": 0, "task_id": task.id}
        last = ask({"type": "step", "data": {"response": task.reference}})["data"]
        assert (last["reward"], last["done"]) == (1.0, True)
        assert (last["observation"]["valid"], last["observation"]["truncated"]) == (True, False)
        again = ask({"type": "reset", "data": {"seed": 3}})["data"]["observation"]
        assert again["task_id"] == task.id
        assert ask({"type": "step", "data": {"response": "x = 1"}})["data"]["reward"] == 0.0


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("{", "INVALID_JSON"),
        ([], "UNKNOWN_TYPE"),
        ({"type": "jump"}, "UNKNOWN_TYPE"),
        ({"type": "step", "data": 3}, "VALIDATION_ERROR"),
        ({"type": "step", "data": {"response": "x = 1"}}, "VALIDATION_ERROR"),  # Before the first reset.
        ({"type": "reset", "data": {"seed": "x"}}, "VALIDATION_ERROR"),
    ],
)
def test_a_frame_that_means_nothing_is_told_and_the_session_goes_on(server, frame, code):
    with session(server) as ask:
        told = ask(frame)
        assert (told["type"], told["data"]["code"]) == ("error", code)
        assert ask({"type": "reset"})["type"] == "observation"
        assert ask({"type": "step", "data": {}})["data"]["code"] == "VALIDATION_ERROR"


def test_an_unknown_environment_is_named(server):
    with connect(f"ws://127.0.0.1:{server.port}/envs/stater/ws") as socket:
        told = receive(socket)["data"]
        assert told["code"] == "FACTORY_ERROR"
        assert told["message"].startswith("there is no environment 'stater'; known are ")
        with pytest.raises(ConnectionClosed):
            socket.recv()


def test_a_session_is_closed_on_request_and_when_its_client_is_gone(server):
    with connect(f"ws://127.0.0.1:{server.port}/envs/starter/ws") as socket:
        socket.send(json.dumps({"type": "close"}))
        with pytest.raises(ConnectionClosed):
            socket.recv()
    with session(server) as ask:
        ask({"type": "reset"})
    wait_until(lambda: "code_env_running 0.0" in server.send("GET", "/metrics")[1])
    assert server.said == ""
