"""The alerts of findings, made of what each area says of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..checks import all_checks
from ..findings.check import PER_FLEET, Family
from ..findings.finding import Severity
from .held import STORM, held_name
from .model import Alerting, Area, FindingAlert
from .values import Values

__all__ = ["alerts_of", "families_of"]


def families_of(area: Area) -> tuple[Family, ...]:
    """The families that the rules of an area read, sorted by name."""
    found = {family.name: family for alert in area.findings for _, family, _ in _reasons(alert)}
    found |= {family.name: family for family in area.families}
    return tuple(found[name] for name in sorted(found))


def _reasons(alert: FindingAlert) -> Iterator[tuple[str, Family, tuple[Severity, ...]]]:
    for check in all_checks():
        if check.scope is not PER_FLEET:
            for name, reason in check.reasons.items():
                if reason.alert == alert.name:
                    yield name, reason.family, reason.severities


def alerts_of(alert: FindingAlert, area: str, values: Values) -> Iterator[Alerting]:
    """The rules of one alert: one for each severity that it has. Raises ValueError where no reason names it."""
    reasons = list(_reasons(alert))
    if not reasons:
        raise ValueError(f"no reason names alert {alert.name}")
    critical = {name for name, _, severities in reasons if name in alert.critical and Severity.CRITICAL in severities}
    if unknown := set(alert.critical) - critical:
        raise ValueError(f"{alert.name}: no critical finding has the reason {', '.join(sorted(unknown))}")
    both = {n for n, _, severities in reasons if n in critical and Severity.WARNING in severities}
    rest = {name for name, _, _ in reasons} - critical
    if critical:
        paging = list(_selectors(reasons, critical, 'severity="critical"'))
        yield _rule(alert, area, values, paging, "critical", alert.impact, critical)
    if rest or both:
        others = [*_selectors(reasons, rest, 'severity!="info"'), *_selectors(reasons, both, 'severity="warning"')]
        yield _rule(alert, area, values, others, "warning", "none", rest | both)


def _selectors(
    reasons: Iterable[tuple[str, Family, tuple[Severity, ...]]], wanted: set[str], severity: str
) -> Iterator[str]:
    by_family: dict[str, list[str]] = {}
    for name, family, _ in reasons:
        if name in wanted and name not in by_family.setdefault(family.name, []):
            by_family[family.name].append(name)
    for family_name, names in by_family.items():
        if names:
            operator = "=" if len(names) == 1 else "=~"
            yield f'{held_name(family_name)}{{reason{operator}"{"|".join(names)}", {severity}}}'


def _rule(
    alert: FindingAlert, area: str, values: Values, selectors: list[str], severity: str, impact: str, reasons: set[str]
) -> Alerting:
    by = ", ".join(("cluster", *(values.namespace_label if label == "namespace" else label for label in alert.by)))
    series = "\n  or ".join(selectors)
    if alert.counted:
        expr = f"count by ({by}) (\n  {series}\n)"
    else:
        single = series if len(selectors) == 1 else f"({series})"
        expr = f"min by ({by}) (\n  {single}\n  unless on (cluster, check, reason) {STORM}\n)"
    aged = not alert.counted and all(f.aged for name, f, _ in _reasons(alert) if name in reasons)
    says = {name: text for name, text in alert.says.items() if name in reasons}
    asks = "" if "reason" in alert.by or alert.counted else _asks(alert, selectors, values)
    parts = [alert.description, _of_reason(says, asks)]
    parts += ["Since {{ $value | humanizeTimestamp }}."] if aged else []
    return Alerting(
        alert=alert.name,
        expr=expr,
        wait=alert.wait,
        keep=alert.keep,
        severity=severity,
        impact=impact,
        own=alert.cluster_wide,
        area=area,
        summary=_text(f"{alert.summary.rstrip('.')}{_CLUSTER}.", values),
        description=_text(" ".join(filter(None, parts)), values),
    )


_CLUSTER = "{{ with $labels.cluster }} (cluster {{ . }}){{ end }}"


def _asks(alert: FindingAlert, selectors: Iterable[str], values: Values) -> str:
    """The query of a template for the findings behind an alert whose labels do not have their reason."""
    labels = ("cluster", *alert.by)
    matchers = ", ".join(f"{values.namespace_label if each == 'namespace' else each}=%q" for each in labels)
    query = " or ".join(f"{selector.removesuffix('}')}, {matchers}}}" for selector in selectors)
    return f"query (printf `{query}` {' '.join(f'$labels.{each}' for each in labels * query.count(matchers))})"


def _of_reason(says: dict[str, str], asks: str) -> str:
    """The sentence of the reason that the alert has; where `asks` queries for them, of each that there is now."""
    if len(says) < 2:
        return next(iter(says.values()), "")
    reason = "$each.Labels.reason" if asks else "$labels.reason"
    chain = "{{ else ".join(f'if eq {reason} "{name}" }}}}{text}' for name, text in says.items())
    sentence = "{{ " + chain + "{{ end }}"
    if not asks:
        return sentence
    return f"{{{{ range $i, $each := {asks} }}}}{{{{ if $i }}}} {{{{ end }}}}{sentence}{{{{ end }}}}"


def _text(text: str, values: Values) -> str:
    namespace = f"$labels.{values.namespace_label}"
    named = f"{{{{ with {namespace} }}}}{{{{ . }}}}/{{{{ end }}}}{{{{ $labels.name }}}}"
    return text.replace("{object}", named).replace("$labels.namespace", namespace)
