"""OpenEnv: its frames and its requests, and its own client."""

import contextlib
import json

import gymnasium as gym
import pytest
from gymnasium.wrappers import TimeLimit
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from code_env import load_suite
from code_env.serving.open_env import Session
from own_environment import own_environment
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


def test_an_episode_that_is_cut_off_is_over(executor):
    cut_off = TimeLimit(gym.make("CodeExec-v0", suite="starter", executor=executor, max_turns=9), max_episode_steps=2)
    with contextlib.closing(Session(cut_off)) as episode:
        episode.reset({})
        first, second = (episode.step({"response": "x = 1"}) for _ in range(2))
    assert (first["done"], first["observation"]["truncated"]) == (False, False)
    assert (second["done"], second["observation"]["truncated"]) == (True, True)


def test_requests_without_a_session(server):
    suite = load_suite("starter")
    status, first = server.post("/envs/starter/reset", {"seed": 3, "episode_id": "mine"})
    assert (status, first["reward"], first["done"]) == (200, None, False)
    task = suite.task(first["observation"]["task_id"])
    assert server.send("POST", "/envs/starter/reset")[0] == 200, "OpenEnv's body is optional"
    for response, reward in ((task.reference, 1.0), ("x = 1", 0.0)):
        action = {"response": response, "task_id": task.id}
        status, last = server.post("/envs/starter/step", {"action": action, "timeout_s": 30})
        assert (status, last["reward"], last["done"], last["observation"]["valid"]) == (200, reward, True, True)


def test_what_an_environment_says_of_itself(server):
    assert server.send("GET", "/envs/starter/state") == (200, {"episode_id": None, "step_count": 0})
    assert server.send("GET", "/envs/starter/health") == (200, {"status": "healthy"})
    status, about = server.send("GET", "/envs/starter/metadata")
    assert (status, about["name"], sorted(about)) == (200, "starter", ["description", "name", "version"])
    status, schemas = server.send("GET", "/envs/starter/schema")
    assert (status, sorted(schemas)) == (200, ["action", "observation", "state"])
    observation = server.post("/envs/starter/reset", {})[1]["observation"]
    assert sorted(observation) == sorted(schemas["observation"]["properties"])


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "told"),
    [
        ("GET", "/envs/stater/state", None, 404, "there is no environment 'stater'"),
        ("GET", "/envs/starter/stat", None, 404, "state, schema, metadata or health was expected; got 'stat'"),
        ("POST", "/envs/stater/reset", {}, 404, "there is no environment 'stater'"),
        ("POST", "/envs/starter/reset", {"seed": "x"}, 422, "Seed must be"),
        ("POST", "/envs/starter/step", {}, 422, "an action over HTTP is an object with `response` and `task_id`"),
        ("POST", "/envs/starter/step", {"action": {"response": "x"}}, 422, "needs a session at /ws"),
        ("POST", "/envs/starter/step", {"action": {"response": "x", "task_id": "y"}}, 422, "no task 'y'"),
        ("POST", "/envs/starter/step", {"action": {"response": 1, "task_id": "starter/seat-total"}}, 422, "text"),
    ],
)
def test_a_wrong_request_is_told(server, method, path, body, status, told):
    answered, said = server.send(method, path, b"" if body is None else json.dumps(body))
    assert answered == status
    assert told in json.dumps(said)


def test_its_own_client(server):
    """Of all that OpenEnv installs, its client needs fastmcp, which the others do not bear."""
    with own_environment(["fastmcp>=3,<4"], ["--no-deps", "openenv>=0.10"]) as call:
        told = call("serving/open_env_script.py", server.address)
    assert told == {"prompt": True, "done": [False, True], "reward": 1.0, "valid": True, "steps": 1}
