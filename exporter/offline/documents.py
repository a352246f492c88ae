"""The objects in the text of one file.

JSON: an object, a list of any kind, an array, or a stream of them, one per line or not. YAML: one or more documents.
The items of a list with a kind of its own (`PodList`) need neither apiVersion nor kind. Between documents there may be
container logs, as `kubectl cluster-info dump` prints them.

Documents of kinds that nothing reads are skipped as soon as their kind is known; they may contain anything. An object
that is nested too deeply is found all the same, without what is too deep.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from ..facts.nesting import cut
from .limits import DEEPEST_LISTS, Effort
from .wanted import Wanted
from .yaml_events import YamlError, documents


class DumpedObject(msgspec.Struct, frozen=True, gc=False):
    """One object as JSON, with its apiVersion and kind. `listed`: it is of the list that came last."""

    api_version: str
    kind: str
    raw: bytes | msgspec.Raw
    listed: bool = False


class DumpedList(msgspec.Struct, frozen=True, gc=False):
    """A list, which may be empty: its `kind` was collected. Empty for a list of any kind. `cut`: it is a page of a list
    that goes on elsewhere.
    """

    api_version: str
    kind: str
    cut: bool = False


class Malformed(msgspec.Struct, frozen=True):
    """A part of the file that could not be parsed, and why."""

    why: str


class _Document(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    api_version: Any = None
    kind: Any = None
    items: msgspec.Raw = msgspec.Raw()
    metadata: msgspec.Raw = msgspec.Raw()


class _ListMeta(msgspec.Struct, frozen=True, gc=False, rename={"rest": "continue"}):
    rest: Any = None


_LIST_META = msgspec.json.Decoder(_ListMeta)
_DOCUMENT = msgspec.json.Decoder(_Document)
_RAW = msgspec.json.Decoder(msgspec.Raw)
_RAWS = msgspec.json.Decoder(list[msgspec.Raw] | None)
_ENCODE = msgspec.json.Encoder().encode

_LOG = re.compile(rb"^==== START (logs for container [^\n]+) ====$", re.MULTILINE)
_LOOK = 4096  # bytes: the first that is no blank is hardly ever after them
_BETWEEN_JSON = re.compile(rb"(?<=[}\]])[^\S\n]*+\n\s*+(?=[{\[])")  # a JSON string has no line break
_BETWEEN_YAML = re.compile(rb"^(?=---(?:\s|$))", re.MULTILINE)
_DIRECTIVE = re.compile(rb"^%", re.MULTILINE)
_MOST_DIRECTIVES = 100  # libyaml compares each with all before it
_CONTENT = re.compile(rb"^(?![ \t\r]*(?:#|$)|---[ \t\r]*$|\.\.\.)", re.MULTILINE)  # a line with content
_TABLE = re.compile(rb"(?:NAMESPACE +)?NAME(?: +[A-Z][A-Z()-]*)+ *\r?\n")  # the first line of one
_HEAD = re.compile(rb"^(apiVersion|kind):[ \t]+[\"']?([\w./-]+)[\"']?[ \t]*\r?$", re.MULTILINE)


def objects(
    content: bytes, wanted: Wanted, *, json_only: bool = False, effort: Effort | None = None
) -> Iterator[DumpedObject | DumpedList | Malformed]:
    """Every object in the text, except those of unwanted kinds that can be skipped early. Never raises.

    `effort` is what the dump may still cost; by default, what one may in all.
    """
    effort = effort or Effort()
    effort.begin(len(content))
    try:
        yield from _objects(content, wanted, json_only, effort)
    except MemoryError:
        yield Malformed("there is not enough memory to parse it")
    except Exception as error:  # noqa: BLE001 # whatever a file holds, the others are read
        yield Malformed(f"it can't be parsed: {str(error) or type(error).__name__}")


def _objects(
    content: bytes, wanted: Wanted, json_only: bool, effort: Effort
) -> Iterator[DumpedObject | DumpedList | Malformed]:
    try:
        text = _utf8(content)
    except UnicodeError as error:
        yield Malformed(f"not UTF-8: {error.reason if isinstance(error, UnicodeDecodeError) else error}")
        return
    text = _without_logs(text)
    if (text[:_LOOK].lstrip() or text.lstrip()).startswith((b"{", b"[")):
        try:
            parts = _shallow(text)
        except (RecursionError, ValueError) as error:
            if json_only:
                yield Malformed(f"not JSON: {error}")
                return
        else:
            for part in parts:
                yield from _flat(part)
            return
    if _TABLE.match(text):
        yield Malformed("it is a table that kubectl prints for people; get it again with -o yaml")
    elif not text.isspace():
        yield from _yaml(text, wanted, effort)


def _utf8(content: bytes) -> bytes:
    """Windows shells redirect to UTF-16. Raises UnicodeError."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16").encode()
    if b"\0" in content[:4096]:
        raise UnicodeError("it contains NUL bytes")
    return content.removeprefix(codecs.BOM_UTF8)


def _without_logs(text: bytes) -> bytes:
    """A log may contain anything except its end line; without one it extends to the end."""
    if b"==== START logs for container " not in text:
        return text
    kept, position = [], 0
    while log := _LOG.search(text, position):
        if b" of pod " not in log[1]:
            kept.append(text[position : log.end()])
            position = log.end()
            continue
        kept.append(text[position : log.start()])
        end = b"==== END " + log[1] + b" ===="
        found = text.find(end, log.end())
        position = found + len(end) if found >= 0 else len(text)
    return b"".join([*kept, text[position:]])


# -- JSON


def _shallow(text: bytes) -> list[msgspec.Raw]:
    """The documents, cut where they are nested too deep to be skipped over. Raises as `_json` does."""
    try:
        return _json(text)
    except RecursionError:
        return _json(cut(text).text)


def _json(text: bytes) -> list[msgspec.Raw]:
    """The documents of a stream. Raises RecursionError and ValueError, as msgspec's errors are."""
    try:
        return [_RAW.decode(text)]
    except msgspec.DecodeError:
        parts = _BETWEEN_JSON.split(text.strip())
        if len(parts) == 1:
            parts = list(_without_separator(text.decode()))
        return [_RAW.decode(part) for part in parts]


def _without_separator(text: str) -> Iterator[bytes]:
    """Documents without a line break between them. Raises ValueError."""
    decoder, position = json.JSONDecoder(), 0
    while rest := _NEXT.search(text, position):
        _, position = decoder.raw_decode(text, rest.start())
        yield text[rest.start() : position].encode()


_NEXT = re.compile(r"\S")


def _flat(
    raw: bytes | msgspec.Raw, api_version: str = "", kind: str = "", depth: int = 0, *, listed: bool = False
) -> Iterator[DumpedObject | DumpedList | Malformed]:
    """The objects of one document; the items of a typed list get its apiVersion and kind."""
    if depth > DEEPEST_LISTS:
        yield Malformed(f"it has lists nested more than {DEEPEST_LISTS} levels deep")
        return
    try:
        try:
            document = _DOCUMENT.decode(raw)
        except RecursionError:
            raw = cut(bytes(raw)).text
            document = _DOCUMENT.decode(raw)
    except msgspec.ValidationError:
        with contextlib.suppress(msgspec.ValidationError):  # a number or a string: not a Kubernetes file
            for each in _RAWS.decode(raw) or ():
                yield from _flat(each, depth=depth + 1)
        return
    api_version = document.api_version if isinstance(document.api_version, str) else api_version
    kind = document.kind if isinstance(document.kind, str) else kind
    items = bytes(memoryview(document.items)[:1])
    if items and not kind and api_version:
        yield Malformed("truncated: a list without a kind")  # kind follows the items
    elif items and kind.endswith("List"):
        yield from _items(document.items, api_version, kind.removesuffix("List"), depth, _goes_on(document.metadata))
    else:
        yield DumpedObject(api_version, kind, raw, listed)


def _goes_on(metadata: msgspec.Raw) -> bool:
    """Whether a list is a page, after which others come."""
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        return bool(_LIST_META.decode(metadata).rest)
    return False


def _items(
    raw: msgspec.Raw, api_version: str, kind: str, depth: int, goes_on: bool
) -> Iterator[DumpedObject | DumpedList | Malformed]:
    try:
        items = _RAWS.decode(raw) or ()
    except msgspec.ValidationError:
        yield Malformed(f"the items of a {kind}List are not a list")
        return
    yield DumpedList(api_version, kind, goes_on)
    for item in items:
        yield from _flat(item, api_version if kind else "", kind, depth + 1, listed=True)


# -- YAML


def _yaml(text: bytes, wanted: Wanted, effort: Effort) -> Iterator[DumpedObject | DumpedList | Malformed]:
    line, directives = 0, sum(1 for _ in _DIRECTIVE.finditer(text))
    if directives > _MOST_DIRECTIVES:
        yield Malformed(f"not YAML: it has more than {_MOST_DIRECTIVES} directives")
        return
    for part in [text] if directives else _BETWEEN_YAML.split(text):
        content = _CONTENT.search(part)
        if content:
            yield from _document(part, part[content.start() :].lstrip()[:1] in (b"{", b"["), wanted, line, effort)
        line += part.count(b"\n")


def _document(
    part: bytes, flow: bool, wanted: Wanted, line: int, effort: Effort
) -> Iterator[DumpedObject | DumpedList | Malformed]:
    """`flow`: it is in flow style, where the start of a line means nothing."""
    heads = [] if flow else _HEAD.findall(part)
    if sorted(key for key, _ in heads) == [b"apiVersion", b"kind"]:
        head = {key: value.decode() for key, value in heads}
        if not wanted.may_hold(head[b"apiVersion"], head[b"kind"]):
            yield DumpedObject(head[b"apiVersion"], head[b"kind"], b"")
            return
    try:
        for document in documents(part, wanted.keep, line, effort):
            yield from _flat(_ENCODE(document))
    except (YamlError, RecursionError) as error:
        yield Malformed(str(error))
    except ValueError as error:
        yield Malformed(f"not representable as JSON: {error}")
