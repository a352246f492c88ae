"""JSON that is nested too deeply for a parser: what is too deep goes, so that the objects around it can be read."""

from __future__ import annotations

import re

import msgspec

__all__ = ["CUT", "is_cut", "shallow"]

CUT = "steward: what stood here is nested too deeply"
"""A text in place of what was too deep."""

_DEEPEST = 500  # levels; the parser's own limit is 1000 calls, and some were made before it
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[{]|[\]}]', re.DOTALL)
_CUT = f'"{CUT}"'.encode()


def shallow(text: bytes) -> bytes:
    """JSON with `CUT` in place of each list and mapping below the deepest level."""
    parts, position, depth, start = [], 0, 0, 0
    for token in _TOKEN.finditer(text):
        first = token[0][:1]
        if first in b"[{":
            depth += 1
            if depth == _DEEPEST + 1:
                start = token.start()
        elif first in b"]}":
            if depth == _DEEPEST + 1:
                parts += [text[position:start], _CUT]
                position = token.end()
            depth -= 1
    return b"".join([*parts, text[position : start if depth > _DEEPEST else len(text)]])


def is_cut(raw: bytes | msgspec.Raw) -> bool:
    """Whether something is missing in an object."""
    return _CUT in bytes(raw)
