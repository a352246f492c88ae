"""Feature gates and settings of KubeVirt, and the VMs that ask for what they do not allow."""

from __future__ import annotations

from .. import queries
from ..model import Board, BoardRow, Column, PanelQuery
from ..panels import (
    ATTENTION,
    by_reason,
    by_severity_over_time,
    column,
    findings_table,
    severity_stats,
    stat,
    table,
    trust,
    upgrading,
)
from .common import FEATURES, VARIABLES

_REQUESTS = queries.each("kubevirt_feature_requests")
_GATES = queries.each("kubevirt_feature_enabled", 'source!~"off|always|default"')


def _asked(kind: str, phase: str) -> str:
    chosen = queries.each("kubevirt_feature_requests", f'kind="{kind}"', phase)
    return f"sum by (cluster, feature) (max by (cluster, feature, kind, phase) ({chosen}))"


ASKED = table(
    "Features that VMs ask for",
    "Everything that a VM or VMI asks for and that a feature gate or a setting has to allow. Features that nobody "
    "asks for "
    "are left out.",
    (
        column("cluster", width=90),
        column("feature"),
        Column("running VMs", value=1, width=120),
        Column("stopped VMs", value=2, width=125),
        Column("VMIs", value=3, width=70),
    ),
    PanelQuery(f"sum by (cluster, feature) (max by (cluster, feature, kind, phase) ({_REQUESTS})) > 0"),
    *(
        PanelQuery(f"{_asked(kind, phase)} and on (cluster, feature) ({_REQUESTS} > 0)")
        for kind, phase in (
            ("VirtualMachine", 'phase="running"'),
            ("VirtualMachine", 'phase="stopped"'),
            ("VirtualMachineInstance", 'phase!~"Succeeded|Failed"'),
        )
    ),
    width=12,
    sort="-running VMs",
)

SWITCHED = table(
    "Gates that were switched",
    "Feature gates that the KubeVirt object turns on or off.",
    (
        column("cluster", width=90),
        column("feature", "gate"),
        column("stage", width=110),
        column("source", width=110),
        Column("is", value=0, width=70, texts={"0": "off", "1": "on"}),
    ),
    PanelQuery(f"max by (cluster, feature, stage, source) ({_GATES})"),
    width=12,
)

BOARD = Board(
    "features",
    "Features",
    "the platform's owners, and whoever upgrades KubeVirt",
    "Which VMs ask for what KubeVirt's feature gates, settings or nodes do not offer, and what an upgrade changes.",
    (
        trust(*FEATURES, also=(upgrading(),)),
        BoardRow(
            "What is wrong",
            (
                *severity_stats(FEATURES),
                stat(
                    "VMs that do not start",
                    "VMs and VMIs that wait or fail to start, since a feature is not allowed or no node offers it.",
                    queries.counts(
                        "",
                        FEATURES,
                        queries.reasons_are(("StartBlocked", "PendingBlocked", "NoNodeForStart", "NoNodeSupports")),
                    ),
                    thresholds=ATTENTION,
                ),
                stat(
                    "Fail at the next restart",
                    "Running VMs that do not start again as they are.",
                    queries.counts("", FEATURES, queries.reasons_are(("WillFailAtRestart",))),
                    thresholds=ATTENTION,
                ),
                stat(
                    "Break at the upgrade",
                    "VMs and VMIs that ask for a feature that the release which is being rolled out does not allow.",
                    queries.counts("", FEATURES, queries.reasons_are(("BreaksAtUpgrade",))),
                    thresholds=ATTENTION,
                ),
                by_severity_over_time(FEATURES, width=12, height=9),
                by_reason(FEATURES, "By reason", width=12, height=9),
            ),
        ),
        BoardRow("What is asked for, and what is allowed", (ASKED, SWITCHED)),
        BoardRow(
            "Where",
            (
                findings_table(
                    "Findings about features",
                    "VMs, VMIs, templates, and the KubeVirt object itself.",
                    FEATURES,
                    shows="severity reason feature namespace name kind node",
                    height=12,
                ),
            ),
        ),
    ),
    VARIABLES,
    place=60,
)
