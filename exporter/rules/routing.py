"""Where alerts go, and which of them are consequences of others: what Alertmanager is configured with.

Every alert goes to one receiver. Alerts of a group that begin within its `wait` are one notification, hence waits as
long as the longest `for` of what begins together. What is inhibited is not sent while its cause fires; findings are
never inhibited because the steward is blind, since they are held until it sees again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .values import Values

__all__ = ["Inhibition", "LabelMatcher", "Route", "inhibitions", "routes"]


@dataclass(frozen=True)
class LabelMatcher:
    """`how` is one of =, !=, =~ and !~."""

    label: str
    how: str
    value: str

    def __str__(self) -> str:
        return f'{self.label}{self.how}"{self.value}"'


@dataclass(frozen=True, kw_only=True)
class Route:
    """The first of its siblings whose matchers an alert has takes it. Durations are those of Alertmanager."""

    what: str
    receiver: str
    matchers: tuple[LabelMatcher, ...] = ()
    group_by: tuple[str, ...]
    wait: str
    interval: str
    repeat: str
    routes: tuple[Route, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Inhibition:
    """While an alert of `source` fires, those of `target` with the same values of `equal` are not sent."""

    why: str
    source: tuple[LabelMatcher, ...]
    target: tuple[LabelMatcher, ...]
    equal: tuple[str, ...] = ("cluster",)


def routes(values: Values) -> Route:
    """The route of the steward's alerts, with those below it."""
    return Route(
        what="the rest",
        receiver="platform",
        matchers=(LabelMatcher("kubernetes_operator_component", "=", "kubevirt-steward"),),
        group_by=("cluster", "area"),
        wait="20m",
        interval="4h",
        repeat="3d",
        routes=tuple(_below(values)),
    )


def _below(values: Values) -> Iterator[Route]:
    yield Route(
        what="traffic or a control plane is lost",
        receiver="pager",
        matchers=(LabelMatcher("severity", "=", "critical"),),
        group_by=("cluster", "area"),
        wait="1m",
        interval="5m",
        repeat="4h",
    )
    yield Route(
        what="drains",
        receiver="platform",
        matchers=(LabelMatcher("area", "=", "evictions"),),
        group_by=("cluster", "node"),
        wait="10m",
        interval="1h",
        repeat="12h",
    )
    namespace = values.namespace_label
    objects = (
        LabelMatcher(namespace, "!=", "") if values.exported else LabelMatcher(namespace, "!~", f"{values.namespace}|")
    )
    yield Route(
        what="objects of a namespace",
        receiver="tenants",
        matchers=(LabelMatcher("alertname", "=~", "VM.+"), objects),
        group_by=("cluster", namespace),
        wait="20m",
        interval="4h",
        repeat="3d",
    )


def inhibitions() -> tuple[Inhibition, ...]:
    """All of them; none has a label of a namespace, so they are the same for every site."""
    return (*_of_the_steward(), *_of_addresses(), *_of_drains())


def _of_the_steward() -> Iterator[Inhibition]:
    yield Inhibition(
        why="No replica can be scraped: what each of them said of itself is old.",
        source=_alerts("StewardDown"),
        target=_alerts(
            *("StewardReplicaDown", "StewardNotReady", "StewardBlind", "StewardObjectUndecodable"),
            *("StewardCheckUnknown", "StewardCheckErrors", "StewardSeriesDropped", "StewardConfigRejected"),
            *("StewardScrapeSlow", "StewardRepairSourceDown"),
        ),
    )
    critical = LabelMatcher("severity", "=", "critical")
    yield Inhibition(
        why="Nobody knows whether what was critical still is, which this alert says for all of it.",
        source=(*_alerts("StewardDown"), critical),
        target=(LabelMatcher("alertname", "!~", "Steward.+"), critical),
    )
    yield Inhibition(
        why="It is said with the critical findings that there were.",
        source=(*_alerts("StewardDown"), critical),
        target=(*_alerts("StewardDown"), LabelMatcher("severity", "=", "warning")),
    )
    yield Inhibition(
        why="Whoever brings it back also stops what it uses up.",
        source=_alerts("StewardDown", "StewardNotReady"),
        target=(*_alerts("StewardErrorBudgetBurn"), LabelMatcher("objective", "=", "scrape")),
    )
    yield Inhibition(
        why="Whoever lets the steward see again also stops what it uses up.",
        source=_alerts("StewardBlind", "StewardCheckUnknown"),
        target=(*_alerts("StewardErrorBudgetBurn"), LabelMatcher("objective", "=", "coverage")),
    )
    yield Inhibition(
        why="A restarted replica waits for a kind that it can't see.",
        source=_alerts("StewardBlind"),
        target=_alerts("StewardNotReady"),
    )
    yield Inhibition(
        why="Nothing is repaired by what the steward can't see.",
        source=_alerts("StewardBlind"),
        target=(*_alerts("StewardRepairRefusedOften"), LabelMatcher("precondition", "=", "everything_seen")),
    )
    yield Inhibition(
        why="A check that raises has no answer for what it raised on.",
        source=_alerts("StewardCheckErrors"),
        target=_alerts("StewardCheckUnknown"),
        equal=("cluster", "check"),
    )


def _of_addresses() -> Iterator[Inhibition]:
    broken = "VMIPAMClaim.+|VMPersistentIPBroken"
    unreleased = "StuckTerminatingBlocksOwnerDeletion|StuckTerminatingOwnerGone"
    for cause, reasons, why in (
        ("KubeVirtIPAMControllerDown", f"MissingClaim|{unreleased}", "Nobody creates or releases IPAMClaims."),
        (
            "KubeVirtIPAMWebhookBroken",
            f"MissingClaim|NotReferenced|{unreleased}",
            "Launcher pods do not refer to their IPAMClaims; without the controller nobody creates or releases them.",
        ),
        ("VMNetworkControlPlaneDown", "EmptyClaim", "No address is allocated."),
    ):
        target = (
            LabelMatcher("alertname", "=~", broken),
            LabelMatcher("reason", "=~" if "|" in reasons else "=", reasons),
        )
        yield Inhibition(why=why, source=_alerts(cause), target=target)
    yield Inhibition(
        why="A full network has no address for the IPAMClaims that are empty.",
        source=(
            *_alerts("VMNetworkPoolPressure"),
            LabelMatcher("severity", "=", "critical"),
            LabelMatcher("network", "!=", ""),
        ),
        target=(*_alerts("VMPersistentIPBroken"), LabelMatcher("reason", "=", "EmptyClaim")),
        equal=("cluster", "network"),
    )


def _of_drains() -> Iterator[Inhibition]:
    drains, area = "VMEviction.+", LabelMatcher("area", "=", "evictions")
    yield Inhibition(
        why="Without KubeVirt's eviction webhook no VMI leaves its node.",
        source=_alerts("KubeVirtEvictionWebhookDown"),
        target=(LabelMatcher("alertname", "=~", f"{drains}|KubeVirtNodeDrainStalled"), area),
    )
    yield Inhibition(
        why="A drain stalls because of the VMIs that do not leave; their alerts say why.",
        source=(LabelMatcher("alertname", "=~", drains), LabelMatcher("node", "!=", "")),
        target=_alerts("KubeVirtNodeDrainStalled"),
        equal=("cluster", "node"),
    )


def _alerts(*names: str) -> tuple[LabelMatcher, ...]:
    return (LabelMatcher("alertname", "=" if len(names) == 1 else "=~", "|".join(names)),)
