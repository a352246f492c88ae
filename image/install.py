"""The install step of both ways to build the image: the steward and what the lock pins, as byte code, in one folder.

    python3 install.py /build /opt/kubevirt-steward

`/build` has requirements.lock and the steward's wheel. The Python that runs this is the image's: the folder becomes a
virtual environment of it, without pip. What pip installs has one of the lock's hashes. Byte code is valid whatever the
times of the files are: a container's root is read-only, so nothing could be compiled later.

Standard library only.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

__all__ = ["compile_all", "install"]

KEPT = ("steward", "python")  # of bin; the rest are scripts of dependencies, and of shells
NOT_RUN = ("demo",)  # packages of the wheel that run on no cluster


def install(build: Path, into: Path) -> None:
    """Makes the folder. Raises subprocess.CalledProcessError; pip has said why."""
    (wheel,) = build.glob("kubevirt_steward-*.whl")
    venv.create(into, symlinks=True)
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, symlinks=True, with_pip=True)
        pip = [f"{folder}/bin/python", "-m", "pip", "--python", f"{into}/bin/python", "install", "--quiet"]
        pip += ["--no-compile", "--no-cache-dir", "--disable-pip-version-check", "--root-user-action", "ignore"]
        _run(*pip, "--require-hashes", "--only-binary", ":all:", "--requirement", str(build / "requirements.lock"))
        _run(*pip, "--no-deps", "--no-index", str(wheel))
    for script in (into / "bin").iterdir():
        if not script.name.startswith(KEPT):
            script.unlink()
    for package in NOT_RUN:
        (found,) = (into / "lib").glob(f"python*/site-packages/{package}")
        shutil.rmtree(found)
    compile_all(into / "lib")


def compile_all(folder: Path) -> None:
    """Byte code beside every module of the folder. Raises subprocess.CalledProcessError if one does not compile."""
    _run(sys.executable, "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash", str(folder))


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    install(Path(sys.argv[1]), Path(sys.argv[2]))
