"""What to do about a VMI that doesn't leave: its commands, and which text of the pages of the checks says it.

Each command stands to the letter in the runbook of its reason. None bypasses what a PDB or KubeVirt's webhook protects.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...acts import Act


@dataclass(frozen=True)
class Remedy:
    """`of` is the reason, and the variant of the next step in its page; without one `next` has the text. Words in
    capitals stand for values. `does` is what following it can do to the VM.
    """

    next: str = ""
    commands: tuple[str, ...] = ()
    does: tuple[Act, ...] = ()
    of: tuple[str, str] = ("", "")


NOTHING = Remedy()

_VMI = "kubectl get virtualmachineinstances.kubevirt.io -n NAMESPACE NAME -o yaml"
_MIGRATIONS = "kubectl get virtualmachineinstancemigrations.kubevirt.io -n NAMESPACE -o yaml"
_RUNNING = "kubectl get virtualmachineinstancemigrations.kubevirt.io -A"
_LIMITS = "kubectl get kubevirts.kubevirt.io -A -o jsonpath='{.items[*].spec.configuration.migrations}'"
_PODS = "kubectl get pods -n NAMESPACE -o wide"
_LABELED = f"{_PODS} --show-labels"
_EVENTS = "kubectl get events -n NAMESPACE --sort-by=.lastTimestamp"
_QUOTAS = "kubectl describe resourcequotas -n NAMESPACE"
_OUT_OF_SERVICE = "kubectl taint nodes NODE node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
_HANDLERS = "kubectl get pods -A -l kubevirt.io=virt-handler -o wide"
_NODES = "kubectl get nodes -o wide"
_CONTROLLER = "kubectl get pods -A -l kubevirt.io=virt-controller"
_ON_NODE = "kubectl get pods -A -o wide --field-selector spec.nodeName=NODE"
_PDBS = "kubectl get poddisruptionbudgets.policy -n NAMESPACE -o yaml"
_EDIT_PDB = "kubectl edit poddisruptionbudgets.policy -n NAMESPACE PDB"
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

_RESTART = "virtctl restart -n NAMESPACE NAME"
_DESCRIBE_NODES = "kubectl describe nodes"


def _does(commands: tuple[str, ...], *does: Act) -> Remedy:
    return Remedy(commands=commands, does=does)


# By reason, and by `reason/case` where the commands depend on the case. A case that only the page has a text of takes
# those of its reason.
_BY_REASON = {
    "StuckTerminating": _does((_VMI, _PODS, _ON_NODE)),
    "StaleEvacuationRequest": _does((_CANCEL, _MIGRATE), Act.MIGRATE),
    "StaleEvacuationRequest/Migrate": _does((_MIGRATE,), Act.MIGRATE),
    "StaleEvacuationRequest/Cancel": _does((_CANCEL,)),
    "StaleEvacuationRequest/Kept": _does((_VMI, _MIGRATE), Act.MIGRATE),
    "ExternalAwaiting": _does((_VMI,)),
    "ExternalNoHandler": _does((_VMI,)),
    "NotMigratable": _does((_VMI, _RESTART), Act.RESTART),
    "NotMigratable/Standalone": _does((_VMI, _DELETE_VMI), Act.END),
    "RequestWithUnmanagedStrategy": _does((_VMI, _CANCEL), Act.STOP),
    "RequestWithUnmanagedStrategy/Kept": _does((_VMI,), Act.STOP),
    "MigrationFailing": _does((_MIGRATIONS, _EVENTS)),
    "MigrationFailing/SameHost": _does((_MIGRATIONS,)),
    "MigrationFailing/CPU": _does((_RESTART, _MIGRATIONS), Act.RESTART),
    "MigrationFailing/DeviceState": _does((_RESTART, _MIGRATIONS), Act.RESTART),
    "MigrationFailing/Timeout": _does((_LIMITS, _MIGRATIONS)),
    "MigrationFailing/Disk": _does((_MIGRATIONS, _EVENTS)),
    "MigrationFailing/Memory": _does((_MIGRATIONS, _PODS)),
    "MigrationFailing/Connection": _does((_HANDLERS, _LIMITS, _MIGRATIONS)),
    "MigrationFailing/Aborted": _does((_MIGRATIONS, _EVENTS)),
    "MigrationFailing/Unschedulable": _does((_MIGRATIONS, _PODS)),
    "MigrationFailing/GivenUp": _does((_MIGRATIONS, _CANCEL)),
    "TargetUnschedulable": _does((_PODS, _EVENTS)),
    "TargetUnschedulable/Resource": _does((_PODS, _NODES)),
    "TargetUnschedulable/Device": _does((_HANDLERS, _PODS, _NODES)),
    "TargetUnschedulable/Selector": _does((_PODS, _NODES)),
    "TargetUnschedulable/HostModel": _does((_RESTART, _PODS, _NODES), Act.RESTART),
    "TargetUnschedulable/Stale": _does((_RESTART, _MIGRATIONS), Act.RESTART),
    "TargetUnschedulable/Taint": _does((_PODS, _NODES)),
    "TargetUnschedulable/Cordoned": _does((_NODES,)),
    "TargetUnschedulable/AntiAffinity": _does((_LABELED, _NODES)),
    "TargetUnschedulable/Apart": _does((_LABELED, _NODES)),
    "TargetUnschedulable/PodAffinity": _does((_LABELED, _NODES)),
    "TargetUnschedulable/Spread": _does((_PODS, _NODES)),
    "TargetUnschedulable/Volume": _does((_PODS, _EVENTS)),
    "TargetNotStarting": _does((_PODS, _EVENTS)),
    "MigrationPending": _does((_MIGRATIONS, _PODS, _EVENTS)),
    "MigrationPending/Quota": _does((_QUOTAS, _MIGRATIONS, _RESTART), Act.RESTART),
    "MigrationPending/Backup": _does((_VMI, _MIGRATIONS)),
    "MigrationPending/UtilityVolumes": _does((_VMI, _MIGRATIONS)),
    "MigrationPending/MultiplePods": _does((_PODS,)),
    "MigrationPending/Unhandled": _does((_CONTROLLER, _EVENTS)),
    "MigrationPending/Backoff": _does((_MIGRATIONS, _EVENTS)),
    "MigrationHanging": _does((_CONTROLLER, _MIGRATIONS, _EVENTS)),
    "MigrationHanging/Volumes": _does((_PODS, _EVENTS)),
    "MigrationHanging/Containers": _does((_PODS, _EVENTS)),
    "MigrationHanging/TargetEnding": _does((_PODS, _NODES, _EVENTS)),
    "MigrationHanging/TargetHandler": _does((_HANDLERS, _MIGRATIONS, _EVENTS)),
    "MigrationHanging/TargetNode": _does((_NODES, _PODS, _MIGRATIONS)),
    "MigrationHanging/TargetGone": _does((_PODS, _CONTROLLER, _MIGRATIONS)),
    "MigrationHanging/SourceHandler": _does((_HANDLERS, _MIGRATIONS, _EVENTS)),
    "MigrationHanging/SourceNode": _does((_NODES, _HANDLERS, _MIGRATIONS)),
    "RequestOnSchedulableNode": _does((_VMI, _CANCEL)),
    "RequestOnSchedulableNode/Kept": _does((_VMI, _MIGRATIONS), Act.MIGRATE),  # which KubeVirt does
    "RequestOnSchedulableNode/Blocked": _does((_VMI, _MIGRATIONS)),
    "RequestQueued": _does((_RUNNING, _LIMITS)),
    "RequestByWorkloadUpdate": _does((_MIGRATIONS,)),
    "DeschedulingQueued": _does((_RUNNING, _LIMITS)),
    "DeschedulingQueued/Waiting": _does((_CONTROLLER, _MIGRATIONS, _EVENTS)),
    "MigrationQueued": _does((_RUNNING, _LIMITS)),
    "MigrationQueued/Waiting": _does((_CONTROLLER, _MIGRATIONS, _EVENTS)),
    "MigrationOverdue": _does((_RUNNING, _LIMITS)),
    "MigrationOverdue/Waiting": _does((_CONTROLLER, _MIGRATIONS, _EVENTS)),
    "NotStarted": _does((_CONTROLLER, _EVENTS)),
    "NotStarted/MultiplePods": _does((_PODS,)),
    "NotStarted/NotEnded": _does((_VMI, _MIGRATE), Act.MIGRATE),
    "NotStarted/NotRetried": _does((_CONTROLLER, _MIGRATIONS, _EVENTS)),
    "NotStarted/NameTooLong": _does((_STOP,), Act.STOP),
    "UserPDB": _does((_PDBS,)),
    "UserPDB/Migratable": _does((_MIGRATE, _PDBS), Act.MIGRATE),
    "UserPDB/SyncFailed": _does((_PDBS, _EDIT_PDB)),
    "UserPDB/MinAvailableTooHigh": _does((_PDBS, _EDIT_PDB)),
    "MultiplePDB": _does((_PDBS, _EDIT_PDB)),
    "MultiplePDB/Migratable": _does((_MIGRATE, _PDBS), Act.MIGRATE),
    "LegacyTaintIgnored": _does((_VMI, _STOP), Act.STOP),
    "LegacyTaintIgnored/External": _does((_VMI,)),
    "WillShutDown": _does((_STOP,), Act.STOP),
    "WillShutDown/Migratable": _does((_MIGRATE,), Act.MIGRATE),
    "OrphanLauncherPod": _does(
        ("kubectl get virtualmachineinstances.kubevirt.io -n NAMESPACE VMNAME", _DELETE_POD), Act.DELETE
    ),
    "NodeLost": _does(
        (
            "kubectl describe nodes NODE",
            "kubectl get virtualmachineinstances.kubevirt.io -A -l kubevirt.io/nodeName=NODE",
            _OUT_OF_SERVICE,
        )
    ),
    "NodeUnheard": _does((_HANDLERS, "kubectl get nodes NODE -o yaml")),
}
REMEDIES = {
    name: replace(each, of=(name.partition("/")[0], name.partition("/")[2])) for name, each in _BY_REASON.items()
}
# What only a drain says, beforehand.
REMEDIES |= {
    "NotEvaluated": Remedy("Wait until the VMI runs, and check that virt-handler runs on its node.", (_VMI, _ON_NODE)),
    "NameTooLong": REMEDIES["NotStarted/NameTooLong"],
    "NotEnded": REMEDIES["NotStarted/NotEnded"],
    "SeveralPods": REMEDIES["NotStarted/MultiplePods"],
    "NoTarget": replace(REMEDIES["TargetUnschedulable"], commands=(_DESCRIBE_NODES,)),
    "NoRoomLeft": replace(REMEDIES["TargetUnschedulable"], commands=(_DESCRIBE_NODES,)),
}
# Where no node is left, what rules out most of them says what to do, beforehand as of a target pod.
REMEDIES |= {
    f"NoTarget/{case}": replace(found, commands=(_DESCRIBE_NODES,))
    for found in tuple(REMEDIES.values())
    for reason, case in (found.of,)
    if reason == "TargetUnschedulable" and case
}


def remedy_of(reason: str, case: str) -> Remedy:
    """A case without commands of its own has the commands of its reason, and its own text where the page has one."""
    if found := REMEDIES.get(f"{reason}/{case}"):
        return found
    usual = REMEDIES.get(reason, NOTHING)
    return replace(usual, of=(reason, case)) if usual.of[0] == reason else usual
