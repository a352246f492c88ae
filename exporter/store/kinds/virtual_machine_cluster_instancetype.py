"""VirtualMachineClusterInstancetypes: instancetypes of the whole cluster."""

from __future__ import annotations

from .common.instancetype import Sizing, sizing_kind


class VirtualMachineClusterInstancetype(Sizing, frozen=True, gc=False):
    pass


KIND = sizing_kind(VirtualMachineClusterInstancetype, "virtualmachineclusterinstancetypes", namespaced=False)
VirtualMachineClusterInstancetype.KIND = KIND
