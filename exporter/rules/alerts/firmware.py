"""VMs and nodes that share an identity or an address, or whose identity changes."""

from __future__ import annotations

from ..model import Area, FindingAlert

_SHARED = ("kind", "namespace", "name", "group")
_GROUP = "The other VMs have group {{ $labels.group }}."

AREA = Area(
    name="firmware",
    note="VMs and nodes that share an identity or an address, or whose identity changes. Those that share a value have"
    " the same label group, which is not the value. While KubeVirt is upgraded no new UUID that is not persisted is"
    " reported, since KubeVirt writes UUIDs then.",
    quiet=("kubevirt_vm_firmware_uuid_not_persisted",),
    findings=(
        FindingAlert(
            name="VMFirmwareUUIDDuplicate",
            by=_SHARED,  # no reason: it changes whenever one of them is started or stopped
            not_paging={"Duplicate": "Both VMs run and serve. Licenses and inventories take them for one VM."},
            summary="VM {object} shares its firmware UUID with another VM",
            description=_GROUP,
            wait="15m",  # a copy gets its own before its first start
        ),
        FindingAlert(
            name="VMFirmwareUUIDUnstable",
            summary='VM {object} {{ if eq $labels.reason "InvalidUUID" }}has an invalid firmware UUID'
            '{{ else if eq $labels.reason "SpecRunMismatch" }}changes its firmware UUID at the next start'
            "{{ else }}has no firmware UUID in its spec{{ end }}",
            description="",
            wait="15m",  # a planned change is followed by its restart
        ),
        FindingAlert(
            name="VMSerialDuplicate",
            by=(*_SHARED, "reason"),
            summary="VM {object} runs with the serial of another VM",
            description=_GROUP,
            wait="10m",  # long enough to stop one of them and give it another serial
        ),
        FindingAlert(
            name="VMMACAddressDuplicate",
            by=(*_SHARED, "reason"),
            critical=("DuplicateMAC",),
            summary="VM {object} runs with another VM's MAC address on the same network",
            description=_GROUP,
            mild={
                # The page takes the bridges for one network.
                "DuplicateMAC": _GROUP + " The VMs run with one MAC address on bridges of different nodes. If the"
                " bridges are connected, traffic of one VM goes to the other. In that case, agree with the owners which"
                " VM keeps the MAC address. Stop the other VM, and give it a new MAC address."
            },
            mild_summary="VM {object} runs with another VM's MAC address on a bridge of the same name",
            wait="5m",  # a VM that is put in the place of another one may run beside it for moments
        ),
        FindingAlert(
            name="VMIPAddressDuplicate",
            by=(*_SHARED, "reason"),
            summary="VM {object} has the IP address of another guest on the same network",
            description=_GROUP,
            wait="10m",  # guest agents report again within minutes after an address was handed over
        ),
        FindingAlert(
            name="VMTemplatePinsFirmwareUUID",
            summary="{{ $labels.kind }} {object} sets one firmware UUID for all its VMs",
            description="",
            wait="10m",  # the template may still be being written
        ),
        FindingAlert(
            name="KubeVirtNodeSystemUUIDDuplicate",
            by=("kind", "name", "node", "group", "reason"),
            summary="Node {{ $labels.node }} has the system UUID of another node",
            description="The other nodes have group {{ $labels.group }}.",
            wait="10m",  # a node that was created again under another name is gone by then
            cluster_wide=True,
        ),
    ),
)
