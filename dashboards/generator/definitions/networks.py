"""Networks and their addresses: how full they are, what holds addresses, and what is wrong with either."""

from __future__ import annotations

from .. import queries
from ..finding_panels import by_reason, finding_stat, findings_table, severity_stats
from ..findings import Findings
from ..links import page_link, runbook
from ..model import Board, BoardRow, Column, PanelQuery, Threshold, Unit
from ..panels import NONE_OR_UNSEEN, SEVERITIES, column, each_value, lines, stat, table
from ..trust import trust
from .common import NETWORKS, VARIABLES

_FOUND = Findings(NETWORKS)
_USED = queries.each("kubevirt_ipam_pool_used")
_CAPACITY = queries.each("kubevirt_ipam_pool_capacity")
_POOL = "cluster, network, subnet"
_HELD = f"sum by ({_POOL}) (max by ({_POOL}, use) ({_USED}))"
_SIZE = f"max by ({_POOL}) ({_CAPACITY})"
_SHARE = f"{_HELD} / ({_SIZE} > 0)"
_FREE = f"{_SIZE} - {_HELD}"
_RECLAIMABLE = queries.each("kubevirt_ipam_pool_used", 'use=~"leaked|orphaned"')
_DAY = 86400
# How many seconds until the pool is full, if it goes on as in the last day; none where it does not grow.
_GROWTH = f"sum by ({_POOL}) (max by ({_POOL}, use) (deriv({_USED}[1d])))"
_UNTIL_FULL = f"({_FREE}) / ({_GROWTH} > 0) / {_DAY}"
_FULL = (Threshold(0.8, SEVERITIES["warning"]), Threshold(0.95, SEVERITIES["critical"]))
_SOON = (Threshold(0, SEVERITIES["critical"]), Threshold(7, SEVERITIES["warning"]), Threshold(30, "text"))
USES = {
    "vm_running": "blue",
    "vm_stopped": "light-blue",
    "terminating": "yellow",
    "leaked": "orange",
    "orphaned": "dark-orange",
    "foreign": "purple",
    "pod_only": "dark-blue",
}


def _by_use(only: str) -> str:
    return f"sum(max by ({_POOL}, use) ({queries.each('kubevirt_ipam_pool_used', only)}))"


POOLS = table(
    "Address usage by subnet",
    "Every subnet of a network that allocates addresses, the fullest first. Days until full assume the growth of the "
    "last 24 hours: empty without growth, and a rough estimate on the first day.",
    (
        column("cluster", width=110, links=(page_link("steward"),)),
        column("network"),
        column("subnet", width=180),
        Column("used", value=0, unit=Unit.RATIO, decimals=1, thresholds=_FULL, width=110),
        Column("addresses", value=1, unit=Unit.SHORT, width=120),
        Column("free", value=2, unit=Unit.SHORT, width=120),
        Column("reclaimable", value=3, unit=Unit.SHORT, width=120),
        Column("days until full", value=4, decimals=1, thresholds=_SOON, width=140),
    ),
    PanelQuery(_SHARE),
    PanelQuery(_SIZE),
    PanelQuery(_FREE),
    PanelQuery(f"sum by ({_POOL}) (max by ({_POOL}, use) ({_RECLAIMABLE})) or 0 * {_SIZE}"),
    PanelQuery(_UNTIL_FULL),
    sort=("-used",),
    links=(runbook("VMNetworkPoolPressure"),),
)

BOARD = Board(
    "networks",
    "Networks and addresses",
    "the network team",
    "Address usage of networks, reclaimable addresses, and findings about networks, IPAMClaims and their components.",
    (
        trust(_FOUND),
        BoardRow(
            "Findings",
            (
                *severity_stats(_FOUND),
                finding_stat(
                    "IPAM components down",
                    "Failed components that create or use IPAMClaims: KubeVirt's IPAM controller and its webhook, "
                    "OVN-Kubernetes' control plane. While one is down, its consequences are not reported.",
                    Findings(("ipam_stack",)),
                    thresholds=(Threshold(1, SEVERITIES["critical"]),),
                    links=(runbook("KubeVirtIPAMControllerDown"),),
                ),
                finding_stat(
                    "Faulty networks",
                    "Findings about NADs and user-defined networks: rejected, in conflict, or without addresses.",
                    Findings(("ipam_networks", "ipam_namespaces")),
                    thresholds=(Threshold(1, SEVERITIES["warning"]),),
                    links=(runbook("VMNetworkMisconfigured"),),
                ),
                stat(
                    "Reclaimable addresses",
                    "Addresses that IPAMClaims hold for deleted VMs or removed interfaces.",
                    queries.zero_where(f"sum(max by ({_POOL}, use) ({_RECLAIMABLE}))", _USED),
                    empty=NONE_OR_UNSEEN,
                    thresholds=(Threshold(1, SEVERITIES["info"]),),
                ),
                by_reason(_FOUND, width=24, height=11),
            ),
        ),
        BoardRow(
            "Addresses",
            (
                POOLS,
                lines(
                    "Share of addresses used, by subnet",
                    "Share of a subnet's addresses in use. A share makes a /24 comparable with a /64.",
                    PanelQuery(_SHARE, "{{cluster}} {{network}} {{subnet}}"),
                    unit=Unit.RATIO,
                ),
                lines(
                    "Used addresses, by use",
                    "Addresses in use, by use. Leaked and orphaned addresses can be reclaimed.",
                    *each_value("use", USES, _by_use),
                    unit=Unit.SHORT,
                    empty=NONE_OR_UNSEEN,
                    stacked=True,
                ),
            ),
        ),
        BoardRow(
            "Where",
            (
                findings_table(
                    "Findings about networks and addresses",
                    "IPAMClaims, interfaces of VMs, NADs and components.",
                    _FOUND,
                    shows="reason namespace name vm network",
                    height=14,
                ),
            ),
        ),
    ),
    VARIABLES,
    hours=48,
    place=40,
)
