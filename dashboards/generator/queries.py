"""PromQL that several boards need.

Replicas report the same: all is `max by` what makes it one, first, and summed after. What a replica without an answer
reports is left out, and nothing stands in for what is not scraped: without the steward there is no data.

A hub may have of a cluster no more than what is recorded for hubs (exporter/rules/alerts/hub.py). That stands behind an
`or`: where the steward's own series are there it says the same as they do.
"""

from __future__ import annotations

from collections.abc import Iterable

from exporter.rules.alerts.hub import OBJECTS, OPEN, REPLICAS, UNKNOWN

__all__ = [
    "ANSWERS",
    "CLUSTER",
    "KNOWN",
    "NAMESPACE",
    "READY",
    "SENT_REPLICAS",
    "SENT_UNKNOWN",
    "SENT_VMS",
    "checks_are",
    "each",
    "reasons_are",
    "sent_answering",
    "sent_open",
    "severity_is",
    "while_seen",
    "zero_by_cluster",
    "zero_where",
    "zero_while_seen",
]

CLUSTER = 'cluster=~"$cluster"'
NAMESPACE = 'namespace=~"$namespace"'


def each(metric: str, *matchers: str) -> str:
    """The series of a metric in the clusters that were chosen."""
    return f"{metric}{{{', '.join((CLUSTER, *matchers))}}}"


READY = f"{each('kubevirt_steward_ready')} == 1"
_OF_VMS = 'kind="VirtualMachine"'
SENT_REPLICAS = f"max by (cluster) ({each(REPLICAS)})"
SENT_UNKNOWN = f"max by (cluster) ({each(UNKNOWN)})"
SENT_VMS = f"max by (cluster) ({each(OBJECTS, _OF_VMS)})"
# The clusters that have a steward, or had one lately: for a day, or for as long as the rules remember it.
KNOWN = (
    f"(max by (cluster) (last_over_time({each('kubevirt_steward_build_info')}[1d]))"
    f" or max by (cluster) ({each('cluster:kubevirt_steward_build_info:known')})"
    f" or max by (cluster) (last_over_time({each(REPLICAS)}[1d])))"
)
# 1 for a cluster of which a replica answers, 0 for one of which none does.
ANSWERS = f"(max by (cluster) ({READY}) or max by (cluster) ({each(REPLICAS)} > bool 0) or 0 * {KNOWN})"


def sent_answering(checks: str) -> str:
    """How many of these checks (`checks_are`) answer, by cluster."""
    return f"count by (cluster) (group by (cluster, check) ({each(OPEN, checks)}))"


def sent_open(checks: str, *severity: str) -> str:
    """How many findings of these checks are open, by cluster; 0 where a check answers and has none."""
    found = f"sum by (cluster) (max by (cluster, check, finding_severity) ({each(OPEN, checks, *severity)}))"
    return f"{found} or 0 * max by (cluster) ({each(OPEN, checks)})"


def checks_are(checks: tuple[str, ...]) -> str:
    """A matcher; of all checks without any."""
    return f'check=~"{"|".join(checks) or ".+"}"'


def reasons_are(reasons: Iterable[str]) -> str:
    """A matcher."""
    return f'reason=~"{"|".join(reasons)}"'


def severity_is(severity: str) -> str:
    """A matcher."""
    return f'severity="{severity}"'


def zero_while_seen(expr: str) -> str:
    """Of an expression without series where there is nothing to count: 0 there, but only where a replica answers."""
    return zero_where(expr, READY)


def zero_by_cluster(expr: str, seen: str = READY) -> str:
    """Likewise for each cluster by itself, where `seen` has a series of it."""
    return f"{expr} or 0 * max by (cluster) ({seen})"


def while_seen(expr: str, seen: str) -> str:
    """Of a day that has passed nothing is said while `seen` has no series: what counted it is not there any more."""
    return f"{expr} and on () {seen}"


def zero_where(expr: str, seen: str) -> str:
    """0 where the expression has no series and `seen` has one."""
    return f"{expr} or 0 * max({seen})"
