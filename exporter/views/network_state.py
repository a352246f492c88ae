"""The state of a network: whether it is there, is being deleted or was never created, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ..domain.networks.users import users_of
from ..store.cluster import Cluster
from ..store.indexes.networks import NAD
from ..store.kinds.cluster_user_defined_network import ClusterUserDefinedNetwork
from ..store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ..store.kinds.user_defined_network import UserDefinedNetwork
from ..store.source import Undecodable, unseen
from ..store.text.naming import NAMED, named
from .times import rfc3339

Defined = UserDefinedNetwork | ClusterUserDefinedNetwork
_DEFINED: tuple[type[UserDefinedNetwork], type[ClusterUserDefinedNetwork]] = (
    UserDefinedNetwork,
    ClusterUserDefinedNetwork,
)

STATES = {
    "ready": "ready",
    "deleting": "being deleted",
    "notCreated": "not created",
    "nadMissing": "NAD missing",
    "notServed": "not served",
    "unknown": "unknown",
}
"""By the word in the report, as people read it."""


class NetworkState(msgspec.Struct, frozen=True, rename="camel"):
    """`state` is one of STATES; `why` says more of any but `ready`, and is empty there.

    `holders` are VMs and pods that are on a network that is being deleted, the first of them; `since` is when that was
    asked for, or when the condition changed that says that it was not created.
    """

    state: str
    why: str = ""
    holders: tuple[str, ...] = ()
    since: str = ""


class States:
    """Of one report: what all networks have in common is looked at once."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        blind = unseen(cluster, _DEFINED)
        self._seen = tuple(kind for kind in _DEFINED if kind.__name__ not in blind)
        names = {kind.__name__ for kind in _DEFINED}
        self._blind = bool(blind) or any(each.kind in names for each in cluster.all(Undecodable))
        # Earlier releases of OVN-Kubernetes write no network ID on any NAD.
        self._accepts = any(each.accepted for each in cluster.all(NetworkAttachmentDefinition))

    def defined(self) -> Iterator[Defined]:
        """The user-defined networks that can be seen."""
        for kind in self._seen:
            yield from self._cluster.all(kind)

    def of(self, network: str, nads: Sequence[NetworkAttachmentDefinition]) -> NetworkState:
        """`nads` are all of the network."""
        defined = [each for each in self._cluster.sharing(NAD, network) if isinstance(each, self._seen)]
        for each in defined:
            if each.deleting is not None:
                return self._deleting(nads, each.deleting, each.holders)
        if nads and all(nad.deleting is not None for nad in nads) and not defined:
            return self._deleting(nads, min(nad.deleting or 0.0 for nad in nads))
        for each in defined:
            if each.failed:
                why = f"{each.reason}: {each.message}" if each.message else each.reason
                return NetworkState("notCreated", why, since=rfc3339(each.since))
        if defined and not nads:
            return NetworkState("nadMissing", f"no namespace has a NAD of {defined[0].ref}")
        if not defined and any(nad.made_by for nad in nads):
            return _unknown("the network of which its NADs were rendered", seen=not self._blind)
        if not any(nad.accepted for nad in nads):
            return self._not_accepted()
        return NetworkState("ready")

    def _deleting(
        self, nads: Sequence[NetworkAttachmentDefinition], since: float, said: Sequence[str] = ()
    ) -> NetworkState:
        """`said` are the pods that a condition names."""
        users = users_of(self._cluster.sharing, nads)
        holders = users.holders or tuple(f"pod {pod}" for pod in said)
        without = [ref.path for ref in (*users.starting, *users.waiting)]
        parts = [f"held by {named(holders)}"] if holders else ["no pod is on it"]
        parts += [f"{named(without)} can't start once it is gone"] if without else []
        return NetworkState("deleting", "; ".join(parts), holders[:NAMED], rfc3339(since))

    def _not_accepted(self) -> NetworkState:
        if self._accepts:
            return NetworkState("notServed", "OVN-Kubernetes has accepted no NAD of it")
        return NetworkState("unknown", "OVN-Kubernetes says of no NAD whether it has accepted it")


def _unknown(what: str, *, seen: bool) -> NetworkState:
    return NetworkState("unknown", f"{what} is not there" if seen else f"{what} can't be seen")
