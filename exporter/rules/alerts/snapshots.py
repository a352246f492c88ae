"""Snapshots and restores that make no progress."""

from __future__ import annotations

from ..model import Area, FindingAlert

AREA = Area(
    name="snapshots",
    note="Snapshots and restores of VMs that make no progress. While KubeVirt is upgraded nothing new is reported of"
    " them, since its controllers are replaced then.",
    quiet=("kubevirt_vm_snapshot_stuck",),
    findings=(
        FindingAlert(
            name="VMSnapshotStuck",
            summary="{{ $labels.kind }} {object} makes no progress and locks its VM",
            description="",
            wait="15m",  # a controller that is replaced or blocked for a moment goes on by itself
        ),
    ),
)
