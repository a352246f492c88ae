"""VMs that ask for what the cluster does not allow or no node offers, and a KubeVirt object that can't be relied on.

Nodes and the StorageClass have the names of the story's namespaces: they are the cluster's.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from tests.cluster import fleet, nodes
from tests.cluster.stage import Seed, Stage, Story, nothing
from tests.cluster.stories import acts
from tests.cluster.stories.identities import replica_set
from tests.manifests import Object

__all__ = ["STORIES", "kubevirt"]

Values = dict[str, str]
Change = Callable[[Object], None]
DEVICE = "example.com/dev"
RELEASE = "v1.9.0"


# -- what there is


def kubevirt(stage: Stage, *gates: str, version: str = RELEASE, target: str = "", name: str = "", **of: Any) -> Object:
    """A deployed one with these gates listed; `name` is its namespace, else the story's."""
    return stage.client.make(
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": "KubeVirt",
            "metadata": {"namespace": name or stage.namespace, "name": "kubevirt"},
            "spec": {"configuration": {"developerConfiguration": {"featureGates": list(gates)}, **of}},
            "status": {
                "phase": "Deployed",
                "observedKubeVirtVersion": version,
                "targetKubeVirtVersion": target or version,
            },
        }
    )


def _with_metrics(spec: Object) -> None:
    spec["domain"]["devices"]["downwardMetrics"] = {}


def _with_binding(spec: Object) -> None:
    spec["domain"]["devices"]["interfaces"] = [{"name": "default", "binding": {"name": "tap"}}]
    spec["networks"] = [{"name": "default", "pod": {}}]


def _with_device(spec: Object) -> None:
    spec["domain"]["devices"]["hostDevices"] = [{"name": "d", "deviceName": DEVICE}]


def _with_filesystem(spec: Object) -> None:
    spec["domain"]["devices"]["filesystems"] = [{"name": "fs", "virtiofs": {}}]
    spec["volumes"] = [{"name": "fs", "persistentVolumeClaim": {"claimName": "c"}}]


def _with_state(spec: Object) -> None:
    spec["domain"]["devices"]["tpm"] = {"persistent": True}


def _vm(stage: Stage, change: Change, strategy: str = "Always") -> Object:
    vm = fleet.vm(stage.namespace, "db")
    vm["spec"]["runStrategy"] = strategy
    spec = vm["spec"]["template"]["spec"]
    spec["domain"]["devices"] = {"rng": {}}
    change(spec)
    return stage.client.make(vm)


def _vmi(stage: Stage, vm: Object, *, phase: str = "Running", migratable: bool = False, without: str = "") -> None:
    """The VM's, on the story's node; `without` a device that the VM has."""
    of = copy.deepcopy(vm)
    of["spec"]["template"]["spec"]["domain"]["devices"].pop(without, None)
    made = fleet.vmi(of, phase)
    status = made.setdefault("status", {})
    status["nodeName"] = stage.namespace if phase == "Running" else ""
    conditions = [{"type": "LiveMigratable", "status": str(migratable), "reason": "" if migratable else "Disks"}]
    status["conditions"] = conditions
    stage.client.make(made)


def _node(
    stage: Stage, name: str = "", *, cordoned: bool = False, offers: bool = False, kvm: bool = True, kubelet: str = ""
) -> None:
    """One that takes launcher pods unless it is cordoned; it `offers` the device."""
    name = name or stage.namespace
    labels = {**nodes.SCHEDULABLE, "kubernetes.io/arch": "amd64"}
    amounts = {**({"devices.kubevirt.io/kvm": "100"} if kvm else {}), **({DEVICE: "1"} if offers else {})}
    nodes.node(stage.client, name, cordoned=cordoned, room=amounts, labels=labels, kubeletVersion=kubelet)


# -- not allowed


def _stopped(stage: Stage) -> None:
    kubevirt(stage, "Snapshot")
    _vm(stage, _with_metrics)


def _halted(stage: Stage) -> None:
    kubevirt(stage, network={"binding": {"other": {}}})
    _vm(stage, _with_binding, "Halted")


def _running(stage: Stage) -> None:
    kubevirt(stage, "Snapshot")
    _vmi(stage, _vm(stage, _with_metrics))


def _running_without(stage: Stage) -> None:
    kubevirt(stage, "Snapshot")
    _vmi(stage, _vm(stage, _with_metrics), without="downwardMetrics")


def _invalid(stage: Stage) -> None:
    kubevirt(stage, "Snapshot")
    vm = fleet.vm(stage.namespace, "db")
    vm["spec"]["running"] = False
    stage.client.make(vm)


def _without_entry(*, phase: str = "Running", migratable: bool = False) -> Seed:
    def seed(stage: Stage) -> None:
        kubevirt(stage, network={"binding": {"other": {}}})
        _vmi(stage, _vm(stage, _with_binding), phase=phase, migratable=migratable)

    return seed


def _admitted(stage: Stage) -> None:
    kubevirt(stage, "Snapshot")
    _vmi(stage, _vm(stage, _with_metrics), phase="Scheduling")


def _without_class(stage: Stage) -> None:
    kubevirt(stage, vmStateStorageClass="missing")
    stage.client.make(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": stage.namespace},
            "provisioner": "example.com/none",
        }
    )
    stage.client.make(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "namespace": stage.namespace,
                "name": "persistent-state-for-db-x",
                "labels": {"persistent-state-for": "db"},
            },
            "spec": {
                "storageClassName": "missing",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "10Mi"}},
            },
        }
    )
    _vmi(stage, _vm(stage, _with_state), phase="Pending")


def _upgraded(stage: Stage) -> None:
    kubevirt(stage, "ExperimentalVirtiofsSupport", version="v1.7.4", target="v1.8.0")
    _vm(stage, _with_filesystem, "Halted")


def _templated(stage: Stage) -> None:
    kubevirt(stage, "Snapshot")
    made = replica_set(stage.namespace)
    _with_metrics(made["spec"]["template"]["spec"])
    stage.client.create(made)


# -- not offered


def _permitted(stage: Stage) -> None:
    device = {"pciVendorSelector": "10de:1eb8", "resourceName": DEVICE}
    kubevirt(stage, "HostDevices", permittedHostDevices={"pciHostDevices": [device]})


def _on_a_cordoned_node(stage: Stage, vm: Callable[[Stage], None]) -> Values:
    _permitted(stage)
    _node(stage, stage.namespace, cordoned=True, offers=True)
    _node(stage, f"{stage.namespace}-other")
    vm(stage)
    return {"CORDONEDNODE": stage.namespace, "DEVICE": DEVICE}


def _to_start(stage: Stage) -> None:
    _vm(stage, _with_device)


def _unscheduled(stage: Stage) -> None:
    _vmi(stage, _vm(stage, _with_device), phase="Scheduling")


def _alone(stage: Stage) -> Values:
    _permitted(stage)
    _node(stage, stage.namespace, offers=True)
    _node(stage, f"{stage.namespace}-other", cordoned=True, offers=True)
    _node(stage, f"{stage.namespace}-third")
    _vmi(stage, _vm(stage, _with_device), migratable=True)
    return {"CORDONEDNODE": f"{stage.namespace}-other", "DEVICE": DEVICE}


# -- the configuration


def _refused_setting(stage: Stage) -> None:
    kubevirt(stage, network={"defaultNetworkInterface": "foo"})


def _two(stage: Stage) -> None:
    stage.client.make({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{stage.namespace}-other"}})
    kubevirt(stage)
    kubevirt(stage, name=f"{stage.namespace}-other")


def _gate_of_a_device(stage: Stage) -> None:
    kubevirt(stage, "IOMMUFD")
    _node(stage)


def _without_kvm(stage: Stage, *, cordoned: bool) -> Values:
    kubevirt(stage, developerConfiguration={"useEmulation": False})
    _node(stage, kvm=False)
    _node(stage, f"{stage.namespace}-other", cordoned=cordoned, kvm=cordoned)
    return {"CORDONEDNODE": f"{stage.namespace}-other"}


def _model(stage: Stage) -> None:
    kubevirt(stage, cpuModel="Haswell")
    _node(stage)


def _old_kubelet(stage: Stage) -> None:
    kubevirt(stage, "ImageVolume", version="v1.8.4")
    _node(stage, kubelet="v1.30.2")


_TRIED = acts.TOUCH_VM
_VM = ("> vm.yaml", "replace --dry-run=server -f vm.yaml", "replace -f vm.yaml")
_KUBEVIRT = ("> kubevirt.yaml", "replace --dry-run=server -f kubevirt.yaml", "replace -f kubevirt.yaml")
_REPLICA_SET = ("> replicaset.yaml", "replace --dry-run=server -f replicaset.yaml", "replace -f replicaset.yaml")
_DELETED_VMI, _DELETED_PVC = "virtualmachineinstances/VMNAME -f", "persistentvolumeclaims/PVC -f"
_GATE = ("- Snapshot\n", "- DownwardMetrics\n")
_BINDING = ("        other: {}", "        tap: {}")
_NO_METRICS = ("          downwardMetrics: {}\n", "")
_OTHER_BINDING = ("name: tap\n", "name: other\n")
_NO_DEVICE = ("          hostDevices:\n          - deviceName: example.com/dev\n            name: d\n", "")
_NO_FILESYSTEM = ("          filesystems:\n          - name: fs\n            virtiofs: {}\n", "")

STORIES = [
    Story("VMFeatureBlocked", "StartBlocked", _stopped, (_TRIED, *_VM), edits=_NO_METRICS),
    Story("VMFeatureBlocked", "StartBlocked", _stopped, _KUBEVIRT, edits=_GATE),
    Story("VMFeatureMismatch", "NotEditable", _running, (_TRIED, *_VM), edits=_NO_METRICS),
    Story("VMFeatureMismatch", "NotEditable", _running, _KUBEVIRT, edits=_GATE),
    Story("VMFeatureMismatch", "NotEditable", _running, (_DELETED_VMI,)),
    Story("VMFeatureMismatch", "WillFailAtRestart", _running_without, _VM, edits=_NO_METRICS),
    Story("VMFeatureMismatch", "StoppedRequestsDisabled", _halted, _VM, edits=_OTHER_BINDING),
    Story("VMFeatureMismatch", "InvalidVM", _invalid, _VM, edits=("  running: false\n", ""), values={"FEATURE": ""}),
    Story("VMFeatureMismatch", "RunningStartedBefore", _without_entry(), _KUBEVIRT, edits=_BINDING),
    Story("VMFeatureMismatch", "PendingStartedBefore", _admitted, _KUBEVIRT, edits=_GATE),
    Story("VMFeatureMismatch", "PendingStartedBefore", _admitted, _VM, edits=_NO_METRICS, leaves=nothing),
    Story("VMFeatureBlocked", "PendingBlocked", _without_entry(phase="Pending"), _KUBEVIRT, edits=_BINDING),
    Story(
        "VMFeatureBlocked",
        "PendingBlocked",
        _without_entry(phase="Pending"),
        (*_VM, _DELETED_VMI),
        edits=_OTHER_BINDING,
    ),
    Story(
        "VMFeatureBlocked",
        "PendingBlocked",
        _without_class,
        (*_KUBEVIRT, _DELETED_PVC),
        edits=("vmStateStorageClass: missing", "vmStateStorageClass: NAMESPACE"),
    ),
    Story("VMFeatureBlocked", "MigrationBlocked", _without_entry(migratable=True), _KUBEVIRT, edits=_BINDING),
    Story(
        "VMFeatureBreaksAtUpgrade",
        "BreaksAtUpgrade",
        _upgraded,
        _KUBEVIRT,
        edits=("- ExperimentalVirtiofsSupport", "- EnableVirtioFsStorageVolumes"),
    ),
    Story("VMFeatureBreaksAtUpgrade", "BreaksAtUpgrade", _upgraded, _VM, edits=_NO_FILESYSTEM),
    Story(
        "VMFeatureMismatch",
        "TemplateRequestsDisabled",
        _templated,
        _REPLICA_SET,
        edits=("downwardMetrics: {}", "rng: {}"),
    ),
    Story("VMFeatureMismatch", "TemplateRequestsDisabled", _templated, _KUBEVIRT, edits=_GATE),
    Story("VMFeatureNoNode", "NoNodeForStart", lambda stage: _on_a_cordoned_node(stage, _to_start), (acts.UNCORDON,)),
    Story(
        "VMFeatureNoNode", "NoNodeForStart", lambda stage: _on_a_cordoned_node(stage, _to_start), _VM, edits=_NO_DEVICE
    ),
    Story(
        "VMFeatureNoNode", "NoNodeSupports", lambda stage: _on_a_cordoned_node(stage, _unscheduled), (acts.UNCORDON,)
    ),
    Story(
        "VMFeatureNoNode",
        "NoNodeSupports",
        lambda stage: _on_a_cordoned_node(stage, _unscheduled),
        _VM,
        edits=_NO_DEVICE,
        leaves=nothing,
    ),
    Story("VMFeatureNoNode", "NoMigrationTarget", _alone, (acts.UNCORDON,)),
    Story(
        "KubeVirtConfigurationInvalid",
        "InvalidConfiguration",
        _refused_setting,
        _KUBEVIRT,
        edits=("defaultNetworkInterface: foo", "defaultNetworkInterface: bridge"),
    ),
    Story("KubeVirtConfigurationInvalid", "SeveralKubeVirts", _two, leaves=nothing),
    Story(
        "KubeVirtFeatureGround", "GateWithoutNodes", _gate_of_a_device, _KUBEVIRT, edits=("- IOMMUFD\n", "- Snapshot\n")
    ),
    Story("KubeVirtFeatureGround", "NoKVM", lambda stage: _without_kvm(stage, cordoned=True), (acts.UNCORDON,)),
    Story(
        "KubeVirtFeatureGround",
        "NoKVM",
        lambda stage: _without_kvm(stage, cordoned=False),
        _KUBEVIRT,
        edits=("useEmulation: false", "useEmulation: true"),
    ),
    Story(
        "KubeVirtFeatureGround",
        "NoNodeForDefaultModel",
        _model,
        _KUBEVIRT,
        edits=("cpuModel: Haswell", "cpuModel: host-model"),
    ),
    Story(
        "KubeVirtFeatureGround",
        "ImageVolumeUnsupported",
        _old_kubelet,
        _KUBEVIRT,
        edits=("- ImageVolume\n", "- Snapshot\n"),
    ),
]
