"""`make image`: the steward's container image, as an OCI layout in one tar file, or in a container engine's store.

With `--base` and `--build-base`, podman, buildah or docker builds image/Containerfile on these two images. Without them
neither an engine nor an image registry is needed: mmdebstrap makes a root of Debian's packages, and Debian's own Python
in it runs the same install step and then writes the image. The root is thrown away, so what the builder has installed
makes no difference. This way needs root, or user namespaces with an entry in /etc/subuid and /etc/subgid.

All files get the time SOURCE_DATE_EPOCH, by default that of the last commit. Standard library only.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from image.push import push_archive, push_from_store, repository

__all__ = ["main"]

HERE = Path(__file__).resolve().parent
REPO = HERE.parent
SUITE = "trixie"  # Debian 13: Python 3.13, and security updates until 2028
ENGINES = ("podman", "buildah", "docker")
BUILD = "/build"  # what the install step needs, in the root or the build stage
PIP_CONFIG = ("/etc/pip.conf", "~/.config/pip/pip.conf", "~/.pip/pip.conf")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")  # for a package index behind a proxy; not in the image


def main(words: list[str] | None = None) -> int:
    chosen = _parsed(words)
    try:
        os.environ.setdefault("SOURCE_DATE_EPOCH", _git("log", "-1", "--format=%ct"))
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(HERE, f"{folder}/image", ignore=shutil.ignore_patterns("__pycache__"))
            shutil.copy(chosen.wheel, folder)
            shutil.copy(chosen.lock, f"{folder}/requirements.lock")
            build = _by_engine if chosen.base else _from_packages
            print(build(chosen, Path(folder)))
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"make image: the image was not built: {error}", file=sys.stderr)
        return 1
    try:
        if chosen.push:
            print(_pushed(chosen))
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"make image: the image was built, and not pushed to {chosen.push}: {error}", file=sys.stderr)
        return 1
    return 0


def _parsed(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make image", description="Builds the steward's container image.")
    wheel = REPO / f"dist/kubevirt_steward-{_version()}-py3-none-any.whl"
    parser.add_argument("--wheel", type=Path, default=wheel, help="default: %(default)s")
    parser.add_argument("--lock", type=Path, default=REPO / "requirements.lock", help="default: %(default)s")
    parser.add_argument(
        "--into", type=Path, default=REPO / "dist/kubevirt-steward.oci.tar", help="default: %(default)s"
    )
    parser.add_argument("--base", type=_by_digest, help="image that the last stage is built on, NAME@sha256:…")
    parser.add_argument("--build-base", type=_by_digest, help="image that the steward is installed in, NAME@sha256:…")
    parser.add_argument(
        "--mirror", action="append", default=[], help="Debian's, for mmdebstrap; of one day, for example"
    )
    parser.add_argument("--push", type=repository, help="where to push it to, REGISTRY/PATH; the tag is the version")
    parser.add_argument(
        "--unverified-registry", action="store_true", help="push over plain HTTP, or to an unknown certificate"
    )
    chosen = parser.parse_args(words)
    if bool(chosen.base) != bool(chosen.build_base):
        parser.error("--base and --build-base go together")
    return chosen


def _by_digest(image: str) -> str:
    if not re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", image):
        raise argparse.ArgumentTypeError(f"{image!r} names no digest: it must end in @sha256: and 64 digits")
    return image


def _engine() -> str:
    engine = next((name for name in ENGINES if shutil.which(name)), None)
    if engine is None:
        raise FileNotFoundError(f"--base needs one of {', '.join(ENGINES)}; without --base the image is built without")
    return engine


def _pushed(chosen: argparse.Namespace) -> str:
    to, version, verify = chosen.push, _version(), not chosen.unverified_registry
    if chosen.base:
        return push_from_store(_engine(), f"kubevirt-steward:{version}", to, version, verify=verify)
    return push_archive(chosen.into, to, version, verify=verify)


def _by_engine(chosen: argparse.Namespace, folder: Path) -> str:
    engine = _engine()
    name, time = f"kubevirt-steward:{_version()}", os.environ["SOURCE_DATE_EPOCH"]
    given = {
        "BASE": chosen.base,
        "BUILD_BASE": chosen.build_base,
        "VERSION": _version(),
        "REVISION": _git("rev-parse", "HEAD"),
    }
    options = ["--build-arg", f"SOURCE_DATE_EPOCH={time}"] if engine == "docker" else ["--timestamp", time]
    options += [word for key, value in given.items() for word in ("--build-arg", f"{key}={value}")]
    _run(engine, "build", "--file", HERE / "Containerfile", "--tag", name, *options, folder)
    return name


def _from_packages(chosen: argparse.Namespace, folder: Path) -> str:
    if shutil.which("mmdebstrap") is None:
        raise FileNotFoundError("it needs mmdebstrap (Debian's package of that name), or --base and a container engine")
    chosen.into.parent.mkdir(parents=True, exist_ok=True)
    packages = (HERE / "packages.txt").read_text(encoding="utf-8").split()
    settings = [file for name in PIP_CONFIG if (file := Path(name).expanduser()).exists()]
    hooks = [
        f'mkdir "$1{BUILD}"',
        _special("sync-in", folder, BUILD),
        *(_special("upload", file, "/etc/pip.conf") for file in settings),
        *(_special("upload", file, file) for file in [CERTIFICATES] if file.exists()),
        f'PYTHONPATH={BUILD} chroot "$1" python3 -m image.bare_root {_version()} {_git("rev-parse", "HEAD")}',
        _special("download", f"{BUILD}/image.oci.tar", chosen.into.resolve()),
    ]
    _run(
        *("mmdebstrap", "--variant=extract", "--format=null", "--skip=cleanup"),
        f"--include={','.join(['python3-venv', *packages])}",
        *(f"--extract-hook={hook}" for hook in hooks),
        *(SUITE, "/dev/null", *chosen.mirror),
    )
    return str(chosen.into)


def _special(command: str, source: str | Path, to: str | Path) -> str:
    return shlex.join([command, str(source), str(to)])


def _version() -> str:
    found: str = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    return found


def _git(*words: str) -> str:
    return subprocess.run(["git", "-C", REPO, *words], check=True, capture_output=True, text=True).stdout.strip()


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    sys.exit(main())
