"""OpenEnv over any environment, below `/envs/NAME`: a client's base address is `http://host/envs/NAME`.

The frames are those of github.com/meta-pytorch/OpenEnv, `openenv/core/env_server/types.py` (version 0.10): `reset`,
`step`, `state` and `close` come in; `observation`, `state` and `error` go out. OpenEnv has no word for an episode that
was cut off, nor for a missing verdict: the observation holds `truncated` and `valid`. A connection to `/ws` has one
environment, and is ended if nothing comes for a while. A request over HTTP has an environment of its own, as in
OpenEnv; so an action names its task, and an episode has one turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from code_env.environments.definitions import environment_names
from code_env.errors import CodeEnvError
from code_env.registration import environment_id
from code_env.version import VERSION

from .bodies import BadRequest
from .work import Work

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.websockets import WebSocket

_TEXT = {"type": "string"}
_MESSAGE = {"type": "object", "properties": {"role": _TEXT, "content": _TEXT}}
_SCHEMAS: dict[str, Any] = {
    "action": {
        "type": "object",
        "properties": {
            "response": _TEXT | {"description": "What the policy wrote."},
            "task_id": _TEXT | {"description": "The task that is answered; over HTTP only."},
        },
        "required": ["response"],
    },
    "observation": {
        "type": "object",
        "properties": {
            "text": _TEXT | {"description": "The prompt, or the transcript with feedback."},
            "messages": {"type": "array", "items": _MESSAGE},
            "task_id": _TEXT,
            "truncated": {"type": "boolean", "description": "Whether the episode was cut off."},
            "valid": {"type": "boolean", "description": "Whether there is a verdict: if not, the sandbox failed."},
        },
    },
    "state": {
        "type": "object",
        "properties": {"episode_id": {"type": ["string", "null"]}, "step_count": {"type": "integer"}, "task_id": _TEXT},
    },
}
"""The JSON schemas of what crosses."""


_MISUSE = (CodeEnvError, gym.error.Error, TypeError, ValueError)
"""What an environment raises if a client's request is wrong."""

_NO_EPISODE: dict[str, Any] = {"episode_id": None, "step_count": 0}


class Environments:
    """All environments of a server, and all sessions in them.

    Args:
        work: Its executor runs the programs.
        idle_s: A session in which nothing comes for so long is ended, in seconds.
    """

    def __init__(self, work: Work, idle_s: float) -> None:
        self._work, self._idle_s = work, idle_s
        self._open = 0
        self._threads = ThreadPoolExecutor(64, thread_name_prefix="code_env-session")

    async def serve(self, websocket: WebSocket) -> None:
        """Serve one connection."""
        from starlette.websockets import WebSocketDisconnect

        await websocket.accept()
        with contextlib.suppress(WebSocketDisconnect):
            most = self._work.executor.max_sessions
            if self._open >= most:
                await _refuse(
                    websocket, "CAPACITY_REACHED", f"there are {most} sessions already; --sessions allows more"
                )
                return
            self._open += 1
            try:
                await self._serve(websocket)
            finally:
                self._open -= 1

    async def _serve(self, websocket: WebSocket) -> None:
        try:
            session = await self._in_thread(partial(self._session, websocket.path_params["name"]))
        except (CodeEnvError, gym.error.Error) as error:
            await _refuse(websocket, "FACTORY_ERROR", str(error))
            return
        try:
            while True:
                try:
                    async with asyncio.timeout(self._idle_s):
                        text = await websocket.receive_text()
                except TimeoutError:
                    await _refuse(websocket, "SESSION_ERROR", f"nothing came for {self._idle_s:g} s")
                    return
                except KeyError:
                    await _refuse(websocket, "INVALID_JSON", "a text was expected, and bytes came")
                    return
                answer = await self._in_thread(partial(session.answer, text))
                if answer is None:
                    await websocket.close()
                    return
                await websocket.send_text(json.dumps(answer))
        finally:
            await self._in_thread(session.close)

    async def reset(self, request: Request, values: dict[str, Any]) -> dict[str, Any]:
        """Answer `POST reset`.

        Args:
            request: The request.
            values: Its body, with `seed`, `episode_id` and `options`, all optional.

        Raises:
            BadRequest: If there is no such environment, or the body is malformed.
        """
        return await self._once(request, lambda session: session.reset(values))

    async def step(self, request: Request, values: dict[str, Any]) -> dict[str, Any]:
        """Answer `POST step`.

        Args:
            request: The request.
            values: Its body, with `action`.

        Raises:
            BadRequest: If there is no such environment, or the body is malformed.
        """
        action = values.get("action")
        if not isinstance(action, dict) or not isinstance(action.get("task_id"), str):
            raise BadRequest(
                422,
                "an action over HTTP is an object with `response` and `task_id`, which the observation of reset has; "
                "an episode of several turns needs a session at /ws",
            )

        def reset_and_step(session: Session) -> dict[str, Any]:
            session.reset({"options": {"task_id": action["task_id"]}})
            return session.step(action)

        return await self._once(request, reset_and_step)

    async def look(self, request: Request) -> dict[str, Any]:
        """Answer `GET state`, `schema`, `metadata` or `health`.

        Raises:
            BadRequest: If there is no such environment, or nothing of this kind.
        """
        name, what = request.path_params["name"], request.path_params["what"]
        with _told_as_http():
            _check_name(name)
        match what:
            case "state":
                return dict(_NO_EPISODE)
            case "schema":
                return _SCHEMAS
            case "metadata":
                described = f"The environment {environment_id(name)} of code_env: a policy answers tasks with programs."
                return {"name": name, "description": described, "version": VERSION}
            case "health":
                return {"status": "healthy"}
        raise BadRequest(404, f"state, schema, metadata or health was expected; got {what!r}")

    async def _once(self, request: Request, call: Callable[[Session], dict[str, Any]]) -> dict[str, Any]:
        def answer() -> dict[str, Any]:
            with contextlib.closing(self._session(request.path_params["name"])) as session:
                return call(session)

        with _told_as_http():
            return dict(await self._in_thread(answer))

    def _session(self, name: str) -> Session:
        _check_name(name)
        return Session(gym.make(environment_id(name), executor=self._work.executor))

    async def _in_thread(self, call: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


class Session:
    """One environment, and the episode that it is in."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        self._env = env
        self._state = dict(_NO_EPISODE)
        self.close = env.close

    def answer(self, text: str) -> dict[str, Any] | None:
        """Return the answer to a frame; None to one that closes the session."""
        try:
            frame = json.loads(text)
        except (ValueError, RecursionError) as error:
            return _error("INVALID_JSON", str(error))
        kind = frame.get("type") if isinstance(frame, dict) else None
        data = frame.get("data", {}) if isinstance(frame, dict) else None
        if kind == "close":
            return None
        if kind == "state":
            return {"type": "state", "data": self._state}
        if kind not in ("reset", "step"):
            return _error("UNKNOWN_TYPE", f"reset, step, state or close was expected; got {kind!r}")
        if not isinstance(data, dict):
            return _error("VALIDATION_ERROR", "data must be an object")
        try:
            return {"type": "observation", "data": self.reset(data) if kind == "reset" else self.step(data)}
        except _MISUSE as error:
            return _error("VALIDATION_ERROR", str(error))

    def reset(self, data: dict[str, Any]) -> dict[str, Any]:
        """Begin an episode; return its first observation."""
        prompt, info = self._env.reset(seed=data.get("seed"), options=data.get("options"))
        self._state = {
            "episode_id": data.get("episode_id") or str(uuid.uuid4()),
            "step_count": 0,
            "task_id": info["task_id"],
        }
        return _observation(prompt, info, truncated=False, valid=True)

    def step(self, data: dict[str, Any]) -> dict[str, Any]:
        """Take an action; return what came of it."""
        response = data.get("response")
        if not isinstance(response, str):
            raise TypeError("an action is an object with `response`, what the policy wrote; it must be text")
        text, reward, terminated, truncated, info = self._env.step(response)
        self._state["step_count"] += 1
        shown = _observation(text, info, truncated=bool(truncated), valid=bool(info["valid"]))
        return shown | {"reward": float(reward), "done": bool(terminated or truncated)}


@contextlib.contextmanager
def _told_as_http() -> Iterator[None]:
    try:
        yield
    except gym.error.NameNotFound as error:
        raise BadRequest(404, str(error)) from None
    except _MISUSE as error:
        raise BadRequest(422, str(error)) from None


def _check_name(name: str) -> None:
    if name not in environment_names():
        raise gym.error.NameNotFound(f"there is no environment {name!r}; known are {', '.join(environment_names())}")


def _observation(text: str, info: dict[str, Any], *, truncated: bool, valid: bool) -> dict[str, Any]:
    observation = {
        "text": text,
        "messages": list(info["messages"]),
        "task_id": info["task_id"],
        "truncated": truncated,
        "valid": valid,
    }
    return {"observation": observation, "reward": None, "done": False}


def _error(code: str, message: str) -> dict[str, Any]:
    return {"type": "error", "data": {"message": message, "code": code}}


async def _refuse(websocket: WebSocket, code: str, message: str) -> None:
    await websocket.send_text(json.dumps(_error(code, message)))
    await websocket.close()
