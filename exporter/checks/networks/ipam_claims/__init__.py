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

from collections.abc import Callable, Iterator

from ....findings.check import Check, Lookup, View
from ....findings.finding import Finding
from ....findings.scopes import PER_VM
from ....store.indexes.networks import ADDRESS, CLAIM, LEFTOVER, NAD, NETWORK, REFERENCE, vm_key
from ....store.kinds.deployment import Deployment
from ....store.kinds.ipam_claim import IPAMClaim
from ....store.kinds.mutating_webhook_configuration import MutatingWebhookConfiguration
from ....store.kinds.namespace import Namespace
from ....store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ....store.kinds.pod import Pod
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from .._explained import shown
from .addresses import (
    duplicate_ip,
    fails_the_control_plane,
    family_incomplete,
    ip_drift,
    ip_excluded,
    ip_outside_pool,
    prefix_mismatch,
)
from .common import Common
from .context import ClaimContext
from .lifecycle import (
    foreign_claim,
    foreign_finalizer,
    orphan_claim,
    owner_uid_mismatch,
    ownerless_claim,
    stuck_terminating,
    terminating_namespace,
    unlabelled_claim,
    unprotected_claim,
)
from .network import network_mismatch, network_missing, persistence_disabled
from .reasons import REASONS
from .use import empty_claim, idle_reservation, leaked_claim, not_referenced
from .well import evidently_well

__all__ = ["CHECK"]

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
    fields_read={
        Namespace.KIND: ("terminating",),
        VirtualMachine.KIND: ("created", "deleting", "networks", "stopped"),
        VirtualMachineInstance.KIND: (
            "created",
            "deleting",
            "known_requested",
            "networks",
            "phase",
            "unreadable",
            "vm_uid",
        ),
        Pod.KIND: (
            "created",
            "deleting",
            "domain",
            "known_addresses",
            "known_claims",
            "known_selections",
            "node",
            "numbers",
            "phase",
            "role",
            "scheduled",
            "unreadable",
        ),
    },
    requires=(IPAMClaim.KIND,),
)
