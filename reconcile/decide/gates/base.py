"""What gates are asked, and what they answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec

from exporter.facts.record import Ref
from exporter.facts.times import Skew

from ...config.settings import Mode, SidecarConfig
from ...ledger.history import Attempt, History
from ...plan.remediation import Remediation
from ..storms import Storm

Labels: TypeAlias = Mapping[str, tuple[str, ...]]
"""The labels of the alert of a finding, each with the values that it may have: "" where it may lack the label."""


class Blocked(msgspec.Struct, frozen=True):
    """A gate is closed: its id, one sentence why and what to do, and until when where that is known.

    `until` is in seconds since 1970.
    """

    gate: str
    why: str
    until: float | None = None


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One write that is considered.

    `target` is the existing object that the write is about, known once it is planned. `annotations` are those of every
    object whose pause counts, by its kind and path: of the target, and of "VirtualMachine NAMESPACE/VM" where `vm` is
    not empty. They are None for one that can't be read, and empty for a VM that is gone. All of it is None before they
    were read. `since` is when the finding opened, in seconds since 1970. `planned` is how many writes this run made.
    """

    remediation: Remediation
    namespace: str
    subject: Ref
    check: str
    fingerprint: str
    mode: Mode
    target: Ref | None = None
    vm: str = ""
    since: float | None = None
    labels: Labels = field(default_factory=dict)
    annotations: Mapping[str, Mapping[str, Any] | None] | None = None
    planned: int = 0


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What holds of us and of the platform now. None is what could not be seen, and blocks."""

    now: float  # seconds since 1970
    leading: bool
    paused: str | None  # why everything is paused (the Lease's annotation); empty where it is not
    namespaces: Mapping[str, Mapping[str, Any] | None]  # annotations by namespace
    history: History
    storm: Storm  # of all namespaces
    fleet: int | None  # number of VMs
    source_age: float | None  # seconds since the exporter's last answer
    ready: bool  # whether the exporter says so
    unknown_checks: frozenset[str] | None  # without an answer anywhere
    upgrading: bool | None  # KubeVirt
    silenced: Callable[[Ask], str | None]  # by what, one clause; empty where it is not
    ledger: str  # why it can't be written; empty where it can
    skew: Skew | None  # between our clock and the API server's
    by_hand: Callable[[], Iterable[Attempt] | str]  # attempts of people without an end, not in our ledger; or why not
    storms: Mapping[str, Storm] = field(default_factory=dict)  # by namespace, of those that have one
    # Of namespaces, where a mode depends on them; None, or none, where they could not be read.
    labels: Mapping[str, Mapping[str, str] | None] = field(default_factory=dict)
    vms: Mapping[str, int | None] = field(default_factory=dict)  # their number by namespace, where it was asked for


@dataclass(frozen=True)
class Gate:
    """`title` is what must hold. It is asked in `modes`; with `reads` only once the objects' annotations are read. One
    that `lasts` stays closed until a person does something; any other opens by itself.
    """

    id: str
    title: str
    blocks: Callable[[Ask, Situation, SidecarConfig], str | tuple[str, float | None] | None]
    modes: frozenset[Mode]
    reads: bool = False
    lasts: bool = False

    def __call__(self, ask: Ask, situation: Situation, config: SidecarConfig) -> Blocked | None:
        found = self.blocks(ask, situation, config)
        if found is None:
            return None
        return Blocked(self.id, found) if isinstance(found, str) else Blocked(self.id, *found)
