"""Puts a configuration together: flag over environment over file over default; or says all that is wrong with it.

What is overridden is looked at all the same, so that a mistake does not wait until the flag goes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ..checks.base import Check
from ..model.kind import ApiKind
from .keys import CONFIG_VARIABLE, PREFIX, Key, keys_of
from .mistakes import Mistake, Mistakes, nearest
from .reader import read
from .settings import CheckSettings, Config
from .tree import Leaf, flat

__all__ = ["Loaded", "Sources", "Value", "digest_of", "load"]

# Kubernetes tells pods of services this way; one may be called `steward`.
_SERVICE = re.compile(r"(.*_)?(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)")


@dataclass(frozen=True)
class Sources:
    """Where values come from: a file or none, the environment, and flags by the key's name."""

    file: Path | None
    environment: Mapping[str, str]
    flags: Mapping[str, str]


@dataclass(frozen=True)
class Value:
    """A value in effect, and where it came from: `default`, `file`, `environment NAME`, `flag --name`."""

    value: Any
    origin: str


@dataclass(frozen=True)
class Loaded:
    """`digest` is that of the file; without one, of an empty file."""

    config: Config
    keys: tuple[Key, ...]
    values: Mapping[str, Value]
    digest: str


def load(checks: Iterable[Check], sources: Sources) -> Loaded | Mistakes:
    checks = tuple(checks)
    loading = _Loading(keys_of(checks))
    content = b""
    if sources.file is not None:
        place = str(sources.file)
        try:
            content = sources.file.read_bytes()
        except OSError as error:
            loading.wrong(place, "", f"it can't be read: {error.strerror or error}")
        loading.take_file(content, place)
    loading.take_environment(sources.environment)
    loading.take_flags(sources.flags)
    config = loading.config(checks)
    if loading.mistakes or config is None:
        return Mistakes(tuple(loading.mistakes))
    return Loaded(config, loading.keys, loading.values, digest_of(content))


def digest_of(content: bytes) -> str:
    """As `sha256sum FILE | cut -c1-12` gives it."""
    return hashlib.sha256(content).hexdigest()[:12]


@dataclass(frozen=True)
class _Place:
    """Where a value stands: for a mistake its place and path, for `Value` its origin."""

    place: str
    path: str
    origin: str


class _Loading:
    def __init__(self, keys: tuple[Key, ...]) -> None:
        self.keys = keys
        self.values = {key.name: Value(key.default, "default") for key in keys}
        self.places: dict[str, str] = {}  # where a value was set last
        self.bad: set[str] = set()  # keys of which a value was refused
        self.mistakes: list[Mistake] = []

    def wrong(self, place: str, path: str, what: str) -> None:
        self.mistakes.append(Mistake(place, path, what))

    def take_file(self, content: bytes, place: str) -> None:
        data, mistakes = read(content, place)
        self.mistakes += mistakes
        for each in flat(data, self.keys):
            if isinstance(each, Leaf):
                self._set(each.key, each.value, _Place(place, each.key.name, "file"))
            else:
                self.wrong(place, each.path, each.why)

    def take_environment(self, environment: Mapping[str, str]) -> None:
        known = {key.variable: key for key in self.keys}
        for name in sorted(environment):
            text = environment[name]
            if name in known and text:  # an empty variable is how manifests leave one out
                self._set(known[name], known[name].form.read(text), _Place("environment", name, f"environment {name}"))
            elif name not in known and name != CONFIG_VARIABLE and name.startswith(PREFIX):
                self._foreign(name, known)

    def _foreign(self, name: str, known: Mapping[str, Key]) -> None:
        """A variable that is ours by its look is a mistake; others may have names that begin like ours."""
        rest = name.removeprefix(PREFIX)
        if _SERVICE.fullmatch(rest):
            return
        near = nearest(rest, [variable.removeprefix(PREFIX) for variable in (*known, CONFIG_VARIABLE)], 0.75)
        if "__" in rest or (near and len(near) - 2 <= len(rest) <= len(near) + 2):
            hint = f'; did you mean "{PREFIX}{near}"?' if near else ""
            self.wrong("environment", name, f"no such key{hint}")

    def take_flags(self, flags: Mapping[str, str]) -> None:
        known = {key.name: key for key in self.keys}
        for name, text in flags.items():
            key = known[name]
            self._set(key, key.form.read(text), _Place("command line", key.flag, f"flag {key.flag}"))

    def _set(self, key: Key, value: Any, place: _Place) -> None:
        try:
            if value is None:
                raise ValueError(f"it has no value; write {key.form.title}, or leave it out")
            self.values[key.name] = Value(key.form.parse(value), place.origin)
            self.places[key.name] = place.place
        except ValueError as error:
            self.bad.add(key.name)
            self.wrong(place.place, place.path, str(error))

    # -- the whole

    def config(self, checks: tuple[Check, ...]) -> Config | None:
        settings: dict[str, CheckSettings] = {}
        for check in checks:
            top = ("checks", check.id)
            enabled = self.values[f"checks.{check.id}.enabled"].value
            if any(name.startswith(f"checks.{check.id}.") for name in self.bad):
                continue
            try:
                own = self._struct(check.settings, top) if check.settings else None
            except ValueError as error:  # of the struct's __post_init__: values that do not go together
                self.wrong(self._place(top), ".".join(top), str(error))
                continue
            settings[check.id] = CheckSettings(enabled, own)
        if not any(isinstance(kind, ApiKind) for c in checks if self._enabled(c) for kind in c.reads):
            self.wrong(self._place(("checks",)), "checks", "nothing would be looked at; leave a check enabled")
        made = self._struct(Config, ())
        return msgspec.structs.replace(made, checks=settings) if isinstance(made, Config) else None

    def _enabled(self, check: Check) -> bool:
        return bool(self.values[f"checks.{check.id}.enabled"].value)

    def _place(self, top: tuple[str, ...]) -> str:
        start = ".".join(top) + "."
        return next((place for name, place in self.places.items() if name.startswith(start)), "configuration")

    def _struct(self, struct: type[msgspec.Struct], top: tuple[str, ...]) -> msgspec.Struct:
        fields: dict[str, Any] = {}
        for field in msgspec.structs.fields(struct):
            path = (*top, field.encode_name)
            if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
                fields[field.name] = self._struct(field.type, path)
            elif path != ("checks",):
                fields[field.name] = self.values[".".join(path)].value
        return struct(**fields)
