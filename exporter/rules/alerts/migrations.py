"""Migrations that go wrong while nobody drains a node, and guests that may run twice."""

from __future__ import annotations

from ..model import Area, FindingAlert

_OF_VMI = ("kind", "namespace", "name", "node")

AREA = Area(
    name="migrations",
    note="Migrations beside drains. While KubeVirt is upgraded nothing new is reported of them but a guest that may run"
    " twice, since it migrates VMs itself.",
    quiet=("kubevirt_vmi_migration_trouble",),
    findings=(
        FindingAlert(
            name="VMMigrationStuck",
            # No reason: each attempt has another one, and the alert would begin anew.
            by=_OF_VMI,
            summary="VMI {object} on node {{ $labels.node }} is not migrated",
            description="The migration of VMI {object} on node {{ $labels.node }} does not come about, and somebody"
            " waits for it (the node is closed, or KubeVirt was updated), or no other attempt would help.",
            wait="10m",  # an attempt that fails is followed by another one within minutes
            says={
                "MigrationFailing": "Its migrations fail: read the message of the last one.",
                "TargetUnschedulable": "No node takes its target pod: free capacity, or relax what it asks of a node.",
                "TargetNotStarting": "Its target pod has a node and does not start: read what its containers wait for.",
                "MigrationPending": "Its migration is held up: `steward check` says by what.",
                "MigrationHanging": "Its migration has a target pod and does not go on, and KubeVirt does not end it:"
                " `steward check` says whom it waits for.",
                "MigrationOverdue": "Its migration has waited for its turn for an hour: look at those that run.",
            },
        ),
        FindingAlert(
            name="VMSourcePodLeft",
            by=(*_OF_VMI, "reason"),
            summary="Two launcher pods of VMI {object} run: its guest may run twice",
            description="The last migration of VMI {object} has ended, and two launcher pods of it run. If a guest runs"
            " in both, they write to the same disks. Look in both pods, and stop the VM if it does.",
            mild={
                "SourcePodLeft": "The last migration of VMI {object} has failed, and a launcher pod that it made is"
                " left. The guest runs in the other one. Look at what keeps the pod that is left, and delete that one"
                " alone."
            },
            mild_summary="A launcher pod of VMI {object} is left of a migration that failed",
            wait="1m",  # the finding opens 10 minutes after the migration has ended
            critical=("SourcePodLeft",),
            impact="critical",
        ),
    ),
)
