"""What a release says of itself: `python -m release.notes v1.2.3` prints its section of the changelog.

It refuses a tag that is not the project's version, and a version without a section.
"""

from __future__ import annotations

import re
import sys

from .locks import TOP, pyproject

__all__ = ["main", "notes"]


def notes(tag: str, version: str, changelog: str) -> str:
    """Raises ValueError with what does not fit."""
    if tag != f"v{version}":
        raise ValueError(f"the tag is {tag}, and the version in pyproject.toml is {version}: it has to be v{version}")
    found = re.search(rf"^## {re.escape(version)} - [^\n]*\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if found is None or not found[1].strip():
        raise ValueError(f"CHANGELOG.md has no section `## {version} - YYYY-MM-DD` with something in it")
    return found[1].strip() + "\n"


def main(words: list[str]) -> int:
    if len(words) != 1:
        print("usage: python -m release.notes TAG", file=sys.stderr)
        return 2
    version = str(pyproject()["project"]["version"])
    try:
        sys.stdout.write(notes(words[0], version, (TOP / "CHANGELOG.md").read_text(encoding="utf-8")))
    except ValueError as error:
        print(f"release.notes: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
