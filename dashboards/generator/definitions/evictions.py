"""Nodes that are drained, and VMs that do not leave them."""

from __future__ import annotations

from .. import queries
from ..finding_panels import by_reason, finding_stat, findings_table, reasons_stat, severity_stats
from ..findings import Findings
from ..links import page_link, runbook
from ..model import Board, BoardRow, Column, PanelQuery, Threshold, Unit
from ..panels import ATTENTION, NONE_OR_UNSEEN, SEVERITIES, bars, column, each_value, lines, stat, table, upgrading
from ..trust import trust
from .common import DRAINS, VARIABLES

_FOUND = Findings(DRAINS)
_LEFT = queries.each("kubevirt_node_drain_vmis")
_NODE = "cluster, node"
_STARTED = queries.each("kubevirt_node_drain_started_timestamp_seconds")
_FAILED = queries.each("kubevirt_steward_migration_failures_total")
STATES = {
    "blocked": "red",
    "unknown": "purple",
    "shuts_down": "orange",
    "external": "yellow",
    "migrating": "blue",
    "waiting": "light-blue",
    "terminating": "text",
}


def _left(*state: str) -> str:
    return f"sum by ({_NODE}) (max by ({_NODE}, state) ({queries.each('kubevirt_node_drain_vmis', *state)}))"


def _by_state(only: str) -> str:
    return f"sum(max by ({_NODE}, state) ({queries.each('kubevirt_node_drain_vmis', only)}))"


NODES = table(
    "Draining nodes",
    "Every cordoned or draining node, with its remaining VMIs by the state of their departure. Blocked VMIs remain "
    "until you remove the cause. The start is empty if no object records it.",
    (
        column("cluster", width=110, links=(page_link("steward"),)),
        column("node"),
        Column("drained for", value=0, unit=Unit.AGE, width=200),
        Column("left", value=1, width=90),
        Column("blocked", value=2, thresholds=(Threshold(1, "red"),), width=100),
        Column("shut down", value=3, thresholds=(Threshold(1, "orange"),), width=110),
        Column("external", value=4, width=100),
        Column("migrating", value=5, width=100),
        Column("waiting", value=6, width=100),
        Column("unknown", value=7, thresholds=(Threshold(1, "purple"),), width=100),
    ),
    PanelQuery(f"time() - min by ({_NODE}) ({_STARTED})"),
    PanelQuery(_left()),
    *(
        PanelQuery(_left(f'state="{state}"'))
        for state in ("blocked", "shuts_down", "external", "migrating", "waiting", "unknown")
    ),
    sort=("-blocked", "-left"),
    height=7,
    links=(runbook("KubeVirtNodeDrainStalled"),),
)

BOARD = Board(
    "evictions",
    "Evictions and drains",
    "node administrators",
    "Draining nodes, the VMIs left on them with the state of their departure, and what blocks them.",
    (
        trust(_FOUND, upgrading()),
        BoardRow(
            "Drains",
            (
                stat(
                    "Nodes drained",
                    "Cordoned or draining nodes that still have VMIs.",
                    queries.zero_while_seen(f"count(sum by ({_NODE}) (max by ({_NODE}, state) ({_LEFT})) > 0)"),
                    thresholds=(Threshold(1, SEVERITIES["info"]),),
                ),
                reasons_stat(
                    "Stalled drains",
                    "Nodes whose remaining VMIs have all been blocked for half an hour. At red, follow their findings.",
                    _FOUND,
                    "NodeDrainStalled",
                    thresholds=(Threshold(1, SEVERITIES["warning"]),),
                    links=(runbook("KubeVirtNodeDrainStalled"),),
                ),
                reasons_stat(
                    "Webhook down",
                    "Whether virt-api has no ready endpoint: no launcher pod can be evicted, and no node drained.",
                    _FOUND,
                    "WebhookDown",
                    texts={"0": "no"},
                    thresholds=(Threshold(1, SEVERITIES["critical"]),),
                    links=(runbook("KubeVirtEvictionWebhookDown"),),
                ),
                finding_stat(
                    "PDBs left behind",
                    "Leftover PDBs of KubeVirt, which reject evictions.",
                    Findings(("eviction_pdbs",)),
                    thresholds=ATTENTION,
                ),
                reasons_stat(
                    "VMIs that will shut down",
                    "VMIs on draining nodes whose eviction shuts the guest down.",
                    _FOUND,
                    "WillShutDown",
                    thresholds=(Threshold(1, SEVERITIES["info"]),),
                ),
                finding_stat(
                    "VMIs that can't leave",
                    "VMIs that must leave their node but make no progress.",
                    Findings(("evictions",), ('severity="warning"',)),
                    thresholds=(Threshold(1, SEVERITIES["warning"]),),
                ),
                NODES,
                lines(
                    "VMIs left on draining nodes, by state",
                    "By the state of their departure. A finished drain ends at 0. A constant number of blocked VMIs "
                    "means that the drain hangs.",
                    *each_value("state", STATES, _by_state),
                    empty=NONE_OR_UNSEEN,
                    stacked=True,
                    width=16,
                ),
                bars(
                    "VMIs by eviction strategy",
                    "Unfinished VMIs by their effective eviction strategy. VMIs with LiveMigrate block a drain if they "
                    "can't be migrated. VMIs with None are shut down.",
                    PanelQuery(
                        "sum by (strategy) (max by (cluster, strategy) ("
                        + queries.each("kubevirt_vmi_eviction_strategy")
                        + "))",
                        "{{strategy}}",
                        "blue",
                    ),
                    width=8,
                ),
            ),
        ),
        BoardRow(
            "Blocked VMIs",
            (
                *severity_stats(_FOUND, width=8),
                findings_table(
                    "Findings about evictions and drains",
                    "VMIs, pods, nodes and PDBs.",
                    _FOUND,
                    shows="reason node namespace name kind vm",
                    height=12,
                    width=24,
                ),
                by_reason(_FOUND),
                lines(
                    "Failed migrations in the last hour",
                    "By the class of the failure. Each migration counts once, even if it no longer exists.",
                    PanelQuery(
                        f"sum by (failure) (max by (cluster, failure) (increase({_FAILED}[1h])))", "{{failure}}"
                    ),
                    stacked=True,
                ),
            ),
        ),
    ),
    VARIABLES,
    hours=6,
    place=50,
)
