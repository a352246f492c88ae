"""ControllerRevisions of the first shape, which KubeVirt 0.56 and 0.57 made: {apiVersion, spec}, the spec in base64.

KubeVirt decodes them up to 1.6 (decodeSpecRevision in pkg/instancetype/compatibility of kubevirt/kubevirt), strictly:
a field too many, and it takes the data for a whole object, which they are not. They name neither kind nor object: what
fits a preference is one, and an instancetype always has `memory`, which no preference has.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import Raw

from ...store.text.nesting import decoded

VERSION = "instancetype.kubevirt.io/v1alpha1"

# staging/src/kubevirt.io/api/instancetype/v1alpha1/types.go of kubevirt/kubevirt at v1.6.0
_PREFERENCE = frozenset({"clock", "cpu", "devices", "features", "firmware", "machine"})
_INSTANCETYPE = frozenset({"cpu", "memory", "gpus", "hostDevices", "ioThreadsPolicy", "launchSecurity"})


class _Wire(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    spec: bytes  # msgspec decodes base64
    api_version: str | None = None  # objects that come from client-go have none


class FirstShape(NamedTuple):
    kind: str
    spec: Raw


_WIRE = msgspec.json.Decoder(_Wire)
_FIELDS = msgspec.json.Decoder(dict[str, Raw])


def first_shape(raw: bytes) -> FirstShape | None:
    """What the data of a ControllerRevision hold, in this shape; None where they are of another one, or broken.

    The kind is that of the namespace, as KubeVirt makes it.
    """
    try:
        spec = decoded(_WIRE, raw).spec
        fields = decoded(_FIELDS, spec).keys()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if fields <= _PREFERENCE:
        return FirstShape("VirtualMachinePreference", Raw(spec))
    return FirstShape("VirtualMachineInstancetype", Raw(spec)) if fields <= _INSTANCETYPE else None
