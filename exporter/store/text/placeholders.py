"""Texts with words in capitals, such as NAMESPACE, that stand for values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

_WORD = re.compile(r"\b([A-Z][A-Z0-9]+)\b")
_PLAIN = re.compile(r"[\w.:/@%+-]+")  # what no shell and no JSON reads anything into


def filled(template: str, values: Mapping[str, str]) -> str:
    """The text with its words in capitals replaced by values; a value that a shell could read something into is not
    put in, so that a hostile name can't become a command."""
    parts = list(_split(template))
    for at in range(1, len(parts), 2):
        found = values.get(parts[at], "")
        if found and _PLAIN.fullmatch(found):
            parts[at] = found
    return "".join(parts)


@lru_cache(4096)
def _split(template: str) -> tuple[str, ...]:
    """The text around the words and the words, in turn; the text comes first."""
    return tuple(_WORD.split(template))
