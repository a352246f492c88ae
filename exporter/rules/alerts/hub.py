"""What of the steward goes from a cluster to the hub of several: names of series, and how each way there wants them.

Where a cluster evaluates the rules itself, the hub needs what is recorded for it and the alerts (`RECORDED`). Where
none does, as with Prometheus in agent mode, it needs all that the rules read (`read_by`), and evaluates them.

The series recorded for it are few, whatever the size of a cluster. Counts are of the replica that has an answer, and
absent where none has: a hub tells nothing found from nothing known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..held import SEVERITY, answers
from ..model import Alerting, Area, Recording, Rule, RuleFile
from ..values import Values
from .slo import BURN, LEFT

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


RECORDED = tuple(sorted((*SERIES, BURN, LEFT)))
_COMPONENT = "kubernetes_operator_component"
_STEWARD = "kubevirt-steward"
_NAME = re.compile(r"(?<![\w:$])(?:kubevirt_\w+|up|process_start_time_seconds)(?![\w:(])")
_OF_ANY_TARGET = ("up", "process_start_time_seconds")


def read_by(pack: Iterable[RuleFile]) -> tuple[str, ...]:
    """The scraped series that rules read, in expressions and in texts, sorted."""
    texts = [rule.expr for file in pack for rule in file.rules]
    texts += [rule.description for file in pack for rule in file.rules if isinstance(rule, Alerting)]
    return tuple(sorted({name for text in texts for name in _NAME.findall(text)}))


def remote_write(_: Iterable[RuleFile], __: Values) -> dict[str, Any]:
    """For a Prometheus that evaluates the rules: what is recorded for the hub, and the steward's alerts."""
    return _keep(_COMPONENT, f"(?:{'|'.join(RECORDED)});.*|ALERTS;{_STEWARD}")


def _keep(label: str, regex: str) -> dict[str, Any]:
    return {"write_relabel_configs": [{"source_labels": ["__name__", label], "regex": regex, "action": "keep"}]}


def remote_write_raw(pack: Iterable[RuleFile], values: Values) -> dict[str, Any]:
    """For one that evaluates none: what rules read, `up` and the like of the steward's targets alone."""
    names = read_by(pack)
    own = [name for name in names if name not in _OF_ANY_TARGET]
    of_steward = f"(?:{'|'.join(_OF_ANY_TARGET)});{values.job}"
    return _keep("job", f"(?:{'|'.join(own)});.*|{of_steward}")


def acm(_: Iterable[RuleFile], __: Values) -> dict[str, Any]:
    """The allow-list of Advanced Cluster Management's observability, for what user workload monitoring records."""
    listed = {"names": list(RECORDED), "matches": [f'__name__="ALERTS",{_COMPONENT}="{_STEWARD}"']}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "observability-metrics-custom-allowlist",
            "namespace": "open-cluster-management-observability",
        },
        "data": {"uwl_metrics_list.yaml": _listed(listed)},
    }


def _listed(listed: dict[str, list[str]]) -> str:
    return "".join(
        f"{key}:\n" + "".join(f"- {json.dumps(each)}\n" for each in values) for key, values in listed.items()
    )
