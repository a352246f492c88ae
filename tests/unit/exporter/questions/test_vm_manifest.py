"""A VM that does not exist yet: which nodes could start it, and what would be found of it at once."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.questions import vm
from exporter.store.kinds.virtual_machine import VirtualMachine

from ....drain_rows import Row, guest, node
from ....one_vm import OneVMStage, obstacles, running

HOST = "kubernetes.io/hostname"
ROOM = {"cpu": "16", "memory": "64Gi", "pods": "110"}


def manifest(name: str = "new", **spec: Any) -> Row:
    """A VirtualMachine without a namespace; `spec` is that of its template, but for what a VM has beside it."""
    own = {key: spec.pop(key) for key in ("instancetype", "runStrategy") if key in spec}
    template = {"spec": {"domain": {"devices": {}}} | spec}
    made = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name}}
    return made | {"spec": {"runStrategy": "Always", "template": template} | own}


def reasons(found: vm.VMWhole) -> set[str]:
    return {each.reason for each in found.findings}


def test_one_with_which_nothing_would_be_wrong() -> None:
    stage = OneVMStage()
    found = stage.propose(manifest())
    assert (found.namespace, found.name, found.proposed, found.runs) == ("ns", "new", True, None)
    assert found.restart is not None
    assert obstacles(found.restart.start) == {"node01": [], "node02": [], "node03": []}
    assert {each.severity for each in found.findings} <= {"info"}
    assert (found.unseen, found.unanswered_in_all) == ((), 0)
    assert vm.exit_code(found) == 0
    assert stage.engine.cluster.get(VirtualMachine, "ns", "new") is None


def test_what_rules_out_the_nodes_of_its_start() -> None:
    nodes = [
        node("node01", labels={"zone": "a", HOST: "node01"}),
        node("node02", labels={"zone": "a", HOST: "node02"}, allocatable=ROOM | {"memory": "4Gi"}),
        node("node03", labels={"zone": "b", HOST: "node03"}, taints=["gpu:NoSchedule"]),
    ]
    rule = {"labelSelector": {"matchLabels": {"kubevirt.io": "virt-launcher", "app": "db"}}, "topologyKey": HOST}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}
    there = guest("db", {"labels": {"kubevirt.io": "virt-launcher", "app": "db"}}, networks={})
    asked = manifest(nodeSelector={"zone": "a"}, affinity=apart, domain={"devices": {}, "memory": {"guest": "8Gi"}})
    start = OneVMStage(*there, nodes=nodes).propose(asked).restart
    assert start is not None
    assert obstacles(start.start) == {
        "node01": ["AntiAffinity"],
        "node02": ["Resource"],
        "node03": ["Taint", "Selector"],
    }
    assert start.start.none

    spread = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]
    start = OneVMStage(nodes=nodes).propose(manifest(topologySpreadConstraints=spread)).restart
    assert start is not None
    assert start.start.unless == "its topology spread constraints"


def test_an_instancetype_that_is_missing() -> None:
    found = OneVMStage().propose(manifest(instancetype={"name": "nowhere"}))
    (size,) = found.sizes
    assert size.failure == "VirtualMachineClusterInstancetype nowhere does not exist"
    assert "ObjectMissing" in reasons(found)
    assert vm.exit_code(found) == 1

    blind = OneVMStage(unseen=["VirtualMachineClusterInstancetype"])
    found = blind.propose(manifest(instancetype={"name": "nowhere"}))
    (size,) = found.sizes
    assert (size.failure, size.unknown) == (
        "",
        "virtualmachineclusterinstancetypes.instancetype.kubevirt.io is missing",
    )
    assert "ObjectMissing" not in reasons(found)
    assert vm.exit_code(found) == 2


def test_a_feature_that_is_refused() -> None:
    kubevirt: Row = {"permittedHostDevices": {"pciHostDevices": []}}
    row: Row = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt"}
    row["over"] = {"spec": {"configuration": kubevirt}}
    gpus = {"devices": {"gpus": [{"name": "g", "deviceName": "example.org/gpu"}]}}
    found = OneVMStage(row).propose(manifest(domain=gpus))
    assert "StartBlocked" in reasons(found)
    assert found.restart is not None
    assert found.restart.refused
    halted = OneVMStage(row).propose(manifest(domain=gpus, runStrategy="Halted"))
    assert "StoppedRequestsDisabled" in reasons(halted)


def test_a_network_that_is_not_there_and_a_uuid_and_a_mac_that_another_one_has() -> None:
    mac = "02:00:00:00:00:01"
    nad: Row = {"kind": "NetworkAttachmentDefinition", "name": "blue"}
    there = running("a", networks={"blue": "blue"}, macs={"blue": mac})
    there[0] = there[0] | {"networks": {"blue": "blue"}, "macs": {"blue": mac}}
    interfaces = [{"name": "blue", "bridge": {}, "macAddress": mac}, {"name": "red", "bridge": {}}]
    networks = [{"name": name, "multus": {"networkName": name}} for name in ("blue", "red")]
    domain = {"devices": {"interfaces": interfaces}, "firmware": {"uuid": there[0]["uuid"]}}
    found = OneVMStage(*there, nad).propose(manifest(domain=domain, networks=networks))
    assert [(each.network, each.missing) for each in found.interfaces] == [
        ("blue", ""),
        ("red", "NAD ns/red does not exist"),
    ]
    assert {"LatentDuplicate", "LatentDuplicateMAC"} <= reasons(found)
    assert "LatentDuplicate" in {each.reason for each in found.around if each.subject.name == "a"}


def test_an_edit_of_one_that_is_there_stays_the_same_object() -> None:
    stage = OneVMStage({"kind": "VirtualMachine", "name": "new", "uid": "u-new", "runStrategy": "Halted"})
    found = stage.propose(manifest())
    assert found.vm is not None
    assert (found.vm.uid, found.run_strategy) == ("u-new", "Always")


def test_a_vmi_by_itself() -> None:
    made = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "new"}}
    found = OneVMStage().propose(made | {"spec": {"domain": {"devices": {}}, "nodeSelector": {"zone": "x"}}})
    assert found.vm is None
    assert found.restart is not None
    assert set(obstacles(found.restart.start)["node01"]) == {"Selector"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"metadata": {"name": "new"}, "spec": {"template": []}}, "VirtualMachine new can't be read: "),
        ({"metadata": {}}, "VirtualMachine without a name can't be read: "),
        ({"spec": None}, "VirtualMachine without a name can't be read: "),
    ],
)
def test_what_is_no_vm_is_refused(body: Row, said: str) -> None:
    with pytest.raises(ValueError, match="can't be read") as error:
        OneVMStage().propose({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine"} | body)
    assert str(error.value).startswith(said)


@pytest.mark.parametrize("affinity", [[], "near", {"podAntiAffinity": 1}, {"podAntiAffinity": {"x": [None]}}])
def test_an_affinity_of_any_shape_leaves_an_answer(affinity: Any) -> None:
    found = OneVMStage().propose(manifest(affinity=affinity))
    assert found.restart is not None
    assert found.restart.start.in_all == 3 or found.restart.start.unknown
