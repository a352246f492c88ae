"""Every key of the configuration, flat: what the file, the environment, flags and documentation share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from ..findings.check import Check
from .file import read, scalar
from .names import FLAGS, PREFIX
from .section import Section
from .settings import model_of

_LIVE = (
    "logLevel",
    "logFormat",
    "settle",
    "assumeUpstreamVersion",
    "seriesLimit",
    "acknowledged",
    "cluster",
    "links",
    "checks",
)  # what follows the file without a restart


@dataclass(frozen=True, eq=False)
class Key:
    """One value that can be set. `default` is as a file has it, None where there is none."""

    path: tuple[str, ...]
    type: Any
    title: str  # `whole number of series, 2 to 10000000`
    meaning: str
    default: Any
    entries: tuple[Key, ...] = ()  # what each mapping of a list of them may have

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return PREFIX + "__".join(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", part).upper() for part in self.path)

    @property
    def flag(self) -> str:
        """The flag that sets it; empty where there is none."""
        return FLAGS.get(self.name, "")

    @property
    def live(self) -> bool:
        """Whether a change takes effect while the steward runs."""
        return self.path[0] in _LIVE and self.path[2:] != ("enabled",)

    def read(self, text: str) -> Any:
        """What the text of a variable or flag would be in a file."""
        if self.type in (bool, int, float) or isinstance(self.default, bool):
            return scalar(text)
        if self.entries:  # as it is written in a file
            found, mistakes = read(text.encode("utf-8", "surrogateescape"))
            return text if mistakes else found
        return [part.strip() for part in text.split(",")] if isinstance(self.default, list) else text


def keys_of(checks: Iterable[Check]) -> tuple[Key, ...]:
    """All keys, in the order of their declaration. Raises TypeError for settings that can't be written in a file."""
    return tuple(keys_within(model_of(tuple(checks))))


def keys_within(section: type[Section], top: tuple[str, ...] = ()) -> Iterator[Key]:
    """The keys of a section and of those in it, in the order of their declaration."""
    return _keys(section, top, section.model_construct().model_dump(mode="json"))


def _keys(section: type[Section], top: tuple[str, ...], defaults: Any) -> Iterator[Key]:
    for field in section.model_fields.values():
        kind: Any = field.annotation
        name = field.alias or ""
        if isinstance(kind, type) and issubclass(kind, Section):
            yield from _keys(kind, (*top, name), defaults[name])
        else:
            options = get_args(kind) if get_origin(kind) in (Union, UnionType) else ()
            given = next((each for each in options if get_origin(each) is Literal), kind)  # without the None
            entries = tuple(_entries(kind, (*top, name)))
            yield Key((*top, name), given, field.title or "", field.description or "", defaults.get(name), entries)


def _entries(kind: Any, path: tuple[str, ...]) -> Iterator[Key]:
    """Of a list of mappings, what may be in one."""
    for each in get_args(kind):
        if isinstance(each, type) and issubclass(each, Section):
            yield from _keys(each, path, {})


def below(tree: Any, path: Iterable[str]) -> Any:
    """What stands at a path, None where nothing does."""
    for part in path:
        tree = tree.get(part) if isinstance(tree, dict) else None
    return tree


def tree_of(values: Mapping[Key, Any]) -> dict[str, Any]:
    """As a file with these values is read."""
    tree: dict[str, Any] = {}
    for key, value in values.items():
        section = tree
        for part in key.path[:-1]:
            section = section.setdefault(part, {})
        section[key.path[-1]] = value
    return tree
