"""VirtualMachineClones: from which VM to which, and whether one is in progress.

Phases as in staging/src/kubevirt.io/api/clone of kubevirt/kubevirt.
"""

from __future__ import annotations

from msgspec import field

from ...facts.addresses import comparable
from ...facts.firmware import Changes, changes_of
from ...facts.record import Record, Wire, WireMeta, epoch, identity
from ..kind import ApiKind

_OVER = ("Succeeded", "Failed")


class _Object(Wire, frozen=True, gc=False):
    kind: str | None = None
    name: str | None = None


class _Spec(Wire, frozen=True, gc=False):
    source: _Object | None = None
    target: _Object | None = None
    new_mac_addresses: dict[str, str | None] | None = None
    new_smbios_serial: str | None = field(name="newSMBiosSerial", default=None)
    patches: list[str | None] | None = None


class _Status(Wire, frozen=True, gc=False):
    phase: str | None = None
    target_name: str | None = None


class _Clone(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _Spec | None = None
    status: _Status | None = None


class VirtualMachineClone(Record, frozen=True, gc=False):
    source: str  # the VM, in its namespace; empty where it is not known, as of one that is made from a snapshot
    target: str  # the VM that it creates there; empty until it has a name
    active: bool  # neither succeeded nor failed
    made: bool  # it has made its target
    deleting: float | None
    saved: str  # the VirtualMachineSnapshot that it is made from; empty where it is made from a VM
    macs: tuple[tuple[str, str], ...]  # names of interfaces, each with the MAC address that it sets, comparable
    serial: str  # that it sets; empty for none
    changes: Changes  # what its patches change of the VM that it creates, after all that

    @property
    def vms(self) -> tuple[str, ...]:
        return (self.target,) if self.target else ()


def _reduce(wire: _Clone) -> VirtualMachineClone:
    spec, status = wire.spec or _Spec(), wire.status or _Status()
    source, target = spec.source or _Object(), spec.target or _Object()
    return VirtualMachineClone(
        *identity(wire.metadata),
        source=(source.name or "") if source.kind == "VirtualMachine" else "",
        target=target.name or status.target_name or "",
        active=status.phase not in _OVER,
        made=status.phase == _OVER[0],
        deleting=epoch(wire.metadata.deletion_timestamp),
        saved=(source.name or "") if source.kind == "VirtualMachineSnapshot" else "",
        macs=tuple((name, mac) for name, text in (spec.new_mac_addresses or {}).items() if (mac := comparable(text))),
        serial=spec.new_smbios_serial or "",
        changes=changes_of(spec.patches),
    )


KIND = ApiKind(
    VirtualMachineClone,
    group="clone.kubevirt.io",
    versions=("v1beta1", "v1alpha1"),
    plural="virtualmachineclones",
    wire=_Clone,
    reduce=_reduce,
    optional=True,
    dispensable=True,
)
VirtualMachineClone.KIND = KIND
