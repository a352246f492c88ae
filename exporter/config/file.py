"""The file of a configuration, the exporter's or the sidecar's: what it has, and what is wrong with it as a text."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .mistakes import Mistake, quoted

# YAML without surprises, as plain data: the mistakes of the text itself are collected, and nothing is guessed.
#
# Only `true` and `false` are booleans (not yes, on, off), `null`, `~` and nothing are null, and numbers are decimal: no
# octal, no sexagesimal, no dates. A key that is written twice is a mistake, and so are anchors, aliases and tags.

LARGEST = 1 << 20  # bytes
_SURROGATE = re.compile(r"[\ud800-\udfff]")  # "\ud800" in the file: half a character
_DEEPEST = 16  # levels; ours are four
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?[0-9]{1,18}(\.[0-9]{0,18})?([eE][-+]?[0-9]{1,2})?")


class _RefusedError(yaml.MarkedYAMLError):
    pass


class _Loader(yaml.SafeLoader):
    """Composes nodes of strings; what a plain one means is decided by `scalar`."""

    yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012 # as in the base
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _RefusedError(
                None, None, "anchors and aliases are not supported. Write the value out", event.start_mark
            )
        if getattr(event, "tag", None):
            raise _RefusedError(None, None, "tags are not supported. Write the value without the tag", event.start_mark)
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _RefusedError(None, None, "this is nested too deeply", event.start_mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node


def read(content: bytes) -> tuple[Any, list[tuple[str, str]]]:
    """Mappings, lists, texts, numbers, booleans and None; and the mistakes of the text, each with its place in it."""
    if len(content) > LARGEST:
        return None, [("", "it is larger than 1 MiB")]
    try:
        text = content.decode("utf-8-sig")
        node = yaml.compose(text, _Loader)
    except UnicodeDecodeError as error:
        return None, [("", f"byte {error.start + 1} is not UTF-8 text")]
    except yaml.MarkedYAMLError as error:
        return None, [_where(error)]
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, int(error.position)) + 1
        return None, [(f"line {line}", "a character that YAML does not allow")]
    except (ValueError, OverflowError):  # of PyYAML itself: "\UFFFFFFFF", and a version of too many digits
        return None, [("", "a number or an escaped character in it is too large")]
    mistakes: list[tuple[str, str]] = []
    return _plain(node, "", mistakes), mistakes


def _where(error: yaml.MarkedYAMLError) -> tuple[str, str]:
    mark = error.problem_mark or error.context_mark
    what = ", ".join(part for part in (error.context, error.problem) if part)
    if "single document" in what:
        what = "a second document starts here. Only one is allowed"
    what = "".join(character if character.isprintable() else "?" for character in what)
    return (f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""), what or "this is not YAML"


def _plain(node: yaml.Node | None, path: str, mistakes: list[tuple[str, str]]) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return scalar(node.value) if node.style is None else node.value
    if isinstance(node, yaml.SequenceNode):
        return [_plain(each, f"{path}[{number}]", mistakes) for number, each in enumerate(node.value)]
    found: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for key, value in node.value if node else ():
        line = key.start_mark.line + 1
        name = f"{path}.{key.value}" if path else str(key.value)
        if not isinstance(key, yaml.ScalarNode) or _SURROGATE.search(key.value):
            mistakes.append((f"line {line}", "a key must be plain text"))
        elif key.value in found:
            written = name if name.isprintable() else quoted(name)
            mistakes.append((written, f"written twice, in lines {lines[key.value]} and {line}"))
        else:
            found[key.value], lines[key.value] = _plain(value, name, mistakes), line
    return found if node else None


def scalar(text: str) -> Any:
    """What unquoted text means."""
    if text in ("", "~", "null"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    return text


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
