"""Rules, and the alerts that they are made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ..findings.check import Family
from ..findings.pages import alerts_of, areas_of_alerts
from ..runbook import anchor
from .values import Values


@dataclass(frozen=True, kw_only=True)
class Recording:
    record: str
    expr: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Alerting:
    """An alert. `wait` is its `for`, `keep` its `keep_firing_for`.

    `impact` is `operator_health_impact`: other than none only where KubeVirt's own parts fail, since the health of a
    HyperConverged follows from it. `own` alerts are about the steward, or about what has no namespace: their label
    `namespace` is that of the steward. `area` is empty where the series has that label. One that is `per_cause` says so
    in a label, by which it differs from the rule of the same name for single findings. `page` is where the steward's
    page shows it, a template of the part behind the host. `section` is the heading of its runbook that is about it, a
    template too; empty where the alert does not say its reason.
    """

    alert: str
    expr: str
    wait: str
    keep: str = "5m"
    severity: str = "warning"
    impact: str = "none"
    own: bool = True
    per_cause: bool = False
    area: str | None = None
    page: str = "/health"
    section: str = ""
    summary: str
    description: str


Rule = Recording | Alerting


class FindingAlert(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One alert for all findings whose reason names it (`Reason.alert`); what only informs has none.

    `by` are the labels that an alert keeps beside `cluster`: without `reason` one whose reason changes fires on.
    Critical findings of the reasons that page (`Reason.pages`) are critical alerts; all else is a warning, whatever the
    severity of the finding is. `not_paging` says of all other reasons that have critical findings why nobody is woken
    for them, where their pages don't. `impact` is that of the critical ones. `counted` gives one alert for all findings
    of the same labels: its value is their number, and else the time since which it is so, which the description gets to
    say at its end. What the page of a check says of the reason follows the description. `mild` is said in place of
    that, and of the description, of a reason that pages where its finding is a warning; `mild_summary` likewise. In
    texts `{object}` is namespace and name.
    """

    summary: str
    wait: str
    name: str = ""  # that of its section
    description: str = ""
    keep: str = "5m"
    by: tuple[str, ...] = ("kind", "namespace", "name", "reason")
    not_paging: str = ""
    impact: str = "none"
    counted: bool = False
    cluster_wide: bool = False  # its objects have no namespace
    mild: str = ""
    mild_summary: str = ""


@dataclass(frozen=True, kw_only=True)
class Area:
    """What one file of rules has: the alerts of findings and, before and after them, rules of its own.

    `quiet` are the families of which nothing new is reported while KubeVirt is upgraded. `families` are those that only
    rules of its own read. `note` is the comment at the top of the file. `interval` is that of what is recorded before,
    where there are no findings.
    """

    name: str
    note: str
    findings: tuple[FindingAlert, ...] = ()
    quiet: tuple[str, ...] = ()
    families: tuple[Family, ...] = ()
    interval: str = ""
    before: Callable[[Values], Iterable[Rule]] = lambda _: ()
    after: Callable[[Values], Iterable[Rule]] = lambda _: ()


def area(name: str, **more: Any) -> Area:
    """That of `rules/alerts/<name>.yaml`; `more` are the fields of Area that are not in there."""
    found = alerts_of(name, FindingAlert)
    findings = tuple(msgspec.structs.replace(alert, name=each) for each, alert in found.items())
    about = areas_of_alerts()[name]
    return Area(name=name, note=about.note, quiet=about.quiet, findings=findings, **more)


@dataclass(frozen=True)
class RuleGroup:
    """Rules that are evaluated one after another, every `interval`; empty for that of the Prometheus."""

    name: str
    rules: tuple[Rule, ...]
    interval: str = ""


@dataclass(frozen=True)
class RuleFile:
    """What one area has, in the order in which it has to be evaluated."""

    name: str
    note: str
    groups: tuple[RuleGroup, ...]

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(rule for group in self.groups for rule in group.rules)


# What texts of alerts have in them that Prometheus fills in, in the language of its templates.

# Where the series have no such label, Prometheus gives it to what it sends.
CLUSTER = "or $labels.cluster $externalLabels.cluster"
IN_CLUSTER = f"{{{{ with {CLUSTER} }}}} (cluster {{{{ . }}}}){{{{ end }}}}"
OF_CLUSTER = f"{{{{ with {CLUSTER} }}}} of cluster {{{{ . }}}}{{{{ end }}}}"
_NAMED = 5  # objects that a text names


def section(reasons: Collection[str], *, says_reason: bool) -> str:
    """The heading of the runbook that is about the alert's reason; empty where its labels do not say which.

    Prometheus reads a template anew for each alert and evaluation: one reason needs none.
    """
    if len(reasons) == 1:
        return anchor(next(iter(reasons)))
    return "{{$labels.reason|toLower}}" if says_reason else ""


def first_objects(query: str, values: Values) -> str:
    """The first objects that a query finds, by name."""
    namespace = f"{{{{ with $each.Labels.{values.namespace_label} }}}}{{{{ . }}}}/{{{{ end }}}}"
    named = f"{{{{ if $i }}}}, {{{{ end }}}}{namespace}{{{{ $each.Labels.name }}}}"
    return (
        f'{{{{ range $i, $each := {query} | sortByLabel "name" }}}}'
        f"{{{{ if lt $i {_NAMED} }}}}{named}{{{{ else if eq $i {_NAMED} }}}}, …{{{{ end }}}}{{{{ end }}}}"
    )


def of_reason(says: dict[str, str], asks: str) -> str:
    """The sentence of the reason that the alert has; where `asks` queries for them, of each that there is now."""
    if len(says) < 2:
        return next(iter(says.values()), "")
    reason = "$each.Labels.reason" if asks else "$labels.reason"
    chain = "{{ else ".join(f'if eq {reason} "{name}" }}}}{text}' for name, text in says.items())
    sentence = "{{ " + chain + "{{ end }}"
    if not asks:
        return sentence
    return f"{{{{ range $i, $each := {asks} }}}}{{{{ if $i }}}} {{{{ end }}}}{sentence}{{{{ end }}}}"


_LABELS = {"NAMESPACE": "namespace", "NAME": "name", "VMNAME": "vm"} | {
    each.upper(): each for each in ("node", "network", "feature")
}
_WORD = re.compile(rf"\b({'|'.join(_LABELS)})\b")


def with_labels(text: str) -> str:
    """A next step with the alert's labels in the place of its words in capitals."""
    return _WORD.sub(lambda found: f"{{{{ $labels.{_LABELS[found[0]]} }}}}", text)


def with_object(text: str, values: Values) -> str:
    """With namespace and name of the alert's object in the place of `{object}`."""
    namespace = f"$labels.{values.namespace_label}"
    named = f"{{{{ with {namespace} }}}}{{{{ . }}}}/{{{{ end }}}}{{{{ $labels.name }}}}"
    return text.replace("{object}", named).replace("$labels.namespace", namespace)
