"""VMs of different clusters that share a firmware UUID, for a ruler that sees the stewards of several clusters.

A VM is held like a finding: while no replica of its cluster sees its VMs it is what it was. The UUIDs that are shared
are sought first, so that the rest does not look at all VMs.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...findings.pages import reasons_of
from ..held import folded
from ..model import Alerting, Area, Recording, Rule
from ..values import Values

_INFO = 'kubevirt_vm_firmware_uuid_info{running="true"}'
_SEES = """(
  min by (cluster, job, instance) (kubevirt_steward_kind_synced{kind=~"VirtualMachine|VirtualMachineInstance"}) == 1
  and on (cluster, job, instance) kubevirt_steward_ready == 1
)"""
_SEEING = "cluster:kubevirt_steward_kind_synced:VMs"
_SHARED = "uuid:kubevirt_vm_firmware_uuid_info:shared"
_HELD = "VM:kubevirt_vm_firmware_uuid_info:held"


def _after(values: Values) -> Iterator[Rule]:
    namespace = values.namespace_label
    page = reasons_of("firmware_across_clusters")["DuplicateAcrossClusters"]
    kept = f"""(
  {_HELD}
  unless on (cluster) {_indented(_SEES)}
  and on (cluster) last_over_time({_SEEING}[{values.hold}])
)"""
    yield Recording(record=_SEEING, expr=f"max by (cluster) {_SEES}")
    yield Recording(
        record=_SHARED,
        expr=f"""count by (uuid) (
  count by (cluster, uuid) (
    (
      {_INFO}
      and on (cluster, job, instance) {_indented(_SEES, 3)}
    )
    or {_indented(kept, 2)}
  )
) > 1""",
    )
    shared = folded(f"({_INFO} and on (uuid) {_SHARED})", values, ("namespace", "name"))
    yield Recording(
        record=_HELD,
        expr=f"""max by (cluster, {namespace}, name, uuid) (
  {shared}
  and on (cluster, job, instance) {_indented(_SEES)}
)
or (
  {_indented(kept)}
  and on (uuid) {_SHARED}
)""",
    )
    yield Alerting(
        alert="VMFirmwareUUIDDuplicateAcrossClusters",
        expr=f"""max by (cluster, {namespace}, name, vm, uuid_prefix) (
  label_replace(label_replace({_HELD}, "uuid_prefix", "$1", "uuid", "(.{{8}}).*"), "vm", "$1", "name", "(.*)")
)""",
        wait="15m",  # a VM that moves from one cluster to another is in both for moments
        own=False,
        area="fleet",
        summary=f"VM {{{{ $labels.{namespace} }}}}/{{{{ $labels.name }}}} of cluster {{{{ $labels.cluster }}}} has the"
        " firmware UUID of another cluster's VM.",
        description="The UUID begins with {{ $labels.uuid_prefix }}. The other VMs have an alert with the same"
        f" uuid_prefix. {page.meaning} {page.impact} {page.next}",
    )


def _indented(expr: str, levels: int = 1) -> str:
    return expr.replace("\n", "\n" + "  " * levels)


AREA = Area(
    name="fleet",
    note="Several clusters at once, for a ruler that sees all of them: Thanos, Mimir, or a Prometheus that scrapes the"
    " stewards of several clusters. The steward of each cluster has to serve kubevirt_vm_firmware_uuid_info"
    " (metrics.firmwareUuidInfo: true, or copied: without VMs that nothing tells to have been copied), a series for"
    " each VM: the series limit (seriesLimit.family) must be larger than their number. Each series has a label cluster,"
    " the same from all replicas of one steward and another for each cluster; clusters without one count as one. The"
    " recorded series have whole UUIDs, of the few VMs that share one; alerts, which travel further, have the first 8"
    " digits as uuid_prefix, since a UUID may be a licence's key. A VM that is stopped, or waits for its other half in"
    " a migration between clusters, has running=false and is not alerted on: `steward check` with the dumps of all"
    " clusters names those too.",
    after=_after,
)
