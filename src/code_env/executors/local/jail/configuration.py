"""What the trainer tells a server and a worker when they start, as JSON (`wire.py` has the other messages)."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

Level = Literal["full", "contained"]


class ImageConfiguration(TypedDict):
    """How a server starts in an image."""

    root: str
    """The directory of the image's files."""
    package: str
    """The directory of this package, which the server imports from."""
    python: str
    """Path of the image's interpreter, in the image."""
    environment: dict[str, str]
    """The environment variables of the server."""


class ServerConfiguration(TypedDict):
    """What a server is, and what its programs find."""

    level: Level
    """The level to enter."""
    user: int
    """The user that programs run as at level `full`."""
    group: int
    """The group that programs run as at level `full`."""
    readable: list[str]
    """Paths that programs may read."""
    masked: list[str]
    """Paths below these that programs may not read."""
    path: list[str]
    """The programs' `sys.path`. A program's own directory comes first."""
    prefix: str
    """The programs' `sys.prefix`."""
    exec_prefix: str
    """The programs' `sys.exec_prefix`."""
    executable: str
    """The programs' `sys.executable`."""
    private: bool
    """Whether directories on the way to the interpreter are closed to other users than the trainer's."""
    commands: bool
    """Whether programs are run by another interpreter than Python."""
    drivers: dict[str, str]
    """The texts of the files that start such programs, by their paths in the directory of drivers."""
    modules: list[str]
    """The modules to import."""
    heavy: bool
    """Whether some of these take long to import."""
    judges: bool
    """Whether to load the judge's half of the harness."""
    sessions: bool
    """Whether workers serve sessions instead of programs."""
    base: str | None
    """The directory of all working directories at level `contained`; None at level `full`."""
    policy: dict[str, Any] | None
    """The policy that programs must follow; None allows all of Python."""
    image: ImageConfiguration | None
    """The image that programs run in; None for this machine's files."""


class SessionConfiguration(TypedDict):
    """The limits of a session."""

    room_bytes: int
    """The size of the file system of each state, in bytes."""
    kept_bytes: int
    """How much memory the kept interpreters may hold together, in bytes."""
    rlimits: list[tuple[int, int, int]]
    """The limits of each interpreter: the resource, the soft limit and the hard limit."""


class WorkerConfiguration(TypedDict):
    """What a worker is."""

    user: int | None
    """The user that its programs run as; None if the server is that user already."""
    directory: str
    """The directory that its programs may write to, at level `contained`; empty at level `full`."""
    notices: bool
    """Whether the kernel may report changes to files."""
    session: SessionConfiguration | None
    """The session that it serves; None if it runs programs."""
