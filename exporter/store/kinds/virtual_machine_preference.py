"""VirtualMachinePreferences: preferences of one namespace."""

from __future__ import annotations

from .common.instancetype import Tuning, tuning_kind


class VirtualMachinePreference(Tuning, frozen=True, gc=False):
    pass


KIND = tuning_kind(VirtualMachinePreference, "virtualmachinepreferences", namespaced=True)
VirtualMachinePreference.KIND = KIND
