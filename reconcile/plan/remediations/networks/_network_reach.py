"""Whom an object that can't be read may concern: which pods can be attached to the network of an IPAMClaim.

An address is given to a pod by an attachment to the network, and that is by a NAD: one of the pod's namespace, where
the primary one needs no mention, or one that the pod selects, wherever that is. So a pod whose addresses can't be read
is in the way of the IPAMClaims of its own namespace, and of the networks of those NADs. Of all others it is not: who
may write pods in one namespace must not be able to keep the IPAMClaims of all others as they are. Whoever may create
NADs of a network in their namespace can be attached to it indeed.

A selection that can't be read attaches to nothing: Multus and OVN-Kubernetes can't read it either. What was given
before it became so is in another annotation (k8s.ovn.org/pod-networks). OVN-Kubernetes matches IPAMClaims by
`spec.network` alone, wherever they are, and takes none of which that is no text.

Not seen: whoever takes annotations off a pod, which then looks as if it used nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from exporter.store.kinds.ipam_claim import IPAMClaim
from exporter.store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from exporter.store.kinds.pod import GIVEN, REFERRED, Pod
from exporter.store.record import UnansweredError
from exporter.store.source import Undecodable

from ...plan import Refused
from ...remediation import Scene
from ...unseen import unanswered
from .._grounds import table


def unread_use(scene: Scene, claim: IPAMClaim, pod: Pod) -> Refused | None:
    """Refuses with `everything_seen` for annotations that can't be read, where the pod may use the IPAMClaim."""
    for fact in pod.unread:
        given = fact.annotation in GIVEN and attachable(
            scene, claim, pod.namespace, (key for key, _ in pod.known_selections)
        )
        if given or (fact.annotation in REFERRED and pod.namespace == claim.namespace):
            why = f"{pod.ref} may use it: annotation {fact.annotation} could not be read: {fact.why}"
            return unanswered(why, pod.ref)
    return None


def attachable(scene: Scene, claim: IPAMClaim, namespace: str, selected: Iterable[str] = ()) -> bool:
    """Whether a pod in a namespace, with NADs that it selects by `namespace/name`, may be attached to the network."""
    if namespace == claim.namespace:
        return True
    names = [f"{nad.namespace}/{nad.name}" for nad in scene.within(NetworkAttachmentDefinition, namespace)]
    return any(_of_network(scene, claim, key) for key in dict.fromkeys((*names, *selected)))


def _of_network(scene: Scene, claim: IPAMClaim, key: str) -> bool:
    """Whether a NAD may be of the network: one that can't be read is where it has the network's name in it."""
    namespace, _, name = key.partition("/")
    nad = scene.named(NetworkAttachmentDefinition, namespace, name)
    if nad is None:
        return namespace == claim.namespace  # it is gone, and still serves the pods that it has attached
    if nad.readable:
        return nad.network == claim.network
    whole = scene.whole(NetworkAttachmentDefinition.KIND, namespace, name) or {}
    return claim.network in str(table(whole.get("spec")).get("config"))


def of_network(scene: Scene, claim: IPAMClaim, other: Undecodable) -> bool:
    """Whether an IPAMClaim that can't be decoded may be of the same network, by what can be read of it."""
    try:
        whole = scene.whole(IPAMClaim.KIND, other.namespace, other.object_name)
    except UnansweredError:
        return True
    network = table((whole or {}).get("spec")).get("network")
    return network == claim.network if isinstance(network, str) else other.namespace == claim.namespace
