"""The objects of a test's namespaces as they would be months later, and what is looked at for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.cluster.client import Client
from tests.cluster.resources import (
    CLUSTER_INSTANCETYPES,
    CLUSTER_PREFERENCES,
    CONTROLLER_REVISIONS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    INSTANCETYPES,
    IPAM_CLAIMS,
    KUBEVIRTS,
    MUTATING_WEBHOOKS,
    NADS,
    NAMESPACES,
    NODES,
    PDBS,
    PODS,
    PREFERENCES,
    RESTORES,
    SNAPSHOT_CONTENTS,
    STORAGE_CLASSES,
    UDNS,
    VM_POOLS,
    VMI_PRESETS,
    VMI_REPLICA_SETS,
    VMIMS,
    VMIS,
    VMS,
    Resource,
)
from tests.manifests import Object
from tests.rows import CREATED, DELETED

__all__ = ["CLUSTER_WIDE", "KINDS", "aged", "objects"]

KINDS = {
    "Namespace": NAMESPACES,
    "NetworkAttachmentDefinition": NADS,
    "Pod": PODS,
    "VirtualMachineInstance": VMIS,
    "VirtualMachine": VMS,
    "IPAMClaim": IPAM_CLAIMS,
    "UserDefinedNetwork": UDNS,
    "Deployment": DEPLOYMENTS,
    "MutatingWebhookConfiguration": MUTATING_WEBHOOKS,
    "VirtualMachinePool": VM_POOLS,
    "VirtualMachineInstanceReplicaSet": VMI_REPLICA_SETS,
    "Node": NODES,
    "KubeVirt": KUBEVIRTS,
    "VirtualMachineInstanceMigration": VMIMS,
    "PodDisruptionBudget": PDBS,
    "EndpointSlice": ENDPOINT_SLICES,
    "VirtualMachineInstancetype": INSTANCETYPES,
    "VirtualMachineClusterInstancetype": CLUSTER_INSTANCETYPES,
    "VirtualMachinePreference": PREFERENCES,
    "VirtualMachineClusterPreference": CLUSTER_PREFERENCES,
    "ControllerRevision": CONTROLLER_REVISIONS,
    "VirtualMachineInstancePreset": VMI_PRESETS,
    "VirtualMachineSnapshotContent": SNAPSHOT_CONTENTS,
    "VirtualMachineRestore": RESTORES,
    "StorageClass": STORAGE_CLASSES,
}
CLUSTER_WIDE = (
    *("Namespace", "MutatingWebhookConfiguration", "Node", "StorageClass"),
    *("VirtualMachineClusterInstancetype", "VirtualMachineClusterPreference"),
)


def objects(client: Client, kind: str, resource: Resource, namespace: str) -> Iterable[Object]:
    """Those of the test: in its namespace and its neighbours, or with their names."""
    everywhere: list[Object] = client.list(resource)["items"]
    of = "name" if kind in CLUSTER_WIDE else "namespace"
    ours = (namespace, f"{namespace}-other", f"{namespace}-third")
    return [obj for obj in everywhere if obj["metadata"][of] in ours]


def aged(obj: Object) -> Object:
    meta: dict[str, Any] = {**obj["metadata"], "creationTimestamp": CREATED}
    if "deletionTimestamp" in meta:
        meta["deletionTimestamp"] = DELETED
    return {**obj, "metadata": meta}
