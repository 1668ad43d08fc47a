"""E2B's API: sandboxes are made, listed, given more time and killed, under a key and a limit of how many there are."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from .connection import Connection
from .network import NoNetwork
from .sandbox import Sandbox
from .timers import Timers

ENVD_VERSION = "0.6.13"
DEFAULT_LIFETIME_S = 15
LONGEST_LIFETIME_S = 24 * 3600


def message(code: int, text: str, error_code: str | None = None) -> dict[str, Any]:
    """The body of an error."""
    return {"code": code, "message": text, **({} if error_code is None else {"error_code": error_code})}


def concurrency_message(limit: int | None) -> dict[str, Any]:
    """What a team is told that has too many sandboxes."""
    return message(
        429,
        f"you have reached the maximum number of concurrent E2B sandboxes ({limit if limit is not None else 20}). "
        "If you need more, please visit 'https://e2b.dev/docs/billing'",
    )


class ControlPlane:
    """The sandboxes of one team.

    Args:
        base: Where the directories of sandboxes are made.
        timers: What ends them on time.
        api_key: The key that clients have to send.
        concurrency: How many sandboxes may live at once.
        count_lag_s: How long a sandbox that has ended is still counted.
        delete_delay_s: How long a delete takes.
        sleep: Waits, but not longer than the server lives.
    """

    def __init__(
        self,
        base: Path,
        timers: Timers,
        api_key: str,
        concurrency: int | None,
        count_lag_s: float,
        delete_delay_s: float,
        sleep: Callable[[float], object],
    ) -> None:
        self._base = base
        self._timers = timers
        self._api_key = api_key
        self.concurrency = concurrency
        self.count_lag_s = count_lag_s
        self.delete_delay_s = delete_delay_s
        self._sleep = sleep
        self._no_network = NoNetwork()
        self._lock = threading.Lock()
        self._by_key: dict[str, dict[str, Any]] = {}
        self._lagging: list[float] = []
        self.alive: dict[str, Sandbox] = {}
        self.created = 0
        self.peak = 0

    def operation(self, method: str, route: str) -> str | None:
        """What a request asks for."""
        parts = route.strip("/").split("/")
        if parts and parts[0] == "v2":
            parts = parts[1:]
        if not parts or parts[0] != "sandboxes":
            return None
        match (method, *parts[1:]):
            case ("POST",):
                return "create"
            case ("GET",):
                return "list"
            case ("GET", _):
                return "get_info"
            case ("DELETE", _):
                return "kill"
            case ("POST", _, "timeout"):
                return "set_timeout"
            case ("POST", _, "connect"):
                return "connect"
        return None

    def serve(self, call: Connection, operation: str) -> None:
        """Answer a request."""
        if call.headers.get("X-API-KEY") != self._api_key:
            call.body.read()
            text = "Invalid API key, please visit https://e2b.dev/docs/api-key for more information."
            return call.reply_json(401, message(401, text))
        if operation == "create":
            return self._create(call)
        if operation == "list":
            return self._list(call)
        order = call.json()
        parts = call.route.removeprefix("/v2").split("/")
        identifier = parts[2]
        sandbox = self.alive.get(identifier)
        if operation == "kill" and self.delete_delay_s:
            self._sleep(self.delete_delay_s)
        if sandbox is None or (operation == "kill" and not sandbox.kill()):
            return call.reply_json(404, message(404, f'Sandbox "{identifier}" not found'))
        call.sandbox = sandbox
        if operation == "get_info":
            return call.reply_json(200, _described(sandbox))
        if operation == "kill":
            return call.reply(204)
        lifetime = order.get("timeout", DEFAULT_LIFETIME_S)
        if refused := _refused(lifetime):
            return call.reply_json(400, refused)
        # A connect only ever prolongs a sandbox's life.
        if operation == "set_timeout" or time.monotonic() + lifetime > sandbox.ends:
            sandbox.set_lifetime(lifetime)
            self._timers.at(sandbox.ends, sandbox.expire)
        if operation == "set_timeout":
            return call.reply(204)
        return call.reply_json(200, _access(sandbox))

    def kill_all(self) -> None:
        """End every sandbox."""
        for sandbox in list(self.alive.values()):
            sandbox.kill()
        self._no_network.close()

    def _create(self, call: Connection) -> None:
        order = call.json()
        lifetime = order.get("timeout", DEFAULT_LIFETIME_S)
        if refused := _refused(lifetime):
            return call.reply_json(400, refused)
        key = call.headers.get("Idempotency-Key")
        with self._lock:
            if key is not None and key in self._by_key:
                return call.reply_json(201, self._by_key[key])
            now = time.monotonic()
            self._lagging = [until for until in self._lagging if until > now]
            if self.concurrency is not None and len(self.alive) + len(self._lagging) >= self.concurrency:
                sandbox = None
            else:
                identifier = f"i{secrets.token_hex(10)}"
                sandbox = Sandbox(self._base, identifier, order, lifetime, self._ended, self._no_network.command)
                self.alive[identifier] = sandbox
                self.created += 1
                self.peak = max(self.peak, len(self.alive))
                if key is not None:
                    self._by_key[key] = _access(sandbox)
        if sandbox is None:
            return call.reply_json(429, concurrency_message(self.concurrency))
        call.sandbox = sandbox
        self._timers.at(sandbox.ends, sandbox.expire)
        return call.reply_json(201, _access(sandbox))

    def _ended(self, sandbox: Sandbox) -> None:
        with self._lock:
            self.alive.pop(sandbox.id, None)
            if self.count_lag_s:
                self._lagging.append(time.monotonic() + self.count_lag_s)

    def _list(self, call: Connection) -> None:
        call.body.read()
        query = call.query
        wanted = {name: values[-1] for name, values in parse_qs(query.get("metadata", "")).items()}
        found = [
            sandbox
            for sandbox in sorted(self.alive.values(), key=lambda s: s.started_at, reverse=query.get("order") != "asc")
            if wanted.items() <= sandbox.metadata.items()
            and query.get("template", sandbox.template) == sandbox.template
            and "running" in query.get("state", "running").split(",")
        ]
        start, limit = int(query.get("nextToken") or 0), int(query.get("limit") or 100)
        more = {"X-Next-Token": str(start + limit)} if len(found) > start + limit else {}
        call.reply_json(200, [_described(sandbox) for sandbox in found[start : start + limit]], more)


def _refused(lifetime: object) -> dict[str, Any] | None:
    if not isinstance(lifetime, int) or lifetime < 0:
        return message(400, f"Timeout must be a whole number of seconds, got {lifetime!r}")
    if lifetime > LONGEST_LIFETIME_S:
        return message(400, f"Timeout cannot be greater than {LONGEST_LIFETIME_S // 3600} hours")
    return None


def _access(sandbox: Sandbox) -> dict[str, Any]:
    return {
        "templateID": sandbox.template,
        "sandboxID": sandbox.id,
        "clientID": "loopback",
        "envdVersion": ENVD_VERSION,
        "envdAccessToken": sandbox.token,
        "trafficAccessToken": None,
        "domain": None,
    }


def _described(sandbox: Sandbox) -> dict[str, Any]:
    return {
        "templateID": sandbox.template,
        "sandboxID": sandbox.id,
        "clientID": "loopback",
        "startedAt": sandbox.started_at.isoformat(),
        "endAt": sandbox.ends_at.isoformat(),
        "cpuCount": 2,
        "memoryMB": 2048,
        "diskSizeMB": 10240,
        "state": "running",
        "envdVersion": ENVD_VERSION,
        "metadata": sandbox.metadata,
    }
