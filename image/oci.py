"""Writes an image as the OCI's image layout (version 1.1) in one tar file: the same folders give the same bytes.

All files are root's, none is writable for others but in folders with the sticky bit, and all have one time.
Standard library only.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

__all__ = ["Layer", "write"]

_MEDIA = "application/vnd.oci.image"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Layer:
    """What is in the folder, as it is at `at` in the image."""

    folder: Path
    at: Path


def write(into: Path, layers: Sequence[Layer], config: dict[str, Any], time: int) -> None:
    """`config` is the image's `config` as the OCI has it; `time` is in seconds since 1970."""
    tars = [_layer(layer, time) for layer in layers]
    blobs = [gzip.compress(tar, 6, mtime=0) for tar in tars]  # 9: a fiftieth less, in four times the time
    about = _json(
        {
            "created": datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
            "os": "linux",
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [_digest(tar) for tar in tars]},
        }
    )
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": f"{_MEDIA}.manifest.v1+json",
            "config": _described("config.v1+json", about),
            "layers": [_described("layer.v1.tar+gzip", blob) for blob in blobs],
        }
    )
    name = config["Labels"]["org.opencontainers.image.version"]
    entry = _described("manifest.v1+json", manifest) | {"annotations": {"org.opencontainers.image.ref.name": name}}
    files = {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json({"schemaVersion": 2, "mediaType": f"{_MEDIA}.index.v1+json", "manifests": [entry]}),
        **{f"blobs/{_digest(blob).replace(':', '/')}": blob for blob in (*blobs, about, manifest)},
    }
    with tarfile.open(into, "w", format=tarfile.PAX_FORMAT) as tar:
        for path, content in sorted(files.items()):
            tar.addfile(_member(path, time, len(content)), io.BytesIO(content))


def _layer(layer: Layer, time: int) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for parent in [*reversed(layer.at.parents)][1:]:
            member = _member(str(parent).lstrip("/"), time, 0)
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(member)
        for path in sorted([layer.folder, *layer.folder.rglob("*")]):
            name = str(layer.at / path.relative_to(layer.folder)).lstrip("/")
            if not name:
                continue
            member = tar.gettarinfo(path, name)
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mtime = time
            if not member.mode & 0o1000:
                member.mode &= 0o755
            if member.isreg():
                with path.open("rb") as file:
                    tar.addfile(member, file)
            else:
                tar.addfile(member)
    return content.getvalue()


def _member(name: str, time: int, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.mtime, member.size = time, size
    return member


def _described(kind: str, blob: bytes) -> dict[str, Any]:
    return {"mediaType": f"{_MEDIA}.{kind}", "digest": _digest(blob), "size": len(blob)}


def _digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
