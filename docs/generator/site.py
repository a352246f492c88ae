"""The source of the site: `python -m docs.generator.site FOLDER` puts there what `make site` builds it of.

The same files as in the repository, laid out alike, so that their links hold; a link to anything else leads to the
repository. Standard library only.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from .files import TOP

__all__ = ["PAGES", "main", "stage"]

_REPOSITORY = "https://github.com/kubevirt-steward/kubevirt-steward"
_START = "README.md"
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "bench/README.md",
    "docs/*.md",
    "docs/adr/*.md",
    "rules/runbooks/*.md",
)
_FILES = ("docs/pictures/*",)
_LINK = re.compile(r"(\]\()([^)\s]+)(\))")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_OPENED = re.compile(r"^```(\w+) [^\n]*$", re.MULTILINE)  # what a block says to tests is nothing for readers


def stage(into: Path) -> None:
    """Into a folder that is made anew."""
    shutil.rmtree(into, ignore_errors=True)
    there = set(_found(PAGES)) | set(_found(_FILES))
    for path in there:
        target = into / ("index.md" if str(path) == _START else path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            target.write_text(_page(path, there), encoding="utf-8")
        else:
            shutil.copy(TOP / path, target)


def _found(patterns: tuple[str, ...]) -> Iterator[Path]:
    for pattern in patterns:
        yield from (path.relative_to(TOP) for path in sorted(TOP.glob(pattern)))


def _page(path: Path, there: set[Path]) -> str:
    text = (TOP / path).read_text(encoding="utf-8")
    at, parts = 0, []
    for code in _CODE.finditer(text):
        parts += [_LINK.sub(lambda found: _linked(found, path, there), text[at : code.start()]), code[0]]
        at = code.end()
    parts.append(_LINK.sub(lambda found: _linked(found, path, there), text[at:]))
    return _OPENED.sub(r"```\1", "".join(parts))


def _linked(found: re.Match[str], page: Path, there: set[Path]) -> str:
    target, _, place = found[2].partition("#")
    if not target or "://" in target:
        return found[0]
    file = (TOP / page.parent / target).resolve().relative_to(TOP)
    place = f"#{place}" if place else ""
    if str(file) == _START:
        return f"{found[1]}{'../' * len(page.parent.parts)}index.md{place}{found[3]}"
    if file in there:
        return found[0]
    sort = "tree" if (TOP / file).is_dir() else "blob"
    return f"{found[1]}{_REPOSITORY}/{sort}/main/{file}{place}{found[3]}"


def main(words: list[str]) -> int:
    if len(words) != 1:
        print("usage: python -m docs.generator.site FOLDER", file=sys.stderr)
        return 2
    stage(Path(words[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
