"""VMs whose interfaces cannot get, or cannot keep, a persistent IP.

KubeVirt's webhook lets a pod refer to an IPAMClaim by the name it should have. Nothing checks whether that IPAMClaim
exists, which VM it belongs to, and where the network looks for it. The pod of such a VM hangs without an event.

Whether OVN-Kubernetes honours addresses that a VM requests is read from the arguments and variables of its control
plane.

Not seen here: that flag where the control plane has it from a file or a script, or runs in another cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ....facts.addresses import NONE, number
from ....facts.naming import named
from ....facts.pool import AddressPlace
from ....facts.vm_networks import VMNetwork, claim_name, whole_claim_name
from ....findings.check import PER_VM, Check, View
from ....findings.finding import Finding
from ....findings.pages import Texts, reasons_of
from ....findings.severity import Severity
from ....store.indexes.networks import ADDRESS, CLAIM, CLAIM_NAME, REFERENCE
from ....store.kinds.components import NETWORK_CONTROLLER, Deployment, MutatingWebhookConfiguration, own_parts
from ....store.kinds.ipam_claim import IPAMClaim
from ....store.kinds.namespace import Namespace
from ....store.kinds.network_attachment_definition import NetworkAttachmentDefinition, pool_of
from ....store.kinds.pod import Pod
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from .._address_holders import withheld
from .._explained import shown
from .._referred import ReferredNads
from .interface import Interface, interfaces_of

__all__ = ["CHECK"]

_LONGEST_LABEL, _LONGEST_NAME = 63, 253
_STARTED = ("Scheduling", "Scheduled", "Running")
_TEXTS = Texts("ipam_vms")


def missing_claim(interface: Interface) -> Finding | None:
    """Of a VMI that starts or runs; with the cause, where objects show it.

    An interface that is just being plugged in is left out: its pod gets it together with the reference.
    """
    vmi = interface.vm
    if not isinstance(vmi, VirtualMachineInstance) or vmi.phase not in _STARTED or vmi.deleting is not None:
        return None
    if not interface.persistent or interface.unplugged or interface.claim is not None or interface.plugging:
        return None
    own = f"{vmi.namespace}/{interface.claim_name}"
    users = [user for user in interface.view.sharing(CLAIM, own) if isinstance(user, Pod)]
    waiting = sorted(users, key=lambda user: user.ref)
    cause, variant, other = _cause(interface)
    return interface.finding(
        "MissingClaim",
        Severity.CRITICAL if waiting else Severity.WARNING,
        _TEXTS.message(
            "MissingClaim",
            variant or ("referred" if waiting else ""),
            claim=interface.claim_name,
            interface=interface.network,
            other=other,
            pod=waiting[0].ref if waiting else "",
        ),
        vmi.created,
        next_step=_TEXTS.next("MissingClaim", variant, other=other),
        cause=cause,
        launcherPod=waiting[0].name if waiting else "",
        pods=[f"{user.namespace}/{user.name}" for user in waiting],
    )


def _cause(interface: Interface) -> tuple[str, str, str]:
    """With the variant of its texts, and the interface or IPAMClaim that they name."""
    if broken := interface.siblings.without_nad:
        return "NadMissing", "nad", broken
    if too_long(interface.vm.name, interface.network):
        return "NameTooLong", "name", ""
    if other := interface.siblings.of_another:
        return "OwnerUidMismatch", "owner", other
    return "", "", ""


def name_too_long(interface: Interface) -> Finding | None:
    """No claim can be created."""
    if not interface.reported or not interface.persistent or not too_long(interface.vm.name, interface.network):
        return None
    what = _TEXTS.message("NameTooLong", interface=interface.network, length=len(interface.vm.name))
    return interface.finding("NameTooLong", Severity.WARNING, what)


def too_long(vm: str, network: str) -> bool:
    """Whether the claim of a VM's logical network can't have its name, or its label."""
    return (
        len(vm) > _LONGEST_LABEL
        or len(whole_claim_name(vm, network)) >= _LONGEST_NAME
        or not claim_name(vm, network)[-1:].isalnum()
    )


def name_collision(interface: Interface) -> Finding | None:
    """Another interface, of this VM or another one, has the same claim name."""
    if not interface.reported or not interface.persistent:
        return None
    own = interface.siblings.by_claim.get(interface.claim_name, [])
    key = f"{interface.vm.namespace}/{interface.claim_name}"
    found = [
        each
        for each in interface.view.sharing(CLAIM_NAME, key)
        if isinstance(each, VirtualMachine | VirtualMachineInstance) and each.name != interface.vm.name
    ]
    if len(own) < 2 and not found:
        return None
    there = {each.name for each in found if isinstance(each, VirtualMachineInstance) and not each.final}
    by_name = {each.name: each for each in sorted(found, key=lambda each: each.ref, reverse=True)}  # the VM of both
    others = [
        by_name[name]
        for name in sorted(by_name)
        if interface.claim_name in interface.siblings.beside(by_name[name]).by_claim
    ]
    if len(own) < 2 and not others:
        return None
    running = [other for other in others if interface.runs and other.name in there]
    twin = next((network for network in own if network != interface.network), interface.network)
    return interface.finding(
        "NameCollision",
        Severity.CRITICAL if running or (len(own) > 1 and interface.runs) else Severity.WARNING,
        _TEXTS.message(
            "NameCollision",
            "" if others else "own",
            interface=interface.network,
            claim=interface.claim_name,
            others=named([other.ref for other in others]) or twin,
        ),
        next_step="" if others else _TEXTS.next("NameCollision", "own"),
        others=[other.name for other in others],
    )


def cross_namespace_nad(interface: Interface) -> Finding | None:
    """The claim is created in the namespace of the VM, and looked for in that of the NAD."""
    nad = interface.nad
    if nad is None or not interface.persistent or not interface.key or nad.namespace == interface.vm.namespace:
        return None
    if not interface.reported:
        return None
    what = _TEXTS.message("CrossNamespaceNad", interface=interface.network, nad=interface.key)
    return interface.finding("CrossNamespaceNad", Severity.CRITICAL if interface.runs else Severity.WARNING, what)


def static_request_conflict(interface: Interface) -> Finding | None:
    """A request on the primary network that the claim or the network does not have."""
    vmi = interface.vm
    if not isinstance(vmi, VirtualMachineInstance) or interface.key or not interface.persistent:
        return None
    requested = [address for network, address in vmi.requested if network == interface.network]
    what, honoured = _conflict(interface, requested) if requested else "", _honoured(interface)
    if not what or honoured is False:
        return None
    kept, severity = _withheld(interface, requested), Severity.CRITICAL if honoured else Severity.INFO
    return interface.finding("StaticRequestConflict", severity, what, requested=requested, withheldBy=kept)


def _withheld(interface: Interface, requested: list[str]) -> dict[str, str]:
    claim, nad = interface.claim, interface.nad
    return withheld(interface.view, nad, claim, requested) if claim is not None and nad is not None else {}


def _conflict(interface: Interface, requested: list[str]) -> str:
    """OVN-Kubernetes compares the texts, so another spelling of an IPv6 address is a conflict too."""
    claim, nad = interface.claim, interface.nad
    if nad is None:
        return ""
    held = {ip.partition("/")[0] for ip in claim.ips} if claim is not None else set()
    missing = [address for address in requested if address not in held] if held else []
    if claim is not None and missing:
        why = _taken(_withheld(interface, requested))
        variant = "held_taken" if why else "held"
        return _said(interface, variant, requested=named(missing), held=named(claim.ips), taken=why)
    if sorted(":" in each for each in requested) != sorted(":" in each for each in nad.subnets):
        return _said(interface, "count", requested=named(requested), subnets=named(nad.subnets))
    pool = pool_of(nad)
    outside = [each for each in requested if (at := number(each)) == NONE or pool.locate(at)[0] in _NOT_GIVEN]
    if outside:
        return _said(interface, "outside", requested=named(outside), subnets=named(nad.subnets))
    # An IPAMClaim that has the address keeps it, whoever else has it.
    taken = _withheld(interface, requested) if claim is not None and not held else {}
    return _said(interface, "taken", taken=_taken(taken)) if taken else ""


def _taken(withheld: dict[str, str]) -> str:
    return ", ".join(f"{ip} is {by}" for ip, by in withheld.items())


def _said(interface: Interface, variant: str, **fields: str) -> str:
    return _TEXTS.message("StaticRequestConflict", variant, interface=interface.network, **fields)


_NOT_GIVEN = (AddressPlace.OUTSIDE, AddressPlace.EDGE, AddressPlace.BEYOND, AddressPlace.NO_FAMILY)


def _honoured(interface: Interface) -> bool | None:
    """Whether OVN-Kubernetes runs with preconfigured addresses; None where no Deployment of it says so."""
    parts = own_parts(interface.view.all(Deployment))
    said = [each.preconfigured for each in parts if each.role == NETWORK_CONTROLLER]
    return True if True in said else None if None in said or not said else False


# VMs of which one look says that nothing is wrong with their interfaces, as with almost all: none of the predicates is
# asked then. They remain what decides: this knows of no finding, and only of some VMs that there is none.

_MOST = 50  # interfaces that are looked at without a pause


def evidently_well(view: View, vm: VirtualMachine | VirtualMachineInstance, nads: ReferredNads) -> bool:
    """Whether no predicate finds anything of the interfaces that it has: each whose network keeps addresses refers to a
    NAD in its own namespace, and has a claim that no other interface shares. False where that is not evident.
    """
    if len(vm.networks) > _MOST:
        return False
    names: set[str] = set()
    for network in vm.networks:
        nad = nads.of(vm.namespace, network[1])
        if nad is None or not nad.effective:
            continue  # it has no claim, and no predicate finds anything of it
        name = claim_name(vm.name, network[0])
        if nad.namespace != vm.namespace or name in names or not _claimed(view, vm, network, name):
            return False
        names.add(name)
    return True


def _claimed(view: View, vm: VirtualMachine | VirtualMachineInstance, network: VMNetwork, name: str) -> bool:
    """Whether the claim of a secondary network is there, and no VM of another name has one of the same name."""
    if not network[1] or too_long(vm.name, network[0]):
        return False
    found = view.sharing(CLAIM_NAME, f"{vm.namespace}/{name}")
    others = [each for each in found if not isinstance(each, IPAMClaim) and each.name != vm.name]
    return not others and any(isinstance(each, IPAMClaim) for each in found)


Predicate = Callable[[Interface], Finding | None]

_OF_VMI: tuple[Predicate, ...] = (
    missing_claim,
    name_too_long,
    name_collision,
    cross_namespace_nad,
    static_request_conflict,
)
_OF_VM = (name_too_long, name_collision, cross_namespace_nad)  # the others are of what runs
_PAUSES = 50  # interfaces between two


def find(view: View) -> Iterator[Finding | None]:
    if any(each.terminating for each in view.all(Namespace)):
        return  # what is missing goes with the namespace
    vms: list[VirtualMachine | VirtualMachineInstance] = [*view.all(VirtualMachine), *view.all(VirtualMachineInstance)]
    nads = ReferredNads(view)
    if view.whole and all(evidently_well(view, vm, nads) for vm in _unlike(vms)):
        return
    for vm in vms:
        predicates = _OF_VM if isinstance(vm, VirtualMachine) else _OF_VMI
        yield from view.apart(_evaluated(view, predicates, interfaces_of(view, vm, nads)))


def _unlike(vms: list[VirtualMachine | VirtualMachineInstance]) -> Iterable[VirtualMachine | VirtualMachineInstance]:
    """One of each that have the same networks: all of them have the same name."""
    return {vm.networks: vm for vm in vms}.values()


def _evaluated(view: View, predicates: Iterable[Predicate], interfaces: list[Interface]) -> Iterator[Finding | None]:
    """At most one finding for each reason of a VM: that of its worst interface."""
    for predicate in predicates:
        worst: Finding | None = None
        for done, each in enumerate(interfaces):
            finding = predicate(each)
            if finding is not None and (worst is None or finding.severity.rank > worst.severity.rank):
                worst = finding
            if done % _PAUSES == _PAUSES - 1:
                yield None
        if worst is not None:
            yield shown(view, worst)


CHECK = Check(
    id="ipam_vms",
    title="VMs whose interfaces can't get or keep a persistent IP",
    reads=(
        VirtualMachine.KIND,
        VirtualMachineInstance.KIND,
        Pod.KIND,
        IPAMClaim.KIND,
        NetworkAttachmentDefinition.KIND,
        Namespace.KIND,
        Deployment.KIND,
        MutatingWebhookConfiguration.KIND,
    ),
    scope=PER_VM,
    looks_up=(REFERENCE, CLAIM, CLAIM_NAME, ADDRESS),
    reasons=reasons_of("ipam_vms"),
    find=find,
    fields_read=(Namespace.KIND, VirtualMachine.KIND, VirtualMachineInstance.KIND, Pod.KIND),
    requires=(IPAMClaim.KIND, NetworkAttachmentDefinition.KIND),
)
