"""A tool that runs cells for a model: one session, and replies in words to whatever the model sends."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from code_env.errors import ExecutorError, SessionDied
from code_env.executors.base import Executor
from code_env.executors.limits import Limits
from code_env.executors.result import CellResult, Status
from code_env.sessions.session import Session
from code_env.text import clip, printable

from .runs import why_cell_failed
from .scoring import MISUSE
from .shared_executor import executor_for

_log = logging.getLogger(__name__)

_SHOWN_CHARS = 2000
"""The longest text of each kind that the model is shown, in characters, because it fills the context."""


class Cells:
    """A session that is opened with the first cell.

    Args:
        executor: Where it runs.
        limits: The limits of each cell.
        files: The files that it begins with.
    """

    def __init__(self, executor: Executor, limits: Limits, files: Mapping[str, bytes]) -> None:
        self._executor, self._limits, self._files = executor, limits, files
        self._session: Session | None = None
        self._lock = threading.Lock()  # A trainer may send several cells of one model at once; they run in turn.

    def run(self, code: object) -> str:
        """Run a cell; return what it showed, in words.

        Args:
            code: What the model wrote: a cell, with a fence around it or without.

        Raises:
            CodeEnvError: If the executor is closed, or has no sessions.
        """
        if not isinstance(code, str):
            return "A cell must be text."
        cell = _unfenced(code)
        try:
            cell.encode()
        except UnicodeEncodeError:
            return "A cell must not hold lone surrogates."
        try:
            with self._lock:
                if self._session is None:
                    self._session = self._executor.open_session(limits=self._limits, files=self._files)
                result = self._session.run(cell)
        except SessionDied:
            return f"The interpreter takes no more cells: {self._session.ended if self._session else 'it was closed'}."
        except MISUSE:
            raise
        except ExecutorError:
            return _FAILED
        return _words(result)

    def close(self) -> None:
        """End the session; the next cell begins another one. Idempotent."""
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            session.close()


def require_sessions(executor: Executor | str | None) -> None:
    """Check that an executor has sessions.

    Raises:
        UnsupportedProgram: If it has none.
    """
    try:
        executor_for(executor).open_session().close()
    except MISUSE:
        raise
    except ExecutorError as error:  # Not an error of the settings; the sandbox may work when it is needed.
        _log.warning("no session can be opened now: %s", error)


_FAILED = "The cell could not be run: the sandbox failed."
_FENCE = "```"


def _unfenced(code: str) -> str:
    """Return a cell without the fence that a model may put around it. Nothing else is cut: a mere value is a cell."""
    lines = code.strip().splitlines()
    if len(lines) < 2 or not lines[0].startswith(_FENCE) or lines[-1].strip() != _FENCE:
        return code
    return "\n".join(lines[1:-1])


def _words(cell: CellResult) -> str:
    if cell.status is Status.SANDBOX_ERROR:
        return _FAILED
    parts = ["It ran without a fault." if cell.status is Status.OK else f"It failed: {why_cell_failed(cell)}."]
    if cell.status not in (Status.OK, Status.ERROR):
        parts.append("The interpreter is as it was before the cell.")
    values = [str(shown["text/plain"]) for shown in cell.results if "text/plain" in shown]
    traceback = cell.error.traceback if cell.error else ""
    texts = {"Output": cell.stdout, "Value": "\n".join(values), "Standard error": cell.stderr, "Traceback": traceback}
    parts += [f"{name}:\n{clip(text.rstrip(), _SHOWN_CHARS)}" for name, text in texts.items() if text.strip()]
    if figures := len(cell.results) - len(values):
        parts.append(f"Figures, which cannot be shown: {figures}.")
    return printable("\n".join(parts))
