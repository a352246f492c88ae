"""Pushes the built image to the registry that a cluster pulls from, and says how to name it there.

The archive is pushed by skopeo, an image in a container engine's store by the engine. Standard library only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["push_archive", "push_from_store", "repository"]

# A registry with a path: its first part has a dot, a port, or is localhost, or it would be one of Docker Hub's.
_REPOSITORY = re.compile(
    r"(?:localhost|[a-z0-9-]+(?:\.[a-z0-9-]+)+|[a-z0-9.-]+(?=:))(?::\d+)?(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)+"
)
_SAYS = """\
pushed {name}@{digest}

Name it in `images:` of your kustomization:
  - name: kubevirt-steward
    newName: {repository}
    digest: {digest}
or in the values of the chart:
  --set image.repository={repository} --set image.digest={digest}"""


def repository(text: str) -> str:
    """As argparse wants it: REGISTRY/PATH, without a tag, which is the version."""
    if not _REPOSITORY.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} names no repository: it is REGISTRY/PATH in small letters, such as "
            "registry.example/kubevirt-steward, without a tag or digest"
        )
    return text


def push_archive(archive: Path, to: str, version: str, *, verify: bool = True) -> str:
    """Pushes an OCI archive as it is, so that its digest stays; what to write where."""
    if shutil.which("skopeo") is None:
        raise FileNotFoundError(f"it needs skopeo (Debian's package of that name) to push; the image is in {archive}")
    options = ["--preserve-digests", *([] if verify else ["--dest-tls-verify=false"])]
    _run("skopeo", "copy", *options, f"oci-archive:{archive}", f"docker://{to}:{version}")
    inspected = ["skopeo", "inspect", "--raw", *([] if verify else ["--tls-verify=false"]), f"docker://{to}:{version}"]
    raw = subprocess.run(inspected, check=True, capture_output=True).stdout
    return _said(to, version, _digest(raw))


def push_from_store(engine: str, image: str, to: str, version: str, *, verify: bool = True) -> str:
    """Pushes what an engine has built; what to write where."""
    name = f"{to}:{version}"
    if engine == "docker":  # it has a list of its own of registries that need not be verified
        _run(engine, "tag", image, name)
        _run(engine, "push", name)
        shown = subprocess.run(
            [engine, "inspect", "--format", "{{json .RepoDigests}}", name], check=True, capture_output=True, text=True
        )
        (digest,) = {each.partition("@")[2] for each in json.loads(shown.stdout) if each.startswith(f"{to}@")}
        return _said(to, version, digest)
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as file:
        options = [f"--digestfile={file.name}", *([] if verify else ["--tls-verify=false"])]
        _run(engine, "push", *options, image, f"docker://{name}")
        return _said(to, version, file.read().strip())


def _said(to: str, version: str, digest: str) -> str:
    return _SAYS.format(name=f"{to}:{version}", repository=to, digest=digest)


def _digest(manifest: bytes) -> str:
    return f"sha256:{hashlib.sha256(manifest).hexdigest()}"


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=sys.stderr)
