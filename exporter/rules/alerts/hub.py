"""What a hub of several clusters asks of each: a few series a cluster, whatever its size.

Counts are of the replica that has an answer, and absent where none has: a hub tells nothing found from nothing known.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..held import SEVERITY, answers
from ..model import Area, Recording, Rule
from ..values import Values

_READY = "kubevirt_steward_ready == 1"
OPEN = "cluster:kubevirt_steward_findings:open"
UNKNOWN = "cluster:kubevirt_steward_check_state:unknown"
REPLICAS = "cluster:kubevirt_steward_ready:replicas"
OBJECTS = "cluster:kubevirt_steward_kind_objects:max"
SERIES = (OPEN, UNKNOWN, REPLICAS, OBJECTS)


def _before(_: Values) -> Iterator[Rule]:
    counted = f'label_replace(kubevirt_steward_findings, "{SEVERITY}", "$1", "severity", "(.*)")'
    yield Recording(
        record=OPEN,
        expr=f"""sum by (cluster, check, {SEVERITY}) (
  max by (cluster, check, reason, {SEVERITY}) (
    {counted} > 0
    and on (cluster, check, job, instance) ({answers()})
  )
)
or max by (cluster, check) (0 * ({answers()}))""",
    )
    yield Recording(
        record=UNKNOWN,
        expr=f"""count by (cluster) (
  max by (cluster, check) (kubevirt_steward_check_state{{state="unknown"}} == 1)
  unless on (cluster, check) ({answers()})
)
or 0 * max by (cluster) ({_READY})""",
    )
    yield Recording(record=REPLICAS, expr="sum by (cluster) (kubevirt_steward_ready)")
    yield Recording(
        record=OBJECTS,
        expr='max by (cluster, kind) (kubevirt_steward_kind_objects{kind=~"VirtualMachine|VirtualMachineInstance"})',
    )


AREA = Area(
    name="hub",
    note="What goes to the hub of several clusters: a few series of each. docs/clusters.md says how they get there.",
    before=_before,
)
