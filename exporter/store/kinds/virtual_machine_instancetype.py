"""VirtualMachineInstancetypes: instancetypes of one namespace."""

from __future__ import annotations

from .common.instancetype import Sizing, sizing_kind


class VirtualMachineInstancetype(Sizing, frozen=True, gc=False):
    pass


KIND = sizing_kind(VirtualMachineInstancetype, "virtualmachineinstancetypes", namespaced=True)
VirtualMachineInstancetype.KIND = KIND
