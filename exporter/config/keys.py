"""Every key of the configuration, flat: what the file, the environment, flags and documentation share.

`refusals` leads from what pydantic refuses to a sentence that says what would be right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from ..findings.check import Check
from .file import read, scalar
from .forms import Section, write_duration
from .mistakes import listed, nearest, quoted
from .names import FLAGS, PREFIX
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


_MOST_HINTS = 100  # unknown keys for which the right name is looked for: it takes a while


def refusals(tree: Any, model: type[BaseModel], keys: tuple[Key, ...]) -> Iterator[tuple[Key | None, str, str]]:
    """The key, path and sentence of each mistake, in the order of the tree; pydantic has them in that of the model."""
    unknown = 0
    try:
        model.model_validate({} if tree is None else tree, by_alias=True, by_name=False)
    except ValidationError as error:
        order = {path: number for number, path in enumerate(_paths(tree, ()))}
        found = [(tuple(map(str, each["loc"])), each) for each in error.errors(include_url=False)]
        for path, each in sorted(found, key=lambda one: order.get(one[0], 0)):
            key = next((key for key in keys if key.path == path[: len(key.path)]), None)
            if key is not None and key.entries and len(path) > len(key.path):
                yield key, _shown(path), _of_entry(each, path, key)
                continue
            unknown += each["type"] == "extra_forbidden"
            if unknown > _MOST_HINTS and each["type"] == "extra_forbidden":
                yield key, _shown(path), "no such key"
            else:
                yield key, _shown(path), _why(each, path, key, keys)


def _paths(tree: Any, top: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield top
    for name, value in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield from _paths(value, (*top, str(name)))


def _of_entry(error: Mapping[str, Any], path: tuple[str, ...], key: Key) -> str:
    """What is wrong with a mapping of a list."""
    within = (*key.path, *path[len(key.path) + 1 :])
    field = next((each for each in key.entries if each.path == within[: len(each.path)]), None)
    if error["type"] == "missing" and field is not None:
        return f"it is missing. Write {field.title}"
    if field is None and error["type"] == "value_error":  # of the mapping as a whole
        return str(error["ctx"]["error"])
    return _why(error, within, field, key.entries)


def _why(error: Mapping[str, Any], path: tuple[str, ...], key: Key | None, keys: tuple[Key, ...]) -> str:
    value, written = error["input"], quoted(error["input"])
    if error["type"] == "extra_forbidden":
        return _unknown(path[-1], path[:-1], keys)
    if key is None:  # a section; a text in place of the whole may be anything, and is not shown
        what = written if path or not isinstance(value, str) else "text"
        return f"{what} is not allowed here. Write a mapping with {', '.join(_names(path, keys))}"
    noun, _, ends = key.title.partition(", ")
    match error["type"]:
        case "no_value":
            return f"it has no value. Write {key.title}, or omit it"
        case "value_error" if not isinstance(error["ctx"]["error"], UnicodeError):
            return str(error["ctx"]["error"])
        case "greater_than_equal" | "less_than_equal":
            number = write_duration(value) if isinstance(value, timedelta) else str(value)
            return f"{number[:20]} is out of range. It must be {ends}"
        case "too_long":
            return f"it has {error['ctx']['actual_length']} entries, and the limit is {error['ctx']['max_length']}"
        case "bool_type":
            return f"{written} is not true or false"
        case _ if get_origin(key.type) is Literal:
            options = get_args(key.type)
            near = nearest(value, options) if isinstance(value, str) else None
            hint = f'Did you mean "{near}"?' if near else f"Write {listed(options)}"
            return f"{written} is unknown. {hint}"
        case "string_type":
            hint = "" if isinstance(value, list | dict) else f'. Write it in quotes: "{written}"'
            return f"{written} is not text{hint}"
    return f"{written} is not a {noun}"


def _shown(path: tuple[str, ...]) -> str:
    return ".".join(part if part.isprintable() and 0 < len(part) < 80 else quoted(part) for part in path)


def _names(path: tuple[str, ...], keys: Iterable[Key]) -> list[str]:
    """The names that may stand in a section, in their order."""
    depth = len(path)
    return list(dict.fromkeys(key.path[depth] for key in keys if key.path[:depth] == path and len(key.path) > depth))


def _unknown(name: str, path: tuple[str, ...], keys: tuple[Key, ...]) -> str:
    what, names = "no such check" if path == ("checks",) else "no such key", _names(path, keys)
    if near := nearest(name, names):
        return f'{what}. Did you mean "{near}"?'
    elsewhere = {key.path[-1]: key.name for key in reversed(keys) if key.path[-1] != "enabled"}
    if right := elsewhere.get(nearest(name, elsewhere) or ""):
        return f'{what}. Did you mean "{right}"{"" if "." in right else " at the top"}?'
    return f"{what}. Known: {', '.join(names)}"
