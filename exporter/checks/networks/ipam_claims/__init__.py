"""IPAMClaims that are orphaned, stuck, unusable, or put a network at risk.

KubeVirt's ipam-extensions creates an IPAMClaim per interface, with a finalizer that it removes once the VM is gone. It
acts on events of the VM alone: when it misses the last one, the IPAMClaim stays for good and its addresses stay
allocated. A VM recreated under the same name then runs on the terminating IPAMClaim of its predecessor. When
OVN-Kubernetes' control plane starts it allocates the addresses of all IPAMClaims again, and fails if one does not fit
its network.

One finding per IPAMClaim, the first that applies. A foreign finalizer, and an address that the network cannot allocate,
are reported beside it. An IPAMClaim that KubeVirt did not create is reported as such and not evaluated.

Not seen here: addresses that the network holds without an IPAMClaim; why OVN-Kubernetes allocated none, where no object
says so; an address that is spelled otherwise than OVN-Kubernetes spells it, as with leading zeros (docs/networks.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from ....facts.addresses import number
from ....facts.pool import AddressPlace, Pool
from ....facts.record import Record
from ....findings.check import PER_VM, Check, Lookup, View
from ....findings.finding import Finding
from ....store.indexes.networks import ADDRESS, CLAIM, LEFTOVER, NAD, NETWORK, REFERENCE, address, vm_key
from ....store.kinds.components import Deployment, MutatingWebhookConfiguration
from ....store.kinds.ipam_claim import FINALIZER, IPAMClaim
from ....store.kinds.namespace import Namespace
from ....store.kinds.network_attachment_definition import NetworkAttachmentDefinition, pool_of
from ....store.kinds.pod import Pod
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from .._explained import shown
from .._referred import nads_of
from .addresses import (
    duplicate_ip,
    fails_the_control_plane,
    family_incomplete,
    ip_drift,
    ip_excluded,
    ip_outside_pool,
    prefix_mismatch,
)
from .context import REASONS, ClaimContext, Common
from .lifecycle import (
    foreign_claim,
    foreign_finalizer,
    network_mismatch,
    network_missing,
    orphan_claim,
    owner_uid_mismatch,
    ownerless_claim,
    persistence_disabled,
    stuck_terminating,
    terminating_namespace,
    unlabelled_claim,
    unprotected_claim,
)
from .use import empty_claim, idle_reservation, leaked_claim, not_referenced

__all__ = ["CHECK"]

# IPAMClaims of which one look says that nothing is wrong with them, as with almost all: none of the predicates is
# asked then. They remain what decides: this knows of no finding, and only of some claims that there is none.

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


Predicate = Callable[[ClaimContext], Finding | None]

# In the order of precedence: the first that applies is the claim's finding.
BEFORE_THE_NETWORK: tuple[Predicate, ...] = (
    stuck_terminating,
    owner_uid_mismatch,
    ownerless_claim,
    orphan_claim,
    ip_outside_pool,
    duplicate_ip,
    ip_excluded,
    ip_drift,
    prefix_mismatch,
    family_incomplete,
    network_mismatch,
    network_missing,
)
# Where the network does not allow persistent IPs, which is reported of it, the rest would only be consequences.
AFTER_THE_NETWORK: tuple[Predicate, ...] = (
    leaked_claim,
    empty_claim,
    not_referenced,
    unprotected_claim,
    unlabelled_claim,
    idle_reservation,
)
BESIDE: tuple[Predicate, ...] = (foreign_finalizer, fails_the_control_plane)


def find(view: View) -> Iterator[Finding | None]:
    common = Common(view)
    for claim in view.all(IPAMClaim):
        # A claim that names two VMs is in both partitions, and is evaluated in the first one's.
        own = vm_key(claim.namespace, claim.vms[0]) == view.partition
        if own and not (view.whole and evidently_well(view, claim, common)):
            yield from view.apart(_evaluated(ClaimContext(view, claim, common)))
        yield None


def _evaluated(ctx: ClaimContext) -> Iterator[Finding]:
    if not ctx.claim.managed:
        yield foreign_claim(ctx)
        return
    primary = _primary(ctx)
    if primary:
        yield primary
    for predicate in BESIDE:
        found = predicate(ctx)
        if found and (primary is None or found.reason != primary.reason):
            yield found


def _primary(ctx: ClaimContext) -> Finding | None:
    if ctx.terminating:
        return terminating_namespace(ctx)
    for predicate in BEFORE_THE_NETWORK:
        found = predicate(ctx)
        if found:
            return found
    if persistence_disabled(ctx):
        return None
    for predicate in AFTER_THE_NETWORK:
        found = predicate(ctx)
        if found and (left := shown(ctx.view, found)):
            return left
    return None


CHECK = Check(
    id="ipam_claims",
    title="IPAMClaims that are orphaned, stuck or unusable",
    reads=(
        IPAMClaim.KIND,
        VirtualMachine.KIND,
        VirtualMachineInstance.KIND,
        Pod.KIND,
        NetworkAttachmentDefinition.KIND,
        Namespace.KIND,
        Deployment.KIND,
        MutatingWebhookConfiguration.KIND,
    ),
    scope=PER_VM,
    looks_up=(ADDRESS, CLAIM, NAD, REFERENCE, Lookup(NETWORK, concerns=LEFTOVER)),
    reasons=REASONS,
    find=find,
    fields_read=(Namespace.KIND, VirtualMachine.KIND, VirtualMachineInstance.KIND, Pod.KIND),
    requires=(IPAMClaim.KIND,),
)
