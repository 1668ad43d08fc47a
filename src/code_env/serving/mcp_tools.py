"""An MCP server on standard input and output: programs, sessions and verdicts as tools for any agent.

The package `mcp` speaks the protocol (modelcontextprotocol.io). The queue, the sessions by their ids and the verdicts
are those of the HTTP server. What a client did wrong is told to its model in words.
"""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from code_env.errors import CodeEnvError, ServingError
from code_env.executors.base import Executor
from code_env.executors.program import Program
from code_env.version import VERSION

from . import judging
from .bodies import BadRequest
from .sessions import Sessions
from .work import Work

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

_INSTRUCTIONS = (
    "Programs and cells run in a sandbox without network. A session keeps variables and files from cell to cell; "
    "a fork of it begins in its state. A verdict never comes out of a session: `judge` runs each answer on its own."
)


def serve(executor: Executor, workers: int, *, idle_s: float) -> None:
    """Serve on standard input and output, until that ends.

    Args:
        executor: Where programs run; the caller closes it.
        workers: How many programs it runs at a time.
        idle_s: After how long without use a session is ended, in seconds.

    Raises:
        ServingError: If a package is missing.
    """
    tools(executor, workers, idle_s=idle_s).run()


def tools(executor: Executor, workers: int, *, idle_s: float) -> MCPServer[Any]:
    """Return the server with its tools.

    Args:
        executor: See `serve`.
        workers: See `serve`.
        idle_s: See `serve`.

    Raises:
        ServingError: If a package is missing.
    """
    try:
        from mcp.server.mcpserver import Image, MCPServer
        from mcp.server.mcpserver.exceptions import ToolError

        work = Work(executor, workers)
    except ImportError:
        raise ServingError("an MCP server needs more packages: install code-exec-env[mcp]") from None
    sessions, tasks = Sessions(work, idle_s), judging.Tasks()

    @contextlib.asynccontextmanager
    async def life(_: MCPServer[Any]) -> AsyncIterator[None]:
        yield
        await work.stop(0.0)
        await sessions.end()

    server = MCPServer("code_env", version=VERSION, instructions=_INSTRUCTIONS, lifespan=life, log_level="WARNING")

    @contextlib.contextmanager
    def told() -> Iterator[None]:
        try:
            yield
        except BadRequest as error:
            raise ToolError(error.detail if isinstance(error.detail, str) else json.dumps(error.detail)) from None
        except CodeEnvError as error:
            raise ToolError(str(error)) from None

    @server.tool()
    async def run_code(code: str, language: str = "python", stdin: str = "") -> dict[str, Any]:
        """Run a program on its own. `status` is `ok` if it ended with exit code 0, else it says why it ended."""
        with told():
            result = await work.run(Program(code, language=language, stdin=stdin))
        error = result.error and f"{result.error.name}: {result.error.message}"
        shown = {"status": str(result.status), "exit_code": result.exit_code, "error": error}
        return shown | {"stdout": result.stdout, "stderr": result.stderr, "cpu_s": result.cpu_s}

    @server.tool()
    async def open_session(files: dict[str, str] | None = None) -> dict[str, Any]:
        """Open a session: a Python interpreter that keeps its state. `files` are texts by their relative paths."""
        encoded = {path: base64.b64encode(text.encode()).decode() for path, text in (files or {}).items()}
        with told():
            return await sessions.open({"files": encoded})

    @server.tool(structured_output=False)
    async def run_cell(session: str, cell: str) -> list[Any]:
        """Run a cell in a session. `text` is its last expression, else what it printed; figures come as images."""
        with told():
            ran = await sessions.run(session, {"cell": cell})
        figures = [one["image/png"] for one in ran.pop("results") if "image/png" in one]
        return [ran, *[Image(data=base64.b64decode(figure), format="png") for figure in figures]]

    @server.tool()
    async def fork_session(session: str, n: int = 1, reseed: bool = False) -> dict[str, Any]:
        """Open `n` sessions in the state of this one. With `reseed` each draws other random numbers."""
        with told():
            return await sessions.fork(session, {"n": n, "reseed": reseed})

    @server.tool()
    async def judge(task: dict[str, Any], answers: list[str], rewards: dict[str, Any] | None = None) -> dict[str, Any]:
        """Judge answers to a task, a row as docs/task-format.md describes it. Without `valid` the sandbox failed."""
        with told():
            judged = await judging.judge({"task": task, "answers": answers, "rewards": rewards}, tasks, work)
        return _as_unicode(judged)

    return server


def _as_unicode(value: dict[str, Any]) -> dict[str, Any]:
    """The same without lone surrogates, which answers of models can hold and the protocol cannot."""
    whole: dict[str, Any] = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return whole
