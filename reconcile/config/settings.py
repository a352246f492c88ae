"""What can be set of the sidecar, with its defaults. With these nothing is written: every remediation only plans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from pydantic import Field, Strict, create_model

from exporter.config.forms import Address, Duration, HostNames, OptionalDuration, OptionalText, Section, Text, setting
from exporter.config.settings import HOSTS, INSECURE, TLSSettings

from ..plan.remediation import Remediation
from .forms import (
    MODES,
    AlertmanagerSettings,
    Blackout,
    ConfiguredMode,
    NamespaceName,
    NamespaceSelector,
    SourceSettings,
    Window,
)

__all__ = ["ConfiguredMode", "Mode", "RemediationSettings", "SidecarConfig", "model_of"]


class Mode(StrEnum):
    """How a plan comes to be carried out. APPLY and UNDO are what a person asks for; they can't be configured."""

    OFF = "off"  # not even planned
    PLAN = "plan"  # planned and shown, never carried out
    SHADOW = "shadow"  # as AUTO, and instead of the write there is an entry in the ledger
    APPROVE = "approve"  # carried out when an annotation of the object has the plan's hash
    AUTO = "auto"
    APPLY = "apply"
    UNDO = "undo"


class CanarySettings(Section):
    """How a remediation begins in `auto`: with one repair, then two, each followed until its finding stayed gone."""

    enabled: bool = setting(True, "Start with one repair, then two, before only the limits apply.")
    stays: Duration = setting("1h", "How long a finding must stay resolved.", low="1s", high="30d")


class CanaryOverride(Section):
    """The same of one remediation, where it is another than that of all."""

    enabled: bool | None = setting(None, "Whether it starts with a canary. Without it: as all do.", "true or false")
    stays: OptionalDuration = setting(
        None, "How long its findings must stay resolved. Without it: as for all remediations.", "duration", "1s", "30d"
    )


class RemediationSettings(Section):
    """What is set of one remediation."""

    mode: ConfiguredMode | None = setting(None, "Its mode. Without it: the mode of all remediations.", MODES)
    namespaces: dict[NamespaceName, ConfiguredMode] = setting(
        {}, "Modes of single namespaces, which take precedence.", "mapping of namespaces to modes"
    )
    namespace_selectors: Annotated[tuple[NamespaceSelector, ...], Strict(False)] = setting(
        (),
        "Modes of namespaces by labels, for those not in `namespaces`. The strictest of several applies.",
        "list of selectors",
    )
    min_age: Duration = setting("10m", "Least age of a finding for which the sidecar writes.", low="0s", high="30d")
    canary: CanaryOverride = Field(default_factory=CanaryOverride)


class BudgetSettings(Section):
    """How much may be written at most."""

    run: int = setting(5, "Limit of writes in one run.", "whole number of writes", 0, 1000)
    hour: int = setting(20, "Limit of writes within an hour.", "whole number of writes", 0, 10_000)
    namespace_hour: int = setting(5, "Limit of writes in one namespace and hour.", "whole number of writes", 0, 10_000)
    fleet_share: float = setting(
        0.05, "Share of all VMs that can be touched within a day: at least one VM unless it is 0.", "number", 0, 1
    )


class StormSettings(Section):
    """When so many findings are new at once that their cause is elsewhere, and nothing is written there."""

    share: float = setting(
        0.1, "Ratio of new findings to VMs, of a namespace or of all, from which it is a storm.", "number", 0, 1
    )
    at_least: int = setting(10, "Fewer new findings are never a storm.", "whole number of findings", 1, 1_000_000)
    window: Duration = setting("15m", "How long a finding is new.", low="1m", high="1d")
    namespaces: int = setting(
        5,
        "Least number of namespaces with new findings for a storm that stops repairs in all namespaces.",
        "whole number of namespaces",
        2,
        10_000,
    )
    longest: Duration = setting(
        "1d", "How long a storm lasts at most. The findings left then count as a backlog.", low="1m", high="90d"
    )
    cooldown: Duration = setting("15m", "How long nothing is written after a storm.", low="0s", high="7d")


class BreakerSettings(Section):
    """When a remediation that fails again and again rests."""

    failures: int = setting(
        3,
        "Failures in a row after which a remediation rests in a namespace, and namespaces after which it rests in all.",
        "whole number of failures",
        1,
        1000,
    )
    pause: Duration = setting("1h", "How long it rests after the last failure.", low="1s", high="30d")


class EditWarSettings(Section):
    """When somebody else undoes what is repaired: the object is paused until a person resumes it."""

    returns: int = setting(3, "Times that a repaired finding came back.", "whole number", 1, 1000)
    within: Duration = setting("24h", "Period in which they are counted.", low="1m", high="90d")


class ApprovalSettings(Section):
    """What an approval must be like."""

    longest: Duration = setting("24h", "Longest validity of an approval.", low="1m", high="30d")


class LedgerSettings(Section):
    """Where the record of all writes is kept."""

    directory: Text = setting("/var/lib/kubevirt-steward/ledger", "A directory that outlives the pod.", "text")
    max_file_size: int = setting(
        10_485_760, "Size in bytes at which a new file starts.", "whole number of bytes", 65_536, 2**30
    )
    max_age: Duration = setting("400d", "Age of entries at which their file is removed.", low="91d", high="3650d")
    # The volume that is deployed has a GiB.
    max_size: int = setting(
        805_306_368, "Size of all files at which the oldest files are removed.", "whole number of bytes", 2**20, 2**50
    )


class LeaseSettings(Section):
    """The Lease that one of several replicas holds: only that one writes."""

    namespace: OptionalText = setting(None, "Its namespace. Without it: the pod's.", "text")
    name: Text = setting("kubevirt-steward-reconcile", "Its name.", "text")
    duration: Duration = setting(
        "15s", "How long after its last renewal the Lease expires. A write needs 10 s of it.", low="15s", high="10m"
    )


class SidecarConfig(Section):
    """The configuration of the sidecar. What is `live` follows the file without a restart."""

    live: ClassVar[tuple[str, ...]] = (
        *("mode", "remediations", "budgets", "storm", "windows", "blackouts", "breaker", "canary", "approval"),
        *("interval", "verify_after"),
    )
    mode: ConfiguredMode = setting("plan", "Mode of remediations without a mode of their own.", MODES)
    remediations: Section = Field(default_factory=Section)
    budgets: BudgetSettings = Field(default_factory=BudgetSettings)
    storm: StormSettings = Field(default_factory=StormSettings)
    windows: Annotated[tuple[Window, ...], Strict(False)] = setting(
        (), "When the sidecar has permission to write. Without windows: always.", "list of windows"
    )
    blackouts: Annotated[tuple[Blackout, ...], Strict(False)] = setting(
        (), "When the sidecar does not write, even in an open window.", "list of blackouts"
    )
    breaker: BreakerSettings = Field(default_factory=BreakerSettings)
    edit_war: EditWarSettings = Field(default_factory=EditWarSettings)
    canary: CanarySettings = Field(default_factory=CanarySettings)
    approval: ApprovalSettings = Field(default_factory=ApprovalSettings)
    source: SourceSettings = Field(default_factory=SourceSettings)
    exporter_config: OptionalText = setting(None, "The exporter's configuration: the checks' settings.", "text")
    alertmanager: AlertmanagerSettings = Field(default_factory=AlertmanagerSettings)
    listen: Address = setting("127.0.0.1:9878", "Where metrics, plans and health are served.", "HOST:PORT")
    insecure: bool = setting(False, INSECURE)
    hosts: HostNames = setting((), HOSTS, "list of host names")
    tls: TLSSettings = Field(default_factory=TLSSettings)
    ledger: LedgerSettings = Field(default_factory=LedgerSettings)
    lease: LeaseSettings = Field(default_factory=LeaseSettings)
    interval: Duration = setting("30s", "Interval between two runs.", low="1s", high="1h")
    verify_after: Duration = setting("2m", "Time from a write to the check of its finding.", low="1s", high="1h")

    settle_after: Duration = setting(
        "3m",
        "How long a write without a response can still arrive: the API server's --request-timeout plus the longest "
        "delay of proxies in between.",
        low="1m",
        high="1h",
    )

    def of(self, remediation_id: str) -> RemediationSettings:
        found: RemediationSettings = getattr(self.remediations, remediation_id, RemediationSettings())
        return found

    def canary_of(self, remediation_id: str) -> CanarySettings:
        """What holds for one remediation."""
        own, of_all = self.of(remediation_id).canary, self.canary
        enabled = of_all.enabled if own.enabled is None else own.enabled
        return CanarySettings(enabled=enabled, stays=own.stays or of_all.stays)

    def by_labels(self, remediation_id: str, namespace: str) -> bool:
        """Whether the mode there depends on the labels of the namespace."""
        own = self.of(remediation_id)
        return bool(own.namespace_selectors and namespace and namespace not in own.namespaces)


@lru_cache(maxsize=8)
def _model(ids: tuple[str, ...]) -> type[SidecarConfig]:
    sections: Any = {
        each: (RemediationSettings, Field(default_factory=RemediationSettings, alias=each)) for each in ids
    }
    of_all = create_model("RemediationsSettings", __base__=Section, **sections)
    return create_model("Config", __base__=SidecarConfig, remediations=(of_all, Field(default_factory=of_all)))


def model_of(remediations: Iterable[Remediation]) -> type[SidecarConfig]:
    """The configuration with a section for each remediation."""
    return _model(tuple(each.id for each in remediations))


_ORDER = (Mode.OFF, Mode.PLAN, Mode.SHADOW, Mode.APPROVE, Mode.AUTO)


def mode_of(
    config: SidecarConfig, remediation_id: str, namespace: str, labels: Mapping[str, str] | None = MappingProxyType({})
) -> Mode:
    """The namespace's mode before that by its labels before the remediation's before that of all.

    Where the `labels` are not known, None, it is the one that allows the most: a gate is closed then.
    """
    own = config.of(remediation_id)
    named, rest = own.namespaces.get(namespace), own.mode or config.mode
    if named or not config.by_labels(remediation_id, namespace):
        return Mode(named or rest)
    if labels is None:
        possible = [Mode(rest), *(Mode(each.mode) for each in own.namespace_selectors if each.mode)]
        return max(possible, key=_ORDER.index)
    found = [Mode(each.mode) for each in own.namespace_selectors if each.mode and each.matches(labels)]
    return min(found, key=_ORDER.index) if found else Mode(rest)


def is_stricter(mode: Mode, than: Mode) -> bool:
    """Whether less is done by itself in one configured mode than in another."""
    return _ORDER.index(mode) < _ORDER.index(than)


def modes_of(config: SidecarConfig, remediation_id: str) -> set[Mode]:
    """All that it has anywhere."""
    own = config.of(remediation_id)
    selected = (Mode(each.mode) for each in own.namespace_selectors if each.mode)
    return {mode_of(config, remediation_id, ""), *map(Mode, own.namespaces.values()), *selected}


def may_write(config: SidecarConfig, remediations: Iterable[Remediation]) -> bool:
    """Whether any remediation is carried out anywhere, unasked or when approved."""
    return bool(_modes(config, remediations) & {Mode.APPROVE, Mode.AUTO})


def shadows(config: SidecarConfig, remediations: Iterable[Remediation]) -> bool:
    """Whether any remediation is in mode `shadow` anywhere."""
    return Mode.SHADOW in _modes(config, remediations)


def _modes(config: SidecarConfig, remediations: Iterable[Remediation]) -> set[Mode]:
    return {mode for each in remediations if not each.proposes_only for mode in modes_of(config, each.id)}
