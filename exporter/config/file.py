"""The file of a configuration, the exporter's or the sidecar's: what it has, and what is wrong with it as a text."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .mistakes import Mistake
from .reader import LARGEST, read


@dataclass(frozen=True)
class ConfigFile:
    """`tree` is plain data, None for nothing; `digest` is that of the content; `empty` is the file where there is one
    that has nothing.
    """

    tree: Any
    mistakes: tuple[Mistake, ...]
    digest: str
    empty: str = ""


def opened(file: Path | None) -> ConfigFile:
    """Without a file as an empty one; one that can't be read is a mistake."""
    if file is None:
        return ConfigFile(None, (), digest_of(b""))
    content, tree = b"", None
    try:
        content = content_of(file)
        tree, found = read(content)
    except OSError as error:
        found = [("", f"it can't be read: {error.strerror or error}")]
    mistakes = tuple(Mistake(str(file), path, what) for path, what in found)
    return ConfigFile(tree, mistakes, digest_of(content), "" if mistakes or tree is not None else str(file))


def content_of(file: Path) -> bytes:
    """At most one byte more than is read of it. Raises OSError."""
    with file.open("rb") as stream:
        return stream.read(LARGEST + 1)


def digest_of(content: bytes) -> str:
    """As `sha256sum FILE | cut -c1-12` gives it."""
    return hashlib.sha256(content).hexdigest()[:12]
