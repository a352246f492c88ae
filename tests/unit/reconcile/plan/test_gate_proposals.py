"""What `clean_feature_gates` proposes, to whom, and that the text does exactly that."""

from __future__ import annotations

import json
from typing import Any

from exporter.checks import all_checks
from exporter.domain.features.gates import NEWEST
from reconcile.plan.managed_fields import applied
from reconcile.plan.plan import Add, Op, Plan, Proposal, Refused, Replace
from reconcile.plan.remediations.features.clean_feature_gates import REMEDIATION
from tests.all_of import each_of
from tests.confirming import MemoryReads, confirmed, hint_of
from tests.rows import full

Row = dict[str, Any]
_PATH = "/spec/configuration/developerConfiguration"


def planned(row: Row, reason: str, gate: str) -> Plan | Refused:
    row = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt"} | row
    objects = [full(row)]
    about = {
        "check": "feature_configuration",
        "reason": reason,
        "kind": "KubeVirt",
        "namespace": "kubevirt",
        "subject": row["name"],
        "group": gate,
    }
    answer = confirmed(REMEDIATION, hint_of(about, objects), MemoryReads(objects))
    return answer if isinstance(answer, Refused) else answer.plan


def proposed(row: Row, reason: str, gate: str) -> Proposal:
    plan = planned(row, reason, gate)
    assert isinstance(plan, Plan), plan
    assert plan.proposal is not None
    return plan.proposal


def test_the_json_patch_tests_what_is_there_and_takes_out_the_gate_alone() -> None:
    row = {"version": "v1.9.0", "gates": ["HostDisk", "HotDisk"], "disabledGates": ["GPUsWithDRA"]}
    found = proposed(row, "UnknownGate", "HotDisk")
    assert found.owner == "the KubeVirt administrator"
    assert (
        found.where == "As a JSON patch: kubectl patch kubevirts.kubevirt.io -n kubevirt kubevirt --type=json -p PATCH"
    )
    test, replace = json.loads(found.patch)
    assert test == {"op": "test", "path": f"{_PATH}/featureGates", "value": ["HostDisk", "HotDisk"]}
    assert replace == {"op": "replace", "path": f"{_PATH}/featureGates", "value": ["HostDisk"]}

    before = full({"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt"} | row)
    after = applied(before, [Replace(replace["path"], replace["value"])])
    assert after["spec"]["configuration"]["developerConfiguration"] == {
        "featureGates": ["HostDisk"],
        "disabledFeatureGates": ["GPUsWithDRA"],
    }


def test_a_gitops_tool_gets_the_lists_as_a_merge_patch() -> None:
    row = {"version": "v1.9.0", "gates": ["HotDisk"], "labels": {"kustomize.toolkit.fluxcd.io/name": "infra"}}
    found = proposed(row, "UnknownGate", "HotDisk")
    assert found.owner == "Flux Kustomization `flux-system/infra`"
    wanted: Row = {"spec": {"configuration": {"developerConfiguration": {"featureGates": []}}}}
    assert json.loads(found.patch) == wanted


HCO = {"labels": {"app.kubernetes.io/managed-by": "hco-operator"}, "version": "v1.9.0"}


def test_hyperconverged_has_it_from_its_annotation() -> None:
    """What is to be taken out is named as it stands there; there is no patch that somebody could send by mistake."""
    found = proposed(HCO | {"gates": ["HostDisk", "HotDisk"]}, "UnknownGate", "HotDisk")
    assert found.owner == "the HyperConverged Cluster Operator"
    assert "annotation kubevirt.kubevirt.io/jsonpatch of HyperConverged kubevirt-hyperconverged" in found.where
    assert found.patch == ""
    (op,) = json.loads(found.where.partition("Remove from it: ")[2].partition("]. ")[0] + "]")
    ops: list[Op] = [Add(op["path"], op["value"])]
    without = {"spec": {"configuration": {"developerConfiguration": {"featureGates": ["HostDisk"]}}}}
    made = applied(without, ops)
    assert made["spec"]["configuration"]["developerConfiguration"]["featureGates"] == ["HostDisk", "HotDisk"]


def test_hyperconverged_has_it_from_a_field() -> None:
    row = HCO | {"gates": ["DownwardMetrics"], "disabledGates": ["DownwardMetrics"]}
    found = proposed(row, "GateInBothLists", "DownwardMetrics")
    assert found.patch == ""
    assert found.where == (
        'In HyperConverged kubevirt-hyperconverged, entry "downwardMetrics" of spec.featureGates decides it. '
        "HCO reverts a direct edit of KubeVirt."
    )


@each_of("minor", range(NEWEST[1] + 1))
def test_in_every_release_what_has_no_effect_goes_and_what_has_one_stays(minor: int) -> None:
    """For every entry that the check reports, of lists with all kinds of gates."""
    gates = ["LiveMigration", "Macvtap", "HostDisk", "NoGate", "PersistentReservation", "ExpandDisks", "HotplugVolumes"]
    row = {"version": f"v1.{minor}.0", "gates": gates, "disabledGates": ["GPUsWithDRA", "HostDisk", "PanicDevices"]}
    reasons = next(each for each in all_checks() if each.id == "feature_configuration").reasons
    plans = {
        (reason, gate): planned(row, reason, gate)
        for reason in reasons
        if reason in REMEDIATION.answers["feature_configuration"]
        for gate in {*gates, *row["disabledGates"]}
    }
    made = {key: plan for key, plan in plans.items() if isinstance(plan, Plan)}
    assert ("RedundantGate", "LiveMigration") in made
    assert all(plan.proposal is not None for plan in made.values())
    cleaned = {gate for reason, gate in made if reason != "GateInBothLists"}
    assert "HotplugVolumes" not in cleaned
    assert ("NoGate" in cleaned) is (minor == 9)  # what is newer than all that is known may have it
