"""The licences of what the product is installed with: docs/licences.md, from the metadata of the locked packages.

`python -m release.licences` writes it; with `--verify` it writes nothing and fails where it is out of date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from email.message import Message
from importlib.metadata import PackageNotFoundError, metadata
from typing import cast

from docs.generator.files import NOTE, kept

from .locks import RUNTIME, TOP, Locked, locked

__all__ = ["ALLOWED", "licence", "licence_of", "refused", "runtime"]

# SPDX ids. What asks for more of a user than to keep a notice, or to publish changes of the very file, is not here.
ALLOWED = frozenset(
    ("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0", "Unlicense")
)
# What packages from before PEP 639 write in the field License.
_WRITTEN = {"Apache 2.0": "Apache-2.0", "Apache License 2.0": "Apache-2.0", "BSD": "BSD-3-Clause"}
# Of what has a classifier alone, by the text of the licence: that of Jinja2 is the one with three clauses.
_UNWRITTEN = {"jinja2": "BSD-3-Clause", "markdown-it-py": "MIT", "mdurl": "MIT"}


def runtime() -> tuple[Locked, ...]:
    """The packages that the product is installed with."""
    return locked((TOP / RUNTIME).read_text(encoding="utf-8"))


def licence_of(package: Locked) -> str:
    """The SPDX expression of a package. Raises ValueError where another version is installed, or none."""
    try:
        found = cast(Message, metadata(package.name))
    except PackageNotFoundError:
        found = Message()
    if found.get("Version") != package.version:
        installed = found.get("Version") or "no version"
        raise ValueError(
            f"cannot read the licence of {package.name} {package.version}, which is locked: {installed} is installed; "
            "install requirements-dev.lock"
        )
    return licence(package.name, found)


def licence(name: str, found: Message) -> str:
    """The SPDX expression of a package's metadata; empty where there is none that we know."""
    written = (found.get("License-Expression") or found.get("License") or "").strip()
    short = _WRITTEN.get(written, written)
    return short if short and "\n" not in short else _UNWRITTEN.get(name, "")


def refused(expression: str) -> bool:
    """Whether no alternative has allowed licences alone. Parentheses are not read, and refused."""
    alternatives = (each.split(" AND ") for each in expression.split(" OR "))
    return not any(all(each.strip() in ALLOWED for each in alternative) for alternative in alternatives)


def _page(packages: Iterable[Locked]) -> Iterator[str]:
    yield f"# Licences\n\n{NOTE}\n"
    yield "The steward is under Apache-2.0 ([LICENSE](../LICENSE)). It is installed with these packages, in the"
    yield "versions of [requirements.lock](../requirements.lock); a release's SBOM (`make sbom`) has their hashes."
    yield f"Allowed are {', '.join(sorted(ALLOWED))}; a test refuses others.\n"
    yield "| Package | Version | Licence |\n| --- | --- | --- |"
    for package in packages:
        yield f"| {package.name} | {package.version} | {licence_of(package)} |"


if __name__ == "__main__":
    sys.exit(kept({"docs/licences.md": "\n".join(_page(runtime())) + "\n"}))
