"""Reads the body of a request: bounded in size and in time, and with an error that names the field."""

from __future__ import annotations

import asyncio
import base64
import json
import math
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from starlette.requests import Request

T = TypeVar("T")

_GONE = 499
"""The status of an answer that nobody reads, as nginx logs it."""

BODY_S = 60.0
"""How long a client may take to send its body, in seconds."""


class BadRequest(Exception):
    """A request that cannot be served as it is.

    Args:
        status: The HTTP status that says so.
        detail: What is wrong, as data for JSON.
    """

    def __init__(self, status: int, detail: Any) -> None:
        super().__init__(status, detail)
        self.status, self.detail = status, detail


async def read_body(request: Request, most_bytes: int) -> bytes:
    """Return the body.

    Raises:
        BadRequest: If it is too large, comes too slowly, or not at all.
    """
    from starlette.requests import ClientDisconnect

    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_S):
            async for part in request.stream():
                size += len(part)
                if size > most_bytes:
                    raise BadRequest(413, f"the body may have {most_bytes} bytes; --max-body sets another limit")
                parts.append(part)
    except TimeoutError:
        raise BadRequest(408, f"the body did not come within {BODY_S:g} s") from None
    except ClientDisconnect:
        raise BadRequest(_GONE, "the client is gone") from None
    return b"".join(parts)


async def read_object(request: Request, most_bytes: int, *, may_be_empty: bool = False) -> dict[str, Any]:
    """Return the body, which must be one JSON object.

    Args:
        request: The request.
        most_bytes: The largest body.
        may_be_empty: Whether no body stands for an empty object.

    Raises:
        BadRequest: If it is something else, is too large, or comes too slowly.
    """
    body = await read_body(request, most_bytes)
    if may_be_empty and not body:
        return {}
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadRequest(422, [_problem("json_invalid", (), f"JSON decode error: {error}")]) from None
    if not isinstance(value, dict):
        raise BadRequest(422, [_problem("model_attributes_type", (), "Input should be a valid dictionary or object")])
    return value


async def unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Await work, and cancel it if the client closes the connection.

    Raises:
        BadRequest: If the client has closed it.
    """
    doing = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait([doing, watching], return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        doing.cancel()
        await asyncio.wait([doing])
        raise BadRequest(_GONE, "the client is gone")
    finally:
        watching.cancel()
        doing.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class Fields:
    """The fields of a request. Mistakes are collected, and told in the form of FastAPI, which clients know.

    Args:
        values: The request's object.
    """

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values
        self._problems: list[dict[str, Any]] = []

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text; it is required if there is no default."""
        if name not in self._values and default is None:
            self._problems.append(_problem("missing", (name,), "Field required"))
        value = self._values.get(name, default)
        if isinstance(value, str):
            return value
        self._wrong(name, "string")
        return ""

    def optional_text(self, name: str) -> str:
        """Return a text; null and nothing are the empty text."""
        return "" if self._values.get(name) is None else self.text(name)

    def number(self, name: str, default: float) -> float:
        """Return a finite number."""
        value = self._values.get(name, default)
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if math.isfinite(number):
            return number
        self._wrong(name, "number")
        return default

    def texts(self, name: str, *, required: bool = False) -> list[str]:
        """Return a list of texts."""
        if required and name not in self._values:
            self._problems.append(_problem("missing", (name,), "Field required"))
        value = self._values.get(name, [])
        if isinstance(value, list) and all(isinstance(one, str) for one in value):
            return value
        self._wrong(name, "list of strings")
        return []

    def files(self, name: str) -> dict[str, bytes]:
        """Return files by their paths, from texts in base64; null stands for no file."""
        value = self._values.get(name, {})
        if not isinstance(value, dict):
            self._wrong(name, "dictionary")
            return {}
        found = {}
        for path, content in value.items():
            try:
                if content is not None:
                    found[path] = base64.b64decode(content, validate=True)
            except (TypeError, ValueError):
                self._problems.append(_problem("base64", (name, path), "Input should be base64 encoded"))
        return found

    def choice(self, name: str, choices: tuple[str, ...], default: str | None = None) -> str:
        """Return one of some texts."""
        value = self.text(name, default)
        if value not in choices and not self._problems:
            known = ", ".join(repr(one) for one in choices)
            self._problems.append(_problem("literal_error", (name,), f"Input should be one of {known}"))
        return value

    def check(self) -> None:
        """Raise if a field was wrong.

        Raises:
            BadRequest: With all problems.
        """
        if self._problems:
            raise BadRequest(422, self._problems)

    def _wrong(self, name: str, kind: str) -> None:
        if not any(one["loc"][1:] == [name] for one in self._problems):
            self._problems.append(_problem(f"{kind.split()[0]}_type", (name,), f"Input should be a valid {kind}"))


def _problem(kind: str, where: tuple[str, ...], message: str) -> dict[str, Any]:
    return {"type": kind, "loc": ["body", *where], "msg": message}
