"""VirtualMachineInstances: what runs of a machine, and where."""

from __future__ import annotations

from sys import intern

import msgspec
from msgspec import field

from .kind import ApiKind
from .machine_networks import MachineNetwork, WireMachineSpec, networks_of
from .record import Record, Wire, WireMeta, WireOwner, epoch, identity, kubevirt_owners

__all__ = ["KIND", "VirtualMachineInstance"]


class _Annotations(Wire, frozen=True, gc=False):
    addresses: str | None = field(name="network.kubevirt.io/addresses", default=None)


class _Meta(WireMeta, frozen=True, gc=False):
    annotations: _Annotations | None = None
    owner_references: list[WireOwner | None] | None = None


class _Status(Wire, frozen=True, gc=False):
    phase: str | None = None
    node_name: str | None = None


class _VirtualMachineInstance(Wire, frozen=True, gc=False):
    metadata: _Meta = _Meta()
    spec: WireMachineSpec | None = None
    status: _Status | None = None


class VirtualMachineInstance(Record, frozen=True, gc=False):
    created: float | None
    deleting: float | None
    phase: str
    node: str
    vm_uid: str  # of the VirtualMachine that owns it; empty where it stands alone
    networks: tuple[MachineNetwork, ...]
    requested: tuple[tuple[str, str], ...]  # (logical network, address) asked for by annotation (ipamclaims B.3)

    @property
    def machines(self) -> tuple[str, ...]:
        return (self.name,)


_ADDRESSES = msgspec.json.Decoder(dict[str, list[str] | None])


def _requested(text: str | None) -> tuple[tuple[str, str], ...]:
    """What the annotation asks for; text that is no JSON asks for nothing, and the webhook refuses it."""
    try:
        asked = _ADDRESSES.decode(text) if text else {}
    except msgspec.DecodeError:
        return ()
    return tuple((network, address) for network, addresses in asked.items() for address in addresses or ())


def _reduce(wire: _VirtualMachineInstance) -> VirtualMachineInstance:
    meta, status = wire.metadata, wire.status or _Status()
    fields = identity(meta)
    return VirtualMachineInstance(
        *fields,
        created=epoch(meta.creation_timestamp),
        deleting=epoch(meta.deletion_timestamp),
        phase=intern(status.phase or ""),
        node=intern(status.node_name or ""),
        vm_uid=next((o.uid for o in kubevirt_owners(meta.owner_references) if o.kind == "VirtualMachine"), ""),
        networks=networks_of(wire.spec, fields[0]),
        requested=_requested(meta.annotations.addresses if meta.annotations else None),
    )


KIND = ApiKind(
    VirtualMachineInstance,
    group="kubevirt.io",
    versions=("v1", "v1alpha3"),
    plural="virtualmachineinstances",
    wire=_VirtualMachineInstance,
    reduce=_reduce,
)
