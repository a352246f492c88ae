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
            description="{{ $labels.kind }} {object} makes no progress, and locks its VM:",
            wait="15m",  # a controller that is replaced or blocked for a moment goes on by itself
            says={
                "SnapshotOverdue": "its deadline has passed. The VM's volumes and run strategy can't be changed"
                " meanwhile. Read the log of virt-controller, then delete the snapshot.",
                "RestoreStuck": "the VM can't be started meanwhile. Fix the error that KubeVirt reports for the"
                " restore.",
            },
        ),
    ),
)
