"""Whether a VM keeps state of its guest that is bound to its UUID: libvirt stores it under that."""

from __future__ import annotations

from exporter.domain.instancetypes.matching import MatcherRole
from exporter.domain.instancetypes.resolving import resolve, undecodable
from exporter.domain.instancetypes.specs import preference
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.virtual_machine import VirtualMachine

from ...plan import Refused
from ...remediation import Scene

KEEPS_NO_STATE = {
    "keeps_no_state": "neither its spec nor its preference gives it a persistent TPM or persistent EFI variables"
}


def kept_state(scene: Scene, vm: VirtualMachine) -> Refused | None:
    """Refuses for a VM that keeps state of its guest, or may do so by a preference."""
    if vm.sealed:
        return Refused("keeps_no_state", f"{vm.ref} has a {vm.sealed}")
    found = resolve(vm, MatcherRole.PREFERENCE, scene.named, next(iter(scene.all(KubeVirt)), None))
    if found is None:
        return None
    broken = undecodable(found.revision, MatcherRole.PREFERENCE, (0, 0)) if found.revision is not None else ""
    if found.spec is None or broken:
        return Refused("keeps_no_state", f"the preference of {vm.ref}, which may give it a TPM, can't be read")
    for text in (found.spec, found.live.spec if found.live is not None else ""):
        wanted = preference(text)
        tpm, efi = wanted.devices and wanted.devices.preferred_tpm, wanted.firmware and wanted.firmware.preferred_efi
        if (tpm and tpm.persistent) or (efi and efi.persistent):
            return Refused("keeps_no_state", f"the preference of {vm.ref} gives it a persistent TPM or persistent EFI")
    return None
