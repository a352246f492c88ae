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
            "TargetUnschedulable": "No node takes its target pod: free capacity, or relax what it asks of a node.",
            "TargetNotStarting": "Its target pod has a node and does not start: read what its containers wait for.",
            "MigrationPending": "Its migration is held up: `steward check` says by what.",
            "MigrationHanging": "Its migration has a target pod and does not go on, and KubeVirt does not end it:"
            " `steward check` says whom it waits for.",
            "MigrationOverdue": "Its migration has waited for its turn for an hour: look at those that run.",
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
            "NotMigratable": "Its strategy allows nothing but a migration, and it can't be migrated: stop it with its"
            " owner's consent, or end the drain.",
            "NotMigratableAfterRequest": "It was asked to leave, and then became one that can't be migrated: stop it"
            " with its owner's consent, or end the drain.",
            "NotMigratableWhileCordoned": "The node has been cordoned for an hour, its strategy allows nothing but a"
            " migration, and it can't be migrated: if the node is drained, stop it with its owner's consent; else"
            " uncordon the node.",
            "ExternalAwaiting": "Its strategy External leaves it to the controller that manages it, which has not"
            " acted: get that controller to act.",
            "LegacyTaintIgnored": "The node has KubeVirt's drain taint, by which a VMI with this strategy never moves:"
            " stop it with its owner's consent where an eviction would shut it down; with strategy External drain the"
            " node through the Eviction API.",
        },
    ),
    FindingAlert(
        name="VMEvacuationRequestLeft",
        by=_OF_VMI,
        summary="VMI {object} on node {{ $labels.node }} has an evacuation request of no use",
        description="VMI {object} is on node {{ $labels.node }} and has an evacuation request.",
        wait="10m",  # a request that is acted on is gone by then
        says={
            "StaleEvacuationRequest": "The request names another node, so nobody migrates the VMI and its evictions"
            " are refused: cancel the request, or migrate the VMI once more.",
            "RequestOnSchedulableNode": "Nobody drains the node, and KubeVirt migrates the VMI until it has left:"
            " cancel the request, or migrate the VMI once more.",
            "RequestWithUnmanagedStrategy": "Nobody migrates the VMI by its strategy, and its next eviction shuts it"
            " down: cancel the request, or shut the VM down before.",
        },
    ),
    FindingAlert(
        name="VMEvictionPDBBlocks",
        by=_OF_VMI,
        summary='{{ if eq $labels.kind "PodDisruptionBudget" }}PDB {object} was left behind and may refuse evictions'
        "{{ else }}PDBs keep VMI {object} on node {{ $labels.node }}{{ end }}",
        description="{{ $labels.kind }} {object}:",
        wait="10m",  # where virt-controller deletes a PDB, it does so within seconds
        says={
            "UserPDB": "a PDB refuses the eviction of its pod, and the drain of node {{ $labels.node }} waits. Ask the"
            " owner of the PDB to relax it.",
            "MultiplePDB": "several PDBs select its pod, its eviction fails, and the drain of node"
            " {{ $labels.node }} with it. Ask their owners to leave one.",
            "PDBWhileCordoned": "PDBs refuse the eviction of its pod, and node {{ $labels.node }} has been cordoned for"
            " an hour. If it is drained, ask their owners to relax them; else uncordon it.",
            "OrphanPDB": "KubeVirt made the PDB for a VMI that is gone, and it selects a pod that lives, whose"
            " eviction it may refuse. Delete the PDB.",
            "LegacyPDBPresent": "this release of KubeVirt makes no PDBs and has not deleted this one, which may refuse"
            " evictions. Check that virt-controller runs.",
        },
    ),
    FindingAlert(
        name="VMEvictionTerminatingStuck",
        by=("kind", "namespace", "name", "vm", "node", "reason"),
        summary='{{ if eq $labels.kind "Pod" }}Launcher pod{{ else }}VMI{{ end }} {object} does not end and keeps node'
        " {{ $labels.node }} from being drained",
        description="The drain of node {{ $labels.node }} waits for {{ $labels.kind }} {object}.",
        wait="10m",  # a VM that is created again under its name is there by then
        says={
            "StuckTerminating": "The VMI was deleted, and is there long after its guest should have shut down: check"
            " virt-handler on the node.",
            "OrphanLauncherPod": "The pod runs and its VMI {{ $labels.vm }} does not exist, so its evictions are"
            " refused: make sure that no guest runs in it, then delete it.",
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
            description="Node {{ $labels.node }} has not been Ready for minutes, and VMIs are on it. They start nowhere"
            " else while their launcher pods are there. Bring it back; if its host is lost, switch the host off and"
            " then taint the node as out of service.",
            wait="5m",  # the finding opens after 5 minutes, and a reboot takes longer than that
            cluster_wide=True,
        ),
        FindingAlert(
            name="KubeVirtNodeUnheard",
            by=("kind", "name", "node", "reason"),
            summary="virt-handler on node {{ $labels.node }} gives no sign, and VMs are on it",
            description="Node {{ $labels.node }} is Ready, and virt-handler on it gives no sign: no VM starts or"
            " arrives there, and nobody looks after those that run on it. Look at virt-handler's pod on that node.",
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
                "PodMissing": "the VMI counts as Running, and its launcher pod is gone. Make sure that no guest of it"
                " runs on the node, then restart the VM.",
                "PodNotStarting": "the pod has had its node for a quarter of an hour and does not start. Look at its"
                " containers, volumes and images.",
                "PodNotEnding": "the pod is being deleted and does not end, and its VM is started nowhere else. Look"
                " at the kubelet of the node; delete the pod by force only once its guest is known to be off.",
            },
        ),
        FindingAlert(
            name="VMPausedByIOError",
            by=("kind", "namespace", "name", "node", "reason"),
            summary="The guest of VMI {object} is paused for an IO error",
            description="QEMU has paused the guest of VMI {object} on node {{ $labels.node }}, since one of its disks"
            " failed. Look at its volumes; once they work, unpause the VMI, or stop and start the VM.",
            wait="2m",  # the finding opens after a minute, in which a disk may come back and the guest be resumed
        ),
        FindingAlert(
            name="VMStartsFailing",
            by=("kind", "namespace", "name", "reason"),
            summary="The starts of VM {object} fail again and again",
            description="At least 3 starts of VM {object} in a row failed, and KubeVirt goes on trying. Its events and"
            " its VMI say why.",
            wait="5m",  # a disk or a node that was away for a moment is back by then
        ),
        FindingAlert(
            name="KubeVirtUnavailable",
            summary="KubeVirt {object} is not available",
            description="The condition Available of KubeVirt {object} has been False for half an hour. Look at its"
            " conditions, its pods and the log of virt-operator.",
            wait="5m",  # the finding opens after half an hour
        ),
        FindingAlert(
            name="KubeVirtNoNodeTakesVMs",
            summary="No node takes VMs: none starts, and none is migrated",
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
            description="Service {object} has no ready endpoint. The API server has to ask it about each eviction of a"
            " launcher pod, and refuses them all. Bring virt-api back, and do not delete its webhook.",
            wait="3m",  # the finding opens after 2 minutes, which an update of a single virt-api needs
            critical=("WebhookDown",),
            impact="critical",
        ),
    ),
)
