"""Instancetypes, preferences and their ControllerRevisions: what VMs depend on, and what is missing."""

from __future__ import annotations

from functools import partial

from .. import queries
from ..finding_panels import by_reason, by_severity_over_time, findings_table, reasons_stat, severity_stats
from ..findings import Findings
from ..links import page_link
from ..model import Board, BoardRow, Column, Panel, PanelQuery, Threshold
from ..panels import NONE_OR_UNSEEN, SEVERITIES, column, each_value, lines, table
from ..trust import trust
from .common import INSTANCETYPES, VARIABLES

_FOUND = Findings(INSTANCETYPES)
MODES = {"pinned": "dark-blue", "revision": "blue", "unversioned": "orange", "inferred": "purple"}


def _uses(title: str, metric: str) -> Panel:
    by = "cluster, scope, namespace, name"
    chosen = queries.each(metric, queries.NAMESPACE)
    used = f"sum by ({by}) (max by ({by}, mode) ({chosen})) > 0"
    modes = (queries.each(metric, f'mode="{mode}"', queries.NAMESPACE) for mode in MODES)
    return table(
        title,
        "VMs by the mode of their reference. Pinned and by revision: they have a copy. Unversioned: they use the live "
        "object. Inferred: not resolved yet.",
        (
            column("cluster", width=110, links=(page_link("steward"),)),
            column("scope", width=110),
            column("namespace", width=150),
            column("name"),
            Column("VMs", value=0, width=80),
            *(Column(mode, value=i + 1, width=120, thresholds=_alarm(mode)) for i, mode in enumerate(MODES)),
        ),
        PanelQuery(used),
        *(PanelQuery(f"sum by ({by}) (max by ({by}, mode) ({each})) and on ({by}) ({used})") for each in modes),
        height=7,
        sort=("-VMs",),
    )


def _alarm(mode: str) -> tuple[Threshold, ...]:
    return (Threshold(1, "orange"),) if mode == "unversioned" else ()


def _by_mode(metric: str, only: str) -> str:
    by = "cluster, scope, namespace, name, mode"
    return f"sum(max by ({by}) ({queries.each(metric, queries.NAMESPACE, only)}))"


BOARD = Board(
    "instancetypes",
    "Instancetypes",
    "the platform team",
    "VMs whose instancetype, preference or ControllerRevision is missing, unusable or will be lost; dependencies.",
    (
        trust(_FOUND),
        BoardRow(
            "Findings",
            (
                *severity_stats(_FOUND),
                reasons_stat(
                    "VMs that can't start",
                    "VMs whose instancetype, preference or ControllerRevision KubeVirt can't find or use.",
                    _FOUND,
                    "ObjectMissing",
                    "RevisionMissing",
                    "UnknownKind",
                    "RevisionUndecodable",
                    "FailureStands",
                    thresholds=(Threshold(1, SEVERITIES["critical"]),),
                ),
                reasons_stat(
                    "VMs without a copy",
                    "VMs that use the live instancetype or preference: a change or deletion of it affects them.",
                    _FOUND,
                    "Unversioned",
                    thresholds=(Threshold(1, SEVERITIES["warning"]),),
                ),
                reasons_stat(
                    "VMs whose copy differs",
                    "VMs whose copy differs from the live object, or whose object was deleted.",
                    _FOUND,
                    "Drifted",
                    "ObjectGone",
                    "ObjectRecreated",
                    thresholds=(Threshold(1, SEVERITIES["info"]),),
                ),
                by_severity_over_time(_FOUND, width=12, height=9),
                by_reason(_FOUND, width=12, height=9),
            ),
        ),
        BoardRow(
            "Dependencies",
            (
                _uses("Instancetypes in use", "kubevirt_instancetype_vms"),
                _uses("Preferences in use", "kubevirt_preference_vms"),
                lines(
                    "VMs by how they refer to their instancetype",
                    "The deletion of an object breaks its unversioned VMs.",
                    *each_value("mode", MODES, partial(_by_mode, "kubevirt_instancetype_vms")),
                    empty=NONE_OR_UNSEEN,
                    stacked=True,
                ),
                lines(
                    "VMs by how they refer to their preference",
                    "The deletion of an object breaks its unversioned VMs.",
                    *each_value("mode", MODES, partial(_by_mode, "kubevirt_preference_vms")),
                    empty=NONE_OR_UNSEEN,
                    stacked=True,
                ),
            ),
        ),
        BoardRow(
            "Where",
            (
                findings_table(
                    "Findings about instancetypes and preferences",
                    "VMs, pools, instancetypes, preferences and ControllerRevisions.",
                    _FOUND,
                    shows="reason namespace name kind vm",
                    height=12,
                ),
            ),
        ),
    ),
    VARIABLES,
    place=70,
)
