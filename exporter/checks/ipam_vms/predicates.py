"""What is evaluated of one interface (ipamclaims C-11, C-20, C-21, C-22)."""

from __future__ import annotations

from ...findings import Finding, Severity
from ...model.indexes.networks import CLAIM, CLAIM_NAME
from ...model.kinds.pod import Pod
from ...model.kinds.virtual_machine import VirtualMachine
from ...model.kinds.virtual_machine_instance import VirtualMachineInstance
from ...model.vm_networks import claim_name, whole_claim_name
from ..ipam_claims.situation import controller_away
from .interface import Interface

__all__ = ["cross_namespace_nad", "missing_claim", "name_collision", "name_too_long", "static_request_conflict"]

_LONGEST_LABEL, _LONGEST_NAME = 63, 253
_STARTED = ("Scheduling", "Scheduled", "Running")


def missing_claim(it: Interface) -> Finding | None:
    """C-11: of a running VMI; why, where objects show it."""
    vmi = it.vm
    if not isinstance(vmi, VirtualMachineInstance) or vmi.phase not in _STARTED or vmi.deleting is not None:
        return None
    if not it.persistent or it.unplugged or it.claim is not None or controller_away(it.view):
        return None
    own = f"{vmi.namespace}/{it.claim_name}"
    users = [user for user in it.view.sharing(CLAIM, own) if isinstance(user, Pod)]
    waiting = sorted(users, key=lambda user: user.ref)
    cause, words = _cause(it)
    what = f"IPAMClaim {it.claim_name} does not exist{words}"
    if waiting:
        what += f", and {waiting[0].ref} refers to it: it can't get its address, or loses it when it stops"
    return it.finding(
        "MissingClaim",
        Severity.CRITICAL if waiting else Severity.WARNING,
        what,
        cause=cause,
        pods=[f"{user.namespace}/{user.name}" for user in waiting],
    )


def _cause(it: Interface) -> tuple[str, str]:
    broken = it.sibling_without_nad()
    if broken:
        return "DefinitionMissing", f", since the NAD of interface {broken} is missing or can't be read"
    if _too_long(it):
        return "NameTooLong", ", since its VM's name is too long for its label"
    return "", ""


def name_too_long(it: Interface) -> Finding | None:
    """C-20: no claim can be made."""
    if not isinstance(it.vm, VirtualMachine) or not it.persistent or not _too_long(it):
        return None
    what = f"no IPAMClaim can be made for a VM with a name of {len(it.vm.name)} characters: rename it"
    return it.finding("NameTooLong", Severity.WARNING, what)


def _too_long(it: Interface) -> bool:
    return (
        len(it.vm.name) > _LONGEST_LABEL
        or len(whole_claim_name(it.vm.name, it.network)) >= _LONGEST_NAME
        or not it.claim_name[-1:].isalnum()
    )


def name_collision(it: Interface) -> Finding | None:
    """C-20: another interface, of this VM or another one, has the same claim name."""
    if not isinstance(it.vm, VirtualMachine) or not it.persistent:
        return None
    own = [network for network, _ in it.siblings if claim_name(it.vm.name, network) == it.claim_name]
    key = f"{it.vm.namespace}/{it.claim_name}"
    found = list(it.view.sharing(CLAIM_NAME, key))
    namesakes = [each for each in found if isinstance(each, VirtualMachine)]
    there = {each.name for each in found if isinstance(each, VirtualMachineInstance)}
    others = sorted((each for each in namesakes if each.name != it.vm.name), key=lambda each: each.name)
    if len(own) < 2 and not others:
        return None
    running = [other for other in others if it.runs and other.name in there]
    whose = ", ".join(str(other.ref) for other in others) or f"interface {next(n for n in own if n != it.network)}"
    return it.finding(
        "NameCollision",
        Severity.CRITICAL if running or (len(own) > 1 and it.runs) else Severity.WARNING,
        f"its claim would be called {it.claim_name}, as the one of {whose}: they share one claim, and so one address",
        others=[other.name for other in others],
    )


def cross_namespace_nad(it: Interface) -> Finding | None:
    """C-21: the claim is made beside the VM, and looked for beside the NAD."""
    nad = it.nad
    if nad is None or not it.persistent or not it.key or nad.namespace == it.vm.namespace:
        return None
    if isinstance(it.vm, VirtualMachineInstance) and it.view.named(VirtualMachine, it.vm.namespace, it.vm.name):
        return None  # reported of the VM
    what = (
        f"{it.key} is in another namespace, where the claim is looked for and not found: "
        f"use a NAD in namespace {it.vm.namespace}"
    )
    return it.finding("CrossNamespaceNad", Severity.CRITICAL if it.runs else Severity.WARNING, what)


def static_request_conflict(it: Interface) -> Finding | None:
    """C-22: OVN-Kubernetes compares the texts, so another spelling of an IPv6 address is a conflict too."""
    vmi, claim = it.vm, it.claim
    if not isinstance(vmi, VirtualMachineInstance) or claim is None or not claim.ips or it.key:
        return None
    held = {ip.partition("/")[0] for ip in claim.ips}
    missing = [address for network, address in vmi.requested if network == it.network and address not in held]
    if not missing or not it.persistent:
        return None
    what = f"it asks for {', '.join(missing)}, and its claim holds {', '.join(claim.ips)}"
    return it.finding("StaticRequestConflict", Severity.INFO, what, requested=missing)
