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
        summary="VMI {object} has to leave node {{ $labels.node }} and is not migrated",
        description="VMI {object} has to leave node {{ $labels.node }}, and the drain waits for it.",
        wait="5m",  # an attempt that fails is followed by another one within minutes
        says={
            "MigrationFailing": "Its migrations fail: read the message of the last one.",
            "TargetUnschedulable": "No node can schedule its target pod: free capacity, or relax its node"
            " requirements.",
            "TargetNotStarting": "Its target pod has a node and does not start: read what its containers wait for.",
            "MigrationPending": "Its migration is blocked: `steward check` says why.",
            "MigrationHanging": "Its migration has a target pod and makes no progress, and KubeVirt does not end it:"
            " `steward check` names the component that it waits for.",
            "MigrationOverdue": "Its migration has been queued for an hour: check the running migrations.",
            "NotStarted": "No migration was made: check that virt-controller runs.",
        },
    ),
    FindingAlert(
        name="VMEvictionNotMigratable",
        by=_OF_VMI,
        summary="VMI {object} stays on node {{ $labels.node }}, since KubeVirt can't migrate it",
        description="VMI {object} has to leave node {{ $labels.node }}, and the drain does not end.",
        wait="10m",  # whoever drains the node may stop the VM meanwhile
        says={
            "NotMigratable": "Its eviction strategy allows only live migration, and it can't be live-migrated. Stop it"
            " with its owner's consent, or end the drain.",
            "NotMigratableAfterRequest": "It has an evacuation request, and can no longer be live-migrated. Stop it"
            " with its owner's consent, or end the drain.",
            "NotMigratableWhileCordoned": "The node has been cordoned for an hour. The VMI's eviction strategy allows"
            " only live migration, and the VMI can't be live-migrated. If the node is being drained, stop the VMI with"
            " its owner's consent. Otherwise uncordon the node.",
            "ExternalAwaiting": "With strategy External the controller that manages the VMI has to move it, and has"
            " not acted. Get that controller to act.",
            "LegacyTaintIgnored": "The node has KubeVirt's drain taint, which never moves a VMI with this strategy. If"
            " an eviction would shut the VMI down, stop it with its owner's consent. With strategy External, drain the"
            " node through the Eviction API.",
        },
    ),
    FindingAlert(
        name="VMEvacuationRequestLeft",
        by=_OF_VMI,
        summary="VMI {object} on node {{ $labels.node }} has a leftover evacuation request",
        description="VMI {object} is on node {{ $labels.node }} and has an evacuation request.",
        wait="10m",  # a request that is acted on is gone by then
        says={
            "StaleEvacuationRequest": "The request names another node, so KubeVirt does not migrate the VMI, and"
            " rejects its evictions. Cancel the request, or migrate the VMI once more.",
            "RequestOnSchedulableNode": "The node is not being drained, and KubeVirt migrates the VMI until it has"
            " left. Cancel the request, or migrate the VMI once more.",
            "RequestWithUnmanagedStrategy": "KubeVirt does not migrate a VMI with this strategy, and its next eviction"
            " shuts it down. Before that, cancel the request, or shut the VM down.",
        },
    ),
    FindingAlert(
        name="VMEvictionPDBBlocks",
        by=_OF_VMI,
        summary='{{ if eq $labels.kind "PodDisruptionBudget" }}PDB {object} was left behind and might reject'
        " evictions{{ else }}PDBs keep VMI {object} on node {{ $labels.node }}{{ end }}",
        description="{{ $labels.kind }} {object}:",
        wait="10m",  # where virt-controller deletes a PDB, it does so within seconds
        says={
            "UserPDB": "a PDB rejects the eviction of its pod, and the drain of node {{ $labels.node }} waits. Ask the"
            " owner of the PDB to relax it.",
            "MultiplePDB": "several PDBs select its pod, so its eviction and the drain of node {{ $labels.node }}"
            " fail. Ask the owners of the PDBs to leave only one.",
            "PDBWhileCordoned": "PDBs reject the eviction of its pod, and node {{ $labels.node }} has been cordoned"
            " for an hour. If the node is being drained, ask the owners of the PDBs to relax them. Otherwise uncordon"
            " the node.",
            "OrphanPDB": "KubeVirt made the PDB for a VMI that no longer exists. The PDB selects a pod that lives, and"
            " might reject its eviction. Delete the PDB.",
            "LegacyPDBPresent": "this release of KubeVirt makes no PDBs and has not deleted this one, which might"
            " reject evictions. Check that virt-controller runs.",
        },
    ),
    FindingAlert(
        name="VMEvictionTerminatingStuck",
        by=("kind", "namespace", "name", "vm", "node", "reason"),
        summary='{{ if eq $labels.kind "Pod" }}Launcher pod{{ else }}VMI{{ end }} {object} does not end and blocks the'
        " drain of node {{ $labels.node }}",
        description="The drain of node {{ $labels.node }} waits for {{ $labels.kind }} {object}.",
        wait="10m",  # a VM that is created again under its name is there by then
        says={
            "StuckTerminating": "The VMI was deleted, but still exists long after its guest should have shut down."
            " Check virt-handler on the node.",
            "OrphanLauncherPod": "The pod runs and its VMI {{ $labels.vm }} does not exist, so its evictions are"
            " rejected. First make sure that no guest runs in the pod, then delete the pod.",
        },
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
            description="Each VMI that is left on node {{ $labels.node }}, which is being drained, is blocked. The"
            " drain does not end by itself: follow the alerts of its VMIs, or end the drain.",
            wait="5m",  # the finding opens after half an hour
            cluster_wide=True,
        ),
        FindingAlert(
            name="KubeVirtNodeLost",
            by=("kind", "name", "node", "reason"),
            summary="Node {{ $labels.node }} is not Ready, and VMs on it start nowhere else",
            description="Node {{ $labels.node }} has not been Ready for minutes, and VMIs are on it. They start"
            " nowhere else while their launcher pods are there. Bring the node back. If its host is lost, first switch"
            " the host off, then taint the node as out of service.",
            wait="5m",  # the finding opens after 5 minutes, and a reboot takes longer than that
            cluster_wide=True,
        ),
        FindingAlert(
            name="KubeVirtNodeUnheard",
            by=("kind", "name", "node", "reason"),
            summary="virt-handler on node {{ $labels.node }} sends no heartbeat, and VMs are on the node",
            description="Node {{ $labels.node }} is Ready, but virt-handler on it sends no heartbeat. No VM starts on"
            " the node or migrates to it, and KubeVirt does not manage the VMs that run there. Check virt-handler's"
            " pod on that node.",
            wait="5m",  # the finding opens after 10 minutes, and an update of KubeVirt restarts virt-handler in less
            cluster_wide=True,
        ),
        FindingAlert(
            name="VMLauncherPodStuck",
            by=("kind", "namespace", "name", "vm", "node", "reason"),
            summary='{{ if eq $labels.kind "Pod" }}Launcher pod {object} does not start or end{{ else }}VMI {object}'
            " has no launcher pod{{ end }}, on node {{ $labels.node }}",
            description="{{ $labels.kind }} {object} on node {{ $labels.node }}:",
            wait="5m",  # the finding opens after 10 minutes
            says={
                "PodMissing": "the VMI counts as Running, but its launcher pod is gone. First make sure that no guest"
                " of the VMI runs on the node, then restart the VM.",
                "PodNotStarting": "the pod has had its node for a quarter of an hour and does not start. Check its"
                " containers, volumes and images.",
                "PodNotEnding": "the pod is being deleted and does not end, and its VM is started nowhere else. Do not"
                " delete the pod by force before its guest is known to be off. Check the kubelet of the node.",
            },
        ),
        FindingAlert(
            name="VMPausedByIOError",
            by=("kind", "namespace", "name", "node", "reason"),
            summary="The guest of VMI {object} is paused for an IO error",
            description="QEMU has paused the guest of VMI {object} on node {{ $labels.node }}, since one of its disks"
            " failed. Check its volumes. Once they work, unpause the VMI, or stop and start the VM.",
            wait="2m",  # the finding opens after a minute, in which a disk may come back and the guest be resumed
        ),
        FindingAlert(
            name="VMStartsFailing",
            by=("kind", "namespace", "name", "reason"),
            summary="The starts of VM {object} fail again and again",
            description="At least 3 starts of VM {object} in a row failed, and KubeVirt continues to try. Its events"
            " and its VMI say why.",
            wait="5m",  # a disk or a node that was away for a moment is back by then
        ),
        FindingAlert(
            name="KubeVirtUnavailable",
            summary="KubeVirt {object} is not available",
            description="The condition Available of KubeVirt {object} has been False for half an hour. Check its"
            " conditions, its pods and the log of virt-operator.",
            wait="5m",  # the finding opens after half an hour
        ),
        FindingAlert(
            name="KubeVirtNoNodeTakesVMs",
            summary="No node can schedule VMs: no VM starts or migrates",
            description="Every node of KubeVirt is cordoned, drained, not Ready or not schedulable. Uncordon a node, or"
            " bring one back: until then every start and every migration waits.",
            wait="5m",  # the finding opens after 5 minutes
        ),
        FindingAlert(
            name="VMStoppedAfterDrain",
            by=("kind", "namespace", "name", "node", "reason"),
            summary="VM {object} was stopped for the drain of node {{ $labels.node }}, and is still off",
            description="VM {object} was stopped for the drain of node {{ $labels.node }}, which is over. Nothing"
            " starts it by itself: start it again, or remove the annotation if it is to stay off.",
            wait="5m",  # the finding opens 5 minutes after the drain is over
        ),
        FindingAlert(
            name="KubeVirtEvictionWebhookDown",
            summary="KubeVirt's eviction webhook {object} does not answer: no node with VMs can be drained",
            description="Service {object} has no ready endpoint. The API server has to call it for each eviction of a"
            " launcher pod, and rejects them all. Do not delete the webhook. Bring virt-api back.",
            wait="3m",  # the finding opens after 2 minutes, which an update of a single virt-api needs
            critical=("WebhookDown",),
            impact="critical",
        ),
    ),
)
