"""Drains that do not end."""

from __future__ import annotations

from ..model import Area, FindingAlert

# A finding about a VMI is on the node that the VMI has to leave, and ends where the VMI has left it.
_OF_VMI = ("kind", "namespace", "name", "node", "reason")

_VMIS = (
    FindingAlert(
        name="VMEvictionMigrationStuck",
        # No reason: each attempt has another one, and the alert would begin anew.
        by=("kind", "namespace", "name", "node"),
        summary="VMI {object} must leave node {{ $labels.node }}, but isn't migrated",
        description="",
        wait="5m",  # an attempt that fails is followed by another one within minutes
    ),
    FindingAlert(
        name="VMEvictionNotMigratable",
        by=_OF_VMI,
        summary="VMI {object} can't be migrated off node {{ $labels.node }}",
        description="",
        wait="10m",  # the VM is possibly stopped for the drain meanwhile
    ),
    FindingAlert(
        name="VMEvacuationRequestLeft",
        by=_OF_VMI,
        summary="VMI {object} on node {{ $labels.node }} has a leftover evacuation request",
        description="",
        wait="10m",  # a request that is acted on is gone by then
    ),
    FindingAlert(
        name="VMEvictionPDBBlocks",
        by=_OF_VMI,
        summary='{{ if eq $labels.kind "PodDisruptionBudget" }}Leftover PDB {object} can block a drain{{ else }}PDBs'
        " keep VMI {object} on node {{ $labels.node }}{{ end }}",
        description="",
        wait="10m",  # where virt-controller deletes a PDB, it does so within seconds
    ),
    FindingAlert(
        name="VMEvictionTerminatingStuck",
        by=("kind", "namespace", "name", "vm", "node", "reason"),
        summary='{{ if eq $labels.kind "Pod" }}Launcher pod {object} has no VMI{{ else }}Deleted VMI {object} still'
        " exists{{ end }} and blocks a drain of {{ $labels.node }}",
        description="",
        wait="10m",  # a VM that is created again under its name is there by then
    ),
)

AREA = Area(
    name="evictions",
    note="Drains that do not end. While KubeVirt is upgraded nothing new is reported on VMIs and nodes, since it"
    " migrates VMs itself.",
    quiet=("kubevirt_node_drain_residual", "kubevirt_vmi_eviction_blocked"),
    findings=(
        *_VMIS,
        FindingAlert(
            name="KubeVirtNodeDrainStalled",
            by=("kind", "name", "node", "reason"),
            summary="The drain of node {{ $labels.node }} makes no progress",
            description="",
            wait="5m",  # the finding opens after half an hour
            cluster_wide=True,
        ),
        FindingAlert(
            name="KubeVirtNodeLost",
            by=("kind", "name", "node", "reason"),
            # Its guests are down, on as many VMs as the node had, until a person acts: Kubernetes ends no pod of a node
            # that does not answer, and KubeVirt starts no VM beside its pod.
            critical=("NodeLost",),
            summary="Node {{ $labels.node }} is not Ready, and its VMs start nowhere else",
            description="",
            mild={
                "NodeLost": "Node {{ $labels.node }} is not Ready. VMIs are assigned to it that were not running. They"
                " start nowhere else while their launcher pods exist. Bring the node back. If its host is lost, switch"
                " the host off first, then taint the node as out of service."
            },
            mild_summary="Node {{ $labels.node }} is not Ready, and VMs can't start on it",
            wait="5m",  # the finding opens after 5 minutes, and a reboot takes longer than that
            cluster_wide=True,
        ),
        FindingAlert(
            name="KubeVirtNodeUnheard",
            by=("kind", "name", "node", "reason"),
            summary="virt-handler on node {{ $labels.node }} with VMs sends no heartbeat",
            description="",
            wait="5m",  # the finding opens after 10 minutes, and an update of KubeVirt restarts virt-handler in less
            cluster_wide=True,
        ),
        FindingAlert(
            name="VMLauncherPodStuck",
            by=("kind", "namespace", "name", "vm", "node", "reason"),
            summary='{{ if eq $labels.kind "Pod" }}Launcher pod {object} is stuck{{ else }}VMI {object} has no launcher'
            " pod{{ end }} on node {{ $labels.node }}",
            description="",
            wait="5m",  # the finding opens after 10 minutes
        ),
        FindingAlert(
            name="VMPausedByIOError",
            by=("kind", "namespace", "name", "node", "reason"),
            summary="The guest of VMI {object} is paused after an I/O error",
            description="",
            wait="2m",  # the finding opens after a minute, in which the disk and the guest can come back
        ),
        FindingAlert(
            name="VMStartsFailing",
            by=("kind", "namespace", "name", "reason"),
            summary="VM {object} fails to start repeatedly",
            description="",
            wait="5m",  # a disk or a node that was away for a moment is back by then
        ),
        FindingAlert(
            name="KubeVirtUnavailable",
            summary="KubeVirt {object} is not available",
            description="",
            wait="5m",  # the finding opens after half an hour
        ),
        FindingAlert(
            name="KubeVirtNoNodeTakesVMs",
            summary="No node can run VMs: no VM starts or migrates",
            description="",
            wait="5m",  # the finding opens after 5 minutes
        ),
        FindingAlert(
            name="VMStoppedAfterDrain",
            by=("kind", "namespace", "name", "node", "reason"),
            summary="VM {object} is still off after the drain of node {{ $labels.node }}",
            description="",
            wait="5m",  # the finding opens 5 minutes after the drain is over
        ),
        FindingAlert(
            name="KubeVirtEvictionWebhookDown",
            summary="{object} has no ready endpoint: no node can be drained",
            description="",
            wait="3m",  # the finding opens after 2 minutes, which an update of a single virt-api needs
            critical=("WebhookDown",),
            impact="critical",
        ),
    ),
)
