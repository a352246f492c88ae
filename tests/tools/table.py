"""What tests have from Go modules: tools that they run, a row of tools.toml each, with the version that is wanted, and
CRDs, a row of crds.toml each.

Standard library only, since it is read before anything is installed.
"""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "CRDS",
    "HERE",
    "MODULES",
    "TOOLS",
    "Module",
    "Tool",
    "ToolMissing",
    "Version",
    "cache_key",
    "dotted",
    "fits",
    "parse_version",
]

HERE = Path(__file__).resolve().parent
CRDS = HERE / "crds.toml"

Version = tuple[int, ...]


def parse_version(text: str) -> Version | None:
    """The first version in what a tool prints, or None: `etcd Version: 3.6.8` gives (3, 6, 8). `go1.26` is none."""
    match = re.search(r"(?<![\w.])v?(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part) for part in match.groups() if part is not None) if match else None


def fits(version: Version | None, oldest: Version) -> bool:
    return version is not None and version >= oldest


def dotted(version: Version) -> str:
    return ".".join(map(str, version))


def cache_key(folder: Path) -> str:
    """Changes with go.mod and go.sum of `folder`, which pin all that goes into the binary."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        content = (folder / name).read_bytes()
        digest.update(b"%d:" % len(content) + content)
    return digest.hexdigest()[:16]


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
    cgo: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.asked}" if self.asked else f"{self.name} {dotted(self.oldest)} or newer"

    @property
    def asked(self) -> str:
        """The version that the environment asks for, as the folder of its module files is called; empty if none."""
        return os.environ.get(self.version_from, "") if self.version_from else ""

    @property
    def chosen(self) -> str:
        """The version that the tests get if it has to be built, as the folder is called; empty if there is just one."""
        return self.asked or self.version

    @property
    def home(self) -> Path:
        """Where its go.mod is. Raises ToolMissing if the environment asks for a version without one."""
        folder = HERE / self.folder / self.chosen
        if not (folder / "go.mod").exists():
            known = ", ".join(sorted(path.parent.name for path in folder.parent.glob("*/go.mod")))
            raise ToolMissing(
                f"cannot get {self.name} {self.asked}: {self.version_from} may be {known}; "
                f"`python -m tests.tools.pin {self.folder} VERSION` adds a version"
            )
        return folder

    @property
    def linked(self) -> str:
        """Its flags for the linker, with the version that its go.mod pins for {version}, {major} and {minor}."""
        pinned = re.findall(r"^\t(\S+) (v(\d+)\.(\d+)\.\S+)", (self.home / "go.mod").read_text("utf-8"), re.MULTILINE)
        within = [row for row in pinned if self.package.startswith(f"{row[0]}/")]
        if not within:
            return self.ldflags
        _, version, major, minor = max(within, key=lambda row: len(row[0]))
        return self.ldflags.format(version=version, major=major, minor=minor)

    def fits(self, version: Version | None) -> bool:
        """Whether an installed one of this version will do."""
        wanted = parse_version(self.asked)
        return version[: len(wanted)] == wanted if version and wanted else fits(version, self.oldest)


@dataclass(frozen=True)
class Module:
    """One row of crds.toml, which says what each field means."""

    name: str
    module: str
    version: str
    sum: str
    files: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.module}@{self.version}"

    @property
    def home(self) -> Path:
        """Where Go runs for it: a folder without a go.mod, whose other modules would count."""
        return HERE


def _modules() -> dict[str, Module]:
    rows: dict[str, dict[str, Any]] = tomllib.loads(CRDS.read_text(encoding="utf-8"))
    return {name: Module(name, **{**row, "files": tuple(row["files"])}) for name, row in rows.items()}


def _tools() -> dict[str, Tool]:
    rows: dict[str, dict[str, Any]] = tomllib.loads((HERE / "tools.toml").read_text(encoding="utf-8"))
    for row in rows.values():
        row.update({key: tuple(value) for key, value in row.items() if isinstance(value, list)})
    return {name: Tool(name, **row) for name, row in rows.items()}


TOOLS = _tools()
MODULES = _modules()
