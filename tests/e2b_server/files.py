"""envd's files: uploads and downloads over plain HTTP, and its filesystem service."""

from __future__ import annotations

import errno
import grp
import gzip
import os
import pwd
import re
import shutil
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .connection import Connection
from .paths import NoSuchPath, from_host, resolve, to_host
from .processes import RpcError
from .sandbox import Sandbox

_BOUNDARY = re.compile(r'boundary="?([^";]+)"?')
_DISPOSITION = re.compile(rb'name="file"; filename="((?:\\.|[^"\\])*)"')


class HttpError(Exception):
    """What a transfer is answered with that fails."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def transfer(call: Connection, sandbox: Sandbox) -> None:
    """Answer GET and POST of /files."""
    data = call.body.read()
    try:
        if call.command == "GET":
            _download(call, sandbox)
        else:
            call.reply_json(200, _upload(call, sandbox, data))
    except HttpError as error:
        call.reply_json(error.status, {"code": error.status, "message": str(error)})


def _download(call: Connection, sandbox: Sandbox) -> None:
    path = resolve(call.query.get("path", ""))
    try:
        host = to_host(sandbox, path)
        if host.is_dir():
            raise HttpError(400, f"path '{path}' is a directory")
        data = host.read_bytes()
    except (NoSuchPath, FileNotFoundError, NotADirectoryError) as error:
        raise HttpError(404, f"path '{path}' does not exist") from error
    except OSError as error:
        raise HttpError(500, f"error opening file '{path}': {error.strerror}") from error
    headers = {"Vary": "Accept-Encoding"}
    if "gzip" in call.headers.get("Accept-Encoding", ""):
        data = gzip.compress(data, 1)
        headers["Content-Encoding"] = "gzip"
    call.reply(200, data, "application/octet-stream", headers)


def _upload(call: Connection, sandbox: Sandbox, data: bytes) -> list[dict[str, str]]:
    if call.headers.get("Content-Encoding") == "gzip":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError) as error:
            raise HttpError(400, f"error decompressing request body: {error}") from error
    path = call.query.get("path")
    content_type = call.headers.get("Content-Type", "")
    if content_type.startswith("application/octet-stream"):
        if path is None:
            raise HttpError(400, "path query parameter is required for raw body upload")
        return [_write(sandbox, path, data)]
    boundary = _BOUNDARY.search(content_type)
    if boundary is None or not content_type.startswith("multipart/"):
        raise HttpError(
            400,
            f"unsupported content type: {content_type}, expected multipart/form-data or application/octet-stream",
        )
    written: list[dict[str, str]] = []
    for name, content in _parts(data, boundary[1].encode()):
        target = resolve(name if path is None else path)
        if any(entry["path"] == target for entry in written):
            raise HttpError(
                400,
                f"you cannot upload multiple files to the same path '{target}' in one upload request, "
                "only the first specified file was uploaded",
            )
        written.append(_write(sandbox, target, content))
    return written


def _parts(data: bytes, boundary: bytes):
    """Names and contents of a form's files."""
    mark = b"\r\n--" + boundary
    start = data.find(mark[2:])
    while start >= 0:
        head_end = data.find(b"\r\n\r\n", start)
        end = data.find(mark, head_end)
        if head_end < 0 or end < 0:
            return
        name = _DISPOSITION.search(data, start, head_end)
        if name is not None:
            yield re.sub(rb"\\(.)", rb"\1", name[1]).decode("utf-8", "replace"), data[head_end + 4 : end]
        start = end + 2


def _write(sandbox: Sandbox, path: str, data: bytes) -> dict[str, str]:
    whole = resolve(path)
    try:
        host = to_host(sandbox, whole)
    except NoSuchPath as error:
        text = f"error ensuring directories: mkdir {os.path.dirname(whole)}: permission denied"
        raise HttpError(500, text) from error
    if host.is_dir():
        raise HttpError(400, f"path is a directory: {whole}")
    try:
        try:
            host.write_bytes(data)
        except FileNotFoundError:
            host.parent.mkdir(parents=True, exist_ok=True)
            host.write_bytes(data)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            text = f"attempted to write {len(data)} bytes: not enough disk space available"
            raise HttpError(507, text) from error
        raise HttpError(500, f"error opening file: open {whole}: {error}") from error
    return {"name": os.path.basename(whole), "type": "file", "path": whole}


def serve(call: Connection, sandbox: Sandbox, method: str) -> None:
    """Answer a call of the filesystem service."""
    order = call.json()
    try:
        try:
            answer = _METHODS[method](sandbox, order) if method in _METHODS else None
        except (NoSuchPath, FileNotFoundError, NotADirectoryError) as error:
            raise RpcError("not_found", f"path not found: {error}") from error
        except OSError as error:
            raise RpcError("internal", f"error: {error}") from error
        if answer is None:
            raise RpcError("unimplemented", f"no method {method}")
        call.reply_json(200, answer)
    except RpcError as error:
        call.reply_json(error.status, error.body)


def _stat(sandbox: Sandbox, order: dict[str, Any]) -> dict[str, Any]:
    return {"entry": _entry(sandbox, to_host(sandbox, order.get("path", "")))}


def _list_dir(sandbox: Sandbox, order: dict[str, Any]) -> dict[str, Any]:
    root = to_host(sandbox, order.get("path", ""))
    if not root.exists():
        raise FileNotFoundError(resolve(order.get("path", "")))
    if not root.is_dir():
        raise RpcError("invalid_argument", f"path is not a directory: {resolve(order.get('path', ''))}")
    entries: list[dict[str, Any]] = []

    def walk(directory: Path, depth: int) -> None:
        for path in sorted(directory.iterdir()):
            entries.append(_entry(sandbox, path))
            if depth > 1 and path.is_dir() and not path.is_symlink():
                walk(path, depth - 1)

    walk(root, int(order.get("depth") or 1))
    return {"entries": entries}


def _make_dir(sandbox: Sandbox, order: dict[str, Any]) -> dict[str, Any]:
    path = to_host(sandbox, order.get("path", ""))
    if path.is_dir():
        raise RpcError("already_exists", f"directory already exists: {from_host(sandbox, path)}")
    if path.exists():
        raise RpcError("invalid_argument", f"path already exists but it is not a directory: {from_host(sandbox, path)}")
    path.mkdir(parents=True)
    return {"entry": _entry(sandbox, path)}


def _remove(sandbox: Sandbox, order: dict[str, Any]) -> dict[str, Any]:
    path = to_host(sandbox, order.get("path", ""))
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        # As Go's RemoveAll: what is not there is removed.
        path.unlink(missing_ok=True)
    return {}


def _move(sandbox: Sandbox, order: dict[str, Any]) -> dict[str, Any]:
    source, target = to_host(sandbox, order.get("source", "")), to_host(sandbox, order.get("destination", ""))
    if not os.path.lexists(source):
        raise FileNotFoundError(from_host(sandbox, source))
    target.parent.mkdir(parents=True, exist_ok=True)
    source.rename(target)
    return {"entry": _entry(sandbox, target)}


_METHODS = {"Stat": _stat, "ListDir": _list_dir, "MakeDir": _make_dir, "Remove": _remove, "Move": _move}


def _entry(sandbox: Sandbox, path: Path) -> dict[str, Any]:
    link = path.lstat()
    linked = stat.S_ISLNK(link.st_mode)
    try:
        info = path.stat()
    except OSError:
        info = link
    kind = "FILE_TYPE_DIRECTORY" if stat.S_ISDIR(info.st_mode) else "FILE_TYPE_FILE"
    return {
        "name": path.name if path != sandbox.home else "user",
        "type": kind if stat.S_ISDIR(info.st_mode) or stat.S_ISREG(info.st_mode) else "FILE_TYPE_UNSPECIFIED",
        "path": from_host(sandbox, path),
        "size": str(info.st_size),
        "mode": stat.S_IMODE(info.st_mode),
        "permissions": stat.filemode(info.st_mode),
        "owner": _name(pwd.getpwuid, info.st_uid),
        "group": _name(grp.getgrgid, info.st_gid),
        "modifiedTime": datetime.fromtimestamp(info.st_mtime, UTC).isoformat().replace("+00:00", "Z"),
        **({"symlinkTarget": os.readlink(path), "isSymlink": True} if linked else {}),
    }


def _name(look_up: Any, number: int) -> str:
    try:
        return str(look_up(number)[0])
    except KeyError:
        return str(number)
