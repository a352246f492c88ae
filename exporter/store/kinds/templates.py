"""Templates from which a controller creates VMs or VMIs, and the identity that they set."""

from __future__ import annotations

from sys import intern

from ...facts.firmware import WireFirmware, identifying
from ...facts.matching import MatcherReference, WireMatcher, reference_of
from ...facts.record import Record, Wire, WireMeta, epoch, identity
from ...facts.rule import IGNITION, SIDECARS, Asking, Request
from ...facts.spec_facts import asks_of
from ...facts.vm_spec import WireDomain, WireVMSpec
from ..kind import ApiKind


class _Meta(Wire, frozen=True, gc=False):
    annotations: dict[str, object] | None = None


class WireTemplate(Wire, frozen=True, gc=False):
    metadata: _Meta | None = None
    spec: WireVMSpec | None = None


class Template(Record, frozen=True, gc=False):
    deleting: float | None
    replicas: int  # desired; 1 if not set, as its controller defaults it
    uuid: str  # of the template's firmware, as written; empty for none
    identity: str  # the same, comparable (firmware.py); empty for none and for one that identifies no VM
    serial: str
    asks: tuple[Request, ...]  # features, of the template as it is written


def facts_of(
    meta: WireMeta, replicas: int | None, template: WireTemplate | None
) -> tuple[str, str, str, int, float | None, int, str, str, str, tuple[Request, ...]]:
    """The fields of a Template."""
    domain = ((template and template.spec) or WireVMSpec()).domain or WireDomain()
    firmware = domain.firmware or WireFirmware()
    notes = (template and template.metadata and template.metadata.annotations) or {}
    asking = Asking(
        (template and template.spec) or WireVMSpec(), ignition=notes.get(IGNITION), sidecars=notes.get(SIDECARS)
    )
    return (
        *identity(meta),
        epoch(meta.deletion_timestamp),
        1 if replicas is None else replicas,
        intern(firmware.uuid or ""),
        identifying(firmware.uuid),
        intern(firmware.serial or ""),
        asks_of(asking),
    )


# VirtualMachineInstanceReplicaSets: the template of their VMIs.


class _ReplicaSetSpec(Wire, frozen=True, gc=False):
    replicas: int | None = None
    template: WireTemplate | None = None


class _ReplicaSet(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _ReplicaSetSpec | None = None


class VirtualMachineInstanceReplicaSet(Template, frozen=True, gc=False):
    pass


def _replica_set(wire: _ReplicaSet) -> VirtualMachineInstanceReplicaSet:
    spec = wire.spec or _ReplicaSetSpec()
    return VirtualMachineInstanceReplicaSet(*facts_of(wire.metadata, spec.replicas, spec.template))


REPLICA_SET = ApiKind(
    VirtualMachineInstanceReplicaSet,
    group="kubevirt.io",
    versions=("v1", "v1alpha3"),
    plural="virtualmachineinstancereplicasets",
    wire=_ReplicaSet,
    reduce=_replica_set,
    optional=True,
    dispensable=True,
)
VirtualMachineInstanceReplicaSet.KIND = REPLICA_SET


# VirtualMachinePools: the template of their VMs.


class _VM(Wire, frozen=True, gc=False):
    template: WireTemplate | None = None
    instancetype: WireMatcher | None = None
    preference: WireMatcher | None = None


class _VMTemplate(Wire, frozen=True, gc=False):
    spec: _VM | None = None


class _PoolSpec(Wire, frozen=True, gc=False):
    replicas: int | None = None
    virtual_machine_template: _VMTemplate | None = None


class _Pool(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _PoolSpec | None = None


class VirtualMachinePool(Template, frozen=True, gc=False):
    instancetype: MatcherReference | None  # of its template
    preference: MatcherReference | None


def _pool(wire: _Pool) -> VirtualMachinePool:
    spec = wire.spec or _PoolSpec()
    vm = (spec.virtual_machine_template or _VMTemplate()).spec or _VM()
    return VirtualMachinePool(
        *facts_of(wire.metadata, spec.replicas, vm.template),
        instancetype=reference_of(vm.instancetype, None),
        preference=reference_of(vm.preference, None),
    )


POOL = ApiKind(
    VirtualMachinePool,
    group="pool.kubevirt.io",
    versions=("v1beta1", "v1alpha1"),
    plural="virtualmachinepools",
    wire=_Pool,
    reduce=_pool,
    optional=True,
    dispensable=True,
)
VirtualMachinePool.KIND = POOL
