"""Several clusters beside each other."""

from __future__ import annotations

from .. import queries
from ..findings import Findings
from ..links import board_link
from ..model import Board, BoardRow, PanelQuery, Threshold, Unit
from ..panels import ATTENTION, SEVERITIES, column, lines, stat, table
from ..trust import answers, stewards
from .common import CLUSTERS, LINKS

_ALL = Findings(everywhere=True)
_VM = board_link("vm", "Board VM", namespace="{namespace}", name="{name}")
_STATE = queries.each("kubevirt_steward_check_state", 'state="unknown"')
_ANSWERING = queries.each("kubevirt_steward_check_state", 'state="answering"')
_BY_CHECK = "max by (cluster, check)"
_UUIDS = queries.each("kubevirt_vm_firmware_uuid_info", 'running="true"')
_SHARED = f"count by (uuid) (count by (uuid, cluster) ({_UUIDS})) > 1"


def _of(severity: str) -> str:
    return _ALL.that(queries.severity_is(severity)).count_of_clusters()


BOARD = Board(
    "clusters",
    "Clusters",
    "operators of several clusters",
    "Comparison of clusters: completeness of their data, their findings, and VMs that share a firmware UUID.",
    (
        BoardRow(
            "Completeness of the data",
            (
                answers("All stewards respond"),
                stat(
                    "Clusters without response",
                    "Clusters with a steward now or recently, but no responding replica. At red, follow StewardDown.",
                    queries.zero_where(f"count({queries.ANSWERS} == 0)", queries.ANSWERS),
                    thresholds=(Threshold(1, "red"),),
                    width=8,
                ),
                stat(
                    "Unanswered checks",
                    "Checks, counted in each cluster, that no replica can evaluate.",
                    f"sum({_BY_CHECK} ({_STATE}) * (1 - {_BY_CHECK} ({_ANSWERING})))",
                    thresholds=ATTENTION,
                    width=6,
                ),
                stat(
                    "Versions of the steward",
                    "Different running versions. More than one is expected only during an update.",
                    f"count(count by (version) ({queries.each('kubevirt_steward_build_info')}))",
                    thresholds=(Threshold(2, "orange"),),
                    width=6,
                ),
                stewards(_ALL),
            ),
        ),
        BoardRow(
            "Over time",
            (
                lines(
                    "Critical findings, by cluster",
                    "Open critical findings, including stale findings. A gap means no data from the steward.",
                    PanelQuery(_of("critical"), "{{cluster}}", step="5m"),
                ),
                lines(
                    "Evaluated checks, by cluster",
                    "Share of the applicable, enabled checks that at least one replica evaluates.",
                    PanelQuery(
                        f"avg by (cluster) ({_BY_CHECK} ({_ANSWERING}) and on (cluster, check) "
                        f"({_BY_CHECK} ({_STATE}) + {_BY_CHECK} ({_ANSWERING}) > 0))",
                        "{{cluster}}",
                    ),
                    unit=Unit.RATIO,
                    maximum=1,
                ),
            ),
        ),
        BoardRow(
            "One firmware UUID in several clusters",
            (
                stat(
                    "UUIDs shared",
                    "Firmware UUIDs of running VMs in more than one cluster. Needs metrics.firmwareUuidInfo in the "
                    "configuration of every steward.",
                    queries.zero_where(f"count({_SHARED})", _UUIDS),
                    thresholds=(Threshold(1, SEVERITIES["critical"]),),
                    width=6,
                    height=8,
                ),
                table(
                    "VMs that share a UUID",
                    "Running VMs whose firmware UUID a VM in another cluster also has.",
                    (
                        column("uuid", "UUID", width=330),
                        column("cluster"),
                        column("namespace"),
                        column("name", links=(_VM,)),
                        column("origin"),
                    ),
                    PanelQuery(f"max by (cluster, namespace, name, uuid, origin) ({_UUIDS}) and on (uuid) ({_SHARED})"),
                    width=18,
                    height=8,
                    sort=("UUID",),
                ),
            ),
        ),
    ),
    (CLUSTERS, *LINKS),
    place=20,
)
