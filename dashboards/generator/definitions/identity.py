"""Firmware UUIDs, serials and system UUIDs: who shares one, and who would."""

from __future__ import annotations

from .. import queries
from ..finding_panels import by_reason, by_severity_over_time, findings_table, reasons_stat, severity_stats
from ..findings import Findings
from ..model import Board, BoardRow, Panel, Threshold, Unit
from ..panels import SEVERITIES, each_value, lines, stat
from ..trust import trust
from .common import IDENTITY, VARIABLES

_FOUND = Findings(IDENTITY)
_ORIGINS = queries.each("kubevirt_vm_firmware_uuids")
_LEGACY = 'origin="legacy"'
_COLOURS = {"set": "blue", "legacy": "orange", "invalid": "red"}


def _of_origin(only: str) -> str:
    return f"sum(max by (cluster, origin) ({queries.each('kubevirt_vm_firmware_uuids', only)}))"


def _count(title: str, description: str, *reasons: str, colour: str) -> Panel:
    return reasons_stat(title, description, _FOUND, *reasons, thresholds=(Threshold(1, colour),))


BOARD = Board(
    "identity",
    "Identity",
    "the platform's owners, and whoever counts licences",
    "VMs that share a firmware UUID, a serial or an address, VMs that come back with another one, and what will make"
    " more of them.",
    (
        trust(_FOUND),
        BoardRow(
            "What is wrong",
            (
                *severity_stats(_FOUND, width=8),
                _count(
                    "Shared UUID, running",
                    "Running VMs that share their firmware UUID with another running VM: licences, backup and "
                    "monitoring take them for one.",
                    "Duplicate",
                    colour=SEVERITIES["critical"],
                ),
                _count(
                    "Shared UUID, stopped",
                    "VMs that share it with a VM that does not run: it is a duplicate once both run.",
                    "LatentDuplicate",
                    colour=SEVERITIES["warning"],
                ),
                _count(
                    "UUID will change",
                    "VMs that come back with another UUID once they are restarted.",
                    "SpecRunMismatch",
                    colour=SEVERITIES["warning"],
                ),
                _count(
                    "UUID not in the spec",
                    "VMs whose UUID is not in their spec: it is lost with the VM's object.",
                    "NotPersisted",
                    colour=SEVERITIES["info"],
                ),
                _count(
                    "Invalid UUIDs",
                    "VMs whose UUID is none, or one that vendors gave to many boards.",
                    "InvalidUUID",
                    colour=SEVERITIES["warning"],
                ),
                _count(
                    "Shared serial",
                    "VMs that share their serial with another VM.",
                    "SerialDuplicate",
                    colour=SEVERITIES["warning"],
                ),
                by_severity_over_time(_FOUND, width=12),
                by_reason(_FOUND, width=12),
            ),
        ),
        BoardRow(
            "Where UUIDs come from",
            (
                stat(
                    "UUIDs that follow from names",
                    "The share of VMs whose UUID follows from their name alone: a VM of that name has the same one in "
                    "every "
                    "cluster and namespace.",
                    f"sum(max by (cluster) ({queries.each('kubevirt_vm_firmware_uuids', _LEGACY)})) / "
                    f"sum(max by (cluster, origin) ({_ORIGINS}))",
                    Unit.RATIO,
                    width=6,
                    height=8,
                    decimals=1,
                ),
                lines(
                    "VMs by the origin of their UUID",
                    "Whether KubeVirt made it, somebody set it, or it follows from the name (legacy).",
                    *each_value("origin", _COLOURS, _of_origin),
                    width=18,
                    stacked=True,
                ),
            ),
        ),
        BoardRow(
            "Where",
            (
                findings_table(
                    "Findings about identity",
                    "Findings of one group share the same UUID or serial.",
                    _FOUND,
                    shows="reason group namespace name kind vm",
                    height=14,
                ),
            ),
        ),
    ),
    VARIABLES,
    place=30,
)
