"""From YAML to JSON, only the wanted fields of each object.

Reads libyaml's events and builds only what is read: PyYAML's nodes and constructors on top of them cost ten times as
much. Go and Python differ in which plain scalars are numbers or booleans, and quote strings that would be: a scalar
that either of them writes plainly for a string is a string here. So are times, `52:54:00:12:34:56`, `1e3`, `089`, `y`,
and every key.

Aliases are resolved up to a limit. What is nested too deeply in an object is null. A document with an
alias into a skipped part is read again as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import yaml
from yaml._yaml import CParser
from yaml.events import (
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from .limits import DEEPEST_READ, DEEPEST_SKIPPED, Effort

Keep: TypeAlias = "Mapping[str, Keep | None]"  # wanted keys, and their wanted keys; None: all
KeepOf: TypeAlias = "Callable[[str, str], Keep | None]"  # by apiVersion and kind, empty while not known

_LONGEST = 68  # characters of an integer: 64 bits in base 2
_VALUE = 16  # characters that a value counts for beside its own
_LOOK = 1000  # events between two looks at the clock
_TOO_DEEP = f"it is nested more than {DEEPEST_READ} levels deep"
_HEAD = ("apiVersion", "kind")

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_INTEGER = re.compile(r"[-+]?(?:0x[0-9a-fA-F]+|0b[01]+|0[0-7]*|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+][0-9]+)?\Z")


class YamlError(ValueError):
    """Its text is one sentence."""


class _SkippedError(Exception):
    """An alias refers to a skipped part."""


def documents(text: bytes, keep_of: KeepOf, first_line: int = 0, effort: Effort | None = None) -> list[Any]:
    """The documents of a stream, with the fields to keep of each object. Raises YamlError.

    `first_line` is the position of the text in its file, for error messages. `effort` is what parsing may still cost.
    """
    if effort is None:
        effort = Effort()
        effort.begin(len(text))
    try:
        try:
            return _Reader(text, keep_of, effort).all()
        except _SkippedError:
            return _Reader(text, None, effort).all()
    except _SkippedError as error:
        raise YamlError(f"{error} refers to no anchor before it") from error
    except yaml.MarkedYAMLError as error:
        position = error.problem_mark or error.context_mark
        where = f"line {first_line + position.line + 1}: " if position else ""
        raise YamlError(f"not YAML: {where}{error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise YamlError("not YAML: " + " ".join(str(error).split())) from error


class _Reader:
    def __init__(self, text: bytes, keep_of: KeepOf | None, effort: Effort) -> None:
        self._next: Callable[[], Any] = CParser(text).get_event
        self._keep_of, self._effort = keep_of, effort
        self._anchors: dict[str, tuple[Any, int]] = {}  # each with its size
        self._size = 0  # of all values, in characters
        self._until_look = _LOOK

    def _event(self) -> Any:
        self._until_look -= 1
        if self._until_look < 0:
            self._until_look = _LOOK
            if self._effort.over:
                raise YamlError("it takes too long to parse")
        return self._next()

    def all(self) -> list[Any]:
        found = []
        while type(event := self._event()) is not StreamEndEvent:
            if type(event) is DocumentStartEvent:
                self._anchors.clear()
                found.append(self._object(self._event(), 0))
        return found

    def _object(self, event: Any, depth: int) -> Any:
        """An object or a list of objects; anything else as a whole."""
        if self._keep_of is None or type(event) not in (SequenceStartEvent, MappingStartEvent):
            return self._value(event, None, depth)
        if depth > DEEPEST_READ:
            raise YamlError(_TOO_DEEP)
        if type(event) is SequenceStartEvent:
            return self._sequence(lambda each: self._object(each, depth + 1), depth)
        keep_of, head = self._keep_of, dict.fromkeys(_HEAD, "")
        keep = keep_of("", "")

        def entry(key: str) -> Any:
            nonlocal keep
            if key in _HEAD:
                value = self._value(self._event(), None, depth)
                head[key] = value if isinstance(value, str) else ""
                keep = keep_of(head["apiVersion"], head["kind"])
                return value
            if key == "items" and (head["kind"].endswith("List") or not head["kind"]):
                return self._object(self._event(), depth + 1)
            return self._kept(key, keep, depth)

        return self._mapping(entry, depth)

    def _value(self, event: Any, keep: Keep | None, depth: int) -> Any:
        before = self._size
        self._size += _VALUE
        value: Any
        match event:
            case ScalarEvent():
                self._size += len(event.value)
                value = event.value if not event.implicit[0] or event.tag else _plain(event.value)
            case MappingStartEvent():
                value = self._mapping(lambda key: self._kept(key, keep, depth), depth)
            case SequenceStartEvent():
                value = self._sequence(lambda each: self._value(each, keep, depth + 1), depth)
            case _:
                return self._alias(event.anchor)
        if event.anchor is not None and keep is None:  # a partial value must not be used for an alias
            self._anchors[event.anchor] = value, self._size - before
        return value

    def _kept(self, key: str, keep: Keep | None, depth: int) -> Any:
        if keep is None:
            return self._value(self._event(), None, depth + 1)
        if key in keep:
            return self._value(self._event(), keep[key], depth + 1)
        self._skip()
        return _NOTHING

    def _mapping(self, entry: Callable[[str], Any], depth: int) -> Any:
        if depth > DEEPEST_READ:
            return self._cut()
        merged, built = dict[str, Any](), dict[str, Any]()
        while type(event := self._event()) is not MappingEndEvent:
            if type(event) is not ScalarEvent:
                raise YamlError(f"line {event.start_mark.line + 1}: a key is not a scalar")
            self._size += len(event.value)
            if event.value == "<<" and event.implicit[0]:
                value = self._value(self._event(), None, depth + 1)
                for each in reversed(value if isinstance(value, list) else [value]):
                    merged |= each if isinstance(each, dict) else {}
            elif (value := entry(event.value)) is not _NOTHING:
                built[event.value] = value
        return {**merged, **built} if merged else built

    def _sequence(self, entry: Callable[[Any], Any], depth: int) -> Any:
        if depth > DEEPEST_READ:
            return self._cut()
        built: list[Any] = []
        while type(event := self._event()) is not SequenceEndEvent:
            built.append(entry(event))
        return built

    def _alias(self, name: str) -> Any:
        if name not in self._anchors:
            raise _SkippedError(f"*{name}")
        value, size = self._anchors[name]
        self._size += size
        if not self._effort.expand(size):
            raise YamlError("its aliases expand to too much")
        return value

    def _cut(self) -> None:
        self._skip(1)

    def _skip(self, depth: int = 0) -> None:
        """Skips one value, or the rest of one whose start was read: `depth` is 1 then."""
        while True:
            kind = type(self._event())
            if kind is MappingStartEvent or kind is SequenceStartEvent:
                depth += 1
                if depth > DEEPEST_SKIPPED:
                    raise YamlError(f"it is nested more than {DEEPEST_SKIPPED} levels deep")
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                depth -= 1
            if not depth:
                return


_NOTHING = object()


def _plain(text: str) -> Any:
    """The value of a scalar without quotes or tag."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if len(text) <= _LONGEST and _INTEGER.match(text):
        digits = text.lstrip("+-")
        base = 0 if digits[1:2] in ("x", "b") else 8 if digits[0] == "0" else 10
        number = int(text, base)
        return number if -(2**63) <= number < 2**64 else float(number)  # as JSON has them
    return float(text) if _FLOAT.match(text) else text
