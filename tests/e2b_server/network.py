"""No network for sandboxes that were made without: a network namespace with nothing in it, one for all of them.

Where the machine grants none, they have this machine's network.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading


class NoNetwork:
    """A network namespace with nothing in it, from its first use to `close`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder: subprocess.Popen[bytes] | None = None
        self._enter: list[str] | None = None

    def command(self) -> list[str]:
        """What runs the command that follows it without a network; nothing where that cannot be had."""
        with self._lock:
            if self._holder is not None and self._holder.poll() is not None:
                sys.stderr.write(f"the process of the network namespace has ended: {self._holder.returncode}\n")
                self._holder.communicate()
                self._enter = None
            if self._enter is None:
                self._enter = self._begin()
            return self._enter

    def _begin(self) -> list[str]:
        own_user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        try:
            # It says that it is there, and ends when nobody holds its input any more.
            self._holder = subprocess.Popen(
                ["unshare", *own_user, "--net", "sh", "-c", "echo; exec cat"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            return []
        if self._holder.stdout is None or self._holder.stdout.read(1) != b"\n":
            return []
        as_user = ["--user", "--preserve-credentials"] if own_user else []
        return ["nsenter", "--target", str(self._holder.pid), *as_user, "--net", "--"]

    def close(self) -> None:
        """End it."""
        with self._lock:
            holder, self._holder, self._enter = self._holder, None, []
        if holder is not None:
            holder.communicate()
