"""The alerts of findings, made of what each area says of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from ..checks import all_checks
from ..findings.check import PER_FLEET, Family, Reason
from ..findings.severity import Severity
from .by_cause import Grouping, alone_name, together_name
from .held import ACKNOWLEDGED, SEVERITY, held_name, unless_acknowledged
from .model import IN_CLUSTER, Alerting, Area, FindingAlert, first_objects, of_reason, section, with_labels, with_object
from .values import Values

_FILTERS = ("reason", "kind", "namespace", "name", "node", "network", "feature")  # of the page
_PAGE_OF_CAUSE = "/findings?{{ with $labels.cause }}cause={{ . }}{{ else }}reason={{ $labels.reason }}{{ end }}"


def families_of(area: Area) -> tuple[Family, ...]:
    """The families that the rules of an area read, sorted by name."""
    found = {each.family.name: each.family for alert in area.findings for _, each in _reasons(alert)}
    found |= {family.name: family for family in area.families}
    return tuple(found[name] for name in sorted(found))


def severities_of(family: str) -> set[Severity]:
    """Those that the findings of a family have."""
    checks = (check for check in all_checks() if check.scope is not PER_FLEET)
    reasons = (reason for check in checks for reason in check.reasons.values())
    return {severity for reason in reasons if reason.family.name == family for severity in reason.severities}


def groupings_of(area: Area, family: str) -> dict[str, Grouping]:
    """How the findings of a family are grouped, by reason; none where each alert of them is counted anyway."""
    single = {alert.name: alert for alert in area.findings if not alert.counted}
    return {
        name: Grouping(cause=check.cause_by(name), pages=reason.pages, by_node="node" in single[reason.alert].by)
        for check in all_checks()
        for name, reason in check.reasons.items()
        if reason.family.name == family and reason.alert in single
    }


def whatever_reason(area: Area, family: str) -> bool:
    """Whether an alert of the family fires on when the reason of its object changes."""
    return any(
        "reason" not in alert.by and any(each.family.name == family for _, each in _reasons(alert))
        for alert in area.findings
        if not alert.counted
    )


_Named = tuple[str, Reason]


def _reasons(alert: FindingAlert) -> Iterator[_Named]:
    """Two checks can have a reason of the same name."""
    for check in all_checks():
        if check.scope is not PER_FLEET:
            for name, reason in check.reasons.items():
                if reason.alert == alert.name:
                    yield name, reason


def alerts_of(alert: FindingAlert, area: str, values: Values) -> Iterator[Alerting]:
    """The rules of one alert, for each severity that it has: of single findings, and of causes.

    Prometheus reads the texts of a rule anew for each of its alerts and evaluations, which is most of what an alert
    costs: so each rule has the texts of its own alerts alone. Raises ValueError where no reason names the alert.
    """
    reasons = list(_reasons(alert))
    if not reasons:
        raise ValueError(f"no reason names alert {alert.name}")
    critical = {name for name, each in reasons if each.pages}
    if unknown := [name for name, each in reasons if each.pages and Severity.CRITICAL not in each.severities]:
        raise ValueError(f"{alert.name}: no critical finding has the reason {', '.join(unknown)}, which pages")
    both = {name for name, each in reasons if name in critical and Severity.WARNING in each.severities}
    rest = {name for name, _ in reasons} - critical
    if critical:
        paging = _selectors(reasons, critical, f'{SEVERITY}="critical"')
        said = _said(reasons, critical)
        yield from _Rule(alert, values, list(paging), said).made(area, "critical", alert.impact)
    if rest or both:
        others = (
            *_selectors(reasons, rest, f'{SEVERITY}!="info"'),
            *_selectors(reasons, both, f'{SEVERITY}="warning"'),
        )
        mild = both if alert.mild else set()
        milder = replace(
            alert,
            summary=alert.mild_summary or alert.summary,
            description="" if mild and not rest else alert.description,
        )
        said = _said(reasons, rest | both)
        said |= {name: said[name]._replace(whole=alert.mild) for name in mild}
        yield from _Rule(milder, values, list(others), said).made(area, "warning", "none")


class _Said(NamedTuple):
    """What alerts say of a reason: all of it, and in short of many findings."""

    whole: str
    short: str


def _said(reasons: Iterable[_Named], wanted: set[str]) -> dict[str, _Said]:
    """In the words of the pages of the checks; of two checks that have a reason of one name, the first."""
    found: dict[str, _Said] = {}
    for name, each in reasons:
        if name in wanted:
            whole = " ".join(filter(None, (each.meaning, each.impact, with_labels(each.next))))
            found.setdefault(name, _Said(whole, f"{each.title}. {each.impact}".rstrip()))
    return found


_Selector = tuple[str, str]  # a family, and matchers


def _selectors(reasons: Iterable[_Named], wanted: set[str], severity: str) -> Iterator[_Selector]:
    by_family: dict[str, list[str]] = {}
    for name, each in reasons:
        if name in wanted and name not in by_family.setdefault(each.family.name, []):
            by_family[each.family.name].append(name)
    for family_name, names in by_family.items():
        if names:
            operator = "=" if len(names) == 1 else "=~"
            yield family_name, f'reason{operator}"{"|".join(names)}", {severity}'


class _Rule:
    """The rules of an alert for some of its reasons, with one severity."""

    def __init__(self, alert: FindingAlert, values: Values, selectors: list[_Selector], said: dict[str, _Said]) -> None:
        self._alert, self._values, self._selectors, self._said = alert, values, selectors, said
        labels = alert.by if alert.counted else dict.fromkeys((*alert.by, "vm"))  # of one object, one VM at most
        self._by = tuple(values.namespace_label if label == "namespace" else label for label in labels)

    def made(self, area: str, severity: str, impact: str) -> Iterator[Alerting]:
        alert = self._alert
        for per_cause, (expr, summary, description) in self._each():
            yield Alerting(
                alert=alert.name,
                expr=expr,
                wait=alert.wait,
                keep=alert.keep,
                severity=severity,
                impact=impact,
                own=alert.cluster_wide,
                per_cause=per_cause,
                area=area,
                page=_PAGE_OF_CAUSE if per_cause else self._page(),
                section=section(self._said, says_reason=per_cause or "reason" in alert.by),
                summary=with_object(summary, self._values),
                description=with_object(description, self._values),
            )

    def _each(self) -> Iterator[tuple[bool, tuple[str, str, str]]]:
        """Expression, summary and description of each rule, and whether it is of a cause."""
        if self._alert.counted:
            yield False, self._counted()
        else:
            yield False, self._single()
            yield True, self._of_cause()

    def _page(self) -> str:
        """Where the page lists what the labels of the alert say."""
        usual = {self._values.namespace_label: "namespace"}
        labels = {usual.get(name, name): name for name in self._by if usual.get(name, name) in _FILTERS}
        return "/findings?" + "".join(
            f"{{{{ with $labels.{name} }}}}&{label}={{{{ . | urlquery }}}}{{{{ end }}}}"
            for label, name in labels.items()
        )

    def _counted(self) -> tuple[str, str, str]:
        labels = ("cluster", *self._by)
        known = f"on (cluster, cause, {SEVERITY}) {ACKNOWLEDGED}"
        first = first_objects(self._query(held_name, labels, lambda *_: known), self._values)
        summary, parts = self._texts("")
        return (
            f"count by ({', '.join(labels)}) (\n  {self._series(held_name)}\n)",
            summary,
            " ".join(filter(None, (*parts, f"The first: {first}."))),
        )

    def _single(self) -> tuple[str, str, str]:
        labels = ("cluster", *self._by)
        aged = all(each.family.aged for name, each in _reasons(self._alert) if name in self._said)
        asks = "" if "reason" in self._alert.by else self._query(held_name, labels)
        summary, parts = self._texts(asks)
        since = ["Since {{ $value | humanizeTimestamp }}."] if aged else []
        expr = f"min by ({', '.join(labels)}) (\n  {self._series(alone_name)}\n)"
        return expr, summary, " ".join(filter(None, (*parts, *since)))

    def _of_cause(self) -> tuple[str, str, str]:
        # Alerts of what has no namespace have that of the steward.
        namespace = self._values.namespace_label
        there = () if self._alert.cluster_wide else (namespace,)
        labels = ", ".join(("cluster", *there, "reason", "cause", "vm", "node", "network", "feature"))
        expr = f"sum by ({labels}) (\n  {self._series(together_name)}\n)"
        by_node = ("node",) if "node" in self._alert.by else ()
        place = "".join(
            f"{{{{ with $labels.{label} }}}} {where} {{{{ . }}}}{{{{ end }}}}"
            for label, where in ((namespace, "in namespace"), ("node", "on node"))
            if label in (*there, *by_node)
        )
        causes = "{{ if $labels.cause }}one cause{{ else }}many causes{{ end }}"
        summary = f"{{{{ $value }}}} findings {{{{ $labels.reason }}}} with {causes}{place}{IN_CLUSTER}."
        said = {name: each.short for name, each in self._said.items()}
        own = self._query(
            held_name, ("cluster", "cause", *by_node), lambda family, matchers: f"{alone_name(family)}{{{matchers}}}"
        )
        first = first_objects(own, self._values)
        description = (
            f"{of_reason(said, '')}{{{{ if $labels.cause }}}} One fix might resolve them all, or the same fix for"
            f" each: {first}.{{{{ end }}}} `steward check --reason {{{{ $labels.reason }}}}` lists them and says what"
            " to do."
        )
        return expr, summary, description

    def _series(self, name: Callable[[str], str]) -> str:
        series = "\n  or ".join(f"{name(family)}{{{matchers}}}" for family, matchers in self._selectors)
        return unless_acknowledged(series).replace("\n", "\n  ")

    def _texts(self, asks: str) -> tuple[str, list[str]]:
        """The summary, and the first parts of a description."""
        says = {name: each.whole for name, each in self._said.items()}
        return f"{self._alert.summary.rstrip('.')}{IN_CLUSTER}.", [self._alert.description, of_reason(says, asks)]

    def _query(
        self, name: Callable[[str], str], labels: tuple[str, ...], but: Callable[[str, str], str] | None = None
    ) -> str:
        """The query of a template for the findings behind an alert; `but` gives what takes some of them out, by their
        family and the matchers.
        """
        matchers = ", ".join(f"{label}=%q" for label in labels)
        parts = []
        for family, selected in self._selectors:
            found = f"{name(family)}{{{selected}, {matchers}}}"
            parts.append(f"({found} unless {but(family, matchers)})" if but else found)
        query = " or ".join(parts)
        filled = " ".join(f"$labels.{each}" for each in labels * query.count(matchers))
        return f"query (printf `{query}` {filled})"
