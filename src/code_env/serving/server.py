"""Starts and stops the server.

After SIGTERM or Ctrl-C no further program begins. What runs has some seconds to end, and its requests are answered;
then it is ended, and requests that have no answer get 504, so that their clients send them elsewhere.
"""

from __future__ import annotations

import signal
import socket
import sys
import threading
from collections.abc import Callable

from code_env.errors import ServingError
from code_env.executors.base import Executor

from .application import IDLE_S, MOST_BODY_BYTES, application
from .sockets import is_loopback

_LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})

_END_S = 5.0
"""How long connections may stay open after all work has ended, in seconds."""


def require_token(listening: socket.socket, token: str) -> None:
    """Check that a server that other machines can reach has a token.

    Raises:
        ServingError: If it has none.
    """
    if not token and not is_loopback(listening):
        raise ServingError(
            f"a server that listens on {listening.getsockname()[0]} needs a token, since it runs what it is sent: set "
            "CODE_ENV_TOKEN"
        )


def serve(
    executor: Executor,
    workers: int,
    listening: socket.socket,
    *,
    token: str = "",
    most_body_bytes: int = MOST_BODY_BYTES,
    grace_s: float = 10.0,
    idle_s: float = IDLE_S,
    announce: Callable[[], object] = lambda: None,
) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        executor: Where programs run; the caller closes it.
        workers: How many programs it runs at a time.
        listening: A socket that listens.
        token: The token that requests must have; empty if they need none.
        most_body_bytes: The largest body of a request.
        grace_s: How long programs that run may go on after the signal, in seconds.
        idle_s: After how long without use a session is ended, in seconds.
        announce: Called before the first request is answered, when it is certain that no package is missing.

    Raises:
        ServingError: If a package is missing, or the server can be reached from other machines and has no token.
    """
    require_token(listening, token)
    app, work = application(
        executor,
        workers,
        token=token,
        hosts=_LOCAL_NAMES if is_loopback(listening) else None,
        most_body_bytes=most_body_bytes,
        idle_s=idle_s,
    )
    import uvicorn  # It comes with the same extra.

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            await work.stop(grace_s)
            await super().shutdown(sockets)

    if threading.current_thread() is threading.main_thread():
        # The server raises the signal again when it has stopped: the caller is then to close the executor and end.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    announce()
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        ws_max_size=most_body_bytes,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=int(_END_S),
        server_header=False,
    )
    Server(config).run(sockets=[listening])
