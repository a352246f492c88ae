"""What is on trial where a remediation begins in mode `auto`, and how far that is. Pure.

It begins anew with what may make the repair another one: another release, other writes that the remediation declares,
and other places where it is in mode `auto`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from typing import Literal

import msgspec

from exporter.version import installed

from ..config.settings import Mode, SidecarConfig, mode_of, modes_of
from ..ledger.history import History
from ..plan.remediation import Remediation

CanaryState = Literal["first", "second", "over", "stopped"]
_STEPS: Mapping[int, CanaryState] = {0: "over", 1: "first", 2: "second"}


class ShownCanary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far the canary of a remediation is. `objects` are what is still followed; of one that has stopped `object`,
    `attempt` and `why` say by what, and `at` when, in seconds since 1970.
    """

    remediation: str
    state: CanaryState
    objects: tuple[str, ...] = ()
    object: str = ""
    attempt: str = ""
    why: str = ""
    at: float | None = None


def tried(config: SidecarConfig, remediation: Remediation) -> str:
    """Names what is on trial: as long as it is the same, the trial goes on."""
    own = config.of(remediation.id)
    where = sorted((name, Mode(mode) is Mode.AUTO) for name, mode in own.namespaces.items())
    where += sorted((str(each.selector), each.mode == Mode.AUTO.value) for each in own.namespace_selectors)
    return _named(remediation, mode_of(config, remediation.id, "") is Mode.AUTO, tuple(where))


@cache
def _named(remediation: Remediation, everywhere: bool, where: tuple[tuple[str, bool], ...]) -> str:
    writes = sorted((each.group, each.resource, each.verbs) for each in remediation.writes)
    return sha256(msgspec.json.encode((_release(), writes, everywhere, where))).hexdigest()[:16]


@cache
def _release() -> str:
    return installed()


def on_trial(config: SidecarConfig, remediation: Remediation, history: History) -> str:
    """What the next write in mode `auto` tries; empty where nothing is on trial any more."""
    if not config.canary_of(remediation.id).enabled:
        return ""
    of = tried(config, remediation)
    return of if history.canary(remediation.id).step(of) else ""


def shown(config: SidecarConfig, remediations: Iterable[Remediation], history: History) -> list[ShownCanary]:
    """Of those that are in mode `auto` anywhere and begin so."""
    return [
        _shown(config, each, history)
        for each in remediations
        if each.writes and config.canary_of(each.id).enabled and _automatic(config, each)
    ]


def _automatic(config: SidecarConfig, remediation: Remediation) -> bool:
    return not remediation.proposes_only and Mode.AUTO in modes_of(config, remediation.id)


def _shown(config: SidecarConfig, remediation: Remediation, history: History) -> ShownCanary:
    found = history.canary(remediation.id)
    objects = tuple(sorted({each.object for own in found.pending.values() for each in own}))
    if strike := found.strike:
        return ShownCanary(
            remediation=remediation.id,
            state="stopped",
            objects=objects,
            object=strike.object,
            attempt=strike.attempt,
            why=strike.why,
            at=strike.at,
        )
    state = _STEPS[found.step(tried(config, remediation))]
    return ShownCanary(remediation=remediation.id, state=state, objects=objects)
