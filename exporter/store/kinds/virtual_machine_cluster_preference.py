"""VirtualMachineClusterPreferences: preferences of the whole cluster."""

from __future__ import annotations

from .common.instancetype import Tuning, tuning_kind


class VirtualMachineClusterPreference(Tuning, frozen=True, gc=False):
    pass


KIND = tuning_kind(VirtualMachineClusterPreference, "virtualmachineclusterpreferences", namespaced=False)
VirtualMachineClusterPreference.KIND = KIND
