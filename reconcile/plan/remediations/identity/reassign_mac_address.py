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

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from exporter.domain.networks.guest_interfaces import parted
from exporter.domain.networks.mac import comparable
from exporter.findings.finding import Finding
from exporter.store.kinds.pod import Pod
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.kinds.virtual_machine_snapshot_content import VirtualMachineSnapshotContent

from ...patterns import PRESENT
from ...plan import Patch, Plan, Refused, Replace, Risk, Test
from ...remediation import Remediation, Scene
from ...writes import Entries, Field, Patched, Write
from .._grounds import table
from ._firmware import PRECONDITIONS, READS, forbidden, vm_of
from ._guest_network import NOT_BY_MAC, known_by_mac
from ._stopped import STOPPED, saved, stopped
from ._the_copy import ALLOWED, THE_COPY, not_the_copy

_INTERFACES = "/spec/template/spec/domain/devices/interfaces"
_LOCAL = "02"  # the first octet of an address that is locally administered and of one interface
_POOL_NOTE = "/metadata/annotations/kubemacpool.io~1transaction-timestamp"  # set by its webhook with each such change


def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    looked_up = vm_of(finding, scene)
    if isinstance(looked_up, Refused):
        return looked_up
    ref, (whole, vm), mac = finding.subject, looked_up, str(finding.evidence.get("macAddress") or "")
    refused = forbidden(scene, vm, whole) or not_the_copy(finding, scene, vm, whole) or stopped(scene, vm, whole)
    if refused := refused or known_by_mac(whole, mac):
        return refused
    found = _interfaces(whole, mac)
    if len(found) != 1:
        why = f"{len(found)} interfaces in the spec of {vm.ref} have the MAC address {mac}"
        return Refused("one_interface", f"{why}: which of them is to have another one is not known")
    place, interface = found[0]
    new = drawn(vm.uid, str(interface.get("name")), mac)
    if taken := having(scene, new):
        return Refused("new_mac_is_free", f"{taken[0]} has the MAC address that {vm.ref} would get")
    effect = (
        f"From its next start on interface {interface.get('name')} has the MAC address {new}. IPAMClaims keep their "
        "addresses. A DHCP server that goes by the MAC address gives the guest another IP address, unless a "
        "reservation is made first; a guest with network settings for the old one on its disk does not find it."
    )
    return REMEDIATION.planned(
        finding,
        Patch(
            target=ref,
            ops=(Test(f"{_INTERFACES}/{place}", interface), Replace(f"{_INTERFACES}/{place}/macAddress", new)),
        ),
        effect=effect + saved(scene, vm, "the MAC address"),
        risk=Risk.IDENTITY,
        undo=f"put the old MAC address {mac} back while the VM is stopped",
    )


def _interfaces(whole: Mapping[str, Any], mac: str) -> list[tuple[int, Mapping[str, Any]]]:
    """Those in a VM's spec that have the address, each with its place in the list."""
    template = table(table(table(whole.get("spec")).get("template")).get("spec"))
    listed = table(table(template.get("domain")).get("devices")).get("interfaces")
    found = enumerate(listed if isinstance(listed, list) else ())
    return [(at, each) for at, each in found if isinstance(each, Mapping) and comparable(_text(each)) == mac]


def _text(interface: Mapping[str, Any]) -> str:
    found = interface.get("macAddress")
    return found if isinstance(found, str) else ""


def drawn(uid: str, interface: str, mac: str) -> str:
    """The address that an interface of a VM, by its UID, gets in place of another one: always the same."""
    digits = _LOCAL + blake2b(f"{uid} {interface} {mac}".encode(), digest_size=5).hexdigest()
    return ":".join(digits[at : at + 2] for at in range(0, len(digits), 2))


def having(scene: Scene, mac: str) -> list[str]:
    """The VMs and VMIs with an address on whatever network, in order."""
    every: list[VirtualMachine | VirtualMachineInstance] = [
        *scene.all(VirtualMachine),
        *scene.all(VirtualMachineInstance),
    ]
    return sorted({each.ref.path for each in every if any(parted(text)[1] == mac for text in each.macs)})


REMEDIATION = Remediation(
    id="reassign_mac_address",
    title="Give a stopped copy a MAC address of its own",
    answers={"mac_duplicates": ("DuplicateMAC", "LatentDuplicateMAC")},
    reads=(*READS, Pod.KIND, VirtualMachineSnapshotContent.KIND),
    writes=(
        Write(
            "kubevirt.io",
            "virtualmachines",
            ("patch",),
            (Patched(Entries(_INTERFACES, "macAddress", to=PRESENT, was=PRESENT), Field(_POOL_NOTE)),),
        ),
    ),
    plan=_plan,
    heeds_others=ALLOWED,
    preconditions={name: what for name, what in PRECONDITIONS.items() if name != "has_domain"}
    | THE_COPY
    | STOPPED
    | NOT_BY_MAC
    | {
        "one_interface": "one interface in the VM's spec has the MAC address",
        "new_mac_is_free": "no VM has the new MAC address",
    },
    risk=Risk.IDENTITY,
    undo="put the old MAC address back; exact while the VM has not been started since",
)
