"""Serves the page of a report on loopback, with what is added to its files while they grow.

Every user of this machine can connect to its loopback, and so read what the files hold. No web site can: a browser
sends the name of the site in `Host`, and a request that does not name the loopback is refused.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from code_env.errors import ReportError
from code_env.rewards.pass_at_k import DEFAULT_KS
from code_env.serving.sockets import LOOPBACK

from .items import Item
from .page import json_bytes, page_parts, title_of
from .runs import Entry, Runs

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}


class GrowingPage:
    """The page of files that grow, and what came since it was made.

    Args:
        paths: The files.
        ks: The values of k for pass@k.

    Raises:
        ReportError: If a file cannot be read.
    """

    def __init__(self, paths: Sequence[Path], ks: Sequence[int] = DEFAULT_KS) -> None:
        self._paths, self._ks = paths, ks
        self._lock = threading.Lock()
        self._runs = Runs(paths, ks)
        self._begin()

    def page(self) -> str:
        """Return the page, with all items so far.

        Raises:
            ReportError: If a file cannot be read.
        """
        with self._lock:
            self._read()
            if self._later:
                self._begin_again()
            return self._page

    def news(self, after: int) -> dict[str, Any]:
        """Return what a page that has the first `after` items lacks. The page must be loaded again if `reload` is true.

        Raises:
            ReportError: If a file cannot be read.
        """
        with self._lock:
            if self._runs.are_replaced():
                self._begin_again()
                return {"reload": True}
            self._read()
            if not self._first <= after <= len(self._entries):
                return {"reload": True}
            items = self._later[after - self._first :]
            return {"entries": self._entries[after:], "items": items, "figures": self._runs.figures()}

    def close(self) -> None:
        """Close the files."""
        self._runs.close()

    def _begin_again(self) -> None:
        self._runs.close()
        self._runs = Runs(self._paths, self._ks)
        self._begin()

    def _begin(self) -> None:
        self._entries: list[Entry] = []
        self._page = "".join(page_parts(self._runs, title_of(self._paths), self._entries, follow=True))
        self._first = len(self._entries)
        self._later: list[Item] = []

    def _read(self) -> None:
        for entry, item in self._runs.items():
            self._entries.append(entry)
            self._later.append(item)


def application(growing: GrowingPage) -> Starlette:
    """Return the application that serves a page.

    Raises:
        ReportError: If the package `starlette` is missing.
    """
    try:
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.middleware.trustedhost import TrustedHostMiddleware
        from starlette.responses import HTMLResponse, JSONResponse, Response
        from starlette.routing import Route
    except ImportError:
        raise ReportError("a page that follows its files needs a server: install code-exec-env[view]") from None

    def page(request: Request) -> Response:
        return HTMLResponse(growing.page(), headers=_HEADERS)

    def news(request: Request) -> Response:
        try:
            after = int(request.query_params.get("after", ""))
        except ValueError:
            return JSONResponse({"error": "after: a whole number was expected"}, 400, _HEADERS)
        return Response(json_bytes(growing.news(after)), headers=_HEADERS, media_type="application/json")

    def failed(request: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error)}, 500, _HEADERS)

    return Starlette(
        routes=[Route("/", page), Route("/news", news)],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[LOOPBACK, "localhost"])],
        exception_handlers={ReportError: failed},
    )


def serve(growing: GrowingPage, listening: socket.socket, announce: Callable[[], object] = lambda: None) -> None:
    """Serve a page until the process is interrupted.

    Args:
        growing: The page.
        listening: A socket that listens.
        announce: Called before the first request is answered, when it is certain that no package is missing.

    Raises:
        ReportError: If a package is missing.
    """
    served = application(growing)
    import uvicorn  # It comes with the same extra.

    announce()
    uvicorn.Server(uvicorn.Config(served, log_level="warning")).run(sockets=[listening])
