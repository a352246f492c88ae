"""Puts a configuration together: flag over environment over file over default; or says all that is wrong with it.

What is overridden is validated all the same, so that a mistake does not wait until the flag goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from ..findings.check import Check
from ..store.kind import ApiKind
from .file import opened
from .keys import Key, below, keys_of, refusals, tree_of
from .mistakes import Mistake, Mistakes, nearest
from .names import CONFIG_VARIABLE, PREFIX
from .settings import Config, model_of

# Kubernetes sets such variables for a service; one may be called `steward`.
_SERVICE = re.compile(r"(.*_)?(SERVICE_HOST|SERVICE_PORT|PORT)(_.*)?")


@dataclass(frozen=True)
class Sources:
    """Where values come from: a file or none, the environment, and flags by the key's name."""

    file: Path | None
    environment: Mapping[str, str]
    flags: Mapping[str, str]


@dataclass(frozen=True)
class Value:
    """A value in effect as a file has it, and its origin: `default`, `file`, `environment NAME`, `flag --name`."""

    value: Any
    origin: str


@dataclass(frozen=True)
class Loaded:
    """`digest` is that of the file; without one, of an empty file. `empty` is the file where it has nothing."""

    config: Config
    keys: tuple[Key, ...]
    values: Mapping[str, Value]
    digest: str
    empty: str = ""

    def waiting(self, started: Loaded) -> tuple[str, ...]:
        """The keys whose change takes effect at the next start alone."""
        return tuple(
            key.name
            for key in self.keys
            if not key.live and self.values[key.name].value != started.values[key.name].value
        )


@dataclass(frozen=True)
class _Layer:
    """What one source sets, as a file would have it, and what a key and its origin are called there."""

    place: str
    tree: Any
    named: Callable[[Key], str]
    origin: str


def load(checks: Iterable[Check], sources: Sources) -> Loaded | Mistakes:
    checks = tuple(checks)
    model, keys = model_of(checks), keys_of(checks)
    mistakes: list[Mistake] = []
    file = opened(sources.file)
    mistakes += file.mistakes
    given = {name: text for name, text in sources.environment.items() if text}  # by "" a manifest leaves one out
    variables = {key: key.read(given[key.variable]) for key in keys if key.variable in given}
    flags = {key: key.read(sources.flags[key.name]) for key in keys if key.name in sources.flags}
    set_by: dict[Key, _Layer] = {}
    refused: set[Key] = set()
    for layer in (
        _Layer(str(sources.file), file.tree, attrgetter("name"), "file"),
        _Layer("environment", tree_of(variables), attrgetter("variable"), "environment {}"),
        _Layer("command line", tree_of(flags), attrgetter("flag"), "flag {}"),
    ):
        wrong = list(refusals(layer.tree, model, keys))
        refused |= {key for key, _, _ in wrong if key}
        set_by |= {key: layer for key in keys if key not in refused and below(layer.tree, key.path) is not None}
        reported = [Mistake(layer.place, _called(layer, key, path), what) for key, path, what in wrong]
        if layer.place == "environment":
            reported = sorted([*reported, *_foreign(sources.environment, keys)], key=attrgetter("path"))
        mistakes += reported
    values = {key: below(layer.tree, key.path) for key, layer in set_by.items() if key not in refused}
    config = model.model_validate(tree_of(values), by_alias=True, by_name=False)
    for path, what in _of_the_whole(config, checks, refused):
        places = [layer.place for key, layer in set_by.items() if f"{key.name}.".startswith(f"{path}.")]
        mistakes.append(Mistake(next(iter(places), "configuration"), path, what))
    if mistakes:
        return Mistakes(tuple(mistakes))
    written = config.model_dump(mode="json")
    origins = {key: layer.origin.format(layer.named(key)) for key, layer in set_by.items()}
    shown = {key.name: Value(below(written, key.path), origins.get(key, "default")) for key in keys}
    return Loaded(config, keys, shown, file.digest, file.empty)


def _called(layer: _Layer, key: Key | None, path: str) -> str:
    """Of a list of mappings, a file shows in which of them it is."""
    return path if key is None or (key.entries and layer.origin == "file") else layer.named(key)


def _foreign(environment: Iterable[str], keys: Iterable[Key]) -> Iterator[Mistake]:
    """A variable that is ours by its look is a mistake; others may have names that begin like ours."""
    known = [key.variable.removeprefix(PREFIX) for key in keys] + [CONFIG_VARIABLE.removeprefix(PREFIX)]
    for name in environment:
        rest = name.removeprefix(PREFIX)
        if rest != name and rest not in known and not _SERVICE.fullmatch(rest):
            near = nearest(rest, known, 0.75)
            if "__" in rest or (near and abs(len(near) - len(rest)) <= 2):
                hint = f'. Did you mean "{PREFIX}{near}"?' if near else ""
                yield Mistake("environment", name, f"no such key{hint}")


def _of_the_whole(config: Config, checks: Iterable[Check], refused: Iterable[Key]) -> Iterator[tuple[str, str]]:
    """What is wrong with values that are right by themselves: path and sentence."""
    for check in checks:
        if not any(key.path[:2] == ("checks", check.id) for key in refused):
            try:
                _ = config.of(check.id).settings
            except ValueError as error:  # of the struct's __post_init__
                yield f"checks.{check.id}", str(error)
    if "acknowledged" not in {key.name for key in refused}:
        yield from _doubled(each.cause for each in config.acknowledged)
    key, why = config.tls.mistake(config.insecure)
    if key:
        yield key, why
    key, why = config.reconcile.mistake
    if key and not any(each.path[0] == "reconcile" for each in refused):
        yield f"reconcile.{key}", why
    if not config.cluster and any("cluster" in link.fields for link in config.links):
        yield "links", "{cluster} has no value. Set cluster too"
    if not any(isinstance(kind, ApiKind) for check in checks if config.of(check.id).enabled for kind in check.reads):
        yield "checks", "no check would run. Leave at least one check enabled"


def _doubled(causes: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Which of two entries holds would depend on their order."""
    first: dict[str, int] = {}
    for number, cause in enumerate(causes):
        if first.setdefault(cause, number) != number:
            yield "acknowledged", f"entries {first[cause]} and {number}, counted from 0, are of the same cause {cause}"
