"""VirtualMachinePools: the template of their VMs."""

from __future__ import annotations

from ...facts.matching import Reference, WireMatcher, reference_of
from ...facts.record import Wire, WireMeta
from ..kind import ApiKind
from .common.template import Template, WireTemplate, facts_of


class _VM(Wire, frozen=True, gc=False):
    template: WireTemplate | None = None
    instancetype: WireMatcher | None = None
    preference: WireMatcher | None = None


class _VMTemplate(Wire, frozen=True, gc=False):
    spec: _VM | None = None


class _Spec(Wire, frozen=True, gc=False):
    replicas: int | None = None
    virtual_machine_template: _VMTemplate | None = None


class _Pool(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _Spec | None = None


class VirtualMachinePool(Template, frozen=True, gc=False):
    instancetype: Reference | None  # of its template
    preference: Reference | None


def _reduce(wire: _Pool) -> VirtualMachinePool:
    spec = wire.spec or _Spec()
    vm = (spec.virtual_machine_template or _VMTemplate()).spec or _VM()
    return VirtualMachinePool(
        *facts_of(wire.metadata, spec.replicas, vm.template),
        instancetype=reference_of(vm.instancetype, None),
        preference=reference_of(vm.preference, None),
    )


KIND = ApiKind(
    VirtualMachinePool,
    group="pool.kubevirt.io",
    versions=("v1beta1", "v1alpha1"),
    plural="virtualmachinepools",
    wire=_Pool,
    reduce=_reduce,
    optional=True,
    dispensable=True,
)
VirtualMachinePool.KIND = KIND
