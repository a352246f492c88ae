"""The locks: the version and the hashes of every package that is installed. `make lock` writes them.

`python -m release.locks` compares them with pyproject.toml, and needs no network for it. That what a locked package
asks for is locked too is uv's work, when it writes them.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

__all__ = ["BUILD", "DEV", "PROJECT", "RUNTIME", "SITE", "TOP", "Locked", "differences", "locked", "pyproject"]

TOP = Path(__file__).parents[1]
RUNTIME, BUILD, DEV = "requirements.lock", "requirements-build.lock", "requirements-dev.lock"
SITE = "requirements-site.lock"  # an environment of its own: its versions need not be those of the others
PROJECT = "kubevirt-steward"

_ENTRY = re.compile(r"^\S.*(?:\n[ \t].*)*", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_VIA = re.compile(r"^ +#(?: via)?(?: +(\S.*))?$", re.MULTILINE)


@dataclass(frozen=True)
class Locked:
    """One package of a lock. `via` has the packages that ask for it, and `PROJECT` where the project itself does."""

    name: str
    version: str
    hashes: tuple[str, ...]
    via: tuple[str, ...]


def pyproject() -> Mapping[str, Any]:
    """pyproject.toml, read."""
    return tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))


def locked(text: str) -> tuple[Locked, ...]:
    """The packages of a lock, in its order. Raises ValueError for an entry without a version or a hash."""
    return tuple(_locked(entry) for entry in _ENTRY.findall(text) if not entry.startswith("#"))


def _locked(entry: str) -> Locked:
    requirement = Requirement(entry.partition(" \\")[0])
    exact = [each.version for each in requirement.specifier if each.operator == "=="]
    hashes = tuple(_HASH.findall(entry))
    if not exact or not hashes:
        raise ValueError(f"the lock's entry of {requirement.name} has no exact version or no hash; run `make lock`")
    via = tuple(PROJECT if name.startswith(f"{PROJECT} ") else name for name in _VIA.findall(entry) if name)
    return Locked(canonicalize_name(requirement.name), exact[0], hashes, via)


def differences(project: Mapping[str, Any], locks: Mapping[str, tuple[Locked, ...]]) -> Iterator[str]:
    """A sentence for each difference between pyproject.toml and the locks, and between two locks."""
    runtime = project["project"]["dependencies"]
    build = [*project["build-system"]["requires"], *project["dependency-groups"]["build"]]
    dev = project["project"]["optional-dependencies"]["dev"]
    site = project["dependency-groups"]["site"]
    for lock, asked in ((RUNTIME, runtime), (BUILD, build), (DEV, [*runtime, *build, *dev]), (SITE, site)):
        yield from _against(lock, [Requirement(each) for each in asked], {each.name: each for each in locks[lock]})
    everything = {each.name: each.version for each in locks[DEV]}
    for lock in (RUNTIME, BUILD):
        for each in locks[lock]:
            if everything.get(each.name) != each.version:
                yield f"{lock} has {each.name} {each.version}, {DEV} has {everything.get(each.name, 'none')}"


def _against(lock: str, asked: Iterable[Requirement], found: Mapping[str, Locked]) -> Iterator[str]:
    names = set()
    for requirement in asked:
        name = canonicalize_name(requirement.name)
        names.add(name)
        if name not in found:
            yield f"pyproject.toml asks for {requirement}, {lock} has none"
        elif not requirement.specifier.contains(found[name].version, prereleases=True):
            yield f"pyproject.toml asks for {requirement}, {lock} has {found[name].version}"
    for each in found.values():
        if PROJECT in each.via and each.name not in names:
            yield f"{lock} has {each.name} {each.version}, which pyproject.toml no longer asks for"


def main() -> int:
    locks = {name: locked((TOP / name).read_text(encoding="utf-8")) for name in (RUNTIME, BUILD, DEV, SITE)}
    found = list(differences(pyproject(), locks))
    for sentence in found:
        print(f"{sentence}; run `make lock` and commit it", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
