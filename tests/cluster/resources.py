"""Names of the API resources that tests ask for."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Resource"]


class Resource(NamedTuple):
    """A resource as it stands in a path: `Resource("", "v1", "pods")`. The core group is empty."""

    group: str
    version: str
    plural: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """The path of its group and version."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        parts = [self.root]
        if namespace is not None:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part is not None]
        return "/".join(parts)

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


CONFIG_MAPS = Resource("", "v1", "configmaps")
EVENTS = Resource("", "v1", "events")
NAMESPACES = Resource("", "v1", "namespaces")
NODES = Resource("", "v1", "nodes")
PODS = Resource("", "v1", "pods")
PVCS = Resource("", "v1", "persistentvolumeclaims")
SECRETS = Resource("", "v1", "secrets")
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts")
DEPLOYMENTS = Resource("apps", "v1", "deployments")
CONTROLLER_REVISIONS = Resource("apps", "v1", "controllerrevisions")
JOBS = Resource("batch", "v1", "jobs")
STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "storageclasses")
LEASES = Resource("coordination.k8s.io", "v1", "leases")
ENDPOINT_SLICES = Resource("discovery.k8s.io", "v1", "endpointslices")
PDBS = Resource("policy", "v1", "poddisruptionbudgets")
CLUSTER_ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles")
CLUSTER_ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "clusterrolebindings")
MUTATING_WEBHOOKS = Resource("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations")
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")

KUBEVIRTS = Resource("kubevirt.io", "v1", "kubevirts")
VMS = Resource("kubevirt.io", "v1", "virtualmachines")
VMIS = Resource("kubevirt.io", "v1", "virtualmachineinstances")
VMIMS = Resource("kubevirt.io", "v1", "virtualmachineinstancemigrations")
VMI_REPLICA_SETS = Resource("kubevirt.io", "v1", "virtualmachineinstancereplicasets")
VM_POOLS = Resource("pool.kubevirt.io", "v1beta1", "virtualmachinepools")
VMI_PRESETS = Resource("kubevirt.io", "v1", "virtualmachineinstancepresets")
INSTANCETYPES = Resource("instancetype.kubevirt.io", "v1beta1", "virtualmachineinstancetypes")
CLUSTER_INSTANCETYPES = Resource("instancetype.kubevirt.io", "v1beta1", "virtualmachineclusterinstancetypes")
PREFERENCES = Resource("instancetype.kubevirt.io", "v1beta1", "virtualmachinepreferences")
CLUSTER_PREFERENCES = Resource("instancetype.kubevirt.io", "v1beta1", "virtualmachineclusterpreferences")
RESTORES = Resource("snapshot.kubevirt.io", "v1beta1", "virtualmachinerestores")
SNAPSHOT_CONTENTS = Resource("snapshot.kubevirt.io", "v1beta1", "virtualmachinesnapshotcontents")
IPAM_CLAIMS = Resource("k8s.cni.cncf.io", "v1alpha1", "ipamclaims")
NADS = Resource("k8s.cni.cncf.io", "v1", "network-attachment-definitions")
UDNS = Resource("k8s.ovn.org", "v1", "userdefinednetworks")
CUDNS = Resource("k8s.ovn.org", "v1", "clusteruserdefinednetworks")
