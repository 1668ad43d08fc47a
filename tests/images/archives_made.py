"""Archives of images, written as Docker, Podman and OCI tools write them."""

import gzip
import hashlib
import io
import json
import lzma
import platform
import tarfile
from collections.abc import Sequence
from pathlib import Path

import zstandard

PACKED = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "zstd": lambda data: zstandard.ZstdCompressor().compress(data),
    "zstd in frames": lambda data: (
        _SKIPPED + b"".join(PACKED["zstd"](part) + _SKIPPED for part in (data[:700], data[700:]))
    ),
    "gzip in members": lambda data: gzip.compress(data[:700]) + gzip.compress(data[700:]),
    "xz": lzma.compress,
}

_SKIPPED = b"\x5a\x2a\x4d\x18\4\0\0\0abcd"
"""A frame that readers skip, as `pzstd` and Podman write it."""


def layer(*members: tuple[str, bytes | str | None] | tarfile.TarInfo) -> bytes:
    """A layer's tar: files with their content, directories (None), links (the target as text), or anything."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
                continue
            name, content = member
            info = tarfile.TarInfo(name)
            info.mode = 0o600
            if content is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o700
            elif isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
            else:
                info.size = len(content)
            tar.addfile(info, io.BytesIO(content if isinstance(content, bytes) else b""))
    return file.getvalue()


def special(name: str, kind: bytes, target: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    """A member that is no plain file: a hard link, a device, a file with another mode."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, target, mode
    return info


def with_headers(**headers: str) -> bytes:
    """A layer's tar with one empty file, `a`, whose PAX header says something else of it."""
    file, info = io.BytesIO(), tarfile.TarInfo("a")
    info.pax_headers = headers
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(info)
    return file.getvalue()


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
HERE = MACHINES[platform.machine()]


def config(layers: list[bytes], variables: Sequence[str], machine: str = HERE) -> bytes:
    """An image's configuration."""
    return json.dumps(
        {
            "os": "linux",
            "architecture": machine,
            "config": {"Env": [*variables]},
            "rootfs": {"type": "layers", "diff_ids": [digest(one) for one in layers]},
        }
    ).encode()


def oci_layout(
    path: Path, layers: list[bytes], variables: Sequence[str] = (), packed: str = "gzip", machine: str = HERE
) -> Path:
    """An OCI layout, as a directory; its index has a nested index with an image for another machine too."""
    blobs = path / "blobs/sha256"
    blobs.mkdir(parents=True)

    def put(data: bytes) -> dict:
        (blobs / digest(data)[7:]).write_bytes(data)
        return {"digest": digest(data), "size": len(data)}

    manifest = put(
        json.dumps(
            {"config": put(config(layers, variables, machine)), "layers": [put(PACKED[packed](one)) for one in layers]}
        ).encode()
    )
    own = manifest | {"platform": {"os": "linux", "architecture": machine}}
    other = manifest | {"digest": "sha256:nowhere", "platform": {"os": "linux", "architecture": "s390x"}}
    (path / "index.json").write_text(json.dumps({"manifests": [put(json.dumps({"manifests": [other, own]}).encode())]}))
    (path / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return path


def packed_tar(path: Path, directory: Path, packed: str = "plain") -> Path:
    """A tar of a directory."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        tar.add(directory, ".")
    path.write_bytes(PACKED[packed](file.getvalue()))
    return path


def docker_archive(
    path: Path, layers: list[bytes], variables: Sequence[str] = (), packed: str = "plain", machine: str = HERE
) -> Path:
    """What `docker save` writes."""
    about = config(layers, variables, machine)
    files = {f"{number}/layer.tar": PACKED[packed](one) for number, one in enumerate(layers)}
    image = {"Config": "config.json", "RepoTags": ["made:1"], "Layers": list(files)}
    files |= {"config.json": about, "manifest.json": json.dumps([image]).encode()}
    path.write_bytes(layer(*files.items()))
    return path
