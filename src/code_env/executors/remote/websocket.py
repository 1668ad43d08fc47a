"""The connection to a server of `code-env serve`: a WebSocket, over TCP, TLS or a Unix socket."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from code_env.errors import ExecutorError

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

PATH = "/v1/programs"
"""Where servers take programs."""

_OPEN_S = 8.0
"""How long it may take to open a connection, in seconds."""

_PING_S = 10.0
"""A connection is tested so often, and given up if no answer comes for as long again, in seconds."""

_CLOSE_S = 1.0
_MOST_RESULT_BYTES = 1 << 30


def check_url(url: str) -> None:
    """Refuse what is no address of a server.

    Raises:
        ExecutorError: If it is none.
    """
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise ExecutorError("the address of a server holds no token; pass it as token, or set CODE_ENV_TOKEN")
    if not (parts.scheme in ("http", "https") and parts.netloc) and not (parts.scheme == "unix" and parts.path):
        raise ExecutorError(
            f"the address of a server is http://host:port, https://host:port or unix:/path; got {url!r}"
        )


class WebSocket:
    """A connection to a server; see `Transport`.

    Args:
        url: Its address.
        token: The token that it asks for; empty if it asks for none.

    Raises:
        OSError: If it cannot be reached, or refuses.
    """

    def __init__(self, url: str, token: str) -> None:
        from websockets.sync.client import connect, unix_connect

        settings: dict[str, Any] = {
            "additional_headers": {"Authorization": f"Bearer {token}"} if token else None,
            "compression": None,
            "max_size": _MOST_RESULT_BYTES,
            "open_timeout": _OPEN_S,
            "ping_interval": _PING_S,
            "ping_timeout": _PING_S,
            "close_timeout": _CLOSE_S,
        }
        parts = urlsplit(url)
        self._open = contextlib.ExitStack()
        with _connection_errors():
            if parts.scheme == "unix":
                connecting = unix_connect(parts.path, uri=f"ws://localhost{PATH}", **settings)
            else:
                secure = "wss" if parts.scheme == "https" else "ws"
                connecting = connect(f"{secure}://{parts.netloc}{parts.path.rstrip('/')}{PATH}", proxy=None, **settings)
            self._connection: ClientConnection = self._open.enter_context(connecting)

    def send(self, frame: str) -> None:
        """Send a frame; see `Transport.send`."""
        with _connection_errors():
            self._connection.send(frame)

    def receive(self, timeout_s: float) -> str:
        """Return the next frame; see `Transport.receive`."""
        with _connection_errors():
            return str(self._connection.recv(timeout=timeout_s, decode=True))

    def close(self) -> None:
        """End the connection. Idempotent."""
        self._open.close()


@contextlib.contextmanager
def _connection_errors() -> Iterator[None]:
    from websockets.exceptions import WebSocketException

    try:
        yield
    except WebSocketException as error:
        raise ConnectionError(str(error)) from error
