"""`RemoteExecutor`: sends programs to servers, and gives each future its result once, whichever server it came from.

Every server has two threads (`link.py`) that take programs from one queue (`queue.py`). A program and its peer go to
one server together, so a verdict depends on one machine only. If a connection is lost, what ran there is run again; a
program that was lost with several servers gets a `sandbox_error`, never another status.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

from code_env.errors import ExecutorError

from .link import Link
from .linked import LinkedExecutor
from .queue import Queue
from .websocket import WebSocket, check_url

SERVERS_VARIABLE = "CODE_ENV_SERVERS"
"""The environment variable with the addresses of servers, separated by spaces."""

TOKEN_VARIABLE = "CODE_ENV_TOKEN"
"""The environment variable with the token that servers ask for."""


_CONNECT_S = 30.0
"""How long to wait for servers when they are needed for the first time, in seconds."""


class RemoteExecutor(LinkedExecutor):
    """Runs programs on servers of `code-env serve`.

    Args:
        urls: The server's address, or those of several: `http://host:port`, `https://host:port` or `unix:/path`; by
            default those in `CODE_ENV_SERVERS`, separated by spaces.
        token: The token that the servers ask for; by default the value of `CODE_ENV_TOKEN`.
        mixed_levels: Whether servers may differ in what they isolate. The executor then promises the weakest.
        give_up_s: How long programs wait while no server can be reached, in seconds.

    Raises:
        ExecutorError: If an argument is wrong, or the package `websockets` is missing.
    """

    NAME = "remote"
    SECRETS = frozenset({"token"})

    def __init__(
        self,
        urls: str | Sequence[str] | None = None,
        *,
        token: str | None = None,
        mixed_levels: bool = False,
        give_up_s: float = 60.0,
    ) -> None:
        try:
            import websockets  # noqa: F401
        except ImportError:
            raise ExecutorError("remote needs the package websockets: install code-exec-env[remote]") from None
        if urls is None:
            urls = os.environ.get(SERVERS_VARIABLE, "").split()
        self._urls = [urls] if isinstance(urls, str) else list(urls)
        if not self._urls:
            raise ExecutorError(
                "remote needs the address of a server: pass urls, such as http://127.0.0.1:8080, or set "
                f"{SERVERS_VARIABLE}; `code-env serve` starts a server"
            )
        self._token = token if token is not None else os.environ.get(TOKEN_VARIABLE, "")
        super().__init__(mixed_levels, give_up_s)
        for url in self._urls:
            check_url(url)

    def _open(self) -> tuple[Queue, Callable[[], None]]:
        links = [Link(url, partial(WebSocket, url, self._token)) for url in self._urls]
        advice = "start one with `code-env serve`"
        queue = Queue(links, self._mixed_levels, self._give_up_s, _CONNECT_S, advice)
        return queue, queue.close
