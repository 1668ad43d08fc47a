"""One sandbox: a directory that is its disk, what runs in it, and its end.

It costs nothing before it is used: the directory is made for the first file or command.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from code_env.executors.loader import loader_environment

if TYPE_CHECKING:
    from .interpreter import Context
    from .processes import Command

HOME = "/home/user"
"""What its home directory is called in paths that the client sends and gets."""


class Sandbox:
    """A sandbox as its users know it, and its end.

    Args:
        base: Where its directory may be made.
        identifier: Its id.
        order: What the create request asked for.
        lifetime_s: After which it ends by itself.
        on_end: Called once, when it has ended.
        no_network: Gives what runs a command without a network.
    """

    def __init__(
        self,
        base: Path,
        identifier: str,
        order: dict[str, Any],
        lifetime_s: float,
        on_end: Callable[[Sandbox], None],
        no_network: Callable[[], list[str]],
    ) -> None:
        self.id = identifier
        self.token = f"token-{identifier}"
        self.template = order.get("templateID", "base")
        self.metadata: dict[str, str] = order.get("metadata") or {}
        self.envs: dict[str, str] = order.get("envVars") or {}
        self.order = order
        self.started_at = datetime.now(UTC)
        self.commands: dict[int, Command] = {}
        self.contexts: dict[str, Context] = {}
        self.ended = threading.Event()
        self.lock = threading.RLock()
        self._base = base / identifier
        self._home: Path | None = None
        self._had_processes = False
        self._on_end, self._no_network = on_end, no_network
        self.set_lifetime(lifetime_s)

    def prefix(self) -> list[str]:
        """What goes before its commands."""
        return [] if self.order.get("allow_internet_access", True) else self._no_network()

    def set_lifetime(self, seconds: float) -> None:
        """End so many seconds from now."""
        self.ends = time.monotonic() + seconds
        self.ends_at = datetime.now(UTC) + timedelta(seconds=seconds)

    def expire(self) -> None:
        """End if it is time."""
        if time.monotonic() >= self.ends:
            self.kill()

    @property
    def home(self) -> Path:
        """Its home directory on this machine."""
        if self._home is None:
            with self.lock:
                if self.ended.is_set():
                    raise FileNotFoundError(f"sandbox {self.id} has ended")
                home = self._base / "user"
                home.mkdir(parents=True)
                (self._base / "tmp").mkdir()
                self._home = home
        return self._home

    def environment(self) -> dict[str, str]:
        """What its commands find in their environment: nothing of the tests'."""
        home = self.home
        self._had_processes = True
        return {
            # `python3` is the tests' interpreter.
            "PATH": f"{Path(sys.executable).parent}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(home),
            "USER": "user",
            "LOGNAME": "user",
            "LANG": "C.UTF-8",
            # The real one has a machine of its own, and so a /tmp.
            "TMPDIR": str(self._base / "tmp"),
            "E2B_SANDBOX": "true",
            "E2B_SANDBOX_ID": self.id,
            "E2B_TEMPLATE_ID": self.template,
            **loader_environment(sys.executable),
            **self.envs,
        }

    def kill(self) -> bool:
        """End it, its processes and its files; whether it was this call that did."""
        with self.lock:
            if self.ended.is_set():
                return False
            self.ended.set()
            commands, contexts = list(self.commands.values()), list(self.contexts.values())
        self._on_end(self)
        doomed = set()
        if self._had_processes:
            # Looked up while parents live: a child without them has no known origin.
            doomed = _descendants({command.pid for command in commands})
        for context in contexts:
            context.kill()
        for command in commands:
            command.kill(signal.SIGKILL)
        _kill_all(doomed)
        if self._had_processes:
            self._kill_strays()
        if self._home is not None:
            shutil.rmtree(self._base, ignore_errors=True)
        return True

    def _kill_strays(self) -> None:
        """Kill what its commands left behind, daemons too: a machine that is switched off leaves nothing."""
        mark, home = b"E2B_SANDBOX_ID=" + self.id.encode() + b"\0", str(self._base)
        # A process may have forked while its parent was looked at.
        while strays := [pid for pid in _pids() if _belongs(pid, mark, home)]:
            _kill_all(strays)
            time.sleep(0.001)


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except FileNotFoundError:  # Not Linux.
        return []


def _kill_all(pids: Iterable[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _descendants(roots: set[int]) -> set[int]:
    """What lives below some processes, or in the sessions that they lead."""
    parents: dict[int, tuple[int, int]] = {}
    for pid in _pids() if roots else ():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
            parents[pid] = (int(fields[1]), int(fields[3]))
    found: set[int] = set()
    grown = True
    while grown:
        more = {p for p, (parent, session) in parents.items() if parent in roots | found or session in roots} - found
        found |= more
        grown = bool(more)
    return found


def _belongs(pid: int, mark: bytes, home: str) -> bool:
    """Whether a living process carries a sandbox's mark in its environment, or is in its directory."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            if mark in file.read() + b"\0":
                return True
        return os.readlink(f"/proc/{pid}/cwd").startswith(home + "/")
    except OSError:  # It has ended, or is another user's.
        return False
