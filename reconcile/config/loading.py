"""Loads the sidecar's configuration from its file, or says all that is wrong with it.

There is only the file: what lets the steward write must not come from a variable that two containers share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin
from urllib.parse import urlsplit

from exporter.config.keys import Key, below
from exporter.config.loading import content_of, digest_of
from exporter.config.mistakes import Mistake, Mistakes, listed
from exporter.config.reader import read
from exporter.config.refusals import refusals
from exporter.config.settings import Section

from ..plan.remediation import Remediation
from .forms import DAYS, Day, Window, is_local
from .settings import Config, ConfiguredMode, model_of

__all__ = ["Loaded", "keys_of", "load"]

_MOST = 200  # windows and namespaces of which mistakes are explained one by one


@dataclass(frozen=True)
class Loaded:
    """`digest` is that of the file; without one, of an empty file."""

    config: Config
    digest: str


def load(remediations: Iterable[Remediation], file: Path | None) -> Loaded | Mistakes:
    model = model_of(remediations)
    content, tree = b"", None
    mistakes: list[Mistake] = []
    if file is not None:
        try:
            content = content_of(file)
            tree, found = read(content)
        except OSError as error:
            found = [("", f"it can't be read: {error.strerror or error}")]
        mistakes += (Mistake(str(file), path, what) for path, what in found)
    keys = (*_listed(tree, model), *keys_of(model))
    for _, path, what in refusals(tree, model, keys):
        mistakes.append(Mistake(str(file), path.removesuffix(".[key]"), what))
    if mistakes:
        return Mistakes(tuple(mistakes))
    config = model.model_validate({} if tree is None else tree, by_alias=True, by_name=False)
    mistakes += (Mistake(str(file), path, what) for path, what in _of_the_whole(config))
    return Mistakes(tuple(mistakes)) if mistakes else Loaded(config, digest_of(content))


def keys_of(model: type[Section]) -> tuple[Key, ...]:
    """All keys, in the order of their declaration."""
    return tuple(_within(model, (), model().model_dump(mode="json")))


def _within(section: type[Section], top: tuple[str, ...], defaults: Any) -> Iterator[Key]:
    for field in section.model_fields.values():
        kind: Any = field.annotation
        name = field.alias or ""
        if isinstance(kind, type) and issubclass(kind, Section):
            yield from _within(kind, (*top, name), defaults[name])
        else:
            options = get_args(kind) if get_origin(kind) in (Union, UnionType) else ()
            given = next((each for each in options if get_origin(each) is Literal), kind)  # without the None
            yield Key((*top, name), given, field.title or "", field.description or "", defaults[name])


def _listed(tree: Any, model: type[Config]) -> Iterator[Key]:
    """The keys of windows and namespaces, as many as the file has: in no model."""
    windows = below(tree, ("windows",))
    for number in range(min(len(windows), _MOST) if isinstance(windows, list) else 0):
        at = ("windows", str(number))
        yield from (Key((*at, "days", str(day)), Day, listed(DAYS), "", None) for day in range(len(DAYS)))
        yield from _within(Window, at, Window().model_dump(mode="json"))
        yield Key(at, Window, "mapping such as {days: [Sat]}", "", None)
    for key in keys_of(model):
        if key.path[-1] == "namespaces":
            namespaces = below(tree, key.path)
            for name in list(namespaces)[:_MOST] if isinstance(namespaces, dict) else ():
                yield Key((*key.path, name), ConfiguredMode, "off, plan, approve or auto", "", None)


def _of_the_whole(config: Config) -> Iterator[tuple[str, str]]:
    """What is wrong with values that are right by themselves: path and sentence."""
    for name in ("source", "alertmanager", "prometheus"):
        section: Any = getattr(config, name)
        url = urlsplit(section.url or "")
        if section.token_file and not section.url:
            yield f"{name}.tokenFile", f"there is nobody to send it to; set {name}.url too"
        elif section.token_file and url.scheme == "http" and not is_local(url.hostname or ""):
            yield f"{name}.url", "a token would be sent unencrypted; use https, or leave tokenFile out"
    if config.prometheus.gate and not config.prometheus.url:
        yield "prometheus.gate", "there is nobody to ask; set prometheus.url too"
    if config.webhook.enabled and not config.webhook.token_file:
        yield "webhook.tokenFile", "whoever sends alerts must have a token; set it, or leave the webhook off"
    if config.source.server_name and not (config.source.url or "").startswith("https:"):
        yield "source.serverName", "a server has a certificate with https only; write source.url with https"
    key, why = config.tls.mistake(config.insecure)
    if key:
        yield key, why
