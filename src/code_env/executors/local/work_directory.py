"""Where the programs of one worker write at level `contained`, which has no file systems of its own.

One directory, `run`, is that of all programs of a worker; the directory in which a program starts lies in it. Between
two programs everything is removed, unless nothing was done there but to put the program into it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from pathlib import Path

from code_env.executors.files import is_in_memory

from .jail import namespaces
from .jail.changes import MAIN, Changes

_FIRST_OWN = 3
"""The least number of a descriptor: below are the standard streams, also of a trainer that has none."""


class WorkDirectory:
    """The trainer's hand on it.

    Args:
        run: The directory that programs may write to; made here, in one that is the trainer's.
        user: Whose it is to be; None for the trainer's own user.
        notices: Whether to have the kernel tell of changes.

    Raises:
        OSError: If it cannot be made.
    """

    def __init__(self, run: Path, user: int | None, *, notices: bool) -> None:
        self.run, self._user, self._notices = run, user, notices
        self._work = namespaces.work_in(str(run))
        self._changes: Changes | None = None
        self.fd = -1
        """Descriptor of the directory in which a program starts, held from before it runs: the program may put
        anything else in its place."""
        _make_directory(str(run.parent), 0o711, None)
        _make_directory(str(run), 0o700, user)
        self.in_memory = is_in_memory(run)
        """Whether what is in its files is held in memory."""

    def make(self) -> None:
        """See that there is a directory for the next program to start in.

        Raises:
            FileNotFoundError: If all is gone.
            OSError: If there is no descriptor, or no space, to be had.
        """
        if self.fd >= 0:
            return
        try:
            _make_directory(self._work, 0o755, self._user)
            self.fd = os.open(self._work, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise
        except OSError:
            with contextlib.suppress(OSError):
                os.rmdir(self._work)
            raise
        if self._notices:
            with contextlib.suppress(OSError):  # One can do without.
                self._changes = Changes(str(self.run), self._work, _FIRST_OWN)

    def is_as_made(self, most: int) -> bool:
        """Whether a program, which has ended, has done nothing there.

        Args:
            most: Bytes that its own file may take on disk.
        """
        if self._changes is not None:
            return self._changes.are_as_expected()
        if _first_names(str(self.run)) != [os.path.basename(self._work)] or _first_names(self.fd) != [MAIN]:
            return False
        return 512 * os.stat(MAIN, dir_fd=self.fd, follow_symlinks=False).st_blocks <= most

    def reuse(self) -> bool:
        """Let the next program have it as it is, after one that did nothing there; whether that can be.

        Raises:
            OSError: If something cannot be removed.
        """
        if self._changes is None:  # Its times may have been set.
            return False
        os.unlink(MAIN, dir_fd=self.fd)
        self._changes.expect_next()
        return True

    def close(self) -> None:
        """Let go of it; what is there is removed with the server."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        if self._changes is not None:
            self._changes.close()
            self._changes = None


def _first_names(directory: str | int) -> list[str]:
    """The first two names in a directory, which may hold any number."""
    with os.scandir(directory) as entries:
        return [entry.name for entry in itertools.islice(entries, 2)]


def _make_directory(path: str, mode: int, user: int | None) -> None:
    os.mkdir(path, 0o700)
    os.chmod(path, mode)  # Whatever the umask says.
    if user is not None:
        os.chown(path, user, user)


_IN_MEMORY, _ROOMY_BYTES = "/dev/shm", 1 << 30
"""Where files lie in memory, and how much must be free there: containers often have but 64 MiB."""


def make_base() -> Path:
    """A directory for working directories, which those programs' users can reach.

    In memory where there is plenty and nobody has named a place: a file that each program has, and loses again, costs
    a third of what it does on a disk.
    """
    candidates = [tempfile.gettempdir(), "/tmp", "/var/tmp", _IN_MEMORY]
    if not any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")) and _is_roomy(_IN_MEMORY):
        candidates.insert(0, _IN_MEMORY)
    reachable = next((one for one in candidates if os.geteuid() != 0 or all_may_pass(one)), candidates[0])
    base = Path(tempfile.mkdtemp(prefix="code_env-", dir=reachable)).resolve()
    base.chmod(0o711)
    return base


def _is_roomy(path: str) -> bool:
    try:
        status = os.statvfs(path)
    except OSError:
        return False
    return status.f_bavail * status.f_frsize >= _ROOMY_BYTES and os.access(path, os.W_OK | os.X_OK)


def all_may_pass(path: str) -> bool:
    """Whether any user may pass to a directory, and into it."""
    real = Path(path).resolve()
    return all(one.is_dir() and one.stat().st_mode & 0o001 for one in (real, *real.parents))
