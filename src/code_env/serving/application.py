"""The routes of the server."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine
from typing import TYPE_CHECKING, Any

from code_env.errors import ServingError
from code_env.executors.base import Executor
from code_env.executors.remote.websocket import PATH
from code_env.version import VERSION

from . import judging, sandbox_fusion
from .bodies import BadRequest, read_body, read_object, unless_gone
from .guard import HEALTH, Guard
from .open_env import Environments
from .openapi import DESCRIPTION, page
from .programs import programs_endpoint
from .sessions import Sessions
from .work import Work

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

MOST_BODY_BYTES = 64 << 20
"""The largest body, unless another limit is set."""

IDLE_S = 900.0
"""After how long without use a session is ended, in seconds, unless another time is set. A policy may write for
minutes."""

_Handler = Callable[[dict[str, Any], Work], Coroutine[Any, Any, dict[str, Any]]]
_EnvHandler = Callable[["Request", dict[str, Any]], Awaitable[dict[str, Any]]]


def application(
    executor: Executor,
    workers: int,
    *,
    token: str = "",
    hosts: Collection[str] | None = None,
    most_body_bytes: int = MOST_BODY_BYTES,
    idle_s: float = IDLE_S,
) -> tuple[ASGIApp, Work]:
    """Return the application, and the work that it does, which is to be stopped before the executor is closed.

    Args:
        executor: Where programs run; the caller closes it.
        workers: How many programs it runs at a time.
        token: The token that requests must have; empty if they need none.
        hosts: The names that requests may have in `Host`; None for all.
        most_body_bytes: The largest body of a request, and the largest frame.
        idle_s: After how long without use a session is ended, in seconds.

    Raises:
        ServingError: If a package is missing.
    """
    try:
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
        from starlette.routing import Route, WebSocketRoute

        from .answers import Answer

        work = Work(executor, workers)
    except ImportError:
        raise ServingError("a server needs more packages: install code-exec-env[serve]") from None

    tasks, envs, sessions = judging.Tasks(), Environments(work, idle_s), Sessions(work, idle_s)

    def answers(handler: _Handler) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            values = await read_object(request, most_body_bytes)
            return Answer(await unless_gone(request, handler(values, work)))

        return answer

    def plays(handler: _EnvHandler) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            return Answer(await handler(request, await read_object(request, most_body_bytes, may_be_empty=True)))

        return answer

    async def open_session(request: Request) -> Response:
        values = await read_object(request, most_body_bytes, may_be_empty=True)
        return Answer(await unless_gone(request, sessions.open(values)), 201)

    async def run_cell(request: Request) -> Response:
        values = await read_object(request, most_body_bytes)
        return Answer(await unless_gone(request, sessions.run(request.path_params["session"], values)))

    async def fork_session(request: Request) -> Response:
        values = await read_object(request, most_body_bytes, may_be_empty=True)
        forked = sessions.fork(request.path_params["session"], values)
        return Answer(await unless_gone(request, forked), 201)

    async def one_session(request: Request) -> Response:
        key = request.path_params["session"]
        if request.method == "DELETE":
            await sessions.close(key)
            return Response(status_code=204)
        return Answer(await sessions.look(key))

    async def look(request: Request) -> Response:
        return Answer(await envs.look(request))

    async def judge(values: dict[str, Any], work: Work) -> dict[str, Any]:
        return await judging.judge(values, tasks, work)

    async def judge_batch(request: Request) -> Response:
        values = await read_object(request, most_body_bytes)
        return StreamingResponse(await judging.judge_batch(values, tasks, work), media_type="application/x-ndjson")

    async def run_code_batch(request: Request) -> Response:
        values = await read_object(request, most_body_bytes)
        return StreamingResponse(sandbox_fusion.run_code_batch(values, work), media_type="application/x-ndjson")

    async def put_task(request: Request) -> Response:
        tasks.put(request.path_params["digest"], await read_body(request, most_body_bytes))
        return Response(status_code=204)

    async def health(request: Request) -> Response:
        status, code = ("stopping", 503) if work.stopping else ("ok", 200)
        return Answer({"status": status, "version": VERSION}, code)

    async def ping(request: Request) -> Response:
        return Answer("pong")

    async def metrics(request: Request) -> Response:
        return PlainTextResponse(work.metrics.text())

    def doctor(request: Request) -> Response:
        from code_env.doctor import examine

        return Answer(examine("contained", None, None).to_dict())

    async def description(request: Request) -> Response:
        return Answer(DESCRIPTION)

    async def documents(request: Request) -> Response:
        return HTMLResponse(page())

    async def refused(request: Request, error: Exception) -> Response:
        if not isinstance(error, BadRequest):
            raise error
        key = "detail" if isinstance(error.detail, list) else "error"
        return Answer({key: error.detail}, error.status)

    async def not_served(request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException):
            raise error
        why = f"{error.detail}: {request.method} {request.url.path}; GET / lists all requests"
        return Answer({"error": why}, error.status_code, error.headers)

    @contextlib.asynccontextmanager
    async def life(app: Any) -> AsyncIterator[None]:
        yield
        await work.stop(0.0)
        await sessions.end()

    routes = [
        Route("/run_code", answers(sandbox_fusion.run_code), methods=["POST"]),
        Route("/run_code_batch", run_code_batch, methods=["POST"]),
        Route("/run_jupyter", answers(sandbox_fusion.run_jupyter), methods=["POST"]),
        Route("/v1/ping", ping),
        Route("/judge", answers(judge), methods=["POST"]),
        Route("/judge_batch", judge_batch, methods=["POST"]),
        Route("/tasks/{digest}", put_task, methods=["PUT"]),
        Route("/sessions", open_session, methods=["POST"]),
        Route("/sessions/{session}", one_session, methods=["GET", "DELETE"]),
        Route("/sessions/{session}/run", run_cell, methods=["POST"]),
        Route("/sessions/{session}/fork", fork_session, methods=["POST"]),
        Route(HEALTH, health),
        Route("/metrics", metrics),
        Route("/v1/doctor", doctor),
        Route("/openapi.json", description),
        Route("/", documents),
        Route("/envs/{name}/reset", plays(envs.reset), methods=["POST"]),
        Route("/envs/{name}/step", plays(envs.step), methods=["POST"]),
        Route("/envs/{name}/{what}", look),
        WebSocketRoute("/envs/{name}/ws", envs.serve),
        WebSocketRoute(PATH, programs_endpoint(work, most_body_bytes)),
    ]
    app = Starlette(routes=routes, exception_handlers={BadRequest: refused, HTTPException: not_served}, lifespan=life)
    return Guard(app, token, hosts), work
