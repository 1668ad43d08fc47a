"""Sessions by their ids: clients open them, run cells in them, fork and close them.

The executor bounds them: it has a largest number of sessions, and closes those that are not used for a while. The
server adds the ids, and remembers for some time why a session has ended. Who has the id of a session may use it.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Iterator, Sequence
from typing import Any

from code_env.errors import CodeEnvError, SessionBusy, SessionDied, TooManySessions
from code_env.executors.limits import Limits
from code_env.executors.program import check_path
from code_env.sessions.session import Session, SessionState

from .bodies import BadRequest, Fields
from .cells import cell_as_data
from .work import NoTurn, Work

_MOST_BRANCHES = 1024
"""How many branches one request may ask for."""


class Sessions:
    """The sessions of a server.

    Args:
        work: Its executor has the sessions.
        idle_s: After how long without use a session is closed, in seconds, if the client names no other time.
    """

    def __init__(self, work: Work, idle_s: float) -> None:
        self._work, self._idle_s = work, idle_s
        self._sessions: dict[str, Session] = {}
        work.metrics.sessions.set_function(lambda: len(self._open()))

    async def open(self, values: dict[str, Any]) -> dict[str, Any]:
        """Open a session.

        Args:
            values: `limits` of each cell, `files` in base64 by their paths, and `ttl_s`, after how long without use it
                is closed, in seconds, at most the server's own time; all optional.

        Returns:
            `session`, its id, and `ttl_s`.

        Raises:
            BadRequest: If a value is wrong, or no further session can be opened.
        """
        fields = Fields(values)
        files, idle_s = fields.files("files"), min(fields.number("ttl_s", self._idle_s), self._idle_s)
        fields.check()
        if idle_s <= 0:
            raise BadRequest(422, f"ttl_s must be a number of seconds above 0; got {idle_s:g}")
        with _told_as_http():
            for path in files:
                check_path(path)
            limits = Limits().with_values(values.get("limits"))

            def opened() -> Session:
                return self._work.executor.open_session(limits=limits, files=files, idle_s=idle_s)

            session = await self._work.call(opened, undo=Session.close)
        return {"session": self._kept([session])[0], "ttl_s": idle_s}

    async def run(self, key: str, values: dict[str, Any]) -> dict[str, Any]:
        """Run a cell when its turn comes.

        Args:
            key: The id of a session.
            values: `cell`.

        Returns:
            The cell's result, and `state`, that of the session.

        Raises:
            BadRequest: If there is no such session, it runs a cell, it has ended, or the server stops.
        """
        fields = Fields(values)
        cell = fields.text("cell")
        fields.check()
        session = self._session(key)
        with _told_as_http():
            result = await self._work.call(lambda: session.run(cell), session.interrupt)
        return cell_as_data(result) | {"state": str(session.state)}

    async def fork(self, key: str, values: dict[str, Any]) -> dict[str, Any]:
        """Open sessions that begin in the state of another one.

        Args:
            key: The id of a session.
            values: `n`, how many, 1 by default; `reseed`, as for `Session.fork`.

        Returns:
            `sessions`, their ids.

        Raises:
            BadRequest: As `run`, or if there would be too many sessions.
        """
        n, reseed = values.get("n", 1), values.get("reseed", False)
        if type(n) is not int or not 1 <= n <= _MOST_BRANCHES:
            raise BadRequest(422, f"n must be a whole number from 1 to {_MOST_BRANCHES}; got {n!r}")
        if not isinstance(reseed, bool) and not (isinstance(reseed, list) and all(type(one) is int for one in reseed)):
            raise BadRequest(422, f"reseed must be true, false or a list of seeds; got {reseed!r}")
        session = self._session(key)
        with _told_as_http():
            branches = await self._work.call(lambda: session.fork(n, reseed=reseed), undo=_close_all)
        return {"sessions": self._kept(branches)}

    async def look(self, key: str) -> dict[str, Any]:
        """Return the `state` of a session, why it has `ended`, and what it has `spent`.

        Raises:
            BadRequest: If there is no such session.
        """
        session = self._named(key)
        spent = session.spent
        used = {"cells": spent.cells, "cpu_s": spent.cpu_s, "wall_s": spent.wall_s}
        used["peak_memory_bytes"] = spent.peak_memory_bytes
        return {"state": str(session.state), "ended": session.ended, "spent": used}

    async def close(self, key: str) -> None:
        """Close a session.

        Raises:
            BadRequest: If there is no such session.
        """
        session = self._named(key)
        del self._sessions[key]
        await asyncio.to_thread(session.close)

    async def end(self) -> None:
        """Close all sessions."""
        sessions = list(self._sessions.values())
        self._sessions.clear()
        await asyncio.to_thread(_close_all, sessions)

    def _open(self) -> list[Session]:
        return [session for session in self._sessions.values() if session.state is not SessionState.DEAD]

    def _kept(self, sessions: Sequence[Session]) -> list[str]:
        if len(self._sessions) + len(sessions) > 2 * self._work.executor.max_sessions:  # Forget why some have ended.
            self._sessions = {key: one for key, one in self._sessions.items() if one.state is not SessionState.DEAD}
        keys = [secrets.token_urlsafe(16) for _ in sessions]
        self._sessions.update(zip(keys, sessions, strict=True))
        return keys

    def _named(self, key: str) -> Session:
        if key not in self._sessions:
            raise BadRequest(404, f"there is no session {key!r}: it was closed, or ended long ago; open another one")
        return self._sessions[key]

    def _session(self, key: str) -> Session:
        session = self._named(key)
        if session.state is SessionState.DEAD:
            raise BadRequest(410, f"the session has ended: {session.ended}; open another one")
        return session


def _close_all(sessions: Sequence[Session]) -> None:
    for session in sessions:
        session.close()


@contextlib.contextmanager
def _told_as_http() -> Iterator[None]:
    try:
        yield
    except NoTurn as error:
        raise BadRequest(504, str(error)) from None
    except SessionBusy as error:
        raise BadRequest(409, str(error)) from None
    except SessionDied as error:
        raise BadRequest(410, f"{error}; open another one") from None
    except TooManySessions as error:
        raise BadRequest(503, f"no further session can be opened: {error}") from None
    except (CodeEnvError, ValueError) as error:
        raise BadRequest(422, str(error)) from None
