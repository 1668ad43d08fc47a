"""`/v1/programs`: runs the programs of a `remote` executor. `executors/remote/messages.py` describes the frames."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from code_env.errors import CodeEnvError, UnsupportedProgram
from code_env.executors.program import Program
from code_env.executors.remote.messages import Hello, programs_from, result_data
from code_env.version import VERSION

from .work import NoTurn, Work

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

_MALFORMED = 1008
"""The code with which a connection is closed after a frame that means nothing (RFC 6455, "policy violation")."""


def programs_endpoint(work: Work, most_bytes: int) -> Callable[[WebSocket], Any]:
    """Return what serves a connection.

    Args:
        work: Where programs run.
        most_bytes: The size of the largest frame.
    """
    from starlette.websockets import WebSocketDisconnect

    async def serve(websocket: WebSocket) -> None:
        await websocket.accept()
        hello = Hello(work.executor.describe(), work.workers, most_bytes, VERSION)
        await websocket.send_text(json.dumps(hello.as_data()))
        connection = _Connection(work)
        sender = asyncio.create_task(connection.send_always(websocket))
        try:
            while True:
                connection.take(json.loads(await websocket.receive_text()))
        except WebSocketDisconnect:
            pass
        except (ValueError, KeyError, TypeError, RecursionError, CodeEnvError) as error:
            await websocket.close(_MALFORMED, f"{type(error).__name__}: {error}"[:100])
        finally:
            sender.cancel()
            connection.end()

    return serve


class _Connection:
    """The programs of one connection."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._running: dict[int, asyncio.Task[None]] = {}
        self._done: asyncio.Queue[tuple[str, int, Any]] = asyncio.Queue()

    def take(self, frame: Any) -> None:
        """Take a frame.

        Raises:
            KeyError: If it means nothing. So do `TypeError`, `ValueError` and `TaskError`.
        """
        if "programs" in frame:
            for number, program in programs_from(frame).items():
                self._running[number] = asyncio.create_task(self._run(number, program))
        else:
            for number in frame["cancel"]:
                if number in self._running:
                    self._running[number].cancel()

    async def send_always(self, websocket: WebSocket) -> None:
        """Send what is done, all that there is in one frame."""
        while True:
            done = [await self._done.get()]
            while not self._done.empty():
                done.append(self._done.get_nowait())
            frame: dict[str, dict[str, Any]] = {}
            for kind, number, data in done:
                frame.setdefault(kind, {})[str(number)] = data
            await websocket.send_text(json.dumps(frame, separators=(",", ":")))

    def end(self) -> None:
        """End all programs that still run."""
        for task in self._running.values():
            task.cancel()

    async def _run(self, number: int, program: Program) -> None:
        # After NoTurn nothing is said: the program is run again elsewhere when this connection ends.
        with contextlib.suppress(NoTurn):
            try:
                self._done.put_nowait(("results", number, result_data(await self._work.run(program))))
            except UnsupportedProgram as error:
                self._done.put_nowait(("refused", number, str(error)))
            finally:
                del self._running[number]
