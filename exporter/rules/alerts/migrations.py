"""Migrations that go wrong without a drain, and guests that might run twice."""

from __future__ import annotations

from ..model import Area, FindingAlert

_OF_VMI = ("kind", "namespace", "name", "node")

AREA = Area(
    name="migrations",
    note="Migrations beside drains. While KubeVirt is upgraded nothing new is reported of them but a guest that might"
    " run twice, since it migrates VMs itself.",
    quiet=("kubevirt_vmi_migration_trouble",),
    findings=(
        FindingAlert(
            name="VMMigrationStuck",
            # No reason: each attempt has another one, and the alert would begin anew.
            by=_OF_VMI,
            summary="VMI {object} on node {{ $labels.node }} isn't migrated",
            description="",
            wait="10m",  # an attempt that fails is followed by another one within minutes
        ),
        FindingAlert(
            name="VMSourcePodLeft",
            by=(*_OF_VMI, "reason"),
            summary="Two launcher pods of VMI {object} run: its guest might run twice",
            description="",
            mild={
                "SourcePodLeft": "The last migration of VMI {object} failed, and a launcher pod that it made still"
                " runs. No guest should run in that pod, but KubeVirt doesn't migrate the VMI until it is gone. Make"
                " sure that no guest runs in the leftover pod, then delete only that pod."
            },
            mild_summary="A failed migration of VMI {object} left a launcher pod",
            wait="1m",  # the finding opens 10 minutes after the migration has ended
            critical=("SourcePodLeft",),
            impact="critical",
        ),
    ),
)
