"""VirtualMachineInstancePresets: the deprecated way to fill in VMIs by their labels."""

from __future__ import annotations

from ...facts.record import Record, Wire, WireMeta, identity
from ..kind import ApiKind


class _Preset(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()


class VirtualMachineInstancePreset(Record, frozen=True, gc=False):
    pass


def _reduce(wire: _Preset) -> VirtualMachineInstancePreset:
    return VirtualMachineInstancePreset(*identity(wire.metadata))


KIND = ApiKind(
    VirtualMachineInstancePreset,
    group="kubevirt.io",
    versions=("v1", "v1alpha3"),
    plural="virtualmachineinstancepresets",
    wire=_Preset,
    reduce=_reduce,
    optional=True,
    dispensable=True,
)
VirtualMachineInstancePreset.KIND = KIND
