"""The PersistentVolumeClaims that the spec of a VMI, or of a VM's template, names."""

from __future__ import annotations

from collections.abc import Iterator

from .vm_spec import WireVMSpec, WireVolume

__all__ = ["pvcs_of"]

_MOST = 200  # of one VM: QEMU takes fewer disks, and each of them costs


def pvcs_of(spec: WireVMSpec) -> str:
    """By their names, in order, with spaces between, which no name has: one text, since each VM has its own, and many.
    That of a DataVolume has the DataVolume's name.
    """
    return " ".join(sorted({name for volume in spec.volumes or () if volume for name in _named(volume)})[:_MOST])


def _named(volume: WireVolume) -> Iterator[str]:
    for source, field in ((volume.persistent_volume_claim, "claimName"), (volume.data_volume, "name")):
        name = source.get(field) if isinstance(source, dict) else None
        if name and isinstance(name, str) and len(name) <= 253:  # no object has a longer one
            yield name
