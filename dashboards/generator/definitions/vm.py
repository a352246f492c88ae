"""One VM: what the links of the other boards lead to."""

from __future__ import annotations

from .. import queries
from ..finding_panels import by_reason, by_severity_over_time, findings_table, severity_stats
from ..findings import Findings
from ..links import page_link
from ..model import Board, BoardRow, Column, PanelQuery, Threshold, Variable
from ..panels import SEVERITIES, column, stat, table
from ..trust import trust
from .common import CLUSTERS, FINDINGS, LINKS

_FOUND = Findings(matchers=('vm="$name"', 'vm!=""'))  # what is about no VM, while none is chosen, is not about this one
_OF_KUBEVIRT = "KubeVirt's own metrics, if this Prometheus scrapes them."
_INFO = queries.each("kubevirt_vmi_info", queries.NAMESPACE, 'name="$name"')
_UUID = queries.each("kubevirt_vm_firmware_uuid_info", queries.NAMESPACE, 'name="$name"')
_LEFT = queries.each("kubevirt_node_drain_vmis")


def _migrations(outcome: str) -> str:
    ended = queries.each(f"kubevirt_vmi_migration_{outcome}", queries.NAMESPACE, 'vmi="$name"')
    return f"sum(max by (cluster, namespace, vmim) ({ended}))"


NAMESPACE = Variable("namespace", "Namespace", f'{{{FINDINGS}, cluster=~"$cluster"}}', "namespace")
NAME = Variable("name", "VM", '{__name__=~"kubevirt_.+", cluster=~"$cluster", namespace=~"$namespace", vm=~".+"}', "vm")

BOARD = Board(
    "vm",
    "VM",
    "VM owners and support",
    "Open findings of one VM, including its IPAMClaims, and where it runs.",
    (
        trust(_FOUND),
        BoardRow(
            "Findings",
            (
                *severity_stats(_FOUND, width=8, by_namespace=True),
                findings_table(
                    "Open findings about the VM",
                    "Open findings of the VM, its VMI, its IPAMClaims and its other objects.",
                    _FOUND,
                    shows="reason kind name node network feature",
                    height=9,
                    by_namespace=True,
                ),
                by_reason(_FOUND, by_namespace=True),
                by_severity_over_time(_FOUND, by_namespace=True),
            ),
        ),
        BoardRow(
            "Placement",
            (
                table(
                    "VMI",
                    f"Its node, phase, OS, instancetype and preference: {_OF_KUBEVIRT}",
                    (
                        column("cluster", links=(page_link("steward"),)),
                        column("node"),
                        column("phase"),
                        column("os", "OS"),
                        column("instance_type", "instancetype"),
                        column("preference"),
                    ),
                    PanelQuery(f"max by (cluster, node, phase, os, instance_type, preference) ({_INFO})"),
                    width=12,
                    height=6,
                    by_namespace=True,
                ),
                table(
                    "Firmware UUID",
                    "The UUID now or at the next start. Needs metrics.firmwareUuidInfo in the steward's configuration.",
                    (column("uuid", "UUID", width=330), column("origin"), column("running"), column("cluster")),
                    PanelQuery(f"max by (cluster, uuid, origin, running) ({_UUID})"),
                    width=12,
                    height=6,
                    by_namespace=True,
                ),
                table(
                    "Drain of its node",
                    f"VMIs left on the node of this VM, by the state of their departure. "
                    f"The node is known from {_OF_KUBEVIRT}",
                    (column("cluster"), column("node"), column("state"), Column("VMIs", value=0)),
                    PanelQuery(
                        f"max by (cluster, node, state) ({_LEFT}) > 0 and on (cluster, node) "
                        f"max by (cluster, node) ({_INFO})"
                    ),
                    width=12,
                    height=6,
                    sort=("-VMIs",),
                    by_namespace=True,
                ),
                stat(
                    "Succeeded migrations",
                    f"Existing migrations of the VM: {_OF_KUBEVIRT}",
                    _migrations("succeeded"),
                    width=6,
                    height=6,
                    by_namespace=True,
                ),
                stat(
                    "Failed migrations",
                    f"Existing migrations of the VM: {_OF_KUBEVIRT}",
                    _migrations("failed"),
                    thresholds=(Threshold(1, SEVERITIES["warning"]),),
                    width=6,
                    height=6,
                    by_namespace=True,
                ),
            ),
        ),
    ),
    (CLUSTERS, NAMESPACE, NAME, *LINKS),
    place=90,
)
