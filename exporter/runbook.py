"""The runbooks: their texts, which a release has with it, and the link to each.

A wheel has them in the package, a checkout beside it. What is installed from the wheel of a release links to that
release; a checkout, and a version between two releases, to the newest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from .version import installed

_PACKAGED = Path(__file__).parent / "runbooks"
_CHECKOUT = Path(__file__).parents[1] / "rules" / "runbooks"
_REPOSITORY = "https://github.com/kubevirt-steward/kubevirt-steward/blob"
_COMMENT = re.compile(r"^<!-- .* -->\n", re.MULTILINE)
_RELEASE = re.compile(r"\d+(\.\d+)*")
_HEADING = re.compile(r"^### `(\w+)`$", re.MULTILINE)


@cache
def texts() -> Mapping[str, str]:
    """The Markdown of each runbook by the name of its alert, sorted; empty where the package came without them.

    Comments are left out: they name the parts that several runbooks have.
    """
    folder = _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT
    files = sorted(folder.glob("*.md"))
    return MappingProxyType({path.stem: _COMMENT.sub("", path.read_text(encoding="utf-8")) for path in files})


def tree(release: str, *, packaged: bool) -> str:
    """The Git reference of the runbooks that belong to a version."""
    return f"v{release}" if packaged and _RELEASE.fullmatch(release) else "main"


@cache
def links() -> str:
    """The URL under which NAME.md is the runbook of alert NAME, without a slash at its end."""
    return f"{_REPOSITORY}/{tree(installed(), packaged=_PACKAGED.is_dir())}/rules/runbooks"


@cache
def headed(alert: str) -> tuple[str, ...]:
    """The reasons that the runbook of an alert has a heading for, in its order."""
    return tuple(_HEADING.findall(texts().get(alert, "")))


def anchor(heading: str) -> str:
    """Where a link leads to a heading of one word, on GitHub, the site and the page alike."""
    return heading.strip("`").lower()


def link(alert: str, reason: str = "") -> str:
    """The URL of an alert's runbook, at what is about the reason; empty without an alert."""
    at = f"#{anchor(reason)}" if reason else ""
    return f"{links()}/{alert}.md{at}" if alert else ""
