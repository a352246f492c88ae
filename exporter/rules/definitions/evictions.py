"""Drains that do not end."""

from __future__ import annotations

from ..model import Area, FindingAlert

__all__ = ["AREA"]

AREA = Area(
    name="evictions",
    note="Drains that do not end. While KubeVirt is upgraded nothing new is reported, since it migrates VMs itself.",
    quiet=("kubevirt_vmi_eviction_blocked",),
    findings=(
        FindingAlert(
            name="VMEvictionNotMigratable",
            by=("kind", "namespace", "name", "node", "reason"),
            summary="VMI {object} can't be migrated off node {{ $labels.node }}",
            description="VMI {object} on node {{ $labels.node }} has to be migrated by its eviction strategy and can't"
            " be: evictions of its pod are refused, and the drain does not end. Stop it with its owner's leave, or end"
            " the drain.",
            wait="10m",  # whoever drains the node may stop the VM meanwhile
        ),
    ),
)
