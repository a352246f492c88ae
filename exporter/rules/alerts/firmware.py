"""VMs and nodes that share an identity or an address, or whose identity changes."""

from __future__ import annotations

from ..model import Area, FindingAlert

_SHARED = ("kind", "namespace", "name", "group")

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
            not_paging={"Duplicate": "Both VMs run and serve; licenses and inventories take them for one."},
            summary="VM {object} shares its firmware UUID with another VM",
            description="VM {object} shares its firmware UUID with another VM (group {{ $labels.group }}).",
            wait="15m",  # a copy gets its own before its first start
            says={
                "Duplicate": "Both run, and software that identifies VMs by their UUID takes them for one. Stop one of"
                " them and give it a new UUID.",
                "LatentDuplicate": "They collide once both run: give one of them a new UUID before it is started.",
            },
        ),
        FindingAlert(
            name="VMFirmwareUUIDUnstable",
            summary='The firmware UUID of VM {object} {{ if eq $labels.reason "InvalidUUID" }}is not valid'
            '{{ else if eq $labels.reason "SpecRunMismatch" }}changes with its next start{{ else }}is not in its spec'
            "{{ end }}",
            description="VM {object}:",
            wait="15m",  # a planned change is followed by its restart
            says={
                "SpecRunMismatch": "it runs with another firmware UUID than its spec has. Its next start changes its"
                " identity, and until then its CPU, memory and affinity can't be changed. Restart it only if the"
                " change is meant and the VM has no persistent TPM. Otherwise write the running UUID into the spec.",
                "InvalidUUID": "its firmware UUID is not a valid UUID, or is a placeholder. The VM might not start, or"
                " can't be distinguished from others. Give the VM a valid UUID of its own, unless it has a persistent"
                " TPM that is in use.",
                "NotPersisted": "KubeVirt should have written its firmware UUID into its spec and has not for 10"
                " minutes. A later release might give it another one. Find out what prevents the write, or write the"
                " UUID in use into the spec.",
            },
        ),
        FindingAlert(
            name="VMSerialDuplicate",
            by=(*_SHARED, "reason"),
            summary="VM {object} runs with the serial of another VM",
            description="VM {object} runs with the same serial as another running VM (group {{ $labels.group }})."
            " Inventories and licenses that rely on the serial take them for one. Stop the copy and give it another"
            " serial.",
            wait="10m",  # long enough to stop one of them and give it another serial
        ),
        FindingAlert(
            name="VMMACAddressDuplicate",
            by=(*_SHARED, "reason"),
            critical=("DuplicateMAC",),
            summary="VM {object} runs with the MAC address of another VM on the same network",
            description="VM {object} runs with the same MAC address as another VM on the same network (group"
            " {{ $labels.group }}). The traffic of one goes to the other. Decide with the owners which VM keeps the"
            " address. Then stop the other VM, and give it a new MAC address.",
            mild={
                "DuplicateMAC": "VM {object} runs with the same MAC address as another VM (group {{ $labels.group }}),"
                " each on a bridge of its own node. If the bridges are one network, the traffic of one goes to the"
                " other. Then decide with the owners which VM keeps the address, stop the other VM, and give it a new"
                " MAC address."
            },
            mild_summary="VM {object} runs with another VM's MAC address, on what might be one network",
            wait="5m",  # a VM that is put in the place of another one may run beside it for moments
        ),
        FindingAlert(
            name="VMIPAddressDuplicate",
            by=(*_SHARED, "reason"),
            summary="The guest of VM {object} has another guest's IP address on the same network",
            description="The guest of VM {object} reports the same IP address as the guest of another VM on the same"
            " network (group {{ $labels.group }}). Connections to it break. Find out which guest should have the"
            " address, and give the other guest an address, a machine-id and a DHCP client id of its own.",
            wait="10m",  # guest agents report again within minutes after an address was handed over
        ),
        FindingAlert(
            name="VMTemplatePinsFirmwareUUID",
            summary="The template of {{ $labels.kind }} {object} sets a fixed firmware UUID",
            description="The template of {{ $labels.kind }} {object} sets a firmware UUID, so that everything made from"
            " it has the same. Remove the UUID from the template, then give each VM one of its own.",
            wait="10m",  # the template may still be being written
        ),
        FindingAlert(
            name="KubeVirtNodeSystemUUIDDuplicate",
            by=("kind", "name", "node", "group", "reason"),
            summary="Node {{ $labels.node }} has the system UUID of another node",
            description="Node {{ $labels.node }} has the same system UUID as another node (group {{ $labels.group }})."
            " libvirt takes them for one host and refuses each migration between them. Give each node a system UUID of"
            " its own.",
            wait="10m",  # a node that was created again under another name is gone by then
            cluster_wide=True,
        ),
    ),
)
