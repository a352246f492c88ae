"""Networks that are being deleted and do not go, with the VMs and pods that hold them.

OVN-Kubernetes keeps a UserDefinedNetwork or ClusterUserDefinedNetwork, by a finalizer, until no pod is on any NAD that
it rendered of it; a completed pod that still exists is on it too. New pods may start on it meanwhile. With the last of
them the network goes at once, whoever else refers to it: a VM that is stopped then can't start. A NAD that is deleted
while its network stays is kept by the same finalizer, and works on.

Not seen here: completed pods, but where the network's condition names them; pods on a network without IP addresses;
NADs whose configuration names no network; what a finalizer of somebody else waits for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...domain.networks.users import NetworkUsers, users_of
from ...facts.naming import named
from ...facts.record import Ref, UnseenError
from ...findings.causes import Cause
from ...findings.check import PER_NETWORK, Check, Lookup, View
from ...findings.finding import Finding, Since
from ...findings.pages import reasons_of
from ...store.indexes.networks import ATTACHMENT, INTERFACE, NAD, NAD_KEY, ON_POD_NETWORK
from ...store.kinds.namespace import Namespace
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.pod import Pod
from ...store.kinds.user_defined_networks import PROTECTION, ClusterUserDefinedNetwork, UserDefinedNetwork
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance

_REASONS = reasons_of("network_deletions")
_BY_POD = "End the pods that are on it, if nothing needs the network any more."
_COMPLETED = "Delete the pods that the condition names, if they still exist as completed ones."
_WITH_NAMESPACE = "Look at what is left in the namespace: it has to end before the NAD does."
_SELECTED = (  # ovn-kubernetes/ovn-kubernetes#5883
    "Change the labels of the namespace so that the ClusterUserDefinedNetwork does not select it any more, or update "
    "OVN-Kubernetes: releases before the fix #5888 keep the NAD as long as it does. Do not remove the finalizer."
)

Defined = UserDefinedNetwork | ClusterUserDefinedNetwork


def find(view: View) -> Iterator[Finding | None]:
    if not view.partition:
        return  # NADs whose configuration names no network are of none
    yield from view.apart(_defined(view, UserDefinedNetwork))
    yield from view.apart(_defined(view, ClusterUserDefinedNetwork))
    for nad in _nads(view):
        if nad.deleting is not None:
            yield from view.apart(_nad(view, nad))


def _nads(view: View) -> list[NetworkAttachmentDefinition]:
    found = view.members(NAD, view.partition, NetworkAttachmentDefinition)
    return [each for each in found if each.network == view.partition]


def _defined(view: View, kind: type[UserDefinedNetwork] | type[ClusterUserDefinedNetwork]) -> Iterator[Finding]:
    for each in view.members(NAD, view.partition, kind):
        if each.deleting is not None and each.finalizers:
            nads = [nad for nad in _nads(view) if nad.name == each.name and nad.made_by == each.ref.kind]
            yield _held(view, each, users_of(view.sharing, nads))


def _held(view: View, each: Defined, users: NetworkUsers) -> Finding:
    """Raises UnseenError where nobody knows whether pods are on it."""
    seen = {f"{pod.namespace}/{pod.name}" for pod in users.pods}
    said = [pod for pod in each.holders if pod not in seen] if PROTECTION in each.finalizers else []
    what, next_step = "The network is being deleted, and ", ""
    if users.pods:
        what += f"{_on_it(users)} on it"
        next_step = "" if _of_vms(users) else _BY_POD
    elif said:
        what += f"by its condition {'pods' if len(said) > 1 else 'pod'} {named(said)} "
        what += f"{'are' if len(said) > 1 else 'is'} on it"
        what += ", which may be completed or gone" if users.whole else ""
        next_step = _COMPLETED if users.whole else ""
    else:
        what += f"no pod is on it: {_by_finalizers(each, users)}"
        what += f"; its condition says: {each.message}" if each.message else ""
    reason = "NetworkDeletionHeld" if users.pods or said else "NetworkDeletionStuck"
    return _finding(view, each, reason, what + _missing_it(users), users, next_step=next_step, said=said)


def _nad(view: View, nad: NetworkAttachmentDefinition) -> Iterator[Finding]:
    """One that goes with its network is reported with that."""
    maker = _maker(view, nad)
    if not nad.finalizers or (maker is not None and maker.deleting is not None):
        return
    users = users_of(view.sharing, [nad])
    namespace = view.named(Namespace, nad.namespace, nad.namespace)
    ends = namespace is not None and namespace.terminating
    if maker is not None and PROTECTION in nad.finalizers and not ends:
        what = f"The NAD was deleted, and {maker.ref}, of which OVN-Kubernetes rendered it, was not"
        what += f"; {_on_it(users)} on it" if users.pods else ""
        yield _finding(view, nad, "NadDeletedByHand", what, users, related=(maker.ref,))
        return
    what = f"The NAD is being deleted{' with its namespace' if ends else ''}, and "
    what += f"{_on_it(users)} on it" if users.pods else f"no pod is on it: {_by_finalizers(nad, users)}"
    yield _finding(
        view,
        nad,
        "NetworkDeletionHeld" if users.pods else "NetworkDeletionStuck",
        what + ("" if ends else _missing_it(users)),
        users,
        next_step=_ending(maker, namespace, users) if ends else "" if _of_vms(users) or not users.pods else _BY_POD,
    )


def _ending(maker: Defined | None, namespace: Namespace | None, users: NetworkUsers) -> str:
    """What ends a NAD of a namespace that is being deleted."""
    selects = namespace is not None and isinstance(maker, ClusterUserDefinedNetwork) and maker.selects(namespace.labels)
    return _SELECTED if selects and not users.pods else _WITH_NAMESPACE


def _maker(view: View, nad: NetworkAttachmentDefinition) -> Defined | None:
    if nad.made_by == "ClusterUserDefinedNetwork":
        return view.named(ClusterUserDefinedNetwork, "", nad.name)
    return view.named(UserDefinedNetwork, nad.namespace, nad.name) if nad.made_by else None


def _on_it(users: NetworkUsers) -> str:
    holders = users.holders
    return f"{named(holders)} {'are' if len(holders) > 1 else 'is'} still" if holders else ""


def _of_vms(users: NetworkUsers) -> bool:
    return any(pod.domain for pod in users.pods) or bool(users.starting or users.waiting)


def _by_finalizers(of: Defined | NetworkAttachmentDefinition, users: NetworkUsers) -> str:
    if not users.whole:
        raise UnseenError(f"whether pods are on {of.ref} can't be seen")
    several = len(of.finalizers) > 1
    return f"finalizer{'s' if several else ''} {named(of.finalizers)} {'hold' if several else 'holds'} it"


def _missing_it(users: NetworkUsers) -> str:
    without = [ref.path for ref in (*users.starting, *users.waiting)]
    if not without:
        return ""
    return f"; {'VMs' if len(without) > 1 else 'VM'} {named(without)} can't start once it is gone"


def _finding(
    view: View,
    of: Defined | NetworkAttachmentDefinition,
    reason: str,
    message: str,
    users: NetworkUsers,
    *,
    related: tuple[Ref, ...] = (),
    next_step: str = "",
    said: Sequence[str] = (),
) -> Finding:
    facts = {
        "finalizers": list(of.finalizers),
        "holders": list(users.holders),
        "pods": [f"{pod.namespace}/{pod.name}" for pod in users.pods],
        "podsByCondition": list(said),
        "running": [ref.path for ref in users.running],
        "starting": [ref.path for ref in users.starting],
        "referring": [ref.path for ref in users.waiting],
    }
    return Finding(
        reason=reason,
        severity=_REASONS[reason].severities[0],
        subject=of.ref,
        related=(*related, *users.running, *users.starting, *users.waiting),
        network=view.partition,
        message=message,
        next=next_step,
        since=of.deleting,
        since_source=Since.DELETION,
        evidence={name: fact for name, fact in facts.items() if fact},
    )


CHECK = Check(
    id="network_deletions",
    title="Networks that are being deleted and do not go",
    reads=(
        NetworkAttachmentDefinition.KIND,
        UserDefinedNetwork.KIND,
        ClusterUserDefinedNetwork.KIND,
        Pod.KIND,
        VirtualMachine.KIND,
        VirtualMachineInstance.KIND,
        Namespace.KIND,
    ),
    scope=PER_NETWORK,
    looks_up=(ATTACHMENT, Lookup(INTERFACE, concerns=NAD_KEY), Lookup(ON_POD_NETWORK, concerns=NAD_KEY)),
    cause=Cause.NETWORK,
    reasons=_REASONS,
    find=find,
    fields_read=(Namespace.KIND, Pod.KIND, VirtualMachine.KIND, VirtualMachineInstance.KIND),
    requires=(NetworkAttachmentDefinition.KIND, VirtualMachine.KIND),
)
