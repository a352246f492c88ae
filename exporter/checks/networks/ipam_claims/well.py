"""IPAMClaims of which one look says that nothing is wrong with them, as with almost all: none of the predicates is
asked then. They remain what decides: this knows of no finding, and only of some claims that there is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from ....domain.networks.cidr import number
from ....domain.networks.pool import AddressPlace, Pool
from ....findings.check import View
from ....store.indexes.networks import ADDRESS, CLAIM, address
from ....store.kinds.ipam_claim import FINALIZER, IPAMClaim
from ....store.kinds.network_attachment_definition import pool_of
from ....store.kinds.pod import Pod
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from ....store.record import Record
from .._referred import nads_of
from .common import Common

_MOST_PODS = 4  # a VM that migrates has two


def evidently_well(view: View, claim: IPAMClaim, common: Common) -> bool:
    """Whether no predicate finds anything of a claim: it belongs to a VM that is there and runs, its addresses are such
    as its one NAD gives out, and the VM's pods, and nobody else, have them by referring to the claim. False where that
    is not evident.
    """
    return _kept(claim) and _owned(view, claim) and _given_out(view, claim, common)


def _kept(claim: IPAMClaim) -> bool:
    """Protected, labelled, and not being deleted."""
    return (
        claim.deleting is None
        and FINALIZER in claim.finalizers
        and len(claim.owners) == 1
        and claim.owners[0].kind == "VirtualMachine"
        and claim.owners[0].name == claim.vm
    )


def _owned(view: View, claim: IPAMClaim) -> bool:
    """By a VM that is not being deleted and has a VMI. Where it has none, the claim may be idle."""
    vm = view.named(VirtualMachine, claim.namespace, claim.vm)
    if vm is None or vm.deleting is not None or vm.uid != claim.owners[0].uid:
        return False
    return view.named(VirtualMachineInstance, claim.namespace, claim.vm) is not None


def _given_out(view: View, claim: IPAMClaim, common: Common) -> bool:
    """By one NAD, which is in the claim's namespace, to pods of the VM: an address of each family that it has."""
    nads = nads_of(view, claim.network).nads
    if len(nads) != 1 or not nads[0].effective or nads[0].namespace != claim.namespace:
        return False
    nad = nads[0]
    families = {":" in host for host in claim.hosts}
    if len(families) != len(claim.hosts) or families != {":" in subnet for subnet in nad.subnets}:
        return False
    pods = [each for each in view.sharing(CLAIM, f"{claim.namespace}/{claim.name}") if isinstance(each, Pod)]
    if not 0 < len(pods) <= _MOST_PODS:
        return False
    pool, key, own = pool_of(nad), f"{nad.namespace}/{nad.name}", (claim, *pods)
    holders = (view.sharing(ADDRESS, address(claim.network, host)) for host in claim.hosts)
    return (
        all(_fits(pod, claim, key) for pod in pods)
        and all(pool.place(ip) is AddressPlace.INSIDE for ip in claim.ips)
        and (len(claim.hosts) == 1 or _apart(pool, claim))
        and _among(chain.from_iterable(holders), own)
        and _among(common.launchers(claim.namespace, claim.vm), own)  # all of the VM's pods refer to it
    )


def _apart(pool: Pool, claim: IPAMClaim) -> bool:
    """Whether each address is in a subnet of its own."""
    return len({pool.locate(number(host))[1] for host in claim.hosts}) == len(claim.hosts)


def _among(found: Iterable[Record], own: tuple[Record, ...]) -> bool:
    return all(each in own for each in found)


def _fits(pod: Pod, claim: IPAMClaim, nad: str) -> bool:
    """Whether a pod that refers to the claim is one of its VM, and has the claim's addresses by one attachment to the
    NAD that refers to it.
    """
    return (
        not pod.unreadable
        and pod.domain == claim.vm
        and pod.namespace == claim.namespace
        and [key for key, name in pod.selections if name == claim.name] == [nad]
        and {(host, length) for key, host, length in pod.addresses if key == nad}
        == set(zip(claim.hosts, claim.prefixes, strict=True))
    )
