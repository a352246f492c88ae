"""Feature gates and settings of KubeVirt, and the VMs that ask for what they do not allow."""

from __future__ import annotations

from .. import queries
from ..finding_panels import by_reason, by_severity_over_time, findings_table, reasons_stat, severity_stats
from ..findings import Findings
from ..links import page_link
from ..model import Board, BoardRow, Column, PanelQuery
from ..panels import ATTENTION, column, table, upgrading
from ..trust import trust
from .common import FEATURES, VARIABLES

_FOUND = Findings(FEATURES)
_REQUESTS = queries.each("kubevirt_feature_requests")
_GATES = queries.each("kubevirt_feature_enabled", 'source!~"off|always|default"')


def _asked(kind: str, phase: str) -> str:
    chosen = queries.each("kubevirt_feature_requests", f'kind="{kind}"', phase)
    return f"sum by (cluster, feature) (max by (cluster, feature, kind, phase) ({chosen}))"


ASKED = table(
    "Features that VMs use",
    "Features that VMs or VMIs use and that a feature gate or a setting must allow. Unused features are omitted.",
    (
        column("cluster", width=90, links=(page_link("steward"),)),
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
    sort=("-running VMs",),
)

SWITCHED = table(
    "Configured feature gates",
    "Feature gates that the KubeVirt object enables or disables.",
    (
        column("cluster", width=90, links=(page_link("steward"),)),
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
    "the platform team and KubeVirt administrators",
    "VMs that use features which KubeVirt's gates, settings or nodes do not offer, and the effect of an upgrade.",
    (
        trust(_FOUND, upgrading()),
        BoardRow(
            "Findings",
            (
                *severity_stats(_FOUND),
                reasons_stat(
                    "VMs that don't start",
                    "VMs and VMIs that wait or fail to start because a feature is not allowed or no node offers it.",
                    _FOUND,
                    "StartBlocked",
                    "PendingBlocked",
                    "NoNodeForStart",
                    "NoNodeSupports",
                    thresholds=ATTENTION,
                ),
                reasons_stat(
                    "VMs that fail at restart",
                    "Running VMs whose next start will fail. Do not restart them before the finding is resolved.",
                    _FOUND,
                    "WillFailAtRestart",
                    thresholds=ATTENTION,
                ),
                reasons_stat(
                    "Broken by upgrade",
                    "VMs and VMIs that use a feature which the new release does not allow.",
                    _FOUND,
                    "BreaksAtUpgrade",
                    thresholds=ATTENTION,
                ),
                by_severity_over_time(_FOUND, width=12, height=9),
                by_reason(_FOUND, width=12, height=9),
            ),
        ),
        BoardRow("Used and allowed features", (ASKED, SWITCHED)),
        BoardRow(
            "Where",
            (
                findings_table(
                    "Findings about features",
                    "VMs, VMIs, templates, and the KubeVirt object itself.",
                    _FOUND,
                    shows="reason feature namespace name kind vm",
                    height=12,
                ),
            ),
        ),
    ),
    VARIABLES,
    place=60,
)
