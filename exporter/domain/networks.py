"""Who is on a network, and who refers to it: what keeps it from being deleted, and who misses it once it is gone.

OVN-Kubernetes keeps a network that is deleted while pods have one of its NADs in their annotation, completed ones too
(`NetAttachDefNotInUse` in go-controller/pkg/clustermanager/userdefinednetwork/nad.go). VMs that are stopped, and
IPAMClaims, keep nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..facts.record import Record, Ref, UnseenError
from ..store.index import Index
from ..store.indexes.networks import ATTACHMENT, INTERFACE, ON_POD_NETWORK, primary
from ..store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ..store.kinds.pod import Pod
from ..store.kinds.virtual_machine import VirtualMachine
from ..store.kinds.virtual_machine_instance import PENDING, VirtualMachineInstance

Sharing = Callable[[Index, str], Iterable[Record]]


@dataclass(frozen=True, slots=True)
class NetworkUsers:
    """Each in the order of their names. Of a kind that can't be seen there may be more; `whole` is of the pods."""

    pods: tuple[Pod, ...]  # on it
    whole: bool
    running: tuple[Ref, ...]  # VMIs that refer to it
    starting: tuple[Ref, ...]  # the same, which do not run yet
    waiting: tuple[Ref, ...]  # VMs that refer to it, without a VMI that does

    @property
    def holders(self) -> tuple[str, ...]:
        """Who is on it: VMs by their launcher pods, and other pods by themselves."""
        return tuple(dict.fromkeys(map(_holder, self.pods)))


def _holder(pod: Pod) -> str:
    return f"VM {pod.namespace}/{pod.domain}" if pod.domain else f"pod {pod.namespace}/{pod.name}"


def _pods_on(sharing: Sharing, nads: Iterable[NetworkAttachmentDefinition]) -> tuple[tuple[Pod, ...], bool]:
    """And whether these are all."""
    found, whole = {}, True
    for nad in nads:
        records, all_of_them = _known(sharing, ATTACHMENT, f"{nad.namespace}/{nad.name}")
        found.update({each.ref: each for each in records if isinstance(each, Pod)})
        whole = whole and all_of_them
    return tuple(found[ref] for ref in sorted(found)), whole


def users_of(sharing: Sharing, nads: Iterable[NetworkAttachmentDefinition]) -> NetworkUsers:
    nads = tuple(nads)
    found: list[Record] = []
    for nad in nads:
        found += _known(sharing, INTERFACE, f"{nad.namespace}/{nad.name}")[0]
        if nad.role == "primary":
            found += _known(sharing, ON_POD_NETWORK, primary(nad.namespace))[0]
    vmis = {each.ref: each for each in found if isinstance(each, VirtualMachineInstance) and not each.final}
    there = {(ref.namespace, ref.name) for ref in vmis}
    vms = {each.ref for each in found if isinstance(each, VirtualMachine) and (each.namespace, each.name) not in there}
    starting = {ref for ref, vmi in vmis.items() if vmi.phase in PENDING}
    return NetworkUsers(
        *_pods_on(sharing, nads), tuple(sorted(vmis.keys() - starting)), tuple(sorted(starting)), tuple(sorted(vms))
    )


def _known(sharing: Sharing, index: Index, key: str) -> tuple[list[Record], bool]:
    """What is known of it, and whether that is all: a kind that can't be seen takes nothing from the others."""
    found: list[Record] = []
    try:
        found.extend(sharing(index, key))
    except UnseenError:
        return found, False
    return found, True
