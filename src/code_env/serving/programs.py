"""`/v1/programs`: runs the programs of a `remote` executor. `executors/remote/messages.py` describes the frames."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from code_env.errors import CodeEnvError
from code_env.executors.remote.answering import Answering
from code_env.executors.remote.messages import Hello
from code_env.version import VERSION

from .work import Work

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
        answering = Answering(work.run)
        sender = asyncio.create_task(_send_always(answering, websocket))
        try:
            while True:
                answering.take(await websocket.receive_text())
        except WebSocketDisconnect:
            pass
        except (ValueError, KeyError, TypeError, RecursionError, CodeEnvError) as error:
            await websocket.close(_MALFORMED, f"{type(error).__name__}: {error}"[:100])
        finally:
            sender.cancel()
            answering.end()

    return serve


async def _send_always(answering: Answering, websocket: WebSocket) -> None:
    while True:
        await websocket.send_text(await answering.next())
