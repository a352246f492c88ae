"""Writes the image from within the root that mmdebstrap made: run there by Debian's Python, see build.py.

    PYTHONPATH=/build python3 -m image.bare_root VERSION REVISION

The image has the files of the packages in packages.txt, what the install step makes, and the few files that Debian's
maintenance scripts would have made. What else these packages depend on is for maintenance, or for modules of Python's
that the steward does not import (curses, dbm, readline, sqlite3). So there is no shell and no package manager.
`/var/lib/dpkg/status.d` lists the packages: scanners look there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from image.install import compile_all, install
from image.oci import Layer, write

BUILD = Path(__file__).parents[1]
ARCHIVES = Path("/var/cache/apt/archives")
SYSTEM = BUILD / "system"
STEWARD = Path("/opt/kubevirt-steward")  # as in the image, since its scripts and byte code name it
USER = 65532
NOT_NEEDED = """
    boot etc/ca-certificates etc/default etc/profile.d etc/python3 etc/python3.13 etc/skel etc/update-motd.d home media
    mnt srv usr/bin/py3* usr/games usr/include usr/lib/binfmt.d usr/lib/mime usr/lib/*/engines-3 usr/lib/*/gconv
    usr/lib/*/sitecustomize.py usr/local usr/sbin/* usr/share/[!cdz]* usr/share/ca-certificates usr/share/doc-base
    usr/share/doc/*/[!c]* usr/share/doc/*/changelog* usr/src var/backups var/cache var/local var/lock var/log var/mail
    var/opt var/spool var/tmp
"""  # all but libraries, Python, certificates and licences
FILES = {
    "etc/passwd": f"root:x:0:0:root:/root:/nonexistent\nsteward:x:{USER}:{USER}:steward:/:/nonexistent\n",
    "etc/group": f"root:x:0:\nsteward:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


def main(version: str, revision: str) -> None:
    install(BUILD, STEWARD)
    _system(SYSTEM)
    config = {
        "User": f"{USER}:{USER}",
        "Env": [
            f"PATH={STEWARD}/bin:/usr/local/bin:/usr/bin",
            "HOME=/",  # for users without a name, as OpenShift has them: the Kubernetes client wants to know theirs
            "PYTHONDONTWRITEBYTECODE=1",
            "PYTHONUNBUFFERED=1",
        ],
        "Entrypoint": ["steward"],
        "ExposedPorts": {"9877/tcp": {}, "9878/tcp": {}},
        "WorkingDir": "/",
        "Labels": _labels(version, revision),
    }
    layers = [Layer(SYSTEM, Path("/")), Layer(STEWARD, STEWARD)]
    write(BUILD / "image.oci.tar", layers, config, int(os.environ["SOURCE_DATE_EPOCH"]))


def _labels(version: str, revision: str) -> dict[str, str]:
    named = {
        "title": "kubevirt-steward",
        "description": "Sees, explains, alerts on and repairs drift in KubeVirt fleets",
        "version": version,
        "revision": revision,
        "licenses": "Apache-2.0",
    }
    return {f"org.opencontainers.image.{name}": value for name, value in named.items()}


def _system(root: Path) -> None:
    status = root / "var/lib/dpkg/status.d"
    for package in (BUILD / "image/packages.txt").read_text(encoding="utf-8").split():
        (archive,) = ARCHIVES.glob(f"{package}_*.deb")
        subprocess.run(["dpkg-deb", "--extract", archive, root], check=True)
        control = subprocess.run(["dpkg-deb", "--field", archive], check=True, capture_output=True).stdout
        status.mkdir(parents=True, exist_ok=True)
        (status / package).write_bytes(control)
    _trust(root)
    for found in [path for pattern in NOT_NEEDED.split() for path in root.glob(pattern)]:
        if found.is_dir() and not found.is_symlink():
            shutil.rmtree(found)
        else:
            found.unlink(missing_ok=True)  # two patterns may name one file
    for name, content in FILES.items():
        (root / name).write_text(content, encoding="utf-8")
    compile_all(root / "usr/lib/python3.13")


def _trust(root: Path) -> None:
    """The authorities of ca-certificates in one file, as its maintenance script writes it, where OpenSSL looks."""
    found = sorted((root / "usr/share/ca-certificates").rglob("*.crt"))
    bundle = Path("etc/ssl/certs/ca-certificates.crt")
    (root / bundle).write_bytes(b"".join(file.read_bytes().rstrip() + b"\n" for file in found))
    (root / "usr/lib/ssl").mkdir()
    (root / "usr/lib/ssl/cert.pem").symlink_to(Path("/") / bundle)


if __name__ == "__main__":
    main(*sys.argv[1:3])
