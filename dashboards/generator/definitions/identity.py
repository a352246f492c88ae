"""Firmware UUIDs, serials and system UUIDs: who shares one, and who would."""

from __future__ import annotations

from .. import queries
from ..model import Board, BoardRow, Panel, Threshold, Unit
from ..panels import SEVERITIES, by_reason, by_severity_over_time, each_value, findings_table, lines, stat, trust
from .common import IDENTITY, VARIABLES

_ORIGINS = queries.each("kubevirt_vm_firmware_uuids")
_LEGACY = 'origin="legacy"'
_COLOURS = {"set": "blue", "legacy": "orange", "invalid": "red"}


def _of_origin(only: str) -> str:
    return f"sum(max by (cluster, origin) ({queries.each('kubevirt_vm_firmware_uuids', only)}))"


def _count(title: str, description: str, *reasons: str, colour: str) -> Panel:
    found = queries.counts("", IDENTITY, queries.reasons_are(reasons))
    return stat(title, description, found, thresholds=(Threshold(1, colour),))


BOARD = Board(
    "identity",
    "Identity",
    "the platform's owners, and whoever counts licences",
    "VMs that share a firmware UUID, a serial or an address, VMs that come back with another one, and what will make"
    " more of them.",
    (
        trust(*IDENTITY),
        BoardRow(
            "What is wrong",
            (
                _count(
                    "Same UUID, running",
                    "Running VMs that share their firmware UUID with another running VM: licences, backup and "
                    "monitoring take them for one.",
                    "Duplicate",
                    colour=SEVERITIES["critical"],
                ),
                _count(
                    "Same UUID, latent",
                    "VMs that share it with a VM that does not run: it is a duplicate once both run.",
                    "LatentDuplicate",
                    colour=SEVERITIES["warning"],
                ),
                _count(
                    "Changes at the next start",
                    "VMs that come back with another UUID once they are restarted.",
                    "SpecRunMismatch",
                    colour=SEVERITIES["warning"],
                ),
                _count(
                    "Not persisted",
                    "VMs whose UUID is not in their spec: it is lost with the VM's object.",
                    "NotPersisted",
                    colour=SEVERITIES["info"],
                ),
                _count(
                    "Invalid",
                    "VMs whose UUID is none, or one that vendors gave to many boards.",
                    "InvalidUUID",
                    colour=SEVERITIES["warning"],
                ),
                _count(
                    "Same serial",
                    "VMs that share their serial with another VM.",
                    "SerialDuplicate",
                    colour=SEVERITIES["warning"],
                ),
                by_severity_over_time(IDENTITY, width=12),
                by_reason(IDENTITY, "By reason", width=12),
            ),
        ),
        BoardRow(
            "Where UUIDs come from",
            (
                stat(
                    "Derived from a name",
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
                    IDENTITY,
                    shows="severity reason group namespace name kind node",
                    height=14,
                ),
            ),
        ),
    ),
    VARIABLES,
    place=30,
)
