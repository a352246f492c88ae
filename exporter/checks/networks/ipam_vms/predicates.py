"""What is evaluated of one interface of a VM."""

from __future__ import annotations

from ....facts.addresses import NONE, number
from ....facts.naming import named
from ....facts.pool import AddressPlace
from ....facts.vm_networks import claim_name, whole_claim_name
from ....findings.finding import Finding
from ....findings.severity import Severity
from ....store.indexes.networks import CLAIM, CLAIM_NAME
from ....store.kinds.components import NETWORK_CONTROLLER, Deployment, own_parts
from ....store.kinds.network_attachment_definition import pool_of
from ....store.kinds.pod import Pod
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from .._address_holders import withheld
from .interface import Interface

_LONGEST_LABEL, _LONGEST_NAME = 63, 253
_STARTED = ("Scheduling", "Scheduled", "Running")


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
    cause, words, next_step = _cause(interface)
    what = f"IPAMClaim {interface.claim_name} does not exist{words}"
    if waiting:
        what += f"; {waiting[0].ref} refers to that, and gets no address or loses its address when it stops"
    return interface.finding(
        "MissingClaim",
        Severity.CRITICAL if waiting else Severity.WARNING,
        what,
        vmi.created,
        next_step=next_step,
        cause=cause,
        launcherPod=waiting[0].name if waiting else "",
        pods=[f"{user.namespace}/{user.name}" for user in waiting],
    )


def _cause(interface: Interface) -> tuple[str, str, str]:
    """With its words in the message, and the next step."""
    broken = interface.siblings.without_nad
    if broken:
        words = f", because the NAD of interface {broken} is missing or can't be decoded"
        return "NadMissing", words, f"Repair or create the NAD of interface {broken} first."
    if too_long(interface.vm.name, interface.network):
        words = ", because the VM's name is too long for its label"
        return "NameTooLong", words, "Create the VM again under a shorter name, with the same disks."
    other = interface.siblings.of_another
    if other:
        words = f", because IPAMClaim {other} of another interface has another owner or none"
        return "OwnerUidMismatch", words, f"Repair the owner of IPAMClaim {other} first."
    return "", "", ""


def name_too_long(interface: Interface) -> Finding | None:
    """No claim can be created."""
    if not interface.reported or not interface.persistent or not too_long(interface.vm.name, interface.network):
        return None
    what = f"no IPAMClaim can be created for a VM with a name of {len(interface.vm.name)} characters"
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
    whose = named([other.ref for other in others]) or f"interface {twin}"
    return interface.finding(
        "NameCollision",
        Severity.CRITICAL if running or (len(own) > 1 and interface.runs) else Severity.WARNING,
        f"the IPAMClaim has the name {interface.claim_name}, like that of {whose}: they share it, and so one address",
        others=[other.name for other in others],
    )


def cross_namespace_nad(interface: Interface) -> Finding | None:
    """The claim is created in the namespace of the VM, and looked for in that of the NAD."""
    nad = interface.nad
    if nad is None or not interface.persistent or not interface.key or nad.namespace == interface.vm.namespace:
        return None
    if not interface.reported:
        return None
    what = f"NAD {interface.key} is in another namespace, where OVN-Kubernetes looks for the IPAMClaim"
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
    kept = _withheld(interface, requested)
    what += "".join(f"; {ip} is {by}" for ip, by in kept.items())
    if honoured:
        what += ": its pod gets no address when it starts next"
        return interface.finding("StaticRequestConflict", Severity.CRITICAL, what, requested=requested, withheldBy=kept)
    what += "; whether OVN-Kubernetes honours requested addresses can't be seen"
    return interface.finding("StaticRequestConflict", Severity.INFO, what, requested=requested, withheldBy=kept)


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
        return f"the VM requests {named(missing)}, and the IPAMClaim holds {named(claim.ips)}"
    if sorted(":" in each for each in requested) != sorted(":" in each for each in nad.subnets):
        return f"the VM requests {named(requested)}, which is not one address of each subnet ({named(nad.subnets)})"
    pool = pool_of(nad)
    outside = [each for each in requested if (at := number(each)) == NONE or pool.locate(at)[0] in _NOT_GIVEN]
    if outside:
        return f"the VM requests {named(outside)}, which {named(nad.subnets)} can't give out"
    # An IPAMClaim that has the address keeps it, whoever else has it.
    taken = _withheld(interface, requested) if claim is not None and not held else {}
    return f"the VM requests {named(list(taken))}, and can't have it" if taken else ""


_NOT_GIVEN = (AddressPlace.OUTSIDE, AddressPlace.EDGE, AddressPlace.BEYOND, AddressPlace.NO_FAMILY)


def _honoured(interface: Interface) -> bool | None:
    """Whether OVN-Kubernetes runs with preconfigured addresses; None where no Deployment of it says so."""
    parts = own_parts(interface.view.all(Deployment))
    said = [each.preconfigured for each in parts if each.role == NETWORK_CONTROLLER]
    return True if True in said else None if None in said or not said else False
