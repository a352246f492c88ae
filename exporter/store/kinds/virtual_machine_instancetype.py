"""VirtualMachineInstancetypes: instancetypes of one namespace."""

from __future__ import annotations

from .common.instancetype import Sizing, sizing_kind

__all__ = ["KIND", "VirtualMachineInstancetype"]


class VirtualMachineInstancetype(Sizing, frozen=True, gc=False):
    pass


KIND = sizing_kind(VirtualMachineInstancetype, "virtualmachineinstancetypes", namespaced=True)
VirtualMachineInstancetype.KIND = KIND
