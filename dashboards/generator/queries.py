"""PromQL that several boards need.

Replicas report the same: all is `max by` what makes it one, first, and summed after. What a replica without an answer
reports is left out, and nothing stands in for what is not scraped: without the steward there is no data.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "CLUSTER",
    "NAMESPACE",
    "ages",
    "checks_are",
    "counts",
    "each",
    "found",
    "reasons_are",
    "severity_is",
    "while_seen",
    "zero_where",
    "zero_while_seen",
]

CLUSTER = 'cluster=~"$cluster"'
NAMESPACE = 'namespace=~"$namespace"'
IDENTITY = "cluster, check, reason, severity, kind, namespace, name, vm, node, network, feature, group"
_SINCE = "_since_timestamp_seconds"


def each(metric: str, *matchers: str) -> str:
    """The series of a metric in the clusters that were chosen."""
    return f"{metric}{{{', '.join((CLUSTER, *matchers))}}}"


def checks_are(checks: tuple[str, ...]) -> str:
    """A matcher; of all checks without any."""
    return f'check=~"{"|".join(checks) or ".+"}"'


def reasons_are(reasons: Iterable[str]) -> str:
    """A matcher."""
    return f'reason=~"{"|".join(reasons)}"'


def severity_is(severity: str) -> str:
    """A matcher."""
    return f'severity="{severity}"'


def counts(by: str, checks: tuple[str, ...] = (), *matchers: str) -> str:
    """Open findings of the whole cluster, by some of the labels cluster, check, reason and severity."""
    found = each("kubevirt_steward_findings", checks_are(checks), *matchers)
    answers = f"{each('kubevirt_steward_check_up')} == 1"
    answered = f"{found} and ignoring (reason, severity) {answers}"
    inner = f"max by (cluster, check, reason, severity) ({answered})"
    if not {"reason", "severity"} & set(by.split(", ")):
        # The least profile has no series of what is 0: a check that has an answer counts at least that.
        inner += f" or max by (cluster, check) (0 * ({each('kubevirt_steward_check_up', checks_are(checks))} == 1))"
    return f"sum by ({by}) ({inner})" if by else f"sum({inner})"


def found(checks: tuple[str, ...] = (), *matchers: str) -> str:
    """The series of all open findings, whatever their family: 1 for each, with all of their labels."""
    chosen = f'{checks_are(checks)}, kind=~".+", {NAMESPACE}'
    selector = each("", '__name__=~"kubevirt_.+"', f'__name__!~".+{_SINCE}"', chosen, *matchers)
    return f"max by ({IDENTITY}) ({selector})"


def ages(checks: tuple[str, ...] = (), *matchers: str) -> str:
    """For how many seconds each open finding has been true, where that is known."""
    chosen = f'{checks_are(checks)}, kind=~".+", {NAMESPACE}'
    selector = each("", f'__name__=~"kubevirt_.+{_SINCE}"', chosen, *matchers)
    return f"time() - min by ({IDENTITY}) ({selector} > 0)"


def zero_while_seen(expr: str) -> str:
    """Of an expression without series where there is nothing to count: 0 there, but only where a replica answers."""
    return zero_where(expr, f"{each('kubevirt_steward_ready')} == 1")


def while_seen(expr: str, seen: str) -> str:
    """Of a day that has passed nothing is said while `seen` has no series: what counted it is not there any more."""
    return f"{expr} and on () {seen}"


def zero_where(expr: str, seen: str) -> str:
    """0 where the expression has no series and `seen` has one."""
    return f"{expr} or 0 * max({seen})"
