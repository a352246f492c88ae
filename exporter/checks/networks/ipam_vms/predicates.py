"""What is evaluated of one interface of a VM."""

from __future__ import annotations

from ....facts.addresses import NONE, number
from ....facts.naming import named
from ....facts.pool import AddressPlace
from ....facts.vm_networks import claim_name, whole_claim_name
from ....findings.finding import Finding
from ....findings.pages import Texts
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
