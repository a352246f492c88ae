"""Says how the address of a running VM's pod is kept in its IPAMClaim: by an annotation on the pod.

Each update of a launcher pod passes the webhook of ipam-extensions, which then writes the reference to the IPAMClaim
into the pod (pkg/ipamclaimswebhook), and makes OVN-Kubernetes reconcile the pod: it reserves the addresses that the pod
has, and writes them into an IPAMClaim that has none (go-controller/pkg/allocator/pod). No address is released, and the
pod's own stay.

Nothing is written: pods are only read, whatever is repaired. Who may patch a pod may have it run another image, and
RBAC can't be narrower. So it is proposed, and only where it does what it is for. OVN-Kubernetes compares no IPAMClaims:
one that is filled with an address which somebody else has too makes that a duplicate for good. So the pod's addresses
must be in the network's pool, and with nobody else. It writes nothing into an IPAMClaim that has addresses: a pod with
others would get those of the IPAMClaim at its next start. Where a finding names another cause than a missing reference
or a missed event, that comes first.

Undo: none. Nothing is written.
"""

from __future__ import annotations

import msgspec

from exporter.facts.addresses import number
from exporter.facts.pool import AddressPlace
from exporter.findings.finding import Finding
from exporter.store.kinds.ipam_claim import IPAMClaim
from exporter.store.kinds.network_attachment_definition import NetworkAttachmentDefinition, pool_of
from exporter.store.kinds.pod import Pod

from ...guards import guard
from ...plan import Patch, Plan, Proposal, Refused
from ...remediation import Remediation, Scene
from ._ipam_claims import ClaimOwner, in_use, migrating, misfit, named_owner, restored, shared, stack_broken, unsettled
from ._nudging import NUDGED

_MISSED = ("", "NotReferenced", "unknown")  # causes that an event mends
_IN_THE_POOL = (AddressPlace.INSIDE, AddressPlace.RESERVED)


@guard(
    {
        "event_missed": "the finding names no other cause than a missing reference, or none",
        "owner_lives": "the only owner of the IPAMClaim is a VM or a standalone VMI, exists with that UID and isn't "
        "being deleted; a VMI of that name belongs to it",
    },
    misfit,
    {
        "one_pod": "the VM has one launcher pod, which is attached to the network once and is not being deleted",
        "pod_has_address": "the pod has an address of the network",
        "addresses_agree": "the IPAMClaim has the addresses of the pod, or none",
        "addresses_in_pool": "the pod's addresses are in the network's pool, and not excluded",
        "no_pod_uses_it": "no other pod of the cluster that is not completed refers to the IPAMClaim or has one of "
        "these addresses in its network",
        "no_other_holder": "no other IPAMClaim of its network has one of these addresses",
    },
    migrating,
    restored,
    stack_broken,
    in_use,
    shared,
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    ref = finding.subject
    claim = scene.named(IPAMClaim, ref.namespace, ref.name)
    if claim is None:
        return Refused("same_object", f"{ref} does not exist")
    if claim.deleting is not None:
        return Refused("not_being_deleted", f"{ref} is being deleted")
    if finding.evidence.get("cause", "") not in _MISSED:
        return Refused("event_missed", f"{finding.message}; repair that first")
    owner = _owner(scene, claim)
    if isinstance(owner, Refused):
        return owner
    refused = restored(scene, claim) or migrating(scene, claim) or misfit(scene, claim, owner) or stack_broken(scene)
    pod = refused or _pod(scene, claim, owner)
    if isinstance(pod, Refused):
        return pod
    if refused := _other(scene, claim, pod):
        return refused
    ips = ", ".join(address for _, address in _given(scene, claim, pod))
    return REMEDIATION.planned(
        finding,
        Patch(target=ref, ops=()),
        vm=owner.name,
        effect=f"Nothing is written. Once {pod.ref} is annotated, KubeVirt's webhook lets it refer to the IPAMClaim, "
        f"and OVN-Kubernetes keeps {ips} in that.",
        proposal=Proposal(
            owner="a user with permission to patch pods, which the sidecar doesn't have",
            where=f"Annotate the pod before the VM stops: kubectl annotate pods -n {pod.namespace} {pod.name} "
            f"{NUDGED}={claim.uid} --overwrite",
        ),
    )


def _owner(scene: Scene, claim: IPAMClaim) -> ClaimOwner | Refused:
    if claim.other_owners or len(claim.owners) != 1:
        return Refused("owner_lives", f"{claim.ref} has other owner references than one to a VM or VMI")
    vm, vmi = named_owner(scene, claim, claim.owners[0].name)
    owner = vm or vmi
    if owner is None or owner.uid != claim.owners[0].uid:
        return Refused("owner_lives", f"the owner of {claim.ref}, {claim.owners[0].name}, does not exist")
    return unsettled(owner, vm, vmi) or owner


def _pod(scene: Scene, claim: IPAMClaim, owner: ClaimOwner) -> Pod | Refused:
    """The one launcher pod of the VM, attached to the network once, with an address of it."""
    found = [pod for pod in scene.within(Pod, claim.namespace) if pod.domain == owner.name]
    if len(found) != 1:
        return Refused("one_pod", f"{owner.ref} has {len(found)} launcher pods")
    pod = found[0]
    if pod.deleting is not None:
        return Refused("one_pod", f"{pod.ref} is being deleted")
    attached = [key for key, _ in pod.selections if _network(scene, key) == claim.network]
    if len(attached) > 1:
        return Refused("one_pod", f"{pod.ref} is attached to network {claim.network} {len(attached)} times")
    if not _given(scene, claim, pod):
        return Refused("pod_has_address", f"{pod.ref} has no address of network {claim.network}")
    return pod


def _other(scene: Scene, claim: IPAMClaim, pod: Pod) -> Refused | None:
    """Whatever of the addresses is not the pod's alone, in the network's pool and in the IPAMClaim."""
    given = _given(scene, claim, pod)
    hosts = tuple(address for _, address in given)
    if claim.hosts and set(claim.hosts) != set(hosts):
        held = ", ".join(claim.hosts)
        return Refused("addresses_agree", f"{pod.ref} has {', '.join(hosts)}, and {claim.ref} holds {held}")
    for nad, address in given:
        if pool_of(nad).locate(number(address))[0] not in _IN_THE_POOL:
            return Refused("addresses_in_pool", f"{address} of {pod.ref} is not in the pool of {nad.ref}")
    kept = msgspec.structs.replace(claim, hosts=hosts)
    return shared(scene, kept) or in_use(scene, kept, but=pod.ref)


def _given(scene: Scene, claim: IPAMClaim, pod: Pod) -> list[tuple[NetworkAttachmentDefinition, str]]:
    """Its addresses in the network of the IPAMClaim, each with the NAD by which it has it."""
    found = []
    for key, address, _ in pod.addresses:
        namespace, _, name = key.partition("/")
        nad = scene.named(NetworkAttachmentDefinition, namespace, name)
        if nad is not None and nad.readable and nad.network == claim.network:
            found.append((nad, address))
    return found


def _network(scene: Scene, key: str) -> str:
    namespace, _, name = key.partition("/")
    nad = scene.named(NetworkAttachmentDefinition, namespace, name)
    return nad.network if nad is not None and nad.readable else ""


REMEDIATION = Remediation(
    id="handle_unkept_address",
    title="Say how the address of a VM's pod is kept in its IPAMClaim",
    plan=_plan,
    proposes_only=True,
)
