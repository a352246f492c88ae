"""Texts with words in capitals, such as NAMESPACE, that stand for values."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["filled"]

_WORD = re.compile(r"\b[A-Z][A-Z0-9]+\b")
_PLAIN = re.compile(r"[\w.:/@%+-]+")  # what no shell and no JSON reads anything into


def filled(template: str, values: Mapping[str, str]) -> str:
    """The text with its words in capitals replaced by values; a value that a shell could read something into is not
    put in, so that a hostile name can't become a command."""

    def value(match: re.Match[str]) -> str:
        found = values.get(match[0], "")
        return found if _PLAIN.fullmatch(found) else match[0]

    return _WORD.sub(value, template)
