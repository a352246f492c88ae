"""axe-core, which looks for what shuts somebody out of a page; got by npm into the cache of tools, once."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from tests.cluster.browser import Tab

__all__ = ["AxeMissing", "axe", "violations"]

_VERSION = "4.14.1"
_SECONDS = 120
_RUN = """axe.run(document, {resultTypes: ["violations"]}).then((found) => found.violations.map((each) =>
  `${each.id}: ${each.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`))"""


class AxeMissing(RuntimeError):  # noqa: N818 - a state of the machine, named so
    """It is not on this machine, and can't be had; the message says why."""


@cache
def axe() -> str:
    """Its text. Raises AxeMissing."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "kubevirt-steward" / "tools" / f"axe-core-{_VERSION}"
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        _install(folder)
    return script.read_text(encoding="utf-8")


def _install(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise AxeMissing("there is no axe-core, and no npm to get it; on Debian install the package npm")
    folder.mkdir(parents=True, exist_ok=True)
    words = (npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder))
    try:
        done = subprocess.run(
            [*words, f"axe-core@{_VERSION}"], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise AxeMissing(f"npm did not get axe-core in {_SECONDS} s") from error
    if done.returncode:
        raise AxeMissing(f"npm can't get axe-core: {done.stderr.strip()[-300:]}")


async def violations(tab: Tab) -> list[Any]:
    """What axe-core finds on the page that is open. Raises AxeMissing."""
    await tab.value(f"{axe()}; true")
    found: list[Any] = await tab.value(_RUN)
    return found
