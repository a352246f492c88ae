"""What is evaluated of one interface of a VM."""

from __future__ import annotations

from ...findings import Finding, Severity
from ...model.indexes.networks import CLAIM, CLAIM_NAME
from ...model.kinds.pod import Pod
from ...model.kinds.virtual_machine import VirtualMachine
from ...model.kinds.virtual_machine_instance import VirtualMachineInstance
from ...model.vm_networks import claim_name, whole_claim_name
from ..ipam_claims.context import controller_away
from .interface import Interface

__all__ = ["cross_namespace_nad", "missing_claim", "name_collision", "name_too_long", "static_request_conflict"]

_LONGEST_LABEL, _LONGEST_NAME = 63, 253
_STARTED = ("Scheduling", "Scheduled", "Running")


def missing_claim(interface: Interface) -> Finding | None:
    """Of a running VMI; with the cause, where objects show it."""
    vmi = interface.vm
    if not isinstance(vmi, VirtualMachineInstance) or vmi.phase not in _STARTED or vmi.deleting is not None:
        return None
    if (
        not interface.persistent
        or interface.unplugged
        or interface.claim is not None
        or controller_away(interface.view)
    ):
        return None
    own = f"{vmi.namespace}/{interface.claim_name}"
    users = [user for user in interface.view.sharing(CLAIM, own) if isinstance(user, Pod)]
    waiting = sorted(users, key=lambda user: user.ref)
    cause, words, next_step = _cause(interface)
    what = f"IPAMClaim {interface.claim_name} does not exist{words}"
    if waiting:
        what += f"; {waiting[0].ref} refers to it, and gets no address or loses it when it stops"
    return interface.finding(
        "MissingClaim",
        Severity.CRITICAL if waiting else Severity.WARNING,
        what,
        next_step=next_step,
        cause=cause,
        launcherPod=waiting[0].name if waiting else "",
        pods=[f"{user.namespace}/{user.name}" for user in waiting],
    )


def _cause(interface: Interface) -> tuple[str, str, str]:
    """With its words in the message, and the next step."""
    broken = interface.sibling_without_nad()
    if broken:
        words = f", because the NAD of interface {broken} is missing or can't be decoded"
        return "NadMissing", words, f"Repair or create the NAD of interface {broken} first."
    if _too_long(interface):
        words = ", because its VM's name is too long for its label"
        return "NameTooLong", words, "Create the VM again under a shorter name, with the same disks."
    return "", "", ""


def name_too_long(interface: Interface) -> Finding | None:
    """No claim can be created."""
    if not isinstance(interface.vm, VirtualMachine) or not interface.persistent or not _too_long(interface):
        return None
    what = f"no IPAMClaim can be created for a VM with a name of {len(interface.vm.name)} characters"
    return interface.finding("NameTooLong", Severity.WARNING, what)


def _too_long(interface: Interface) -> bool:
    return (
        len(interface.vm.name) > _LONGEST_LABEL
        or len(whole_claim_name(interface.vm.name, interface.network)) >= _LONGEST_NAME
        or not interface.claim_name[-1:].isalnum()
    )


def name_collision(interface: Interface) -> Finding | None:
    """Another interface, of this VM or another one, has the same claim name."""
    if not isinstance(interface.vm, VirtualMachine) or not interface.persistent:
        return None
    own = [
        network for network, _ in interface.siblings if claim_name(interface.vm.name, network) == interface.claim_name
    ]
    key = f"{interface.vm.namespace}/{interface.claim_name}"
    found = list(interface.view.sharing(CLAIM_NAME, key))
    namesakes = [each for each in found if isinstance(each, VirtualMachine)]
    there = {each.name for each in found if isinstance(each, VirtualMachineInstance)}
    others = sorted((each for each in namesakes if each.name != interface.vm.name), key=lambda each: each.name)
    if len(own) < 2 and not others:
        return None
    running = [other for other in others if interface.runs and other.name in there]
    whose = (
        ", ".join(str(other.ref) for other in others) or f"interface {next(n for n in own if n != interface.network)}"
    )
    return interface.finding(
        "NameCollision",
        Severity.CRITICAL if running or (len(own) > 1 and interface.runs) else Severity.WARNING,
        f"its IPAMClaim has the name {interface.claim_name}, like that of {whose}: they share it, and so one address",
        others=[other.name for other in others],
    )


def cross_namespace_nad(interface: Interface) -> Finding | None:
    """The claim is created in the namespace of the VM, and looked for in that of the NAD."""
    nad = interface.nad
    if nad is None or not interface.persistent or not interface.key or nad.namespace == interface.vm.namespace:
        return None
    if isinstance(interface.vm, VirtualMachineInstance) and interface.view.named(
        VirtualMachine, interface.vm.namespace, interface.vm.name
    ):
        return None  # reported of the VM
    what = f"NAD {interface.key} is in another namespace, where OVN-Kubernetes looks for the IPAMClaim"
    return interface.finding("CrossNamespaceNad", Severity.CRITICAL if interface.runs else Severity.WARNING, what)


def static_request_conflict(interface: Interface) -> Finding | None:
    """OVN-Kubernetes compares the texts, so another spelling of an IPv6 address is a conflict too."""
    vmi, claim = interface.vm, interface.claim
    if not isinstance(vmi, VirtualMachineInstance) or claim is None or not claim.ips or interface.key:
        return None
    if not interface.persistent:
        return None
    held = {ip.partition("/")[0] for ip in claim.ips}
    missing = [address for network, address in vmi.requested if network == interface.network and address not in held]
    if not missing:
        return None
    what = f"the VM requests {', '.join(missing)}, and its IPAMClaim holds {', '.join(claim.ips)}"
    return interface.finding("StaticRequestConflict", Severity.INFO, what, requested=missing)
