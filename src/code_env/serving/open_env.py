"""OpenEnv's sessions over any environment: `/envs/NAME/ws`, so that a client's base address is `http://host/envs/NAME`.

The frames are those of github.com/meta-pytorch/OpenEnv, `openenv/core/env_server/types.py` (version 0.10): `reset`,
`step`, `state` and `close` come in; `observation`, `state` and `error` go out. OpenEnv has no word for an episode that
was cut off, nor for a missing verdict: the observation holds `truncated` and `valid`. A connection has one environment,
and is ended if nothing comes for a while.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from code_env.environments.definitions import environment_names
from code_env.errors import CodeEnvError
from code_env.registration import environment_id

from .work import Work

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

IDLE_S = 900.0
"""A session in which nothing comes for so long is ended, in seconds. A policy may write for minutes."""

_MOST_SESSIONS = 1024


class Sessions:
    """All sessions of a server.

    Args:
        work: Its executor runs the programs.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._open = 0
        self._threads = ThreadPoolExecutor(64, thread_name_prefix="code_env-session")

    async def serve(self, websocket: WebSocket) -> None:
        """Serve one connection."""
        from starlette.websockets import WebSocketDisconnect

        await websocket.accept()
        with contextlib.suppress(WebSocketDisconnect):
            if self._open >= _MOST_SESSIONS:
                await _refuse(websocket, "CAPACITY_REACHED", f"there are {_MOST_SESSIONS} sessions already")
                return
            self._open += 1
            try:
                await self._serve(websocket)
            finally:
                self._open -= 1

    async def _serve(self, websocket: WebSocket) -> None:
        name = websocket.path_params["name"]
        if name not in environment_names():
            known = ", ".join(environment_names())
            await _refuse(websocket, "FACTORY_ERROR", f"there is no environment {name!r}; known are {known}")
            return
        try:
            env = await self._in_thread(lambda: gym.make(environment_id(name), executor=self._work.executor))
        except (CodeEnvError, gym.error.Error) as error:
            await _refuse(websocket, "FACTORY_ERROR", str(error))
            return
        session = _Session(env)
        try:
            while True:
                try:
                    async with asyncio.timeout(IDLE_S):
                        text = await websocket.receive_text()
                except TimeoutError:
                    await _refuse(websocket, "SESSION_ERROR", f"nothing came for {IDLE_S:g} s")
                    return
                answer = await self._in_thread(partial(session.answer, text))
                if answer is None:
                    await websocket.close()
                    return
                await websocket.send_text(json.dumps(answer))
        finally:
            await self._in_thread(env.close)

    async def _in_thread(self, call: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


class _Session:
    """One environment, and the episode that it is in."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        self._env = env
        self._state: dict[str, Any] = {"episode_id": None, "step_count": 0}

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
            return {"type": "observation", "data": self._reset(data) if kind == "reset" else self._step(data)}
        except (CodeEnvError, gym.error.Error, TypeError, ValueError) as error:
            return _error("VALIDATION_ERROR", str(error))

    def _reset(self, data: dict[str, Any]) -> dict[str, Any]:
        prompt, info = self._env.reset(seed=data.get("seed"), options=data.get("options"))
        self._state = {
            "episode_id": data.get("episode_id") or str(uuid.uuid4()),
            "step_count": 0,
            "task_id": info["task_id"],
        }
        return _observation(prompt, info, truncated=False, valid=True)

    def _step(self, data: dict[str, Any]) -> dict[str, Any]:
        response = data.get("response")
        if not isinstance(response, str):
            raise TypeError("an action is an object with `response`, what the policy wrote; it must be text")
        text, reward, terminated, truncated, info = self._env.step(response)
        self._state["step_count"] += 1
        shown = _observation(text, info, truncated=bool(truncated), valid=bool(info["valid"]))
        return shown | {"reward": float(reward), "done": bool(terminated or truncated)}


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
