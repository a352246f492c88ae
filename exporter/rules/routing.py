"""Where alerts go, how urgent each is, and which are consequences of others: what Alertmanager is configured with.

Every alert goes to one receiver. Alerts of a group that begin within its `wait` are one notification, hence waits as
long as the longest `for` of what begins together. What is inhibited is not sent while its cause fires; findings are
never inhibited because the steward is blind, since they are held until it sees again.

An inhibition holds back alerts of one component alone, whose label each side matches: the steward's own, or KubeVirt's
where a site wants those (`Values.kubevirt`). And each label of `equal` but the cluster has a value: Alertmanager takes
two alerts without a label for equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..questions.urgency import Urgency
from .areas import rule_files
from .model import Alerting
from .values import Values

COMPONENT = "kubernetes_operator_component"
STEWARD = "kubevirt-steward"
_KUBEVIRT = "kubevirt"


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
    """The first of its siblings whose matchers an alert has takes it, and those behind one that `goes_on`.

    Durations are those of Alertmanager.
    """

    what: str
    receiver: str
    matchers: tuple[LabelMatcher, ...] = ()
    group_by: tuple[str, ...]
    wait: str
    interval: str
    repeat: str
    goes_on: bool = False
    routes: tuple[Route, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Inhibition:
    """While an alert of the steward fires that `causes` match, those of the component `of` that `follows` match are not
    sent, if they have the same values of `equal`. `source` and `target` are all matchers of both.
    """

    why: str
    causes: tuple[LabelMatcher, ...]
    follows: tuple[LabelMatcher, ...]
    equal: tuple[str, ...] = ("cluster",)
    of: str = STEWARD

    @property
    def source(self) -> tuple[LabelMatcher, ...]:
        matched = {each.label for each in self.causes}
        there = (LabelMatcher(label, "!=", "") for label in self.equal if label not in ("cluster", *matched))
        return (LabelMatcher(COMPONENT, "=", STEWARD), *self.causes, *there)

    @property
    def target(self) -> tuple[LabelMatcher, ...]:
        return (LabelMatcher(COMPONENT, "=", self.of), *self.follows)


def routes(values: Values) -> Route:
    """The route of the steward's alerts, with those below it."""
    return Route(
        what="the rest",
        receiver="platform",
        matchers=(LabelMatcher(COMPONENT, "=", STEWARD),),
        group_by=("cluster", "area"),
        wait="20m",
        interval="4h",
        repeat="3d",
        routes=tuple(_below(values)),
    )


def _below(values: Values) -> Iterator[Route]:
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
        goes_on=True,  # whoever owns the VM hears of it beside whoever is woken
    )
    yield Route(
        what="traffic or a control plane is lost",
        receiver="pager",
        matchers=(LabelMatcher("severity", "=", "critical"),),
        # A pager opens one incident for a group, and what joins it wakes nobody.
        group_by=("cluster", "alertname", values.namespace_label),
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


def inhibitions(values: Values) -> tuple[Inhibition, ...]:
    """All that a site wants. None of the steward's own has a label of a namespace."""
    of_kubevirt = _of_kubevirt(values) if values.kubevirt else ()
    return (*_of_the_steward(), *_of_addresses(), *_of_drains(), *of_kubevirt)


def _of_the_steward() -> Iterator[Inhibition]:
    yield Inhibition(
        why="No replica can be scraped: what each of them said of itself is old.",
        causes=_alerts("StewardDown"),
        follows=_alerts(
            *("StewardReplicaDown", "StewardNotReady", "StewardBlind", "StewardObjectUndecodable"),
            *("StewardCheckUnknown", "StewardCheckErrors", "StewardSeriesDropped", "StewardConfigRejected"),
            *("StewardScrapeSlow", "StewardRepairSourceDown"),
        ),
    )
    critical = LabelMatcher("severity", "=", "critical")
    yield Inhibition(
        why="Nobody knows whether what was critical still is, which this alert says for all of it.",
        causes=(*_alerts("StewardDown"), critical),
        follows=(LabelMatcher("alertname", "!~", "Steward.+"), critical),
    )
    yield Inhibition(
        why="It is said with the critical findings that there were.",
        causes=(*_alerts("StewardDown"), critical),
        follows=(*_alerts("StewardDown"), LabelMatcher("severity", "=", "warning")),
    )
    yield Inhibition(
        why="Whoever brings it back also stops what it uses up.",
        causes=_alerts("StewardDown", "StewardNotReady"),
        follows=(*_alerts("StewardErrorBudgetBurn"), LabelMatcher("objective", "=", "scrape")),
    )
    yield Inhibition(
        why="Whoever lets the steward see again also stops what it uses up.",
        causes=_alerts("StewardBlind", "StewardCheckUnknown"),
        follows=(*_alerts("StewardErrorBudgetBurn"), LabelMatcher("objective", "=", "coverage")),
    )
    yield Inhibition(
        why="A restarted replica waits for a kind that it can't see.",
        causes=_alerts("StewardBlind"),
        follows=_alerts("StewardNotReady"),
    )
    yield Inhibition(
        why="Nothing is repaired by what the steward can't see.",
        causes=_alerts("StewardBlind"),
        follows=(*_alerts("StewardRepairRefusedOften"), LabelMatcher("precondition", "=", "everything_seen")),
    )
    yield Inhibition(
        why="A check that raises has no answer for what it raised on.",
        causes=_alerts("StewardCheckErrors"),
        follows=_alerts("StewardCheckUnknown"),
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
        follows = (
            LabelMatcher("alertname", "=~", broken),
            LabelMatcher("reason", "=~" if "|" in reasons else "=", reasons),
        )
        yield Inhibition(why=why, causes=_alerts(cause), follows=follows)
    yield Inhibition(
        why="A full network has no address for the IPAMClaims that are empty.",
        causes=(*_alerts("VMNetworkPoolPressure"), LabelMatcher("severity", "=", "critical")),
        follows=(*_alerts("VMPersistentIPBroken"), LabelMatcher("reason", "=", "EmptyClaim")),
        equal=("cluster", "network"),
    )


def _of_drains() -> Iterator[Inhibition]:
    drains, area = "VMEviction.+", LabelMatcher("area", "=", "evictions")
    yield Inhibition(
        why="Without KubeVirt's eviction webhook no VMI leaves its node.",
        causes=_alerts("KubeVirtEvictionWebhookDown"),
        follows=(LabelMatcher("alertname", "=~", f"{drains}|KubeVirtNodeDrainStalled"), area),
    )
    yield Inhibition(
        why="A drain stalls because of the VMIs that do not leave; their alerts say why.",
        causes=(LabelMatcher("alertname", "=~", drains),),
        follows=_alerts("KubeVirtNodeDrainStalled"),
        equal=("cluster", "node"),
    )


def _of_kubevirt(values: Values) -> Iterator[Inhibition]:
    """Each names one alert of KubeVirt, and holds it back for the same object alone."""
    of_vm = LabelMatcher("kind", "=~", "VirtualMachine|VirtualMachineInstance")
    for cause, theirs, equal, why in (
        ("VMEvictionNotMigratable", "VMCannotBeEvicted", ("namespace", "name"), "It says who waits for the VM."),
        (
            "KubeVirtNodeLost|KubeVirtNodeUnheard",
            "OrphanedVirtualMachineInstances",
            ("node",),
            "It says which of the node's VMs start elsewhere.",
        ),
        (
            "VMInstancetypeMissing|VMInstancetypeConflict|VMNADMissing|VMStartsFailing",
            "VirtualMachineStuckInUnhealthyState",
            ("namespace", "name"),
            "It says what the VM waits for.",
        ),
        (
            "VMLauncherPodStuck",
            "VirtualMachineStuckOnNode",
            ("namespace", "name"),
            "It says what the launcher pod waits for.",
        ),
    ):
        # Of an alert whose `namespace` is that of Prometheus' target nobody can say that the object is the same.
        if not (values.exported and "namespace" in equal):
            causes = (*_alerts(*cause.split("|")), *((of_vm,) if "namespace" in equal else ()))
            yield Inhibition(why=why, causes=causes, follows=_alerts(theirs), equal=("cluster", *equal), of=_KUBEVIRT)


def _alerts(*names: str) -> tuple[LabelMatcher, ...]:
    return (LabelMatcher("alertname", "=" if len(names) == 1 else "=~", "|".join(names)),)


def urgencies() -> Mapping[str, Urgency]:
    """By the name of the alert, as it is routed by default."""
    values = Values()
    found: dict[str, list[Alerting]] = {}
    for file in rule_files(values):
        for rule in file.rules:
            if isinstance(rule, Alerting):
                found.setdefault(rule.alert, []).append(rule)
    return {name: _urgency(rules, routes(values)) for name, rules in found.items()}


def _urgency(rules: list[Alerting], route: Route) -> Urgency:
    severities = {each.severity for each in rules}
    receivers = dict.fromkeys(each for rule in rules for each in _receivers(rule, route))
    return Urgency(pages="critical" in severities, always="warning" not in severities, receivers=tuple(receivers))


def _receivers(rule: Alerting, route: Route) -> tuple[str, ...]:
    """Those of the routes below which take it."""
    tenants = ("tenants",) if rule.alert.startswith("VM") and not rule.own else ()
    if rule.severity == "critical":
        return ("pager", *tenants)
    return tenants if tenants and rule.area != "evictions" else (route.receiver, *tenants)
