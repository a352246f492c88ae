"""Panels of findings: counts, bars, lines and tables, all of them of `Findings`, with what is held marked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from exporter.checks import all_checks

from . import queries
from .findings import Findings
from .links import VM_BOARD, page_link
from .model import Column, Link, Panel, PanelKind, PanelQuery, Threshold, Unit
from .panels import HELD, NONE_OR_UNSEEN, SEVERITIES, bars, column, each_severity, lines, table

__all__ = [
    "RUNBOOK",
    "alert_names",
    "by_reason",
    "by_severity_over_time",
    "finding_bars",
    "finding_stat",
    "findings_table",
    "ranked",
    "reasons_stat",
    "severity_column",
    "severity_stats",
    "with_runbook",
]

_MOST_BARS = 25
_SHOWN = "reason namespace name kind vm node"
_STEP = "5m"  # of lines: each point looks at every finding
RUNBOOK = Link("Runbook", "${runbooks}{runbook}.md")
_RANKS = {severity: str(rank) for rank, severity in enumerate(SEVERITIES, 1)}
_SAID = {
    "critical": "traffic, a control plane or a VM is lost, or will be lost soon",
    "warning": "a fault without a loss so far",
    "info": "worth knowing",
}


def finding_stat(title: str, description: str, findings: Findings, counted: str = "", **more: Any) -> Panel:
    """Their number, and that of those that are held among them where there are any. `counted` is another expression of
    the first.
    """
    more = {"width": 4, "height": 4, **_empty(findings), **more}
    asked = (
        PanelQuery(counted or findings.count(), "open"),
        PanelQuery(f"sum({findings.held}) > 0", "of them held", HELD),
    )
    return Panel(PanelKind.STAT, title, description, Unit.COUNT, asked, **more)


def reasons_stat(title: str, description: str, findings: Findings, *reasons: str, **more: Any) -> Panel:
    """The number of findings of some reasons; without a number while none of the checks that have them answers."""
    checks = (check for check in all_checks() if not check.reasons.keys().isdisjoint(reasons))
    of = replace(findings, checks=tuple(check.id for check in checks if check.id in findings.checks))
    return finding_stat(title, description, of.that(queries.reasons_are(reasons)), **more)


def severity_stats(findings: Findings, **more: Any) -> tuple[Panel, ...]:
    """One number for each severity."""
    each = {severity: findings.that(queries.severity_is(severity)) for severity in SEVERITIES}
    return tuple(
        finding_stat(
            f"{severity.capitalize()} findings",
            f"Open findings of severity {severity}: {_SAID[severity]}.",
            each[severity],
            counted=f"sum({each[severity].count_of_clusters()})" if findings.everywhere else "",
            thresholds=(Threshold(1, colour),),
            **more,
        )
        for severity, colour in SEVERITIES.items()
    )


def by_severity_over_time(findings: Findings, **more: Any) -> Panel:
    return lines(
        "Findings over time, by severity",
        "Open findings, including stale ones. A gap means no findings, or no data from the steward.",
        *each_severity(lambda only: findings.that(only).count("severity"), step=_STEP),
        **{"stacked": True, "empty": NONE_OR_UNSEEN, **more},
    )


def finding_bars(
    title: str,
    description: str,
    label: str,
    findings: Findings,
    severities: tuple[str, ...] = tuple(SEVERITIES),
    **more: Any,
) -> Panel:
    """A bar for each value of a label, coloured by severity; one of its own for what is held; `none` where nothing is
    found and somebody answers.
    """
    all_of_them = findings.that(f'severity=~"{"|".join(severities)}"')
    of = f"topk({_MOST_BARS}, sum by ({label})"
    none = f'label_replace(0 * max({findings.answering}) unless on () {all_of_them.found}, "{label}", "none", "", "")'
    return bars(
        title,
        f"{description} Stale findings are purple.",
        *(
            PanelQuery(f"{of} ({findings.that(queries.severity_is(severity)).now}))", f"{{{{{label}}}}}", colour)
            for severity, colour in SEVERITIES.items()
            if severity in severities
        ),
        PanelQuery(f"{of} ({all_of_them.held}))", f"{{{{{label}}}}}, held", HELD),
        *(() if findings.tenant else (PanelQuery(none, f"{{{{{label}}}}}", "text"),)),
        **{**_empty(findings), **more},
    )


def by_reason(findings: Findings, **more: Any) -> Panel:
    """A bar for each reason, coloured by its severity."""
    return finding_bars(
        "Findings by reason",
        f"Open findings by their reason: of each severity the {_MOST_BARS} most frequent ones.",
        "reason",
        findings,
        **more,
    )


def _empty(findings: Findings) -> dict[str, str]:
    """Whoever can't ask whether somebody answers can't tell one from the other."""
    return {"empty": NONE_OR_UNSEEN} if findings.tenant else {}


def severity_column(**more: Any) -> Column:
    """Of rows of `ranked`: as a text it would be sorted by its letters."""
    texts = {rank: severity for severity, rank in _RANKS.items()}
    colours = {rank: SEVERITIES[severity] for severity, rank in _RANKS.items()}
    return Column("severity", "rank", plain="severity", width=90, texts=texts, colours=colours, **more)


def ranked(expr: str) -> str:
    """With a label `rank` by which the worst severity comes first."""
    for severity, rank in _RANKS.items():
        expr = f'label_replace({expr}, "rank", "{rank}", "severity", "{severity}")'
    return expr


_FINDING: Mapping[str, Column] = {
    "severity": severity_column(),
    "reason": column("reason", width=215, links=(page_link("cause"),)),
    "namespace": column("namespace", width=125),
    "name": column("name", links=(page_link("finding"),)),
    "kind": column("kind", width=175),
    "vm": column("vm", "VM", links=(VM_BOARD, page_link("vm"))),
    "node": column("node", width=110),
    "network": column("network", width=170),
    "feature": column("feature", width=150),
    "group": column("group", width=110),
    "cause": column("cause", width=170, links=(page_link("cause"),)),
    "cluster": column("cluster", width=100, links=(page_link("steward"),)),
}


def findings_table(title: str, description: str, findings: Findings, shows: str = "", **more: Any) -> Panel:
    """A row for each, the worst first and of these the oldest. `shows` are the labels that have a column, beside
    severity and cluster.
    """
    columns = [_FINDING[label] for label in ("severity", *(shows or _SHOWN).split(), "cluster")]
    columns.append(Column("for", value=0, unit=Unit.AGE, width=100))
    columns.append(_seen(value=2))
    columns.append(column("runbook", width=240, texts=alert_names(findings.checks), links=(RUNBOOK,)))
    return table(
        title,
        f"{description} The worst first, then the oldest. Stale findings were open at the last evaluation of their "
        "check.",
        columns,
        *(PanelQuery(ranked(with_runbook(expr))) for expr in (findings.ages, findings.found, findings.held)),
        sort=("severity", "-for"),
        **more,
    )


def _seen(value: int) -> Column:
    """Of the value of a query for what is held."""
    return Column("held", value=value, texts={"1": "held"}, thresholds=(Threshold(1, HELD),), width=70)


def with_runbook(expr: str) -> str:
    """With a label `runbook` that has the reason; the column shows the alert that stands for it."""
    return f'label_replace({expr}, "runbook", "$1", "reason", "(.+)")'


def alert_names(checks: tuple[str, ...]) -> dict[str, str]:
    """The alert of each reason; empty for one without."""
    named: dict[str, str] = {}
    for check in all_checks():
        if check.id in checks or not checks:
            for name, reason in check.reasons.items():
                named[name] = named.get(name) or reason.alert
    return named
