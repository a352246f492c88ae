"""All clusters on one board, and from each the way into it."""

from __future__ import annotations

from dataclasses import replace

from .. import queries
from ..cause_panels import causes_table
from ..finding_panels import RUNBOOK, by_reason, finding_bars, ranked, severity_column, severity_stats
from ..findings import Findings
from ..links import board_link, page_link
from ..model import Board, BoardRow, Column, PanelQuery, Threshold
from ..panels import ATTENTION, HELD, SEVERITIES, YES_NO, column, stat, table
from ..trust import LEFT_OUT, answers, stewards
from .common import CLUSTERS, LINKS

_ALL = Findings(everywhere=True)
_REPLICA = "cluster, job, instance"
_REPAIRS = board_link("repairs", "Board Repairs")
_VMS = queries.each("kubevirt_steward_kind_objects", 'kind="VirtualMachine"')
_REPAIRED = queries.each("kubevirt_steward_repair_findings")
_WAITS = queries.each("kubevirt_steward_repair_findings", 'state=~"planned|proposed"')
_BUILD = queries.each("kubevirt_steward_build_info")
_CONFIG = queries.each("kubevirt_steward_config_info")


def _of(severity: str) -> PanelQuery:
    return PanelQuery(_ALL.that(queries.severity_is(severity)).count_of_clusters())


def _counts(first: int) -> tuple[tuple[Column, PanelQuery], ...]:
    """Columns of the table of clusters, whose values begin with this number."""
    of = [
        (Column(name, value=first + i, width=90, thresholds=(Threshold(1, colour),)), _of(name))
        for i, (name, colour) in enumerate(SEVERITIES.items())
    ]
    then = first + len(of)
    vms = PanelQuery(f"max by (cluster) ({_VMS}) or {queries.SENT_VMS}")
    upgrading = PanelQuery(f"max by (cluster) ({queries.each('kubevirt_upgrade_in_progress')})")
    return (
        *of,
        (Column("VMs", value=then, width=80), vms),
        (Column("KubeVirt upgrading", value=then + 1, texts=YES_NO, width=150), upgrading),
    )


_LEADING = queries.each("kubevirt_steward_repair_leading")


def _repair(name: str) -> PanelQuery:
    return PanelQuery(f"max by (cluster) ({queries.each(f'kubevirt_steward_repair_{name}')})")


def _counted(findings: str) -> PanelQuery:
    """0 where the sidecar is scraped and has none of them."""
    counted = f"sum by (cluster) (max by (cluster, remediation, state) ({findings}))"
    return PanelQuery(queries.zero_by_cluster(counted, _LEADING))


REPAIRS = table(
    "Repairs, by cluster",
    "One row for each scraped sidecar: findings with a repair, repairs to approve, and blocked repairs.",
    (
        column("cluster", links=(_REPAIRS, page_link("steward"))),
        Column("has a leader", value=0, texts=YES_NO, width=120),
        Column("findings with a repair", value=1, width=140),
        Column("need approval", value=2, width=170, thresholds=ATTENTION),
        Column("pauses", value=3, width=90, thresholds=ATTENTION),
        Column("unfinished", value=4, width=110, thresholds=ATTENTION),
    ),
    _repair("leading"),
    _counted(_REPAIRED),
    _counted(_WAITS),
    _repair("paused"),
    _repair("unfinished"),
    width=14,
    height=7,
    empty="no sidecar, or no data",
    sort=("-need approval",),
)

_FIRING = queries.each("ALERTS", 'alertstate="firing"', 'kubernetes_operator_component="kubevirt-steward"')
_ALERTS = f"count by (cluster, alertname, severity) ({_FIRING})"
ALERTS = table(
    "Firing alerts, by cluster",
    "One row for each alert of a cluster. It replaces findings for clusters that send none to the hub.",
    (
        severity_column(),
        column("runbook", "alert", links=(RUNBOOK,)),
        Column("alerts", value=0, width=90),
        column("cluster", width=150, links=(board_link("fleet", "Board Fleet"), page_link("steward"))),
    ),
    PanelQuery(ranked(f'label_replace({_ALERTS}, "runbook", "$1", "alertname", "(.+)")')),
    sort=("severity", "-alerts"),
)

VERSIONS = table(
    "Versions of the steward, by cluster",
    "Replicas by version and configuration. More than one row of a cluster is expected only during an update.",
    (
        column("cluster", links=(board_link("steward", "Board Steward"), page_link("steward"))),
        column("version", width=140),
        column("hash", "configuration", width=140),
        Column("replicas", value=0, width=90),
    ),
    PanelQuery(
        f"count by (cluster, version, hash) (max by ({_REPLICA}, version) ({_BUILD})"
        f" * on ({_REPLICA}) group_left (hash) max by ({_REPLICA}, hash) ({_CONFIG}))"
    ),
    width=10,
    height=7,
    empty="not seen",
    sort=("version", "cluster"),
)

BOARD = Board(
    "hub",
    "Hub",
    "operators of several clusters",
    "All clusters: completeness of their data, findings, worst causes, repairs and versions. Each row links to its "
    "cluster.",
    (
        BoardRow(
            "Completeness of the data",
            (
                answers("All stewards respond"),
                stat(
                    "Clusters without response",
                    "Clusters with a steward now or recently, but no responding replica. At red, follow StewardDown.",
                    queries.zero_where(f"count({queries.ANSWERS} == 0)", queries.ANSWERS),
                    thresholds=(Threshold(1, "red"),),
                    width=5,
                ),
                stat(
                    "Responding clusters",
                    "Clusters with a replica that has listed and evaluated every required kind.",
                    f"sum({queries.ANSWERS})",
                    width=5,
                ),
                stat(
                    "Findings held",
                    "Findings that were open at the last evaluation of their check. Their present state is unknown.",
                    queries.zero_while_seen(f"sum({_ALL.held})"),
                    thresholds=(Threshold(1, HELD),),
                    width=5,
                ),
                replace(LEFT_OUT, width=5),
            ),
        ),
        BoardRow("Clusters", (stewards(_ALL, *_counts(5), height=8, sort=("answers", "-critical", "-warning")),)),
        BoardRow(
            "Findings",
            (
                *severity_stats(_ALL, width=8),
                causes_table(
                    "The worst causes of all clusters", "One row for findings that one fix resolves.", _ALL, height=12
                ),
                ALERTS,
                by_reason(_ALL),
                finding_bars("Findings by cluster", "Open findings of each cluster.", "cluster", _ALL),
            ),
        ),
        BoardRow("Repairs and versions", (REPAIRS, VERSIONS)),
    ),
    (CLUSTERS, *LINKS),
    place=5,
)
