"""IPAMClaims that no longer do what they are for, or put a network at risk.

KubeVirt's ipam-extensions makes a claim per interface, guards it with a finalizer, and takes that off when the VM
goes. It does so on events of the VM alone: when it misses the last one, the claim stays for good, and its
addresses stay taken. A VM made again under the same name then runs on the dying claim of its predecessor. And what
a claim holds is given out again at the next start of the network's control plane, which fails where it does not fit.

One finding per claim, the first that holds, in the order of ipamclaims C-25; a foreign finalizer, and an address that
the network can't give out, are reported beside it. Of what KubeVirt did not make only that is said.

Not seen here: addresses that the network holds without a claim; why OVN-Kubernetes gave none, where no object says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...findings import Finding
from ...model.indexes.networks import ADDRESS, CLAIM, NAD, REFERENCE, vm_key
from ...model.kinds import (
    deployment,
    ipam_claim,
    namespace,
    network_attachment_definition,
    pod,
    virtual_machine,
    virtual_machine_instance,
)
from ...model.kinds.ipam_claim import IPAMClaim
from ..base import Check, View
from ..scopes import PER_VM
from .addresses import duplicate_ip, family_incomplete, ip_drift, ip_excluded, ip_outside_pool, prefix_mismatch
from .lifecycle import (
    foreign_claim,
    foreign_finalizer,
    orphan_claim,
    owner_uid_mismatch,
    ownerless_claim,
    stuck_terminating,
    unlabelled_claim,
    unprotected_claim,
)
from .network import network_mismatch, network_missing, persistence_disabled
from .reasons import REASONS
from .situation import Situation
from .use import empty_claim, idle_reservation, leaked_claim, not_referenced

__all__ = ["CHECK"]

Predicate = Callable[[Situation], Finding | None]

# The decision order of ipamclaims C-25: the first that holds is the claim's finding.
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
# Of a network in which claims do not count (C-07, reported of the network), the rest would only be its consequences.
AFTER_THE_NETWORK: tuple[Predicate, ...] = (
    leaked_claim,
    empty_claim,
    not_referenced,
    unprotected_claim,
    unlabelled_claim,
    idle_reservation,
)
BESIDE: tuple[Predicate, ...] = (foreign_finalizer, ip_outside_pool)


def find(view: View) -> Iterator[Finding]:
    for claim in view.all(IPAMClaim):
        # A claim that names two VMs is in both partitions, and is evaluated in the first one's.
        if vm_key(claim.namespace, claim.vms[0]) == view.partition:
            yield from _evaluated(Situation(view, claim))


def _evaluated(it: Situation) -> Iterator[Finding]:
    if not it.claim.managed:
        foreign = foreign_claim(it)
        if foreign:
            yield foreign
        return
    primary = _primary(it)
    if primary:
        yield primary
    for predicate in BESIDE:
        found = predicate(it)
        if found and (primary is None or found.reason != primary.reason):
            yield found


def _primary(it: Situation) -> Finding | None:
    for predicate in BEFORE_THE_NETWORK:
        found = predicate(it)
        if found:
            return found
    if persistence_disabled(it):
        return None
    return next((found for predicate in AFTER_THE_NETWORK if (found := predicate(it))), None)


CHECK = Check(
    id="ipam_claims",
    title="IPAMClaims that no longer do what they are for",
    reads=(
        ipam_claim.KIND,
        virtual_machine.KIND,
        virtual_machine_instance.KIND,
        pod.KIND,
        network_attachment_definition.KIND,
        namespace.KIND,
        deployment.KIND,
    ),
    scope=PER_VM,
    joins=(ADDRESS, CLAIM, NAD, REFERENCE),
    reasons=REASONS,
    find=find,
    about=(ipam_claim.KIND,),
)
