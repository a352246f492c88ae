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
from ...findings.causes import Cause
from ...findings.check import Check, Family, Lookup, Reason, View
from ...findings.finding import Finding, Severity, Since
from ...findings.scopes import PER_NETWORK
from ...store.indexes.networks import ATTACHMENT, INTERFACE, NAD, NAD_KEY, ON_POD_NETWORK
from ...store.kinds.cluster_user_defined_network import ClusterUserDefinedNetwork
from ...store.kinds.common.user_defined import PROTECTION
from ...store.kinds.namespace import Namespace
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.pod import Pod
from ...store.kinds.user_defined_network import UserDefinedNetwork
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.record import Ref
from ...store.text.naming import named
from ._commands import CUDNS, NETWORK_NADS, NETWORK_STACK, PODS_ON_NETWORK, UDNS

__all__ = ["CHECK"]

_STUCK = Family(
    "kubevirt_vm_network_stuck_terminating",
    "The NAD or user-defined network is being deleted, and does not go.",
)
_MINUTE = 60.0


def _reason(meaning: str, next_step: str, commands: tuple[str, ...]) -> Reason:
    return Reason(
        (Severity.WARNING,),
        meaning,
        _STUCK,
        grace=10 * _MINUTE,  # pods take their time to end
        next=next_step,
        commands=commands,
        alert="VMNetworkDeletionStuck",
    )


_REASONS = {
    "NetworkDeletionHeld": _reason(
        "The network is being deleted, and pods that are on it hold it: with the last of them it goes, and VMs that "
        "refer to it can't start any more.",
        "Do not stop these VMs before they have another network, or the network is to be created again; a deletion "
        "can't be taken back.",
        (UDNS, CUDNS, NETWORK_NADS, PODS_ON_NETWORK),
    ),
    "NetworkDeletionStuck": _reason(
        "The network or NAD is being deleted, no pod is seen on it, and a finalizer holds it.",
        "Look at the network's condition and at the logs of ovnkube-control-plane; do not remove the finalizer "
        "yourself.",
        (UDNS, CUDNS, NETWORK_NADS, PODS_ON_NETWORK, NETWORK_STACK),
    ),
    "NadDeletedByHand": _reason(
        "A NAD was deleted, and the network that OVN-Kubernetes rendered it from was not: its finalizer keeps it until "
        "that network is deleted or no longer selects the namespace.",
        "Keep the finalizer: the NAD works on. To end the deletion, stop its VMs and delete the network, then create "
        "that again.",
        (UDNS, CUDNS, NETWORK_NADS, PODS_ON_NETWORK),
    ),
}

Defined = UserDefinedNetwork | ClusterUserDefinedNetwork


def find(view: View) -> Iterator[Finding | None]:
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
    seen = {f"{pod.namespace}/{pod.name}" for pod in users.pods}
    said = [pod for pod in each.holders if pod not in seen] if PROTECTION in each.finalizers else []
    what = "The network is being deleted, and "
    if users.pods:
        what += f"{_on_it(users)} on it"
    elif said:
        what += f"its condition says that {'pods' if len(said) > 1 else 'pod'} {named(said)} "
        what += f"{'are' if len(said) > 1 else 'is'} on it, completed or gone since"
    else:
        what += f"no pod is seen on it: {_by_finalizers(each.finalizers)}"
        what += f"; its condition says: {each.message}" if each.message else ""
    return _finding(
        view,
        each,
        "NetworkDeletionHeld" if users.pods or said else "NetworkDeletionStuck",
        what + _missing_it(users),
        users,
        named_by_the_condition=said,
    )


def _nad(view: View, nad: NetworkAttachmentDefinition) -> Iterator[Finding]:
    """One that goes with its network is reported with that."""
    maker = _maker(view, nad)
    if not nad.finalizers or (maker is not None and maker.deleting is not None):
        return
    users = users_of(view.sharing, [nad])
    ends = view.named(Namespace, nad.namespace, nad.namespace)
    if ends is not None and ends.terminating:
        what = f"The NAD is being deleted with its namespace, and {_on_it(users) or 'no pod is seen'} on it"
        reason = "NetworkDeletionHeld" if users.pods else "NetworkDeletionStuck"
        yield _finding(view, nad, reason, f"{what}: {_by_finalizers(nad.finalizers)}", users)
    elif maker is not None and PROTECTION in nad.finalizers:
        what = f"The NAD was deleted, and {maker.ref}, of which OVN-Kubernetes rendered it, was not"
        what += f"; {_on_it(users)} on it" if users.pods else ""
        yield _finding(view, nad, "NadDeletedByHand", what, users, related=(maker.ref,))
    else:
        what = f"The NAD is being deleted, and {_by_finalizers(nad.finalizers)}"
        what += f"; {_on_it(users)} on it" if users.pods else ""
        reason = "NetworkDeletionHeld" if users.pods else "NetworkDeletionStuck"
        yield _finding(view, nad, reason, what + _missing_it(users), users)


def _maker(view: View, nad: NetworkAttachmentDefinition) -> Defined | None:
    if nad.made_by == "ClusterUserDefinedNetwork":
        return view.named(ClusterUserDefinedNetwork, "", nad.name)
    return view.named(UserDefinedNetwork, nad.namespace, nad.name) if nad.made_by else None


def _on_it(users: NetworkUsers) -> str:
    holders = users.holders
    return f"{named(holders)} {'are' if len(holders) > 1 else 'is'} still" if holders else ""


def _by_finalizers(finalizers: Sequence[str]) -> str:
    return f"{'finalizers' if len(finalizers) > 1 else 'finalizer'} {named(finalizers)} " + (
        "hold it" if len(finalizers) > 1 else "holds it"
    )


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
    named_by_the_condition: Sequence[str] = (),
) -> Finding:
    facts = {
        "finalizers": list(of.finalizers),
        "holders": list(users.holders),
        "pods": [f"{pod.namespace}/{pod.name}" for pod in users.pods],
        "podsByCondition": list(named_by_the_condition),
        "running": [ref.path for ref in users.running],
        "starting": [ref.path for ref in users.starting],
        "stopped": [ref.path for ref in users.waiting],
    }
    return Finding(
        reason=reason,
        severity=Severity.WARNING,
        subject=of.ref,
        related=(*related, *users.running, *users.starting, *users.waiting),
        network=view.partition,
        message=message,
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
    looks_up=(
        ATTACHMENT,
        Lookup(INTERFACE, concerns=NAD_KEY),
        Lookup(ON_POD_NETWORK, concerns=NAD_KEY),
    ),
    cause=Cause.NETWORK,
    reasons=_REASONS,
    find=find,
    fields_read={
        Namespace.KIND: ("terminating",),
        Pod.KIND: ("domain", "known_addresses"),
        VirtualMachine.KIND: ("networks",),
        VirtualMachineInstance.KIND: ("networks", "phase"),
    },
    requires=(NetworkAttachmentDefinition.KIND,),
)
