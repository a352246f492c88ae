"""The plugin of kubectl for krew: `python -m release.krew` writes archive and manifest to dist, of the wheel there.

The archive has a script, the wheel, the lock of the product and the licence: Python is not in it, nor are the locked
packages. The same wheel, lock and $SOURCE_DATE_EPOCH give the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sys
import tarfile
from pathlib import Path

from .locks import PROJECT, RUNTIME, TOP, pyproject

__all__ = ["NAME", "archive", "main", "manifest"]

NAME = "steward"
_SCRIPT = "kubectl-steward"
_HOME = "https://github.com/kubevirt-steward/kubevirt-steward"
_MANIFEST = """\
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: {name}
spec:
  version: v{version}
  homepage: {home}
  shortDescription: See, explain and repair drift in KubeVirt fleets
  description: |
    Sees and explains what is wrong in a fleet of KubeVirt: duplicate identities and addresses, drains that hang,
    features that are refused, instancetypes that are gone. Previews drains, restarts and upgrades VM by VM, and plans
    repairs. It looks with your kubeconfig, and writes nothing until you say so.
  caveats: |
    It needs Python 3.11 or newer with venv (Debian: apt install python3-venv).
    Its first command installs its Python packages, by their hashes, from the package index that pip is configured for
    into its own folder below ~/.krew; `kubectl krew uninstall {name}` takes them away.
  platforms:
    - selector:
        matchExpressions:
          - {{key: os, operator: In, values: [linux]}}
          - {{key: arch, operator: In, values: [amd64, arm64]}}
      uri: {home}/releases/download/v{version}/{archive}
      sha256: {digest}
      bin: {script}
"""


def archive(wheel: Path, lock: Path, moment: int) -> bytes:
    """The archive that krew unpacks. All its files are of this time, in seconds since 1970."""
    files = ((TOP / "release" / _SCRIPT, 0o755), (wheel, 0o644), (lock, 0o644), (TOP / "LICENSE", 0o644))
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=moment) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path, mode in files:
            content = path.read_bytes()
            entry = tarfile.TarInfo(path.name)
            entry.size, entry.mode, entry.mtime = len(content), mode, moment
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def manifest(version: str, content: bytes) -> str:
    """The plugin as krew reads it, whose archive has this content and is attached to the release of the version."""
    return _MANIFEST.format(
        name=NAME,
        version=version,
        home=_HOME,
        archive=_archive_name(version),
        digest=hashlib.sha256(content).hexdigest(),
        script=_SCRIPT,
    )


def _archive_name(version: str) -> str:
    return f"kubectl-steward-{version}.tar.gz"


def main() -> int:
    version = str(pyproject()["project"]["version"])
    dist = TOP / "dist"
    wheel = dist / f"{PROJECT.replace('-', '_')}-{version}-py3-none-any.whl"
    if not wheel.is_file():
        print(f"release.krew: {wheel.relative_to(TOP)} is not there; `make wheel` builds it", file=sys.stderr)
        return 1
    content = archive(wheel, TOP / RUNTIME, int(os.environ.get("SOURCE_DATE_EPOCH", "0")))
    for name, written in ((_archive_name(version), content), (f"{NAME}.yaml", manifest(version, content).encode())):
        (dist / name).write_bytes(written)
        print(f"dist/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
