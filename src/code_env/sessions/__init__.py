"""Sessions: interpreters that keep their state from cell to cell, and from which branches can begin.

`Executor.open_session` opens one. `describe().sessions` says how the executor keeps the state: `replay` runs all cells
again before each new one. No verdict ever comes out of a session: what is submitted is judged in a fresh jail.
"""

from .session import Checkpoint, Session, SessionState, Spent

__all__ = ["Checkpoint", "Session", "SessionState", "Spent"]
