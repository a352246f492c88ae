"""Gives a stopped VM that is a copy a MAC address of its own, where it has one of the VM that it is a copy of.

Only where the check `mac_duplicates` says that the VM is a copy, and which VM keeps the address. What a snapshot's
restore or a VirtualMachineClone made in the namespace of the VM that keeps it is a copy. Where that is not certain
(another namespace, a backup of Velero, no annotation of either) only a VM with the annotation
`steward.kubevirt-steward.io/copy-change-allowed: "true"` gets another one.

The address in the spec is replaced and not taken out. Without one a guest has another address at each start; and where
KubeMacPool manages the namespace, its webhook puts the address of before back in place of an empty one
(`UpdateMacAddressesForVirtualMachine` in pkg/pool-manager/virtualmachine_pool.go of k8snetworkplumbingwg/kubemacpool),
while it takes one that is asked for. The new address is locally administered, and follows from the VM's UID, the
interface and the old address, so that the plan is the same each time.

IPAMClaims go by names, and keep their addresses. A DHCP server knows a guest by its MAC address or by its client id: it
gives the guest another IP address, unless a reservation for the new MAC address is made first. A guest whose
configuration goes by the MAC address, such as a network file or a udev rule on its disk, does not find its interface:
what cloud-init and Ignition are given by the VM is looked through for that, and the VM left alone where it can't be
read; the disk can't be looked through. So a VM that runs or is about to start is never changed.

Undo: put the old address back. Where the VM was started with the new one, or another VM has the old one, that has to be
accepted.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

from exporter.facts.addresses import comparable
from exporter.facts.rule import IGNITION
from exporter.facts.vm_networks import parted
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...effects import at
from ...guards import guard
from ...patterns import PRESENT
from ...plan import Op, Patch, Refused, Replace, Test
from ...remediation import Scene
from ...undo import UndoRequest
from ...writes import Entries, Field
from .._grounds import table, tables
from ._identities import ALLOWED, IdentityCase, change, forbidden, not_the_copy, stopped
from ._taken_back import GuestValue, value_back

# Whether the configuration that a VM brings for its guest knows an interface by its MAC address.
#
# That of cloud-init and of Ignition may, as may an answer file of Windows, whose interfaces have it as their
# Identifier.

_SOURCES = ("cloudInitNoCloud", "cloudInitConfigDrive")
_SECRETS = {"networkDataSecretRef": "network data", "secretRef": "user data"}  # by the fields that name them
_ADDRESS = re.compile(r"[0-9a-fA-F]{2}(?:[:-][0-9a-fA-F]{2}){5}|[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){2}")
# A file of cloud-init or a part of its user data, data of it that are compressed, and a file of Ignition (data:,…).
_CODED = re.compile(r"encoding:\s*['\"]?(?:b64|base64|quoted|gz)|!!binary|\A\x1f|\bdata:[^\s,]*,", re.IGNORECASE)


def _old(case: IdentityCase) -> str:
    """In comparable form."""
    return str(case.evidence.get("macAddress") or "")


@guard(
    {
        "not_known_by_mac": "cloud-init and Ignition data in the VM do not name the old MAC address. No such "
        "data and no answer file of Windows is in a Secret or ConfigMap, which the sidecar does not read"
    }
)
def known_by_mac(case: IdentityCase) -> Refused | None:
    template, mac = table(table(case.whole.get("spec")).get("template")), _old(case)
    ignition = table(table(template.get("metadata")).get("annotations")).get(IGNITION)
    if why := _found(str(ignition or ""), mac):
        return Refused("not_known_by_mac", f"annotation {IGNITION} {why}")
    for volume in tables(table(template.get("spec")).get("volumes")):
        if table(volume.get("sysprep")):
            why = "is an answer file of Windows, which might name the MAC address and is not read"
            return Refused("not_known_by_mac", f"volume {volume.get('name')} {why}")
        for source in (table(volume.get(name)) for name in _SOURCES):
            if why := _names(source, mac):
                return Refused("not_known_by_mac", f"volume {volume.get('name')} {why}")
    return None


def _names(source: Mapping[str, Any], mac: str) -> str:
    for name, what in _SECRETS.items():
        if source.get(name):
            return f"has its {what} in a Secret, which might name the MAC address and is not read"
    for text in _texts(source):
        if text is None:
            return "has data that can't be decoded"
        if why := _found(text, mac):
            return why
    return ""


def _found(text: str, mac: str) -> str:
    if mac in map(comparable, _ADDRESS.findall(text)):
        return f"names the MAC address {mac}: change it there together with the interface"
    return "has encoded parts, which might name the MAC address and are not read" if _CODED.search(text) else ""


def _texts(source: Mapping[str, Any]) -> Iterator[str | None]:
    for name in ("networkData", "userData"):
        if text := source.get(name):
            yield str(text)
        if coded := source.get(f"{name}Base64"):
            try:
                yield b64decode(str(coded), validate=True).decode(errors="replace")
            except ValueError:
                yield None


_INTERFACES = "/spec/template/spec/domain/devices/interfaces"
_LOCAL = "02"  # the first octet of an address that is locally administered and of one interface
_POOL_NOTE = "/metadata/annotations/kubemacpool.io~1transaction-timestamp"  # set by its webhook with each such change


@guard({"one_interface": "one interface in the VM's spec has the MAC address"})
def _one(case: IdentityCase) -> Refused | None:
    found = _interfaces(case)
    if len(found) == 1:
        return None
    why = f"{len(found)} interfaces in the spec of {case.vm.ref} have the MAC address {_old(case)}"
    return Refused("one_interface", f"{why}: which of them is to have another one is not known")


def _interfaces(case: IdentityCase) -> list[tuple[int, Mapping[str, Any], str]]:
    """Those in the VM's spec that have the address, each with its place in the list and the address that it gets."""
    template = table(table(table(case.whole.get("spec")).get("template")).get("spec"))
    listed, mac = table(table(template.get("domain")).get("devices")).get("interfaces"), _old(case)
    found = enumerate(listed if isinstance(listed, list) else ())
    return [
        (at, each, drawn(case.vm.uid, str(each.get("name")), mac))
        for at, each in found
        if isinstance(each, Mapping) and comparable(_text(each)) == mac
    ]


def _text(interface: Mapping[str, Any]) -> str:
    found = interface.get("macAddress")
    return found if isinstance(found, str) else ""


def drawn(uid: str, interface: str, mac: str) -> str:
    """The address that an interface of a VM, by its UID, gets in place of another one: always the same."""
    digits = _LOCAL + blake2b(f"{uid} {interface} {mac}".encode(), digest_size=5).hexdigest()
    return ":".join(digits[at : at + 2] for at in range(0, len(digits), 2))


@guard(reads=(VirtualMachine.KIND, VirtualMachineInstance.KIND))
def having(scene: Scene, mac: str) -> list[str]:
    """The VMs and VMIs with an address on whatever network, in order."""
    mac = comparable(mac)
    every: list[VirtualMachine | VirtualMachineInstance] = [
        *scene.all(VirtualMachine),
        *scene.all(VirtualMachineInstance),
    ]
    return sorted({each.ref.path for each in every if any(parted(text)[1] == mac for text in each.macs)})


@guard({"new_mac_is_free": "no VM has the new MAC address"}, having)
def _free(case: IdentityCase) -> Refused | None:
    ((_, _, new),) = _interfaces(case)
    if taken := having(case.scene, new):
        return Refused("new_mac_is_free", f"{taken[0]} has the MAC address that {case.vm.ref} would get")
    return None


def _ops(case: IdentityCase) -> tuple[Op, ...]:
    ((place, interface, new),) = _interfaces(case)
    return (Test(f"{_INTERFACES}/{place}", interface), Replace(f"{_INTERFACES}/{place}/macAddress", new))


def _effect(case: IdentityCase) -> str:
    ((_, interface, new),) = _interfaces(case)
    return (
        f"From its next start on interface {interface.get('name')} has the MAC address {new}. IPAMClaims keep their "
        "addresses. A DHCP server that identifies clients by MAC address gives the guest another IP address, unless "
        "you make a reservation first. A guest whose disk has settings for the old MAC address doesn't apply them."
    )


REMEDIATION = change(
    "reassign_mac_address",
    "Give a stopped copy a MAC address of its own",
    forbidden.but("has_domain"),
    not_the_copy,
    stopped,
    known_by_mac,
    _one,
    _free,
    what="MAC address",
    old=_old,
    ops=_ops,
    writes=(Entries(_INTERFACES, "macAddress", to=PRESENT, was=PRESENT), Field(_POOL_NOTE)),
    effect=_effect,
    heeds_others=ALLOWED,
    note="Where the finding does not say which VM is the copy, the VM needs the annotation `steward.kubevirt-"
    'steward.io/copy-change-allowed: "true"`. **A DHCP server might give the guest another IP address.**',
)


# The old MAC address is free for the VM as long as nobody else has it, and its guest does not know the new one.


def _put_back(taken: UndoRequest, whole: Mapping[str, Any]) -> str:
    ops = taken.plan.step.ops if isinstance(taken.plan.step, Patch) else ()
    found = at(whole, next(op.path for op in ops if isinstance(op, Replace)))
    return found if isinstance(found, str) else ""


UNDO = value_back("reassign_mac_address", GuestValue("MAC address", "mac_is_free", _put_back, having))
