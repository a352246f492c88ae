"""Panels as boards ask for them: the shapes that occur again and again, and their colours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from exporter.checks import all_checks

from . import queries
from .model import COLUMNS, BoardRow, Column, Link, Panel, PanelKind, PanelQuery, Threshold, Unit

__all__ = [
    "ATTENTION",
    "SEVERITIES",
    "bars",
    "by_reason",
    "by_severity_over_time",
    "column",
    "each_severity",
    "each_value",
    "findings_table",
    "lines",
    "severity_stats",
    "spread",
    "stat",
    "table",
    "trust",
]

SEVERITIES = {"critical": "red", "warning": "orange", "info": "blue"}
ATTENTION = (Threshold(1, "orange"),)
_CURRENT = queries.each("kubevirt_steward_kind_current_timestamp_seconds")
_YES_NO = {"0": "no", "1": "yes"}

_PAGE = Link("On the steward's page", "${steward}/?namespace={namespace}&name={name}")
_REASON = Link("On the steward's page", "${steward}/?check={check}&reason={reason}")
_VM = Link("Board of the VM", "/d/kubevirt-steward-vm?var-namespace={namespace}&var-name={vm}")
_RUNBOOK = Link("Runbook", "${runbooks}{runbook}.md")


def stat(title: str, description: str, expr: str, unit: Unit = Unit.COUNT, **more: Any) -> Panel:
    more = {"width": 4, "height": 4, **more}
    return Panel(PanelKind.STAT, title, description, unit, (PanelQuery(expr),), **more)


def lines(title: str, description: str, *asked: PanelQuery, unit: Unit = Unit.COUNT, **more: Any) -> Panel:
    more = {"width": 12, "height": 8, **more}
    return Panel(PanelKind.TIMESERIES, title, description, unit, asked, **more)


def bars(title: str, description: str, *asked: PanelQuery, unit: Unit = Unit.COUNT, **more: Any) -> Panel:
    more = {"width": 12, "height": 8, "empty": "none seen", **more}
    return Panel(PanelKind.BARGAUGE, title, description, unit, asked, **more)


def table(title: str, description: str, columns: Iterable[Column], *asked: PanelQuery, **more: Any) -> Panel:
    more = {"width": 24, "height": 9, **more}
    return Panel(PanelKind.TABLE, title, description, Unit.COUNT, asked, columns=tuple(columns), **more)


def column(label: str, title: str = "", **more: Any) -> Column:
    return Column(title or label.replace("_", " "), label, **more)


def runbook(alert: str) -> Link:
    """The runbook of an alert, on the panel that shows what it is about."""
    return Link(f"Runbook {alert}", f"${{runbooks}}{alert}.md")


def trust(*checks: str, title: str = "Can this be trusted?", also: Iterable[Panel] = ()) -> BoardRow:
    """The row that a board begins with: whether the steward answers, for these checks or for all."""
    of = queries.checks_are(checks)
    unknown = queries.each("kubevirt_steward_check_state", 'state="unknown"', of)
    answering = queries.each("kubevirt_steward_check_state", 'state="answering"', of)
    by = "max by (cluster, check)"
    panels = (
        stat(
            "Replicas that answer",
            "Replicas of the steward that have listed and evaluated every required kind.",
            f"sum(max by (cluster, job, instance) ({queries.each('kubevirt_steward_ready')}))",
            links=(runbook("StewardDown"),),
        ),
        stat(
            "Checks that answer",
            "Checks for which some replica has an answer. Those that do not apply here, or are disabled, do not count.",
            f"sum({by} ({answering}))",
            links=(runbook("StewardCheckUnknown"),),
        ),
        stat(
            "Checks without one",
            "Checks for which no replica has an answer: that nothing is found means nothing for them.",
            f"sum({by} ({unknown}) * (1 - {by} ({answering})))",
            thresholds=ATTENTION,
            links=(runbook("StewardCheckUnknown"),),
        ),
        stat(
            "Places without one",
            "Namespaces and single objects for which a check has no answer although it has one elsewhere.",
            f"sum({by} ({queries.each('kubevirt_steward_check_unknown_partitions', of)}))",
            thresholds=ATTENTION,
            links=(runbook("StewardObjectUndecodable"),),
        ),
        stat(
            "Age of the picture",
            "For how long the kind that is seen worst may have changed unseen. Minutes are normal, since a quiet watch "
            "only reports now and then.",
            f"clamp_min(max(time() - max by (cluster, kind) ({_CURRENT})), 0)",
            Unit.SECONDS,
            thresholds=(Threshold(600, "orange"),),
            decimals=0,
        ),
    )
    return BoardRow(title, spread(*panels, *also))


def upgrading() -> Panel:
    return stat(
        "KubeVirt upgrading",
        "Whether KubeVirt's control plane is being brought to another release. It moves VMs itself meanwhile, and "
        "alerts "
        "hold back new findings for two hours.",
        f"max({queries.each('kubevirt_upgrade_in_progress')})",
        Unit.COUNT,
        texts=_YES_NO,
        thresholds=ATTENTION,
    )


def severity_stats(checks: tuple[str, ...] = (), width: int = 4) -> tuple[Panel, ...]:
    """One number for each severity."""
    said = {
        "critical": "traffic, a control plane or a VM is lost, or about to be",
        "warning": "something is wrong and nobody has lost anything yet",
        "info": "worth knowing",
    }
    return tuple(
        stat(
            severity.capitalize(),
            f"Open findings of severity {severity}: {said[severity]}.",
            queries.counts("", checks, queries.severity_is(severity)),
            thresholds=(Threshold(1, colour),),
            width=width,
        )
        for severity, colour in SEVERITIES.items()
    )


def by_severity_over_time(checks: tuple[str, ...] = (), **more: Any) -> Panel:
    return lines(
        "By severity",
        "Open findings over time. A gap is a time without an answer.",
        *each_severity(lambda only: queries.counts("severity", checks, only)),
        stacked=True,
        **more,
    )


def each_severity(expr: Callable[[str], str]) -> tuple[PanelQuery, ...]:
    """A query for each, in its colour. The expression is that for a matcher."""
    return each_value("severity", SEVERITIES, expr)


def each_value(label: str, colours: Mapping[str, str], expr: Callable[[str], str]) -> tuple[PanelQuery, ...]:
    """A query for each value of a label, in its colour: no format but Grafana's colours single series."""
    return tuple(PanelQuery(expr(f'{label}="{value}"'), value, colour) for value, colour in colours.items())


def by_reason(checks: tuple[str, ...] = (), title: str = "Most frequent reasons", **more: Any) -> Panel:
    """A bar for each reason, coloured by its severity."""
    return bars(
        title,
        "Open findings by their reason, the most frequent first.",
        *(
            PanelQuery(f"topk(10, {queries.counts('reason', checks, only)} > 0)", "{{reason}}", colour)
            for only, colour in ((queries.severity_is(severity), colour) for severity, colour in SEVERITIES.items())
        ),
        **more,
    )


_FINDING: Mapping[str, Column] = {
    "severity": column("severity", width=90, colours=SEVERITIES),
    "reason": column("reason", width=250, link=_REASON),
    "namespace": column("namespace", width=150),
    "name": column("name", link=_PAGE),
    "kind": column("kind", width=195),
    "vm": column("vm", "VM", link=_VM),
    "node": column("node", width=110),
    "network": column("network", width=170),
    "feature": column("feature", width=150),
    "group": column("group", width=110),
    "cluster": column("cluster", width=110),
}


def findings_table(
    title: str,
    description: str,
    checks: tuple[str, ...] = (),
    *matchers: str,
    shows: str = "severity reason namespace name kind vm node",
    **more: Any,
) -> Panel:
    """Open findings, a row each, the oldest first. `shows` are the labels that have a column."""
    columns = [_FINDING[label] for label in shows.split()]
    columns.append(Column("for", value=0, unit=Unit.AGE, width=125))
    columns.append(column("runbook", width=260, texts=_alerts(checks), link=_RUNBOOK))
    return table(
        title,
        f"{description} Oldest first; without an age where nobody records since when it is so.",
        columns,
        PanelQuery(_with_runbook(queries.ages(checks, *matchers))),
        PanelQuery(_with_runbook(queries.found(checks, *matchers))),
        sort="-for",
        **more,
    )


def _with_runbook(expr: str) -> str:
    """With a label `runbook` that has the reason; the column shows the alert that stands for it."""
    return f'label_replace({expr}, "runbook", "$1", "reason", "(.+)")'


def _alerts(checks: tuple[str, ...]) -> dict[str, str]:
    """The alert of each reason; empty for one without."""
    named: dict[str, str] = {}
    for check in all_checks():
        if check.id in checks or not checks:
            for name, reason in check.reasons.items():
                named[name] = named.get(name) or reason.alert
    return named


def spread(*panels: Panel) -> tuple[Panel, ...]:
    """One line of panels that are as wide as each other, to a column."""
    width, rest = divmod(COLUMNS, len(panels))
    return tuple(replace(panel, width=width + (i < rest)) for i, panel in enumerate(panels))
