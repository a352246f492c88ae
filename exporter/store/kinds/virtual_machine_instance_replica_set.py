"""VirtualMachineInstanceReplicaSets: the template of their VMIs."""

from __future__ import annotations

from ...facts.record import Wire, WireMeta
from ..kind import ApiKind
from .common.template import Template, WireTemplate, facts_of


class _Spec(Wire, frozen=True, gc=False):
    replicas: int | None = None
    template: WireTemplate | None = None


class _ReplicaSet(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _Spec | None = None


class VirtualMachineInstanceReplicaSet(Template, frozen=True, gc=False):
    pass


def _reduce(wire: _ReplicaSet) -> VirtualMachineInstanceReplicaSet:
    spec = wire.spec or _Spec()
    return VirtualMachineInstanceReplicaSet(*facts_of(wire.metadata, spec.replicas, spec.template))


KIND = ApiKind(
    VirtualMachineInstanceReplicaSet,
    group="kubevirt.io",
    versions=("v1", "v1alpha3"),
    plural="virtualmachineinstancereplicasets",
    wire=_ReplicaSet,
    reduce=_reduce,
    optional=True,
    dispensable=True,
)
VirtualMachineInstanceReplicaSet.KIND = KIND
