"""What Prometheus is asked of the past, by the families that it scrapes here."""

from __future__ import annotations

from ..config.outside import PrometheusSettings
from ..findings.check import Check
from ..findings.finding import Finding
from ..prometheus import Question
from .telemetry import PREFIX
from .text import escaped

__all__ = ["FOUND", "SEEN", "of_finding", "of_severities"]

FOUND, SEEN = "found", "seen"
_WEEK, _HOUR = 604_800, 3600
_DAY, _QUARTER = 86_400, 900


def of_finding(finding: Finding, check: Check, settings: PrometheusSettings) -> Question:
    """When it was `found` in the last week, and when the check was `seen` to have an answer, in steps of an hour."""
    subject = finding.subject
    labels = {
        "check": finding.check,
        "reason": finding.reason,
        "kind": subject.kind,
        settings.namespace_label: subject.namespace,
        "name": subject.name,
        "group": finding.group,
    }
    family = check.reasons[finding.reason].family.name
    found = f"max(max_over_time({family}{_matching(labels, settings)}[{_HOUR}s]))"
    up = f"{PREFIX}check_up{_matching({'check': finding.check}, settings)}"
    return Question(_either({FOUND: found, SEEN: f"max(max_over_time({up}[{_HOUR}s]))"}), _WEEK, _HOUR)


def of_severities(severities: tuple[str, ...], settings: PrometheusSettings) -> Question:
    """How many findings of each severity were open in the last day, by the quarter of an hour."""
    # Counts at 0 are not served in every profile: that there is none is known wherever the steward was scraped.
    none = f"0 * max(max_over_time({PREFIX}ready{_matching({}, settings)}[{_QUARTER}s]))"
    each = {
        name: "(sum(max by (check, reason) ("
        f"max_over_time({PREFIX}findings{_matching({'severity': name}, settings)}[{_QUARTER}s]))) or {none})"
        for name in severities
    }
    return Question(_either(each), _DAY, _QUARTER)


def _matching(labels: dict[str, str], settings: PrometheusSettings) -> str:
    every = {**labels, **({"cluster": settings.cluster} if settings.cluster else {})}
    return "{" + ",".join(f'{name}="{escaped(value)}"' for name, value in every.items()) + "}"


def _either(queries: dict[str, str]) -> str:
    return " or ".join(f'label_replace({query}, "of", "{name}", "", "")' for name, query in queries.items())
