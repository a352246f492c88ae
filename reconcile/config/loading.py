"""Loads the sidecar's configuration from its file, or says all that is wrong with it.

There is only the file: what lets the steward write must not come from a variable that two containers share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from exporter.config.file import opened
from exporter.config.keys import Key, below, keys_within, refusals
from exporter.config.mistakes import Mistake, Mistakes, listed
from exporter.config.outside import is_local

from ..plan.remediation import Remediation
from .forms import DAYS, MODES, Blackout, ConfiguredMode, Day, NamespaceSelector, Window
from .settings import SidecarConfig, may_write, model_of

_MOST = 200  # windows and namespaces of which mistakes are explained one by one


@dataclass(frozen=True)
class LoadedSidecar:
    """`digest` is that of the file; without one, of an empty file. `empty` is the file where it has nothing."""

    config: SidecarConfig
    digest: str
    empty: str = ""

    def waiting(self, started: LoadedSidecar) -> tuple[str, ...]:
        """The keys whose change takes effect at the next start alone."""
        fields = SidecarConfig.model_fields.items()
        return tuple(
            field.alias or name
            for name, field in fields
            if name not in SidecarConfig.live and getattr(self.config, name) != getattr(started.config, name)
        )


def load(remediations: Iterable[Remediation], file: Path | None) -> LoadedSidecar | Mistakes:
    model = model_of(remediations)
    read = opened(file)
    tree, mistakes = read.tree, list(read.mistakes)
    keys = (*_listed(tree, model), *keys_within(model))
    for _, path, what in refusals(tree, model, keys):
        mistakes.append(Mistake(str(file), path.removesuffix(".[key]"), what))
    if mistakes:
        return Mistakes(tuple(mistakes))
    config = model.model_validate({} if tree is None else tree, by_alias=True, by_name=False)
    mistakes += (Mistake(str(file), path, what) for path, what in _of_the_whole(config))
    return Mistakes(tuple(mistakes)) if mistakes else LoadedSidecar(config, read.digest, read.empty)


def _listed(tree: Any, model: type[SidecarConfig]) -> Iterator[Key]:
    """The keys of windows, blackouts and namespaces, as many as the file has: in no model."""
    blackouts = below(tree, ("blackouts",))
    for number in range(min(len(blackouts), _MOST) if isinstance(blackouts, list) else 0):
        yield from keys_within(Blackout, ("blackouts", str(number)))
        noun = "mapping such as {from: 2026-12-20, to: 2027-01-06, reason: year end}"
        yield Key(("blackouts", str(number)), Blackout, noun, "", None)
    windows = below(tree, ("windows",))
    for number in range(min(len(windows), _MOST) if isinstance(windows, list) else 0):
        at = ("windows", str(number))
        yield from (Key((*at, "days", str(day)), Day, listed(DAYS), "", None) for day in range(len(DAYS)))
        yield from keys_within(Window, at)
        yield Key(at, Window, "mapping such as {days: [Sat]}", "", None)
    for key in keys_within(model):
        if key.path[-1] == "namespaces":
            namespaces = below(tree, key.path)
            for name in list(namespaces)[:_MOST] if isinstance(namespaces, dict) else ():
                yield Key((*key.path, name), ConfiguredMode, MODES, "", None)
        if key.path[-1] == "namespaceSelectors":
            selectors = below(tree, key.path)
            for number in range(min(len(selectors), _MOST) if isinstance(selectors, list) else 0):
                yield from keys_within(NamespaceSelector, (*key.path, str(number)))
                noun = "mapping such as {matchLabels: {tier: test}, mode: auto}"
                yield Key((*key.path, str(number)), NamespaceSelector, noun, "", None)


def _of_the_whole(config: SidecarConfig) -> Iterator[tuple[str, str]]:
    """What is wrong with values that are right by themselves: path and sentence."""
    for name in ("source", "alertmanager"):
        section: Any = getattr(config, name)
        url = urlsplit(section.url or "")
        if section.token_file and not section.url:
            yield f"{name}.tokenFile", f"no server to send it to: set {name}.url too"
        elif section.token_file and url.scheme == "http" and not is_local(url.hostname or ""):
            yield f"{name}.url", "a token would be sent unencrypted. Use https, or omit tokenFile"
    if config.source.server_name and not (config.source.url or "").startswith("https:"):
        yield "source.serverName", "only https has a server certificate. Write source.url with https"
    key, why = config.tls.mistake(config.insecure)
    if key:
        yield key, why


# What of a changed configuration takes effect while the sidecar runs. Pure.


def in_effect(started: SidecarConfig, new: SidecarConfig) -> SidecarConfig:
    """The new one, but for what takes effect at the next start alone."""
    return started.model_copy(update={name: getattr(new, name) for name in SidecarConfig.live})


def reloaded(
    started: LoadedSidecar, new: LoadedSidecar | Mistakes, remediations: Iterable[Remediation], file: Path | None
) -> LoadedSidecar | Mistakes:
    """Refused also where something may be written now, and nothing could be when it was started: without a Lease."""
    remediations = tuple(remediations)
    if isinstance(new, Mistakes) or may_write(started.config, remediations) or not may_write(new.config, remediations):
        return new
    why = "nothing could be written when the sidecar was started, and so it holds no Lease; restart it"
    return Mistakes((Mistake(str(file), "mode", why),))
