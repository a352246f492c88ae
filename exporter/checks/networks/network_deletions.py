"""Networks whose deletion doesn't finish, with the VMs and pods that hold them.

OVN-Kubernetes keeps a UserDefinedNetwork or ClusterUserDefinedNetwork, by a finalizer, until no pod is on any NAD that
it rendered of it; a completed pod that still exists is on it too. New pods may start on it meanwhile. With the last of
them the network goes at once, whoever else refers to it: a VM that is stopped then can't start. A NAD that is deleted
while its network stays is kept by the same finalizer, and works on.

Not seen here: completed pods, but where the network's condition names them; pods on a network without IP addresses;
NADs whose configuration names no network; what a finalizer of somebody else waits for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...domain.networks import NetworkUsers, users_of
from ...facts.naming import named
from ...facts.record import Ref, UnseenError
from ...findings.causes import Cause
from ...findings.check import PER_NETWORK, Check, Lookup, View
from ...findings.finding import Finding, Since
from ...findings.pages import Texts, reasons_of
from ...store.indexes.networks import ATTACHMENT, INTERFACE, NAD, NAD_KEY, ON_POD_NETWORK
from ...store.kinds.namespace import Namespace
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.pod import Pod
from ...store.kinds.user_defined_networks import PROTECTION, ClusterUserDefinedNetwork, UserDefinedNetwork
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance

_REASONS = reasons_of("network_deletions")
_TEXTS = Texts("network_deletions")
_HELD, _STUCK = "NetworkDeletionHeld", "NetworkDeletionStuck"

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
    needed = "_needed" if _needing(users) else ""
    if users.pods:
        variant, next_variant = f"network{needed}", "" if _of_vms(users) else "pods"
    elif said:
        variant = "completed" if users.whole else "condition"
        next_variant = "completed" if users.whole else ""
    else:
        _without_pods(each, users)
        variant, next_variant = "condition" if each.message else f"network{needed}", _held_by(each)
    reason = _HELD if users.pods or said else _STUCK
    message = _TEXTS.message(
        reason,
        variant,
        holders=named(users.holders),
        vms=_needing(users),
        pods=named(said),
        finalizers=named(each.finalizers),
        said=each.message,
    )
    return _finding(view, each, reason, message, users, next_step=_TEXTS.next(reason, next_variant), said=said)


def _nad(view: View, nad: NetworkAttachmentDefinition) -> Iterator[Finding]:
    """One that goes with its network is reported with that."""
    maker = _maker(view, nad)
    if not nad.finalizers or (maker is not None and maker.deleting is not None):
        return
    users = users_of(view.sharing, [nad])
    namespace = view.named(Namespace, nad.namespace, nad.namespace)
    ends = namespace is not None and namespace.terminating
    if maker is not None and PROTECTION in nad.finalizers and not ends:
        used = "used" if users.pods else ""
        what = _TEXTS.message("NadDeletedByHand", used, maker=maker.ref, holders=named(users.holders))
        yield _finding(view, nad, "NadDeletedByHand", what, users, related=(maker.ref,))
        return
    if not users.pods:
        _without_pods(nad, users)
    reason = _HELD if users.pods else _STUCK
    what = _TEXTS.message(
        reason,
        "namespace" if ends else "nad_needed" if _needing(users) else "nad",
        holders=named(users.holders),
        vms=_needing(users),
        finalizers=named(nad.finalizers),
    )
    if reason == _STUCK:
        variant = _held_by(nad) or (_ending(maker, namespace) if ends else "")
    else:
        variant = "namespace" if ends else "" if _of_vms(users) else "pods"
    yield _finding(view, nad, reason, what, users, next_step=_TEXTS.next(reason, variant))


def _held_by(each: Defined | NetworkAttachmentDefinition) -> str:
    """The next step by the finalizers: of what others wait for, OVN-Kubernetes knows nothing."""
    return "" if PROTECTION in each.finalizers else "foreign"


def _ending(maker: Defined | None, namespace: Namespace | None) -> str:
    """The next step by what ends a NAD without pods of a namespace that is being deleted."""
    selects = namespace is not None and isinstance(maker, ClusterUserDefinedNetwork) and maker.selects(namespace.labels)
    return "selected" if selects else "namespace"


def _maker(view: View, nad: NetworkAttachmentDefinition) -> Defined | None:
    if nad.made_by == "ClusterUserDefinedNetwork":
        return view.named(ClusterUserDefinedNetwork, "", nad.name)
    return view.named(UserDefinedNetwork, nad.namespace, nad.name) if nad.made_by else None


def _of_vms(users: NetworkUsers) -> bool:
    return any(pod.domain for pod in users.pods) or bool(users.starting or users.waiting)


def _without_pods(of: Defined | NetworkAttachmentDefinition, users: NetworkUsers) -> None:
    if not users.whole:
        raise UnseenError(f"whether pods are on {of.ref} can't be seen")


def _needing(users: NetworkUsers) -> str:
    """The VMs that can't start once the network is deleted."""
    return named([ref.path for ref in (*users.starting, *users.waiting)])


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
    title="Networks whose deletion doesn't finish",
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
