"""VMIs that can migrate and whose address does not go along, since their primary network does not keep it.

With a binding plugin such as l2bridge the guest has the address of its launcher pod on the primary network of its
namespace. The target pod of a migration gets the same address only by an IPAMClaim, which a layer-2 network that allows
persistent IPs has. A layer-3 network has a subnet on each node, so no address of it can move to another one
(`IsPodAllowedForMigration` in go-controller/pkg/kubevirt/pod.go of OVN-Kubernetes), and OVN-Kubernetes serves DHCP to
guests on layer-2 networks alone (ovn-kubernetes/ovn-kubernetes#4750, #5155). KubeVirt does not look at the network: for
it such a VMI can migrate.

Not seen here: other bindings: with masquerade and passt the guest has an address of its own, or connections end in the
pod; secondary networks; the default pod network.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...findings.check import PER_VM, Check, View
from ...findings.finding import Finding, Since
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.indexes.networks import REFERENCE
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ._referred import referred_to

_TEXTS = Texts("network_migrations")


def find(view: View) -> Iterator[Finding | None]:
    for vmi in view.all(VirtualMachineInstance):
        if vmi.tapped and vmi.migratable == "True" and not vmi.final and vmi.deleting is None:
            yield from view.apart(_found(view, vmi))


def _found(view: View, vmi: VirtualMachineInstance) -> Iterator[Finding]:
    nad = referred_to(view, vmi.namespace, "")
    if nad is None or not nad.ovn or not _changes(nad):
        return
    variant = "layer3" if nad.topology == "layer3" else ""
    yield Finding(
        reason="AddressNotKept",
        severity=Severity.INFO,
        subject=vmi.ref,
        related=(nad.ref,),
        network=nad.network,
        message=_TEXTS.message("AddressNotKept", variant, network=nad.network),
        next=_TEXTS.next("AddressNotKept", variant),
        since=vmi.created,
        since_source=Since.CREATION if vmi.created is not None else Since.FIRST_SEEN,
        evidence={"vmName": vmi.name, "nadName": nad.name, "topology": nad.topology},
    )


def _changes(nad: NetworkAttachmentDefinition) -> bool:
    return nad.topology == "layer3" or (nad.topology == "layer2" and not nad.persistent)


CHECK = Check(
    id="network_migrations",
    title="VMIs whose address does not migrate with them",
    reads=(VirtualMachineInstance.KIND, NetworkAttachmentDefinition.KIND),
    scope=PER_VM,
    looks_up=(REFERENCE,),
    reasons=reasons_of("network_migrations"),
    find=find,
    fields_read=(VirtualMachineInstance.KIND, NetworkAttachmentDefinition.KIND),
    requires=(VirtualMachineInstance.KIND, NetworkAttachmentDefinition.KIND),
)
