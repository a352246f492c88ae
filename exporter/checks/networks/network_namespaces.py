"""Namespaces whose VMs wait for a network that is not there.

A namespace with the label `k8s.ovn.org/primary-user-defined-network` gets no other primary network than its own: while
it has none, OVN-Kubernetes gives its pods no address, and they stay in ContainerCreating. A UserDefinedNetwork, or a
ClusterUserDefinedNetwork that selects the namespace, is there once OVN-Kubernetes has rendered a NAD of it; a primary
one is not rendered into a namespace without that label. That a network was not created is a finding on the network too,
with what its condition says (ipam_namespaces); here is who waits for it.

Not seen here: whether OVN-Kubernetes runs with network segmentation, without which it ignores the label; namespaces
without VMs; VMs that refer to a NAD of which there is no network either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...domain.acts import NOTHING_FORBIDDEN, Forbids
from ...facts.naming import named
from ...facts.record import Ref
from ...findings.check import PER_NAMESPACE, Check, View
from ...findings.finding import Finding, Since
from ...findings.pages import Texts, reasons_of
from ...findings.partial import known
from ...findings.severity import Severity
from ...store.indexes.networks import SELECTION, SELECTION_KEY
from ...store.kinds.namespace import PRIMARY, Namespace
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.user_defined_networks import ClusterUserDefinedNetwork, UserDefinedNetwork
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import PENDING, VirtualMachineInstance

_TEXTS = Texts("network_namespaces")

Defined = UserDefinedNetwork | ClusterUserDefinedNetwork


@dataclass(frozen=True)
class _Guests:
    """The VMs of the namespace that use one network; of a kind that can't be seen there may be more."""

    waiting: list[VirtualMachineInstance]  # VMIs that start
    running: list[VirtualMachineInstance]
    stopped: list[Ref]  # VMs without a VMI that uses it

    @property
    def none(self) -> bool:
        return not (self.waiting or self.running or self.stopped)

    @property
    def since(self) -> float | None:
        return min((each.created for each in self.waiting if each.created is not None), default=None)

    @property
    def worst(self) -> str:
        """The variant of the message, which names the VMs that need the network most."""
        return "waiting" if self.waiting else "running" if self.running else "stopped"

    def named(self) -> dict[str, str]:
        return {
            "waiting": named([each.name for each in self.waiting]),
            "running": named([each.name for each in self.running]),
            "stopped": named([each.name for each in self.stopped]),
        }


def find(view: View) -> Iterator[Finding | None]:
    yield from view.apart(_namespace(view))


def _namespace(view: View) -> Iterator[Finding | None]:
    namespace = next(iter(view.all(Namespace)), None)
    if namespace is None or namespace.terminating:
        return
    networks, whole = known(_networks(view, namespace))
    for each in networks:
        if view.named(NetworkAttachmentDefinition, namespace.name, each.name) is None:
            yield from view.apart(_not_rendered(view, namespace, each))
    if whole and namespace.wants_primary and not any(each.role == "primary" for each in networks):
        yield from view.apart(_without_primary(view, namespace))


def _networks(view: View, namespace: Namespace) -> Iterator[Defined]:
    """Those that are for this namespace, and stay."""
    labels = namespace.labels
    for each in view.all(UserDefinedNetwork):
        if each.deleting is None:
            yield each
    for cudn in sorted(view.members(SELECTION, SELECTION_KEY, ClusterUserDefinedNetwork), key=lambda each: each.name):
        if cudn.deleting is None and cudn.selects(labels):
            yield cudn


def _without_primary(view: View, namespace: Namespace) -> Iterator[Finding]:
    """Where VMs run without one the label counts for nothing."""
    if _has_primary(view):
        return
    guests = _guests(view, "")
    if guests.none or guests.running:
        return
    what = _TEXTS.message("PrimaryNetworkMissing", guests.worst, label=PRIMARY, **guests.named())
    yield _finding(namespace, "PrimaryNetworkMissing", what, guests, alone=bool(guests.waiting))


def _not_rendered(view: View, namespace: Namespace, network: Defined) -> Iterator[Finding]:
    primary = network.role == "primary"
    if primary and _has_primary(view):
        return  # the second one of the namespace, which its condition says
    guests = _guests(view, "" if primary else f"{namespace.name}/{network.name}")
    if guests.none:
        return
    unlabelled = primary and not namespace.wants_primary
    variant = "unlabelled" if unlabelled else f"{guests.worst}{'_failed' if network.failed else ''}"
    said = f"{network.reason}: {network.message}"
    yield _finding(
        namespace,
        "NetworkNotRendered",
        _TEXTS.message("NetworkNotRendered", variant, network=network.ref, label=PRIMARY, said=said, **guests.named()),
        guests,
        network=network,
        alone=bool(guests.waiting) and not unlabelled,
        next_step=_TEXTS.next("NetworkNotRendered", "unlabelled") if unlabelled else "",
        forbids=None if primary and not unlabelled else NOTHING_FORBIDDEN,
    )


def _has_primary(view: View) -> bool:
    """A NAD that can't be decoded may be the one."""
    nads = view.all(NetworkAttachmentDefinition)
    return any(not nad.readable or (nad.ovn and nad.role == "primary") for nad in nads)


def _guests(view: View, key: str) -> _Guests:
    """`key` is the `namespace/name` of the NAD; empty for the primary network, to which the pod network goes."""
    vmis, whole = known(_using(view, VirtualMachineInstance, key))
    vms = list(_using(view, VirtualMachine, key)) if whole else []  # else nobody knows which of them run
    there = [each for each in vmis if isinstance(each, VirtualMachineInstance) and not each.final]
    names = {each.name for each in there}
    return _Guests(
        sorted((each for each in there if each.phase in PENDING and each.deleting is None), key=lambda each: each.name),
        sorted((each for each in there if each.phase not in PENDING), key=lambda each: each.name),
        sorted(each.ref for each in vms if each.name not in names),
    )


def _using(
    view: View, kind: type[VirtualMachine] | type[VirtualMachineInstance], key: str
) -> Iterable[VirtualMachine | VirtualMachineInstance]:
    for each in view.all(kind):
        if any(nad == key for _, nad, _ in each.networks):
            yield each


def _finding(
    namespace: Namespace,
    reason: str,
    message: str,
    guests: _Guests,
    *,
    alone: bool,
    network: Defined | None = None,
    next_step: str = "",
    forbids: Forbids | None = None,
) -> Finding:
    """`alone`: nothing else than the network keeps VMs waiting."""
    facts = {
        "label": namespace.wants_primary,
        "waiting": [each.name for each in guests.waiting],
        "running": [each.name for each in guests.running],
        "stopped": [each.name for each in guests.stopped],
        "condition": network.failed if network is not None else "",
        "conditionReason": network.reason if network is not None else "",
    }
    refs = [each.ref for each in (*guests.waiting, *guests.running)]
    since = guests.since if alone else None
    return Finding(
        reason=reason,
        severity=Severity.CRITICAL if alone else Severity.WARNING,
        subject=namespace.ref,
        related=(*((network.ref,) if network is not None else ()), *refs, *guests.stopped),
        network=network.network if network is not None else "",
        group=network.network if network is not None else "",
        message=message,
        next=next_step,
        forbids=forbids,
        since=since,
        since_source=Since.CREATION if since is not None else Since.FIRST_SEEN,
        evidence={name: fact for name, fact in facts.items() if fact},
    )


CHECK = Check(
    id="network_namespaces",
    title="Namespaces whose VMs wait for a network",
    reads=(
        Namespace.KIND,
        NetworkAttachmentDefinition.KIND,
        UserDefinedNetwork.KIND,
        ClusterUserDefinedNetwork.KIND,
        VirtualMachine.KIND,
        VirtualMachineInstance.KIND,
    ),
    scope=PER_NAMESPACE,
    looks_up=(SELECTION,),
    reasons=reasons_of("network_namespaces"),
    find=find,
    fields_read=(VirtualMachine.KIND, VirtualMachineInstance.KIND),
    requires=(NetworkAttachmentDefinition.KIND, UserDefinedNetwork.KIND, VirtualMachine.KIND),
)
