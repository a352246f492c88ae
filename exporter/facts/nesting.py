"""JSON that is nested without end: cut to the depth in which there is something to read.

A decoder skips what nobody reads by recursion, and how deep that may go depends on the stack under it. The API server
takes objects of 10,000 levels, in fields that are free or in the text of an annotation; nothing that is read is deeper
than a tenth of what is kept.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeVar

import msgspec

T = TypeVar("T")

_KEPT = 128
_DEEPEST = 10_000  # levels that Go's JSON decoders read, and so Kubernetes and the CNI plugins

# Up to the next brackets outside of strings, or the quote of a string without an end. It never goes back in the text.
_NEXT = re.compile(
    rb'(?:[^\[\]{}"]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"|\[\]|{})*+(?:(?P<down>[\[{]++)|(?P<up>[\]}]++)|"|\Z)', re.DOTALL
)


class Cut(NamedTuple):
    text: bytes
    levels: int  # of the whole


def cut(text: bytes) -> Cut:
    """The same JSON with null for whatever is nested deeper than some levels; what is not JSON stays so.

    Takes time in proportion to the text (about 25 ms per MB of usual objects), and no recursion.
    """
    kept: list[bytes] = []
    level = levels = start = 0
    for found in _NEXT.finditer(text):
        if found["down"]:
            before, level = level, level + len(found["down"])
            levels = max(levels, level)
            if before <= _KEPT < level:
                kept += (text[start : found.start("down") + _KEPT - before], b"null")
        elif found["up"]:
            before, level = level, level - len(found["up"])
            if level <= _KEPT < before:
                start = found.start("up") + before - _KEPT
        else:
            break  # the end
    if level > _KEPT:
        start = len(text)  # it ends within what is left out: not JSON, as before
    return Cut(b"".join((*kept, text[start:])), levels)


def decoded(decoder: msgspec.json.Decoder[T], raw: bytes | msgspec.Raw) -> T:
    """What `decoder.decode` gives, however deep the text is nested. Raises what that raises of a shallow text."""
    try:
        return decoder.decode(raw)
    except RecursionError:
        return decoder.decode(cut(bytes(raw)).text)


def whole(text: str, decoder: msgspec.json.Decoder[T]) -> T:
    """What the JSON in a field of text says. Raises as `decode` does, and ValueError where it is nested too deep for
    those that it is written for.
    """
    if text.count("[") + text.count("{") <= _DEEPEST:  # how deep a decoder goes by itself depends on the Python
        try:
            return decoder.decode(text)
        except RecursionError:
            pass
    shallow, levels = cut(text.encode())
    if levels > _DEEPEST:
        raise ValueError(f"it is nested in {levels} levels, more than {_DEEPEST}")
    return decoder.decode(shallow)


# What is wrong with the shape of an object, in words: decoders speak of their own types and paths.

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
