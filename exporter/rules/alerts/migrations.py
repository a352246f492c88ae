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
            description="VMI {object} on node {{ $labels.node }} is not migrated. The migration is needed (the node is"
            " cordoned or tainted, or KubeVirt was updated), or no other attempt would help.",
            wait="10m",  # an attempt that fails is followed by another one within minutes
            says={
                "MigrationFailing": "Its migrations fail: read the message of the last one.",
                "TargetUnschedulable": "No node can schedule its target pod: free capacity, or relax its node"
                " requirements.",
                "TargetNotStarting": "Its target pod has a node and does not start: read what its containers wait for.",
                "MigrationPending": "Its migration is blocked: `steward check` says why.",
                "MigrationHanging": "Its migration has a target pod and makes no progress, and KubeVirt does not end"
                " it: `steward check` names the component that it waits for.",
                "MigrationOverdue": "Its migration has been queued for an hour: check the running migrations.",
            },
        ),
        FindingAlert(
            name="VMSourcePodLeft",
            by=(*_OF_VMI, "reason"),
            summary="Two launcher pods of VMI {object} run: its guest may run twice",
            description="The last migration of VMI {object} has ended, and two launcher pods of it run. If a guest"
            " runs in both, both write to the same disks. Check both pods. If a guest runs in both, stop the VM.",
            mild={
                "SourcePodLeft": "The last migration of VMI {object} failed, and a launcher pod that it made is left."
                " The guest runs in the other pod. Find out why the leftover pod does not end, and delete only that"
                " pod."
            },
            mild_summary="A failed migration of VMI {object} left a launcher pod",
            wait="1m",  # the finding opens 10 minutes after the migration has ended
            critical=("SourcePodLeft",),
            impact="critical",
        ),
    ),
)
