"""IPAMClaims: the persistent IPs of a VM, kept over restarts and migrations."""

from __future__ import annotations

from sys import intern

from msgspec import field

from ...facts.addresses import NONE, host, number, prefix
from ...facts.record import Owner, Record, Wire, WireCondition, WireMeta, WireOwner, epoch, identity, kubevirt_owners
from ...facts.text_cache import remembered
from ..kind import ApiKind

FINALIZER = "kubevirt.io/persistent-ipam"
_OWNERS = ("VirtualMachine", "VirtualMachineInstance")


class _Labels(Wire, frozen=True, gc=False):
    vm: str | None = field(name="kubevirt.io/vm", default=None)


class _Meta(WireMeta, frozen=True, gc=False):
    labels: _Labels | None = None
    finalizers: list[str] | None = None
    owner_references: list[WireOwner | None] | None = None


class _Spec(Wire, frozen=True, gc=False):
    network: str | None = None


class _Status(Wire, frozen=True, gc=False):
    ips: list[str | None] | None = None
    conditions: list[WireCondition | None] | None = None


class _IPAMClaim(Wire, frozen=True, gc=False):
    metadata: _Meta = _Meta()
    spec: _Spec | None = None
    status: _Status | None = None


class IPAMClaim(Record, frozen=True, gc=False):
    created: float | None
    deleting: float | None
    vm: str  # the label kubevirt.io/vm, by which KubeVirt's controller finds it; empty where it has none
    owners: tuple[Owner, ...]  # VirtualMachines and VirtualMachineInstances
    other_owners: int  # owner references to anything else, which are not evaluated
    finalizers: tuple[str, ...]
    network: str
    hosts: tuple[str, ...]  # canonical addresses without prefix; text that is not an address is unchanged
    prefixes: tuple[int, ...]  # of the hosts, in their order; -1 where one has none
    numbers: tuple[int, ...]  # the hosts that are addresses, as integers (addresses.py)
    ips: tuple[str, ...]  # as they are written
    allocated: float | None  # when the addresses were allocated, where the condition says so
    refused: str  # why none were, the reason of the condition where it is False

    @property
    def managed(self) -> bool:
        """Whether KubeVirt created it; any other is not evaluated."""
        return FINALIZER in self.finalizers or bool(self.vm) or bool(self.owners)

    @property
    def mislabelled(self) -> bool:
        """Whether its label names another VM than its owners, who decide whose it is."""
        return bool(self.vm and self.owners) and all(owner.name != self.vm for owner in self.owners)

    @property
    def vms(self) -> tuple[str, ...]:
        """The names of the VMs that its owners and label say; it is evaluated with the first one.

        One without any name stands alone, under the empty name.
        """
        if self.vm and len(self.owners) == 1 and self.owners[0].name == self.vm:
            return (self.vm,)
        names = dict.fromkeys(name for name in (*(owner.name for owner in self.owners), self.vm) if name)
        return tuple(names) or ("",)


def _condition(status: _Status) -> WireCondition:
    """The condition IPsAllocated, empty where there is none: older versions write none."""
    return next((each for each in status.conditions or () if each and each.type == "IPsAllocated"), _NO_CONDITION)


@remembered(1_000)
def _finalizers(made: tuple[str, ...]) -> tuple[str, ...]:
    """Nearly all claims have the same ones, and share them."""
    return made


@remembered(1_000)
def _prefixes(made: tuple[int, ...]) -> tuple[int, ...]:
    """The same."""
    return made


_NO_STATUS, _NO_CONDITION = _Status(), WireCondition()


def _reduce(wire: _IPAMClaim) -> IPAMClaim:
    meta, status = wire.metadata, wire.status or _NO_STATUS
    owners = tuple(owner for owner in kubevirt_owners(meta.owner_references) if owner.kind in _OWNERS)
    ips = tuple(ip for ip in status.ips or () if ip)
    hosts = tuple(host(ip) or ip for ip in ips)
    condition = _condition(status)
    namespace, name, uid, version = identity(meta)
    return IPAMClaim(
        namespace,
        intern(name),  # pods that refer to it share it
        uid,
        version,
        created=epoch(meta.creation_timestamp),
        deleting=epoch(meta.deletion_timestamp),
        vm=intern((meta.labels and meta.labels.vm) or ""),
        owners=owners,
        other_owners=sum(owner is not None for owner in meta.owner_references or ()) - len(owners),
        finalizers=_finalizers(tuple(map(intern, meta.finalizers or ()))),
        network=intern((wire.spec and wire.spec.network) or ""),
        hosts=hosts,
        prefixes=_prefixes(tuple(map(prefix, ips))),
        numbers=tuple(address for address in map(number, hosts) if address != NONE),
        ips=ips,
        allocated=epoch(condition.last_transition_time) if condition.status == "True" else None,
        refused=intern(condition.reason or "") if condition.status == "False" else "",
    )


KIND = ApiKind(
    IPAMClaim,
    group="k8s.cni.cncf.io",
    versions=("v1alpha1",),
    plural="ipamclaims",
    wire=_IPAMClaim,
    reduce=_reduce,
    optional=True,
)
IPAMClaim.KIND = KIND
