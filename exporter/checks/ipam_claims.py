"""IPAMClaims that no longer belong to a living virtual machine, or share an address with somebody.

KubeVirt's ipam-extensions makes a claim per interface, guards it with a finalizer, and takes that off when the machine
goes. It does so on events of the machine alone: when it misses the last one, the claim stays for good, and its
addresses stay taken. A machine made again under the same name then runs on the dying claim of its predecessor.

One finding per claim, the first that holds, in the order of ipamclaims C-25. What KubeVirt did not make is not judged.

Not seen here: addresses that the network holds without a claim; claims of networks that changed or are gone; claims
whose terminating is held up by somebody else's finalizer alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b

from ..findings import Finding, Severity, Since
from ..model import ipam_claim, namespace, network_attachment_definition, pod, virtual_machine, virtual_machine_instance
from ..model.ipam_claim import FINALIZER, IPAMClaim
from ..model.joins import ADDRESS, CLAIM, MACHINE, address, machine
from ..model.namespace import Namespace
from ..model.pod import Pod
from ..model.record import Ref
from ._ipam_owner import Owned, OwnerState, owner_of
from .base import Check, Family, Reason, Scope, View

__all__ = ["CHECK"]

_LABELS = ("namespace", "name", "network", "reason")
_ORPHANED = Family("kubevirt_ipamclaim_orphaned", "An IPAMClaim whose machine is gone keeps its addresses.", _LABELS)
_STUCK = Family(
    "kubevirt_ipamclaim_stuck_terminating",
    "An IPAMClaim is being deleted and KubeVirt's finalizer holds it.",
    ("namespace", "name", "network", "severity", "reason"),
)
_REPLACED = Family(
    "kubevirt_ipamclaim_owner_replaced",
    "An IPAMClaim belongs to a machine that is gone, while another machine has its name.",
    ("namespace", "name", "network", "severity", "reason"),
)
_DUPLICATE = Family(
    "kubevirt_ipamclaim_ip_duplicate",
    "An address of an IPAMClaim has a second holder in the same network.",
    ("namespace", "name", "network", "group", "severity", "reason"),
)

_REASONS = {
    "StuckTerminatingDeletedByHand": Reason(
        (Severity.WARNING,),
        "The claim was deleted while its machine lives; the finalizer alone still protects the address.",
        _STUCK,
        "C-02d",
    ),
    "StuckTerminatingOwnerDeleting": Reason(
        (Severity.INFO,),
        "The claim waits for its machine, whose instance or pod is still there: normal while a machine is deleted.",
        _STUCK,
        "C-02c",
    ),
    "StuckTerminatingBlocksOwnerDeletion": Reason(
        (Severity.CRITICAL,),
        "The machine no longer runs and waits to be deleted, and this claim's finalizer holds it up.",
        _STUCK,
        "C-02b",
    ),
    "StuckTerminatingOwnerGone": Reason(
        (Severity.WARNING, Severity.CRITICAL),
        "The machine is gone, and nobody takes the claim's finalizer off; critical where it holds up its namespace.",
        _STUCK,
        "C-02a",
    ),
    "OwnerUidMismatch": Reason(
        (Severity.WARNING, Severity.CRITICAL),
        "A machine was made again under the same name and uses its predecessor's claim; critical while a pod uses it.",
        _REPLACED,
        "C-03",
    ),
    "OwnerlessClaim": Reason(
        (Severity.WARNING,),
        "The claim has no owner reference, so garbage collection never takes it.",
        _ORPHANED,
        "C-04",
    ),
    "OrphanClaim": Reason(
        (Severity.WARNING,),
        "The machine is gone, and garbage collection has not deleted the claim.",
        _ORPHANED,
        "C-01",
    ),
    "DuplicateIP": Reason(
        (Severity.CRITICAL, Severity.WARNING),
        "An address of the claim is also held by another claim or pod of its network; a warning while all are stopped.",
        _DUPLICATE,
        "C-14",
    ),
}


def find(view: View) -> Iterator[Finding]:
    for claim in view.all(IPAMClaim):
        home = machine(claim.namespace, claim.machines[0])
        if claim.managed and home == view.partition:
            users = _pods_using(view, claim)
            found = _ownership(view, claim, users) or _duplicate(view, claim, users)
            if found:
                yield found


def _pods_using(view: View, claim: IPAMClaim) -> list[Pod]:
    """Pods that refer to the claim, hold one of its addresses, or are of its machine (ipamclaims C.0)."""
    found = [
        *view.sharing(CLAIM, f"{claim.namespace}/{claim.name}"),
        *(other for ip in claim.hosts for other in view.sharing(ADDRESS, address(claim.network, ip))),
        *(other for name in claim.machines if name for other in view.sharing(MACHINE, machine(claim.namespace, name))),
    ]
    return list({(pod.namespace, pod.name): pod for pod in found if isinstance(pod, Pod)}.values())


def _ownership(view: View, claim: IPAMClaim, users: list[Pod]) -> Finding | None:
    owned = owner_of(view, claim)
    if claim.deleting is not None:
        return _terminating(view, claim, owned, users) if FINALIZER in claim.finalizers else None
    if owned.state is OwnerState.REPLACED:
        return _replaced(claim, owned, users)
    if not claim.owners and not claim.other_owners:
        return _ownerless(claim, owned, users)
    if owned.state is OwnerState.GONE and not owned.instance and not users and not claim.other_owners:
        return _finding(claim, "OrphanClaim", Severity.WARNING, f"{owned.ref} is gone, and {_taken(claim)}", owned)
    return None


def _terminating(view: View, claim: IPAMClaim, owned: Owned, users: list[Pod]) -> Finding | None:
    """C-02, in the order of its classes e, d, c, b, a."""
    if owned.state is OwnerState.REPLACED:
        return _replaced(claim, owned, users)
    if owned.state is OwnerState.LIVE:
        reason, severity = "StuckTerminatingDeletedByHand", Severity.WARNING
        what = f"it was deleted while {owned.ref} lives; only the finalizer still protects it"
    elif owned.instance or users:
        reason, severity = "StuckTerminatingOwnerDeleting", Severity.INFO
        state = "is gone" if owned.state is OwnerState.GONE else "is being deleted"
        holder = owned.instance or users[0].ref
        what = f"{owned.ref} {state}, and {holder} is still there; nothing to do here until it is gone"
    elif owned.state is OwnerState.DELETING:
        reason, severity = "StuckTerminatingBlocksOwnerDeletion", Severity.CRITICAL
        what = f"{owned.ref} no longer runs and can't go before this claim's finalizer {FINALIZER} is taken off"
    else:
        held_up = any(each.terminating for each in view.all(Namespace))
        reason, severity = "StuckTerminatingOwnerGone", Severity.CRITICAL if held_up else Severity.WARNING
        what = f"{owned.ref} is gone, and nobody takes the finalizer {FINALIZER} off; {_taken(claim)}"
        if held_up:
            what += f"; namespace {claim.namespace} can't go before it"
    return _finding(claim, reason, severity, what, owned, users, (claim.deleting, Since.DELETION))


def _replaced(claim: IPAMClaim, owned: Owned, users: list[Pod]) -> Finding:
    now = owned.replacement
    when = (claim.deleting, Since.DELETION) if claim.deleting is not None else (owned.replaced_at, Since.CREATION)
    use = f"{users[0].ref} runs on its addresses" if users else "it does not run now"
    return _finding(
        claim,
        "OwnerUidMismatch",
        Severity.CRITICAL if users else Severity.WARNING,
        f"it belongs to {owned.ref} of uid {owned.ref.uid}; {now} of uid {now.uid if now else ''} has its name; {use}",
        owned,
        users,
        when,
    )


def _ownerless(claim: IPAMClaim, owned: Owned, users: list[Pod]) -> Finding:
    if owned.state is OwnerState.GONE and not users:
        what = f"it has no owner reference, and {owned.ref} is gone: until somebody deletes it, {_taken(claim)}"
    else:
        what = f"it has no owner reference to {owned.ref}: it will outlive the machine"
    return _finding(claim, "OwnerlessClaim", Severity.WARNING, what, owned, users)


def _duplicate(view: View, claim: IPAMClaim, users: list[Pod]) -> Finding | None:
    clashing: dict[str, list[IPAMClaim | Pod]] = {}
    for ip in claim.hosts if claim.network else ():
        others = [r for r in view.sharing(ADDRESS, address(claim.network, ip)) if _foreign(claim, r)]
        if others:
            clashing[ip] = [r for r in others if isinstance(r, IPAMClaim | Pod)]
    if not clashing:
        return None
    holders = list({(type(h), h.namespace, h.name): h for held in clashing.values() for h in held}.values())
    mine = [pod for pod in users if not _foreign(claim, pod)]
    live = bool(mine) or any(isinstance(holder, Pod) or _in_use(view, holder) for holder in holders)
    ips = sorted(clashing)
    return _finding(
        claim,
        "DuplicateIP",
        Severity.CRITICAL if live else Severity.WARNING,
        f"{', '.join(ips)} of network {claim.network} {'are' if len(ips) > 1 else 'is'} also held by "
        + ", ".join(sorted(str(holder.ref) for holder in holders)),
        None,
        mine,
        _since(claim, holders),
        related=tuple(holder.ref for holder in holders),
        group=blake2b(address(claim.network, ips[0]).encode(), digest_size=4).hexdigest(),
        evidence={"duplicates": ips},
    )


def _foreign(claim: IPAMClaim, other: object) -> bool:
    """Whether another holder of the claim's address is not this claim and not a pod of its machine."""
    if isinstance(other, Pod):
        ours = other.namespace == claim.namespace and other.domain and other.domain in claim.machines
        return not ours and f"{claim.namespace}/{claim.name}" not in other.claims
    return other is not claim


def _in_use(view: View, claim: IPAMClaim) -> bool:
    return any(isinstance(user, Pod) for user in view.sharing(CLAIM, f"{claim.namespace}/{claim.name}"))


def _since(claim: IPAMClaim, holders: Iterable[IPAMClaim | Pod]) -> tuple[float | None, Since]:
    """When the last of the claims got the address, or else the pod that has it, where all of them tell."""
    times = [claim.allocated, *(holder.allocated for holder in holders if isinstance(holder, IPAMClaim))]
    if len(times) == 1:
        times += [holder.created for holder in holders if isinstance(holder, Pod)]
    known = [time for time in times if time is not None]
    return (max(known), Since.CONDITION) if len(known) == len(times) else (None, Since.FIRST_SEEN)


def _taken(claim: IPAMClaim) -> str:
    if not claim.hosts:
        return "it holds no address"
    return f"{', '.join(claim.hosts)} of network {claim.network} {'stay' if len(claim.hosts) > 1 else 'stays'} taken"


def _finding(
    claim: IPAMClaim,
    reason: str,
    severity: Severity,
    what: str,
    owned: Owned | None = None,
    users: Iterable[Pod] = (),
    since: tuple[float | None, Since] = (None, Since.FIRST_SEEN),
    related: tuple[Ref, ...] = (),
    group: str = "",
    evidence: dict[str, object] | None = None,
) -> Finding:
    facts = {
        "ips": list(claim.hosts),
        "finalizers": list(claim.finalizers),
        "ownerUid": owned.ref.uid if owned else "",
        "pods": [f"{pod.namespace}/{pod.name}" for pod in users],
        **(evidence or {}),
    }
    return Finding(
        reason=reason,
        severity=severity,
        subject=claim.ref,
        message=what,
        related=related or (owned.related if owned else ()),
        network=claim.network,
        since=since[0],
        since_source=since[1] if since[0] is not None else Since.FIRST_SEEN,
        group=group,
        evidence={name: fact for name, fact in facts.items() if fact},
    )


CHECK = Check(
    id="ipam_claims",
    title="IPAMClaims that lost their machine or share an address",
    reads=(
        ipam_claim.KIND,
        virtual_machine.KIND,
        virtual_machine_instance.KIND,
        pod.KIND,
        network_attachment_definition.KIND,
        namespace.KIND,
    ),
    scope=Scope.MACHINE,
    joins=(ADDRESS, CLAIM),
    reasons=_REASONS,
    find=find,
)
