"""What to do about a VMI that does not leave: one sentence and commands, in the words of the runbooks.

Each command stands to the letter in the runbook of its reason. None goes round what a PDB or KubeVirt's webhook
protects.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...acts import Act


@dataclass(frozen=True)
class Remedy:
    """Words in capitals stand for values. `does` is what somebody who follows it may do to the VM."""

    next: str = ""
    commands: tuple[str, ...] = ()
    does: tuple[Act, ...] = ()


NOTHING = Remedy()

_VMI = "kubectl get virtualmachineinstances.kubevirt.io -n NAMESPACE NAME -o yaml"
_MIGRATIONS = "kubectl get virtualmachineinstancemigrations.kubevirt.io -n NAMESPACE -o yaml"
_RUNNING = "kubectl get virtualmachineinstancemigrations.kubevirt.io -A"
_LIMITS = "kubectl get kubevirts.kubevirt.io -A -o jsonpath='{.items[*].spec.configuration.migrations}'"
_PODS = "kubectl get pods -n NAMESPACE -o wide"
_EVENTS = "kubectl get events -n NAMESPACE --sort-by=.lastTimestamp"
_QUOTAS = "kubectl get resourcequotas -n NAMESPACE -o yaml"
_HANDLERS = "kubectl get pods -A -l kubevirt.io=virt-handler -o wide"
_NODES = "kubectl get nodes -o wide"
_CONTROLLER = "kubectl get pods -A -l kubevirt.io=virt-controller"
_ON_NODE = "kubectl get pods -A -o wide --field-selector spec.nodeName=NODE"
_PDBS = "kubectl get poddisruptionbudgets.policy -n NAMESPACE -o yaml"
_EDIT_PDB = "kubectl edit poddisruptionbudgets.policy -n NAMESPACE PDB"
_UNPAUSE = "virtctl unpause vmi -n NAMESPACE NAME"
_STOP = "virtctl stop -n NAMESPACE NAME"
_DELETE_VMI = """\
kubectl delete --raw /apis/kubevirt.io/v1/namespaces/NAMESPACE/virtualmachineinstances/NAME -f - <<'JSON'
{"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "UID"}}
JSON"""
_DELETE_POD = """\
kubectl delete --raw /api/v1/namespaces/NAMESPACE/pods/NAME -f - <<'JSON'
{"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "UID"}}
JSON"""
_CANCEL = """\
printf '{"evacuationNodeName": "%s"}' EVACUATIONNODENAME |
  kubectl replace --raw /apis/subresources.kubevirt.io/v1/namespaces/NAMESPACE/virtualmachineinstances/NAME/evacuate/cancel -f -"""  # noqa: E501
_MIGRATE = """\
kubectl create -f - <<'MIGRATION'
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstanceMigration
metadata: {namespace: NAMESPACE, generateName: by-hand-}
spec:
  vmiName: NAME
MIGRATION"""
_DRAIN = "kubectl drain NODE --ignore-daemonsets --delete-emptydir-data"

_CONTROLLER_RUNS = "Check that virt-controller runs, and read the events of the VMI."
_GIVEN_UP = "If the drain was given up, cancel the evacuation request for node EVACUATIONNODENAME."
_ROOM = "Free capacity on another node, or relax what the VM asks of a node."
_RESTART = "virtctl restart -n NAMESPACE NAME"
_NOT_ENDED = "Migrate the VMI once more: that replaces what its status says of the last migration."
_HANDLER = (
    "Bring virt-handler on node NODE back, or restart it by deleting its pod: the migration goes on once it answers."
)
_CONSENT = "with its owner's consent"

# By reason, and by `reason/cause` where the remedy depends on the cause.
REMEDIES = {
    "StuckTerminating": Remedy(
        "Check virt-handler on node NODE and the launcher pod of the VMI.", (_VMI, _PODS, _ON_NODE)
    ),
    "StaleEvacuationRequest": Remedy(
        "Cancel the evacuation request with the node that it names, EVACUATIONNODENAME, or migrate the VMI once more.",
        (_CANCEL, _MIGRATE),
        does=(Act.MIGRATE,),
    ),
    "StaleEvacuationRequest/Migrate": Remedy(
        "Migrate the VMI once more, which clears the evacuation request; it can't be cancelled.",
        (_MIGRATE,),
        does=(Act.MIGRATE,),
    ),
    "StaleEvacuationRequest/Cancel": Remedy(
        "Cancel the evacuation request with the node that it names, EVACUATIONNODENAME; the VMI can't be migrated.",
        (_CANCEL,),
    ),
    "StaleEvacuationRequest/Kept": Remedy(
        "Remove what keeps the VMI from migrating, then migrate it once more; the request can't be cancelled.",
        (_VMI, _MIGRATE),
        does=(Act.MIGRATE,),
    ),
    "ExternalAwaiting": Remedy(
        "Find out why the controller that manages the VMI does not act; KubeVirt does not move it.", (_VMI,)
    ),
    "ExternalNoHandler": Remedy(
        "Find out which controller manages the VMI, by its owner and labels; KubeVirt does not move it.", (_VMI,)
    ),
    "NotMigratable": Remedy(
        f"Remove what keeps it from migrating, or {_CONSENT} stop the VM.", (_VMI, _STOP), does=(Act.STOP,)
    ),
    "NotMigratable/Standalone": Remedy(
        f"Remove what keeps it from migrating, or {_CONSENT} delete the VMI; nothing starts it again.",
        (_VMI, _DELETE_VMI),
        does=(Act.END,),
    ),
    "RequestWithUnmanagedStrategy": Remedy(
        "Shut it down before its pod is evicted, or cancel the evacuation request.", (_VMI, _CANCEL), does=(Act.STOP,)
    ),
    "RequestWithUnmanagedStrategy/Kept": Remedy(
        "Shut it down before its pod is evicted; the evacuation request can't be cancelled.", (_VMI,), does=(Act.STOP,)
    ),
    "MigrationFailing": Remedy(
        "Find the cause of the failures in the migrations, in the events and in the pods' logs on both nodes.",
        (_MIGRATIONS, _EVENTS),
    ),
    "MigrationFailing/SameHost": Remedy(
        "Give each node a system UUID of its own: see the findings of node_identity.", (_MIGRATIONS,)
    ),
    "MigrationFailing/CPU": Remedy(
        f"{_CONSENT.capitalize()} restart the VM: its guest then gets a CPU that the nodes have by now; no other"
        " attempt helps while it runs.",
        (_RESTART, _MIGRATIONS),
        does=(Act.RESTART,),
    ),
    "MigrationFailing/DeviceState": Remedy(
        f"{_CONSENT.capitalize()} restart the VM: it then runs in the launcher of this release; no other attempt helps"
        " while it runs.",
        (_RESTART, _MIGRATIONS),
        does=(Act.RESTART,),
    ),
    "MigrationFailing/Timeout": Remedy(
        "Reduce the load of the guest, or allow auto-converge, post-copy or more time for it in a MigrationPolicy.",
        (_LIMITS, _MIGRATIONS),
    ),
    "MigrationFailing/Disk": Remedy(
        "Check that each of its volumes can be used on both nodes at once (access mode, storage class, who else holds"
        " it).",
        (_MIGRATIONS, _EVENTS),
    ),
    "MigrationFailing/Memory": Remedy(
        "Free memory on the other nodes: the guest and its overhead have to fit, hugepages and locked memory too.",
        (_MIGRATIONS, _PODS),
    ),
    "MigrationFailing/Connection": Remedy(
        "Check the network between the nodes, the migration network where one is configured, and virt-handler on both.",
        (_HANDLERS, _LIMITS, _MIGRATIONS),
    ),
    "MigrationFailing/Aborted": Remedy(
        "Find out who aborts its migrations: KubeVirt does not.", (_MIGRATIONS, _EVENTS)
    ),
    "MigrationFailing/Unschedulable": Remedy(_ROOM, (_MIGRATIONS, _PODS)),
    "MigrationFailing/GivenUp": Remedy(_GIVEN_UP, (_MIGRATIONS, _CANCEL)),
    "TargetUnschedulable": Remedy(_ROOM, (_PODS, _EVENTS)),
    "TargetUnschedulable/Resource": Remedy(
        "Free RESOURCE on another node, or add a node: most nodes lack it.", (_PODS, _NODES)
    ),
    "TargetUnschedulable/Device": Remedy(
        "Find out why other nodes do not offer RESOURCE: its device plugin, virt-handler there, or who holds it.",
        (_HANDLERS, _PODS, _NODES),
    ),
    "TargetUnschedulable/Selector": Remedy(
        "Relax the node selector, node affinity or CPU model of the VM, or label another node accordingly.",
        (_PODS, _NODES),
    ),
    "TargetUnschedulable/Stale": Remedy(
        f"{_CONSENT.capitalize()} restart the VM: its guest then gets a CPU that the nodes have by now; no other"
        " attempt helps while it runs.",
        (_RESTART, _MIGRATIONS),
        does=(Act.RESTART,),
    ),
    "TargetUnschedulable/Taint": Remedy("Remove the taints from a node, or let the VM tolerate them.", (_PODS, _NODES)),
    "TargetUnschedulable/Cordoned": Remedy("Uncordon a node that may take it.", (_NODES,)),
    "TargetUnschedulable/AntiAffinity": Remedy(
        "Free a node of the pods that its anti-affinity keeps off, add a node, or relax that rule of the VM.",
        (_PODS, _NODES),
    ),
    "TargetUnschedulable/PodAffinity": Remedy(
        "Make room on the nodes of the pods that it has to be near, or relax that rule of the VM.", (_PODS, _NODES)
    ),
    "TargetUnschedulable/Spread": Remedy(
        "Make room in the zones that its topology spread allows, or relax that rule of the VM.", (_PODS, _NODES)
    ),
    "TargetUnschedulable/Volume": Remedy(
        "Check from which nodes its volumes can be used: a local one, or one of another zone, keeps it where it is"
        " until its disk is on storage that other nodes reach.",
        (_PODS, _EVENTS),
    ),
    "TargetNotStarting": Remedy("Find out why target pod TARGETPOD does not start.", (_PODS, _EVENTS)),
    "TargetNotStarting/Image": Remedy(
        "Make the image of target pod TARGETPOD available to node TARGETNODE: its name, the registry, its credentials.",
        (_PODS, _EVENTS),
    ),
    "TargetNotStarting/Sandbox": Remedy(
        "Find out which volume or network target pod TARGETPOD waits for on node TARGETNODE.", (_PODS, _EVENTS)
    ),
    "MigrationPending": Remedy("Find out what holds the migration up.", (_MIGRATIONS, _PODS, _EVENTS)),
    "MigrationPending/Quota": Remedy(
        "Raise the ResourceQuota, or free some of it, so that the target pod fits.", (_QUOTAS, _MIGRATIONS)
    ),
    "MigrationPending/Backup": Remedy("Wait until its backup has ended, or end the backup.", (_VMI, _MIGRATIONS)),
    "MigrationPending/UtilityVolumes": Remedy(
        "Detach its utility volumes; KubeVirt fails the migration after 150 seconds.", (_VMI, _MIGRATIONS)
    ),
    "MigrationPending/MultiplePods": Remedy("Find out why its other pod does not end.", (_PODS,)),
    "MigrationPending/Unhandled": Remedy(_CONTROLLER_RUNS, (_CONTROLLER, _EVENTS)),
    "MigrationPending/Backoff": Remedy(
        "Find out why the last migration failed; KubeVirt tries again by itself.", (_MIGRATIONS, _EVENTS)
    ),
    "MigrationHanging": Remedy(_CONTROLLER_RUNS, (_CONTROLLER, _MIGRATIONS, _EVENTS)),
    "MigrationHanging/Volumes": Remedy(
        "Find out why the pods of the plugged volumes do not start on node TARGETNODE.", (_PODS, _EVENTS)
    ),
    "MigrationHanging/Containers": Remedy(
        "Find out why the containers of target pod TARGETPOD do not start.", (_PODS, _EVENTS)
    ),
    "MigrationHanging/TargetEnding": Remedy(
        "Find out why target pod TARGETPOD does not end; KubeVirt fails the migration once it has.",
        (_PODS, _NODES, _EVENTS),
    ),
    "MigrationHanging/TargetHandler": Remedy(_HANDLER.replace("NODE", "TARGETNODE"), (_HANDLERS, _MIGRATIONS, _EVENTS)),
    "MigrationHanging/TargetNode": Remedy(
        "Bring node TARGETNODE back; if its host is lost, switch the host off, then delete the node: KubeVirt fails the"
        " migration and makes the next.",
        (_NODES, _PODS, _MIGRATIONS),
    ),
    "MigrationHanging/TargetGone": Remedy(
        "Check that kube-controller-manager runs, which deletes the pods of a node that is gone, and virt-controller,"
        " which then fails the migration.",
        (_PODS, _CONTROLLER, _MIGRATIONS),
    ),
    "MigrationHanging/SourceHandler": Remedy(_HANDLER, (_HANDLERS, _MIGRATIONS, _EVENTS)),
    "MigrationHanging/SourceNode": Remedy(
        "Bring node NODE back: the migration goes on once virt-handler on it answers.", (_NODES, _HANDLERS, _MIGRATIONS)
    ),
    "RequestOnSchedulableNode": Remedy(_GIVEN_UP, (_VMI, _CANCEL)),
    "RequestOnSchedulableNode/Kept": Remedy(
        "Wait for the first migration that succeeds, which clears the evacuation request; it can't be cancelled.",
        (_VMI, _MIGRATIONS),
    ),
    "RequestQueued": Remedy(
        "Let the migrations go on, and find out who evicts: a descheduler, or a drain that was given up.",
        (_RUNNING, _LIMITS),
    ),
    "RequestByWorkloadUpdate": Remedy("Wait: the update of KubeVirt replaces its launcher pod.", (_MIGRATIONS,)),
    "DeschedulingQueued": Remedy(
        "Wait; the descheduler asks for more at a time than spec.configuration.migrations of the KubeVirt object lets"
        " migrate at once.",
        (_RUNNING, _LIMITS),
    ),
    "DeschedulingQueued/Waiting": Remedy(_CONTROLLER_RUNS, (_CONTROLLER, _MIGRATIONS, _EVENTS)),
    "MigrationQueued": Remedy(
        "Wait; spec.configuration.migrations of the KubeVirt object limits the migrations at once.", (_RUNNING, _LIMITS)
    ),
    "MigrationQueued/Waiting": Remedy(_CONTROLLER_RUNS, (_CONTROLLER, _MIGRATIONS, _EVENTS)),
    "NotStarted": Remedy(_CONTROLLER_RUNS, (_CONTROLLER, _EVENTS)),
    "NotStarted/MultiplePods": Remedy("Find out why its other pod does not end.", (_PODS,)),
    "NotStarted/NotEnded": Remedy(_NOT_ENDED, (_VMI, _MIGRATE), does=(Act.MIGRATE,)),
    "NotStarted/NotRetried": Remedy(_CONTROLLER_RUNS, (_CONTROLLER, _MIGRATIONS, _EVENTS)),
    "NotStarted/NameTooLong": Remedy(
        f"The VMI can't be migrated under this name: {_CONSENT} stop the VM.", (_STOP,), does=(Act.STOP,)
    ),
    "UserPDB": Remedy("Make more pods of PodDisruptionBudget PDB ready, or ask its owner to change it.", (_PDBS,)),
    "UserPDB/SyncFailed": Remedy(
        "Ask the owner of PodDisruptionBudget PDB for an integer minAvailable lower than the number of its pods.",
        (_PDBS, _EDIT_PDB),
    ),
    "UserPDB/MinAvailableTooHigh": Remedy(
        "Ask the owner of PodDisruptionBudget PDB to lower its minAvailable.", (_PDBS, _EDIT_PDB)
    ),
    "UserPDB/Behind": Remedy("Check that kube-controller-manager runs.", (_PDBS,)),
    "UserPDB/Paused": Remedy("Unpause the VMI: a paused one is not ready, and counts as unhealthy.", (_PDBS, _UNPAUSE)),
    "MultiplePDB": Remedy("Leave a single PodDisruptionBudget that selects its pod.", (_PDBS, _EDIT_PDB)),
    "LegacyTaintIgnored/ShutsDown": Remedy(
        f"{_CONSENT.capitalize()} stop the VM, since an eviction of its pod ends its guest, or remove the taint if the"
        " drain was given up.",
        (_VMI, _STOP),
        does=(Act.STOP,),
    ),
    "LegacyTaintIgnored": Remedy(
        "Drain the node through the Eviction API, or remove the taint if the drain was given up.",
        (_VMI, _DRAIN),
        does=(Act.DRAIN,),
    ),
    "WillShutDown": Remedy(
        "Shut the guest down before the drain, if it matters when that happens.", (_STOP,), does=(Act.STOP,)
    ),
    "WillShutDown/Migratable": Remedy(
        "To keep the guest running, migrate it before the drain.", (_MIGRATE,), does=(Act.MIGRATE,)
    ),
    "OrphanLauncherPod": Remedy(
        "Make sure that no guest runs in it, then delete the pod.",
        ("kubectl get virtualmachineinstances.kubevirt.io -n NAMESPACE VMNAME", _DELETE_POD),
        does=(Act.DELETE,),
    ),
    "NodeLost": Remedy(
        "Bring node NODE back. If its host is lost, switch the host off, then taint the node as out of service or"
        " delete it: VMs with run strategy Always or RerunOnFailure then start on others, all other VMs have to be"
        " started.",
        (_NODES, "kubectl get virtualmachineinstances.kubevirt.io -A -l kubevirt.io/nodeName=NODE"),
    ),
    "NodeUnheard": Remedy(
        "Look at virt-handler on node NODE: its log, its device plugins; a restart of its pod harms no guest.",
        (_HANDLERS, "kubectl get nodes NODE -o yaml"),
    ),
    # What only a drain says, beforehand.
    "NotEvaluated": Remedy("Wait until it runs, and check that virt-handler runs on its node.", (_VMI, _ON_NODE)),
    "NameTooLong": Remedy(
        f"The VMI can't be migrated under this name: {_CONSENT} stop the VM.", (_STOP,), does=(Act.STOP,)
    ),
    "NotEnded": Remedy(_NOT_ENDED, (_VMI, _MIGRATE), does=(Act.MIGRATE,)),
    "SeveralPods": Remedy("Find out why its other pod does not end.", (_PODS,)),
    "NoTarget": Remedy(_ROOM, ("kubectl describe nodes",)),
    "NoRoomLeft": Remedy(_ROOM, ("kubectl describe nodes",)),
}
# Where no node is left, what rules out most of them says what to do, beforehand as of a target pod.
REMEDIES |= {
    f"NoTarget/{case}": Remedy(found.next, ("kubectl describe nodes",), does=found.does)
    for reason, _, case in (each.partition("/") for each in REMEDIES)
    for found in (REMEDIES[f"{reason}/{case}"] if case else NOTHING,)
    if reason == "TargetUnschedulable" and case
}
