"""What is wrong with the shape of an object, in words: decoders speak of their own types and paths."""

from __future__ import annotations

import re

_TYPES = {
    "array": "a list",
    "object": "an object",
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "bytes": "base64 text",
    "null": "null",
}
_TYPE = re.compile(
    r"^Expected `(?P<wanted>[^`]+)`(?: (?P<range>[<>]=? \S+))?(?:, got `(?P<got>[^`]+)`)?(?: - at `(?P<path>[^`]+)`)?$"
)
_AT = re.compile(r"^(?P<what>.+?)(?: - at `(?P<path>[^`]+)`)$")
_SAID = (
    ("JSON is malformed", "the JSON is not well-formed"),
    ("Input data was truncated", "the JSON ends too early"),
    ("'utf-8' codec can't decode", "the text is not UTF-8"),
    ("Invalid UTF-8", "the text is not UTF-8"),
    ("Invalid base64", "the text is not base64"),
    ("Integer value out of range", "a number is too large"),
    ("Number out of range", "a number is too large"),
)


def misfit(error: Exception | str) -> str:
    """Of an error of msgspec or of a text that is not UTF-8; what another says stays as it is.

    `status.ips is text where a list is expected`, or without the path `it is text where a list is expected`.
    """
    said = str(error) or type(error).__name__
    found = _TYPE.match(said)
    if found is None:
        at = _AT.match(said)
        what, path = (at["what"], _field(at["path"])) if at is not None else (said, "")
        words = next((words for start, words in _SAID if what.startswith(start)), what)
        return f"{path}: {words}" if path else words
    place = _field(found["path"] or "") or "it"
    wanted = " or ".join(_named(each) for each in found["wanted"].split(" | ") if each != "null")
    wanted += f" {found['range']}" if found["range"] else ""
    return (
        f"{place} is {_named(found['got'])} where {wanted} is expected" if found["got"] else f"{place} is not {wanted}"
    )


def _named(of: str) -> str:
    return _TYPES.get(of, of)


def _field(path: str) -> str:
    """A path as KubeVirt and kubectl explain write it."""
    return path.removeprefix("$").removeprefix(".").replace("[...]", "[]")
