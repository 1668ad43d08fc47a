"""The directory that a worker's programs write to at level `contained`, where they have no file system of their own.

All programs of a worker share one directory, `run`. A program starts in a directory inside `run`. Between two programs
everything in `run` is removed, unless nothing was changed there except that the program was put into it.
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
"""The lowest number for a descriptor. Lower numbers are for standard streams, even if the trainer has none."""


class WorkDirectory:
    """The trainer's access to this directory.

    Args:
        run: The directory that programs may write to; it is made here, in a new directory that the trainer owns.
        user: The user that will own it; None for the trainer's own user.
        notices: Whether to have the kernel report changes.

    Raises:
        OSError: If it cannot be made.
    """

    def __init__(self, run: Path, user: int | None, *, notices: bool) -> None:
        self.run, self._user, self._notices = run, user, notices
        self._work = namespaces.work_in(str(run))
        self._changes: Changes | None = None
        self.fd = -1
        """Descriptor of the directory in which a program starts. It is opened before the program runs, because the
        program can replace the directory."""
        _make_directory(str(run.parent), 0o711, None)
        _make_directory(str(run), 0o700, user)
        self.in_memory = is_in_memory(run)
        """Whether its files are kept in memory."""

    def make(self) -> None:
        """Make the directory in which the next program starts, if there is none.

        Raises:
            FileNotFoundError: If the directory around it is gone.
            OSError: If there is no descriptor or no space left.
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
            with contextlib.suppress(OSError):  # Without it, `is_as_made` looks at the directory.
                self._changes = Changes(str(self.run), self._work, _FIRST_OWN)

    def is_as_made(self, most: int) -> bool:
        """Return whether a program that has ended has changed nothing there.

        Args:
            most: The largest size on disk of the program's own file, in bytes.
        """
        if self._changes is not None:
            return self._changes.are_as_expected()
        if _first_names(str(self.run)) != [os.path.basename(self._work)] or _first_names(self.fd) != [MAIN]:
            return False
        return 512 * os.stat(MAIN, dir_fd=self.fd, follow_symlinks=False).st_blocks <= most

    def reuse(self) -> bool:
        """Give it to the next program as it is, after a program that changed nothing; return whether that is possible.

        Raises:
            OSError: If something cannot be removed.
        """
        if self._changes is None:  # The program can have set its times, unnoticed.
            return False
        os.unlink(MAIN, dir_fd=self.fd)
        self._changes.expect_next()
        return True

    def close(self) -> None:
        """Close its descriptors. Files that are left there are removed with the server."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        if self._changes is not None:
            self._changes.close()
            self._changes = None


def _first_names(directory: str | int) -> list[str]:
    """Return the first two names in a directory, which can hold any number of names."""
    with os.scandir(directory) as entries:
        return [entry.name for entry in itertools.islice(entries, 2)]


def _make_directory(path: str, mode: int, user: int | None) -> None:
    os.mkdir(path, 0o700)
    os.chmod(path, mode)  # `mkdir` alone would apply the umask.
    if user is not None:
        os.chown(path, user, user)


_IN_MEMORY, _ROOMY_BYTES = "/dev/shm", 1 << 30
"""A directory in memory, and how much must be free there, in bytes: in containers it often has only 64 MiB."""


def make_base() -> Path:
    """Make a directory for working directories; the users that programs run as can reach it.

    It is in memory if there is enough, unless an environment variable names a place. Each program's file is created and
    removed again; that costs a third as much in memory as on a disk.
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
    """Return whether every user may enter a directory and all directories above it."""
    real = Path(path).resolve()
    return all(one.is_dir() and one.stat().st_mode & 0o001 for one in (real, *real.parents))
