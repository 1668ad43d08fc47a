"""envd, the daemon on port 49983 of each sandbox: health, files, commands."""

from . import files, processes
from .connection import Connection
from .sandbox import Sandbox
from .timers import Timers

PORT = 49983


def operation(route: str) -> str | None:
    """What a request asks for."""
    if route == "/health":
        return "health"
    if route == "/files":
        return "files"
    if route.startswith("/filesystem.Filesystem/"):
        return "filesystem"
    if route == "/process.Process/Start":
        return "commands"
    return "process" if route.startswith("/process.Process/") else None


def serve(call: Connection, sandbox: Sandbox, timers: Timers) -> None:
    """Answer a request."""
    if call.route == "/health":
        call.body.read()
        return call.reply(204)
    if call.headers.get("X-Access-Token") != sandbox.token:
        call.body.read()
        text = "unauthorized access, please provide a valid access token or method signing if supported"
        return call.reply_json(401, {"code": 401, "message": text})
    service, _, method = call.route[1:].partition("/")
    if service == "files":
        return files.transfer(call, sandbox)
    if service == "filesystem.Filesystem":
        return files.serve(call, sandbox, method)
    return processes.serve(call, sandbox, method, timers)
