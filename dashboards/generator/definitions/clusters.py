"""Several clusters beside each other."""

from __future__ import annotations

from .. import queries
from ..model import Board, BoardRow, Column, Link, PanelQuery, Threshold, Unit
from ..panels import ATTENTION, SEVERITIES, column, lines, stat, table
from .common import CLUSTERS, LINKS

_FLEET = Link("Board of the fleet", "/d/kubevirt-steward-fleet?var-cluster={cluster}")
_VM = Link("Board of the VM", "/d/kubevirt-steward-vm?var-cluster={cluster}&var-namespace={namespace}&var-name={name}")
_STATE = queries.each("kubevirt_steward_check_state", 'state="unknown"')
_ANSWERING = queries.each("kubevirt_steward_check_state", 'state="answering"')
_BY_CHECK = "max by (cluster, check)"
_UUIDS = queries.each("kubevirt_vm_firmware_uuid_info", 'running="true"')
_SEEN = f"last_over_time({queries.each('kubevirt_steward_build_info')}[1d])"
_READY = f"({queries.each('kubevirt_steward_ready')} == 1)"
_VMS = queries.each("kubevirt_steward_kind_objects", 'kind="VirtualMachine"')
_SHARED = f"count by (uuid) (count by (uuid, cluster) ({_UUIDS})) > 1"


def _of(severity: str) -> str:
    return queries.counts("cluster", (), queries.severity_is(severity))


EACH = table(
    "Clusters",
    "A row for each cluster whose steward is scraped. A cluster that has no row is not seen. An empty cell is an "
    "answer "
    "that is missing.",
    (
        column("cluster", link=_FLEET),
        Column("replicas that answer", value=0, width=170),
        Column("checks that answer", value=1, width=160),
        Column("checks that do not", value=2, width=160, thresholds=ATTENTION),
        Column("critical", value=3, thresholds=(Threshold(1, SEVERITIES["critical"]),)),
        Column("warning", value=4, thresholds=(Threshold(1, SEVERITIES["warning"]),)),
        Column("info", value=5),
        Column("VMs", value=6),
        Column("KubeVirt upgrading", value=7, texts={"0": "no", "1": "yes"}),
    ),
    PanelQuery(f"sum by (cluster) (max by (cluster, job, instance) ({queries.each('kubevirt_steward_ready')}))"),
    PanelQuery(f"sum by (cluster) ({_BY_CHECK} ({_ANSWERING}))"),
    PanelQuery(f"sum by (cluster) ({_BY_CHECK} ({_STATE}) * (1 - {_BY_CHECK} ({_ANSWERING})))"),
    PanelQuery(_of("critical")),
    PanelQuery(_of("warning")),
    PanelQuery(_of("info")),
    PanelQuery(f"max by (cluster) ({_VMS})"),
    PanelQuery(f"max by (cluster) ({queries.each('kubevirt_upgrade_in_progress')})"),
    sort="-critical",
    height=7,
)

BOARD = Board(
    "clusters",
    "Clusters",
    "whoever runs several clusters",
    "Clusters beside each other: which can be trusted, which has most to do, and which VMs share a firmware UUID.",
    (
        BoardRow(
            "Can this be trusted?",
            (
                stat(
                    "Clusters that answer",
                    "Clusters with a replica of the steward that has listed and evaluated every required kind.",
                    f"count(max by (cluster) ({queries.each('kubevirt_steward_ready')} == 1))",
                    width=6,
                ),
                stat(
                    "Clusters that do not",
                    "Clusters whose steward was scraped within the last day, and of which no replica answers now.",
                    queries.zero_while_seen(f"count(max by (cluster) ({_SEEN}) unless on (cluster) {_READY})"),
                    thresholds=ATTENTION,
                    width=6,
                ),
                stat(
                    "Checks without an answer",
                    "Checks, counted in each cluster, for which no replica has an answer.",
                    f"sum({_BY_CHECK} ({_STATE}) * (1 - {_BY_CHECK} ({_ANSWERING})))",
                    thresholds=ATTENTION,
                    width=6,
                ),
                stat(
                    "Versions of the steward",
                    "Different versions that run. More than one is normal only while it is being updated.",
                    f"count(count by (version) ({queries.each('kubevirt_steward_build_info')}))",
                    thresholds=(Threshold(2, "orange"),),
                    width=6,
                ),
            ),
        ),
        BoardRow("Clusters", (EACH,)),
        BoardRow(
            "Over time",
            (
                lines(
                    "Critical findings",
                    "Open findings of severity critical, by cluster. A gap is a time without an answer.",
                    PanelQuery(_of("critical"), "{{cluster}}"),
                ),
                lines(
                    "Checks that answer",
                    "Of all checks that apply and are not disabled: the share for which some replica has an answer.",
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
                    "Firmware UUIDs that running VMs of more than one cluster have. It needs metrics.firmwareUuidInfo "
                    "in the "
                    "configuration of every steward.",
                    queries.zero_where(f"count({_SHARED})", _UUIDS),
                    thresholds=(Threshold(1, SEVERITIES["critical"]),),
                    width=6,
                    height=8,
                ),
                table(
                    "VMs that share one",
                    "Running VMs whose firmware UUID a VM of another cluster has too.",
                    (
                        column("uuid", "UUID", width=330),
                        column("cluster"),
                        column("namespace"),
                        column("name", link=_VM),
                        column("origin"),
                    ),
                    PanelQuery(f"max by (cluster, namespace, name, uuid, origin) ({_UUIDS}) and on (uuid) ({_SHARED})"),
                    width=18,
                    height=8,
                    sort="UUID",
                ),
            ),
        ),
    ),
    (CLUSTERS, *LINKS),
    place=20,
)
