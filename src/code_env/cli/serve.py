"""`code-env serve`: serve an executor over HTTP."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Annotated

import typer

from code_env.errors import ServingError
from code_env.executors.cores import own_cores
from code_env.executors.registry import DEFAULT_EXECUTOR
from code_env.executors.remote.executor import TOKEN_VARIABLE
from code_env.serving import mcp_tools, server
from code_env.serving.application import IDLE_S
from code_env.serving.sockets import LOOPBACK, listening_socket, listening_unix_socket

from .application import app
from .console import (
    ExecutorOption,
    JsonOption,
    WorkersOption,
    note_isolation,
    open_executor,
    print_json,
    say,
    user_errors,
)

_HTTP_ONLY = {
    "host": "--host",
    "port": "--port",
    "unix": "--unix",
    "max_body": "--max-body",
    "grace": "--grace",
    "as_json": "--json",
}
"""The options of the HTTP server that an MCP server has no use for."""


@app.command()
def serve(
    context: typer.Context,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; any but loopback needs a token.")
    ] = LOOPBACK,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; a free one if 0.")] = 8080,
    unix: Annotated[Path | None, typer.Option("--unix", help="Listen on this Unix socket instead.")] = None,
    executor: ExecutorOption = DEFAULT_EXECUTOR,
    workers: WorkersOption = None,
    max_body: Annotated[int, typer.Option("--max-body", min=1, help="Largest request, in MiB.")] = 64,
    grace: Annotated[float, typer.Option("--grace", min=0, help="Seconds that programs have after SIGTERM.")] = 10.0,
    sessions: Annotated[int, typer.Option("--sessions", min=1, help="How many sessions may be open.")] = 1024,
    idle: Annotated[float, typer.Option("--idle", min=1, help="Seconds after which an unused session ends.")] = IDLE_S,
    as_mcp: Annotated[bool, typer.Option("--mcp", help="Serve MCP on standard input and output instead.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Run programs and judge answers for clients: SandboxFusion's requests, verdicts, and `remote` executors.

    If the environment variable CODE_ENV_TOKEN is set, clients must send it. There is no TLS: put a proxy before it.

    Example: code-env serve --port 8080
    """
    if as_mcp:
        with user_errors():
            _refuse_http_options(context)
            with open_executor(executor, workers) as runner:
                note_isolation(runner)
                runner.max_sessions = sessions
                mcp_tools.serve(runner, workers or own_cores(), idle_s=idle)
        return
    with user_errors():
        token = os.environ.get(TOKEN_VARIABLE, "")
        with contextlib.ExitStack() as stack:
            listening = listening_socket(host, port) if unix is None else listening_unix_socket(unix)
            stack.enter_context(listening)
            server.require_token(listening, token)
            runner = stack.enter_context(open_executor(executor, workers))
            note_isolation(runner)
            name = f"[{host}]" if ":" in host else host
            address = f"http://{name}:{listening.getsockname()[1]}" if unix is None else f"unix:{unix.resolve()}"
            level = runner.describe().level  # Starts what the first request would otherwise wait for.

            def announce() -> None:
                if as_json:
                    print_json({"address": address, "level": level})
                else:
                    say(f"{address} runs programs, level {level}; Ctrl-C ends it")

            runner.max_sessions = sessions
            server.serve(
                runner,
                workers or own_cores(),
                listening,
                token=token,
                most_body_bytes=max_body << 20,
                grace_s=grace,
                idle_s=idle,
                announce=announce,
            )


def _refuse_http_options(context: typer.Context) -> None:
    for name, option in _HTTP_ONLY.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise ServingError(f"--mcp has no {option}: it serves one client, on standard input and output")
