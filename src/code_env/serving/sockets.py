"""The sockets that servers listen on."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

from code_env.errors import ServingError

LOOPBACK = "127.0.0.1"


def listening_socket(host: str = LOOPBACK, port: int = 0) -> socket.socket:
    """Return a socket that listens.

    Args:
        host: The address of this machine that it listens on.
        port: The port; a free one if 0.

    Raises:
        ServingError: If the address cannot be had.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind)
    except OSError as error:
        raise ServingError(f"{host} is no address of this machine: {error}") from None
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return _bound(listening, address, f"{host}:{port}")


def listening_unix_socket(path: Path) -> socket.socket:
    """Return a socket in the file system that listens; only this user can connect.

    A socket that was left there, and that nobody serves, is replaced.

    Raises:
        ServingError: If there is something else, or it cannot be made.
    """
    if path.exists() and not stat.S_ISSOCK(path.stat().st_mode):
        raise ServingError(f"{path} is there and is no socket; name another path")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            path.unlink(missing_ok=True)
        else:
            raise ServingError(f"another server listens on {path}; end it, or name another path")
    before = os.umask(0o177)
    try:
        return _bound(socket.socket(socket.AF_UNIX), str(path), str(path))
    finally:
        os.umask(before)


def _bound(listening: socket.socket, address: object, name: str) -> socket.socket:
    try:
        listening.bind(address)  # type: ignore[arg-type]
        listening.listen(2048)
    except OSError as error:
        listening.close()
        raise ServingError(f"cannot listen on {name}: {error}; name another address or port") from None
    return listening


def is_loopback(listening: socket.socket) -> bool:
    """Return whether only this machine can connect to a socket."""
    return listening.family == socket.AF_UNIX or listening.getsockname()[0] in (LOOPBACK, "::1")
