"""What can be set of the sidecar, with its defaults. With these nothing is written: every remediation only plans."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import Field, Strict, create_model

from exporter.config.forms import Address, Duration, HostNames, OptionalHostName, OptionalText, Text, setting
from exporter.config.settings import HOSTS, INSECURE, Section, TLSSettings

from ..plan.remediation import Remediation
from .forms import URL, NamespaceName, OptionalURL, Window

__all__ = ["ConfiguredMode", "Mode", "RemediationSettings", "SidecarConfig", "may_write", "mode_of", "model_of"]

_MODES = "off, plan, approve or auto"
ConfiguredMode = Literal["off", "plan", "approve", "auto"]


class Mode(StrEnum):
    """How a plan comes to be carried out. APPLY and UNDO are what a person asks for; they can't be configured."""

    OFF = "off"  # not even planned
    PLAN = "plan"  # planned and shown, never carried out
    APPROVE = "approve"  # carried out when an annotation of the object has the plan's hash
    AUTO = "auto"
    APPLY = "apply"
    UNDO = "undo"


class RemediationSettings(Section):
    """What is set of one remediation."""

    mode: ConfiguredMode | None = setting(None, "Its mode. Without it: that of all.", _MODES)
    namespaces: dict[NamespaceName, ConfiguredMode] = setting(
        {}, "Modes of single namespaces, which take precedence.", "mapping of namespaces to modes"
    )
    min_age: Duration = setting("10m", "How old a finding is before the sidecar writes for it.", low="0s", high="30d")


class BudgetSettings(Section):
    """How much may be written at most."""

    run: int = setting(5, "Writes of one run.", "whole number of writes", 0, 1000)
    hour: int = setting(20, "Writes within an hour.", "whole number of writes", 0, 10_000)
    namespace_hour: int = setting(5, "Writes within an hour in one namespace.", "whole number of writes", 0, 10_000)
    fleet_share: float = setting(
        0.05, "Share of all VMs that may be touched within a day; at least one VM unless it is 0.", "number", 0, 1
    )


class StormSettings(Section):
    """When so many findings are new at once that their cause is elsewhere, and nothing is written there."""

    share: float = setting(
        0.1, "New findings by VMs, of a namespace or of all, from which it is a storm.", "number", 0, 1
    )
    at_least: int = setting(10, "Fewer new findings are never a storm.", "whole number of findings", 1, 1_000_000)
    window: Duration = setting("15m", "How long a finding is new.", low="1m", high="1d")
    namespaces: int = setting(
        5,
        "Of so many namespaces at least are the findings of a storm that stops all others too.",
        "whole number of namespaces",
        2,
        10_000,
    )
    longest: Duration = setting(
        "1d", "How long a storm lasts at most: what is left of it is a backlog then.", low="1m", high="90d"
    )
    cooldown: Duration = setting("15m", "How long after a storm nothing is written.", low="0s", high="7d")


class BreakerSettings(Section):
    """When a remediation that fails again and again rests."""

    failures: int = setting(
        3,
        "Failures in a row, of one remediation in one namespace, which then rests; and namespaces, for all.",
        "whole number of failures",
        1,
        1000,
    )
    pause: Duration = setting("1h", "How long it rests after the last of them.", low="1s", high="30d")


class EditWarSettings(Section):
    """When somebody else undoes what is repaired: the object is paused until a person resumes it."""

    returns: int = setting(3, "Times that a repaired finding came back.", "whole number", 1, 1000)
    within: Duration = setting("24h", "In what time.", low="1m", high="90d")


class ApprovalSettings(Section):
    """What an approval must be like."""

    longest: Duration = setting("24h", "The longest time for which one may be given.", low="1m", high="30d")


class SourceSettings(Section):
    """The exporter whose findings are taken as hints."""

    url: URL = setting("http://127.0.0.1:9877", "Where its API is.", "URL")
    token_file: OptionalText = setting(None, "File with the bearer token to send; read anew each time.", "text")
    ca_file: OptionalText = setting(None, "File with the CA certificates to trust instead of the system's.", "text")
    server_name: OptionalHostName = setting(
        None, "The name that its certificate has to be for. Without it: the URL's host.", "host name"
    )
    oldest: Duration = setting("2m", "Nothing is written on what it saw longer ago.", low="5s", high="1h")


class AlertmanagerSettings(Section):
    """The Alertmanager whose silences pause what they silence."""

    url: OptionalURL = setting(None, "Where its API is. Without it silences are not asked for.", "URL")
    token_file: OptionalText = setting(None, "File with the bearer token to send; read anew each time.", "text")
    ca_file: OptionalText = setting(None, "File with the CA certificates to trust instead of the system's.", "text")
    labels: dict[Text, str] = setting(
        {},
        "Labels that Prometheus adds to every alert (`external_labels`). A silence that names any other label counts "
        "as one of ours.",
        "mapping of labels to values",
    )


class PrometheusSettings(Section):
    """The Prometheus that is asked before anything is written."""

    url: OptionalURL = setting(None, "Where its API is.", "URL")
    token_file: OptionalText = setting(None, "File with the bearer token to send; read anew each time.", "text")
    ca_file: OptionalText = setting(None, "File with the CA certificates to trust instead of the system's.", "text")
    gate: OptionalText = setting(None, "PromQL: nothing is written while it has a result, or no answer.", "text")


class WebhookSettings(Section):
    """The receiver for Alertmanager's webhook. With it nothing runs in `auto` whose alert does not fire."""

    enabled: bool = setting(False, "Take alerts at /api/v1/alerts.")
    token_file: OptionalText = setting(None, "File with the bearer token that Alertmanager sends.", "text")
    repeat: Duration = setting(
        "5h",
        "An alert that was not repeated for so long no longer fires: more than repeat_interval.",
        low="1m",
        high="30d",
    )


class LedgerSettings(Section):
    """Where the record of all writes is kept."""

    directory: Text = setting("/var/lib/kubevirt-steward/ledger", "A directory that outlives the pod.", "text")
    max_file_size: int = setting(
        10_485_760, "A file of it ends at so many bytes.", "whole number of bytes", 65_536, 2**30
    )
    max_age: Duration = setting("400d", "A file is removed when all its entries are older.", low="91d", high="3650d")
    # The volume that is deployed has a GiB.
    max_size: int = setting(
        805_306_368,
        "The oldest files are removed when all of them are larger than this.",
        "whole number of bytes",
        2**20,
        2**50,
    )


class LeaseSettings(Section):
    """The Lease that one of several replicas holds: only that one writes."""

    namespace: OptionalText = setting(None, "Its namespace. Without it: the pod's.", "text")
    name: Text = setting("kubevirt-steward-reconcile", "Its name.", "text")
    duration: Duration = setting(
        "15s", "How long after its last renewal it is free; a write needs 10 s of it.", low="15s", high="10m"
    )


class SidecarConfig(Section):
    """The configuration of the sidecar."""

    mode: ConfiguredMode = setting("plan", "The mode of remediations that have none of their own.", _MODES)
    remediations: Section = Field(default_factory=Section)
    budgets: BudgetSettings = Field(default_factory=BudgetSettings)
    storm: StormSettings = Field(default_factory=StormSettings)
    windows: Annotated[tuple[Window, ...], Strict(False)] = setting(
        (), "When the sidecar may write; always where there is none.", "list of windows"
    )
    breaker: BreakerSettings = Field(default_factory=BreakerSettings)
    edit_war: EditWarSettings = Field(default_factory=EditWarSettings)
    approval: ApprovalSettings = Field(default_factory=ApprovalSettings)
    source: SourceSettings = Field(default_factory=SourceSettings)
    exporter_config: OptionalText = setting(None, "The exporter's configuration: the checks' settings.", "text")
    alertmanager: AlertmanagerSettings = Field(default_factory=AlertmanagerSettings)
    prometheus: PrometheusSettings = Field(default_factory=PrometheusSettings)
    webhook: WebhookSettings = Field(default_factory=WebhookSettings)
    listen: Address = setting("127.0.0.1:9878", "Where metrics, health and the webhook are served.", "HOST:PORT")
    insecure: bool = setting(False, INSECURE)
    hosts: HostNames = setting((), HOSTS, "list of host names")
    tls: TLSSettings = Field(default_factory=TLSSettings)
    ledger: LedgerSettings = Field(default_factory=LedgerSettings)
    lease: LeaseSettings = Field(default_factory=LeaseSettings)
    interval: Duration = setting("30s", "From one run to the next.", low="1s", high="1h")
    verify_after: Duration = setting("2m", "From a write to the look whether the finding is gone.", low="1s", high="1h")

    settle_after: Duration = setting(
        "3m",
        "How long a write without an answer may still arrive: the API server's --request-timeout, and what proxies in "
        "between may hold it.",
        low="1m",
        high="1h",
    )

    def of(self, remediation_id: str) -> RemediationSettings:
        found: RemediationSettings = getattr(self.remediations, remediation_id, RemediationSettings())
        return found


def mode_of(config: SidecarConfig, remediation_id: str, namespace: str) -> Mode:
    """The namespace's mode before the remediation's before that of all."""
    own = config.of(remediation_id)
    return Mode(own.namespaces.get(namespace) or own.mode or config.mode)


def may_write(config: SidecarConfig, remediations: Iterable[Remediation]) -> bool:
    """Whether any remediation is carried out anywhere, unasked or when approved."""
    modes = {
        Mode(mode)
        for each in remediations
        if not each.proposes_only
        for mode in (mode_of(config, each.id, ""), *config.of(each.id).namespaces.values())
    }
    return bool(modes & {Mode.APPROVE, Mode.AUTO})


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
