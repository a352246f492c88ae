"""What the API server serves: one row per resource, and a row is all it takes."""

from dataclasses import dataclass
from typing import Any

Obj = dict[str, Any]
"""A Kubernetes object, or a part of one, as JSON has it."""


@dataclass(frozen=True, slots=True)
class ServedResource:
    """One served resource, and where it differs from the others."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    status: bool = True
    """Has `/status`: the resource itself then ignores status, and `/status` ignores all else."""
    generation: bool = True
    """Counts changes of what is neither metadata nor (with `/status`) status."""
    fields: tuple[str, ...] = ()
    """Field selectors beside metadata.name and metadata.namespace."""
    short: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """The name in messages: `ipamclaims.k8s.cni.cncf.io`, `pods`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def custom(self) -> bool:
        """Comes from a CRD; those differ from built-in ones in a few answers."""
        return "." in self.group


def _instancetype(plural: str, kind: str, *, namespaced: bool) -> ServedResource:
    return ServedResource("instancetype.kubevirt.io", "v1beta1", plural, kind, namespaced=namespaced, status=False)


_OF_EVENTS = tuple(f"involvedObject.{field}" for field in ("kind", "namespace", "name", "uid"))

# Written down and not asked of the kinds that the exporter reads: it is what real API servers serve, whoever reads it.
RESOURCES = (
    ServedResource("", "v1", "namespaces", "Namespace", namespaced=False, generation=False, fields=("status.phase",)),
    ServedResource("", "v1", "nodes", "Node", namespaced=False, generation=False, fields=("spec.unschedulable",)),
    ServedResource("", "v1", "pods", "Pod", fields=("spec.nodeName", "status.phase")),
    ServedResource("", "v1", "events", "Event", status=False, generation=False, fields=_OF_EVENTS, short=("ev",)),
    ServedResource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", generation=False, short=("pvc",)),
    ServedResource(
        "", "v1", "persistentvolumes", "PersistentVolume", namespaced=False, generation=False, short=("pv",)
    ),
    ServedResource("apps", "v1", "controllerrevisions", "ControllerRevision", status=False, generation=False),
    ServedResource("apps", "v1", "deployments", "Deployment", short=("deploy",)),
    ServedResource(
        "admissionregistration.k8s.io",
        "v1",
        "mutatingwebhookconfigurations",
        "MutatingWebhookConfiguration",
        namespaced=False,
    ),
    ServedResource("infrastructure.cluster.x-k8s.io", "v1alpha1", "kubevirtmachines", "KubevirtMachine"),
    ServedResource("apiregistration.k8s.io", "v1", "apiservices", "APIService", namespaced=False, generation=False),
    ServedResource("coordination.k8s.io", "v1", "leases", "Lease", status=False, generation=False),
    ServedResource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", status=False),
    ServedResource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", short=("pdb",)),
    ServedResource(
        "storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False, status=False, short=("sc",)
    ),
    ServedResource("kubevirt.io", "v1", "virtualmachines", "VirtualMachine", short=("vm", "vms")),
    ServedResource(
        "kubevirt.io", "v1", "virtualmachineinstances", "VirtualMachineInstance", status=False, short=("vmi",)
    ),
    ServedResource(
        "kubevirt.io", "v1", "virtualmachineinstancemigrations", "VirtualMachineInstanceMigration", short=("vmim",)
    ),
    ServedResource("kubevirt.io", "v1", "virtualmachineinstancereplicasets", "VirtualMachineInstanceReplicaSet"),
    ServedResource("pool.kubevirt.io", "v1beta1", "virtualmachinepools", "VirtualMachinePool"),
    ServedResource("snapshot.kubevirt.io", "v1beta1", "virtualmachinesnapshots", "VirtualMachineSnapshot"),
    ServedResource(
        "snapshot.kubevirt.io", "v1beta1", "virtualmachinesnapshotcontents", "VirtualMachineSnapshotContent"
    ),
    ServedResource("snapshot.kubevirt.io", "v1beta1", "virtualmachinerestores", "VirtualMachineRestore"),
    ServedResource("clone.kubevirt.io", "v1beta1", "virtualmachineclones", "VirtualMachineClone"),
    ServedResource("backup.kubevirt.io", "v1alpha1", "virtualmachinebackups", "VirtualMachineBackup"),
    ServedResource("velero.io", "v1", "restores", "Restore", status=False),
    ServedResource("velero.io", "v1", "backups", "Backup", status=False),
    ServedResource("kubevirt.io", "v1", "virtualmachineinstancepresets", "VirtualMachineInstancePreset", status=False),
    ServedResource("kubevirt.io", "v1", "kubevirts", "KubeVirt", short=("kv",)),
    ServedResource("nodemaintenance.medik8s.io", "v1beta1", "nodemaintenances", "NodeMaintenance", namespaced=False),
    ServedResource("k8s.cni.cncf.io", "v1alpha1", "ipamclaims", "IPAMClaim"),
    ServedResource(
        "k8s.cni.cncf.io",
        "v1",
        "network-attachment-definitions",
        "NetworkAttachmentDefinition",
        status=False,
        short=("net-attach-def",),
    ),
    ServedResource("k8s.ovn.org", "v1", "userdefinednetworks", "UserDefinedNetwork", short=("udn",)),
    ServedResource("k8s.ovn.org", "v1", "clusteruserdefinednetworks", "ClusterUserDefinedNetwork", namespaced=False),
    _instancetype("virtualmachineinstancetypes", "VirtualMachineInstancetype", namespaced=True),
    _instancetype("virtualmachineclusterinstancetypes", "VirtualMachineClusterInstancetype", namespaced=False),
    _instancetype("virtualmachinepreferences", "VirtualMachinePreference", namespaced=True),
    _instancetype("virtualmachineclusterpreferences", "VirtualMachineClusterPreference", namespaced=False),
)
