"""Which VMs of a dump have labels: no record keeps them, so they are noted while it is read."""

from __future__ import annotations

from typing import Any

import msgspec

from ..store.decode import MALFORMED, Decoded
from ..store.kind import ApiKind
from ..store.kinds.virtual_machine import VirtualMachine
from ..store.kinds.virtual_machine_instance import VirtualMachineInstance
from ..store.selector import Selector


class _Meta(msgspec.Struct, frozen=True, gc=False):
    labels: dict[str, Any] | None = None


class _Object(msgspec.Struct, frozen=True, gc=False):
    metadata: _Meta = _Meta()


_OBJECT = msgspec.json.Decoder(_Object)


class LabelledVMs:
    def __init__(self, selector: Selector) -> None:
        self._selector = selector
        self._found: dict[str, dict[str, bool]] = {VirtualMachine.__name__: {}, VirtualMachineInstance.__name__: {}}

    def note(self, kind: ApiKind[Any], decoded: Decoded, raw: bytes | msgspec.Raw) -> None:
        """Of an object that is read again, the state that was read last counts."""
        of = self._found.get(kind.name)
        if of is not None:
            of[f"{decoded.namespace}/{decoded.name}"] = self._selector.matches(_labels(raw))

    @property
    def paths(self) -> frozenset[str]:
        """NAMESPACE/NAME of the VMs that have them, and of VMIs that stand alone."""
        vms, vmis = self._found.values()
        return frozenset(path for path, has in {**vmis, **vms}.items() if has)


def _labels(raw: bytes | msgspec.Raw) -> dict[str, str]:
    """None where they can't be read: such an object has none that anybody could select it by."""
    try:
        labels = _OBJECT.decode(raw).metadata.labels or {}
    except MALFORMED:
        return {}
    return {key: value if isinstance(value, str) else "" for key, value in labels.items()}
