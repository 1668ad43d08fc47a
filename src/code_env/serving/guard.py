"""Who is let in: requests that name this server, come from no web page, and have the token.

A browser sends `Host`, `Sec-Fetch-Site` and, from the script of another site, `Origin`. Without these checks any web
page that a user of this machine opens could send programs to a server on loopback, or read what it says by DNS
rebinding.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Collection
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

HEALTH = "/health"
"""The one path that needs no token, for those who only ask whether the server lives."""


class Guard:
    """Passes on to an application what may come in.

    Args:
        app: The application.
        token: What `Authorization` must hold, as `Bearer TOKEN` or as the password of `Basic`, which clients send for
            `http://any:TOKEN@host`; empty if no token is asked for.
        hosts: Names that `Host` may have; None for all.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: Collection[str] | None) -> None:
        self._app, self._token, self._hosts = app, token.encode(), hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or a connection."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope["path"], headers)
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            from starlette.responses import JSONResponse

            status, why = refusal
            await JSONResponse({"error": why}, status)(scope, receive, send)

    def _refusal(self, path: str, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        name = _split(f"//{host}").hostname or ""
        if self._hosts is not None and name not in self._hosts:
            return 400, f"this server answers to {', '.join(sorted(self._hosts))}; the request is for {name!r}"
        origin = headers.get("origin")
        if origin is not None and _split(origin).netloc != host:
            return 403, f"requests from web pages of other sites are refused; this one came from {origin}"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403, "requests from web pages of other sites are refused"
        if self._token and path != HEALTH and not hmac.compare_digest(_token_in(headers), self._token):
            return 401, "the token is missing or wrong; send it as `Authorization: Bearer TOKEN`"
        return None


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:  # It is no address.
        return urlsplit("")


def _token_in(headers: dict[str, str]) -> bytes:
    kind, _, value = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip().encode()
    if kind.lower() == "basic":
        try:
            return base64.b64decode(value).partition(b":")[2]
        except ValueError:
            return b""
    return b""
