"""The PersistentVolumeClaims that the spec of a VMI, or of a VM's template, names."""

from __future__ import annotations

from sys import intern
from typing import Any

from .vm_spec import WireVMSpec

_MOST = 200  # of one VM: QEMU takes fewer disks, and each of them costs
_LONGEST = 253  # characters of a name: no object has a longer one


def pvcs_of(spec: WireVMSpec) -> str:
    """By their names, in order, with spaces between, which no name has: one text, since each VM has its own, and many;
    a VM and its VMI share it. That of a DataVolume has the DataVolume's name.
    """
    found = set[str]()
    for volume in spec.volumes or ():
        if volume is not None:
            if volume.persistent_volume_claim is not None:
                found.add(_named(volume.persistent_volume_claim, "claimName"))
            if volume.data_volume is not None:
                found.add(_named(volume.data_volume, "name"))
    found.discard("")
    return intern(" ".join(sorted(found)[:_MOST]))


def _named(source: Any, field: str) -> str:
    name = source.get(field) if isinstance(source, dict) else None
    return name if isinstance(name, str) and len(name) <= _LONGEST else ""
