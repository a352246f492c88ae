"""One VM whole: its migrations, what would become of it, what it is, and what can't be seen of it."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.cli.output.vm import whole_vm
from exporter.engine.evaluate import at_once
from exporter.facts.record import Ref, epoch
from exporter.questions import vm
from exporter.questions.asked import VMQuery
from exporter.questions.question import NotThereError

from ....drain_rows import Row, guest, migration, node
from ....instancetype_rows import U1, revision
from ....one_vm import OneVMStage, running

KUBEVIRT: Row = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt"}
STOPPED: Row = {"kind": "VirtualMachine", "name": "a", "uid": "vm-a", "runStrategy": "Halted", "networks": {}}
DONE: Row = {"migrationUid": "uid-m", "startTimestamp": "2026-06-01T10:01:00Z", "endTimestamp": "2026-06-01T10:02:00Z"}


def test_a_vm_with_which_nothing_is_wrong() -> None:
    found = OneVMStage(*running()).take()
    assert (found.findings, found.unseen, found.unread, found.unanswered_in_all) == ((), (), (), 0)
    assert found.runs is not None
    assert (found.runs.node, found.runs.phase, found.runs.since_source) == ("node01", "Running", "creationTimestamp")
    assert found.migration is not None
    assert (found.migration.migratable, found.migration.strategy, found.migration.strategy_source) == (
        "True",
        "LiveMigrate",
        "vmi",
    )
    assert found.drain is not None
    assert (found.drain.state, found.drain.target) == ("waiting", "node02")
    assert vm.exit_code(found) == 0


def test_since_when_it_is_on_its_node() -> None:
    runs = OneVMStage(*running(migration=DONE | {"targetNode": "node01"})).take().runs
    assert runs is not None
    assert (runs.since, runs.since_source) == ("2026-06-01T10:02:00Z", "phaseTransition")
    runs = OneVMStage(*running(migration=DONE | {"targetNode": "node02", "failed": True})).take().runs
    assert runs is not None
    assert runs.since_source == "creationTimestamp"


def test_one_that_can_not_be_migrated_says_why_and_what_a_drain_comes_to() -> None:
    found = OneVMStage(*running(migratable="HostDeviceNotLiveMigratable")).take()
    assert found.migration is not None
    assert (found.migration.migratable, found.migration.reason) == ("False", "HostDeviceNotLiveMigratable")
    assert found.drain is not None
    assert (found.drain.state, found.drain.reason) == ("blocked", "NotMigratable")
    assert vm.exit_code(found) == 1


@pytest.mark.parametrize(
    ("configured", "own", "effective"),
    [
        ({"evictionStrategy": "LiveMigrate"}, None, ("LiveMigrate", "kubevirt")),
        ({}, None, ("None", "builtin")),
        ({"evictionStrategy": "LiveMigrate"}, "External", ("External", "vmi")),
    ],
)
def test_whose_eviction_strategy_counts(configured: Row, own: str | None, effective: tuple[str, str]) -> None:
    kubevirt = KUBEVIRT | {"over": {"spec": {"configuration": configured}}}
    found = OneVMStage(*running(strategy=own), kubevirt).take().migration
    assert found is not None
    assert (found.strategy, found.strategy_source) == effective


def test_without_the_kubevirt_object_the_default_strategy_is_not_known() -> None:
    found = OneVMStage(*running(strategy=None), unseen=["KubeVirt"]).take()
    assert found.migration is not None
    assert (found.migration.strategy, found.migration.strategy_source) == ("", "unknown")
    assert vm.exit_code(found) == 2


# -- migrations


def target(**more: Any) -> Row:
    pod: Row = {"kind": "Pod", "name": "virt-launcher-a-x", "domain": "a", "vmi": "u-a", "migration": "uid-m"}
    return pod | {"node": "node02", "phase": "Pending"} | more


def test_what_each_migration_waits_for_is_said_and_only_what_lasts_has_advice() -> None:
    under = migration("m", "a", "Scheduling", evacuates=None)
    pod = target(unschedulable="0/3 nodes are available: 3 Insufficient memory.", node="")
    stage = OneVMStage(*running(), under, pod, now=epoch("2026-06-01T10:00:30Z") or 0.0)
    found = stage.take()
    assert found.under_way is not None
    assert (found.under_way.name, found.under_way.phase, found.under_way.made_for) == ("m", "Scheduling", "")
    (held,) = found.held
    assert (held.lasts, held.reason, held.next, held.commands) == (False, "", "", ())
    assert "3 Insufficient memory" in held.why

    stage.now += 3600
    stage.evaluate()
    assert "TargetUnschedulable" in {each.reason for each in stage.engine.findings()}
    (held,) = stage.take().held
    assert (held.lasts, held.reason) == (True, "TargetUnschedulable")
    assert held.next == "Free memory on another node, or add a node: most nodes lack it."


def test_where_it_goes_by_a_migration_that_runs() -> None:
    state = {"migrationUid": "uid-m", "startTimestamp": "2026-06-01T10:01:00Z", "targetNode": "node03"}
    found = OneVMStage(*running(migration=state), migration("m", "a", "Running")).take()
    assert found.under_way is not None
    assert (found.under_way.target, found.under_way.made_for) == ("node03", "the evacuation of node node01")
    assert found.held == ()


FAILURES = [migration(f"m{n}", "a", "Failed", n, failed="unable to connect: Connection refused") for n in (1, 2)]


def test_its_last_failures_have_a_class_and_what_mends_that() -> None:
    found = OneVMStage(*running(), *FAILURES).take()
    newest, _ = found.failures
    assert (newest.migration, newest.failure, newest.lasting) == ("m2", "Connection", False)
    assert newest.next.startswith("Check the network between the nodes")
    assert newest.commands
    (held,) = found.held
    assert (held.lasts, held.reason) == (True, "MigrationFailing")


def test_what_failed_before_one_succeeded_has_no_advice_any_more() -> None:
    cpu = migration("m1", "a", "Failed", 1, failed="guest CPU doesn't match specification: missing features: avx512")
    (failed,) = OneVMStage(*running(), cpu).take().failures
    assert (failed.failure, failed.lasting, failed.next != "") == ("CPU", True, True)
    (failed,) = OneVMStage(*running(), cpu, migration("m2", "a", "Succeeded", 2)).take().failures
    assert (failed.failure, failed.lasting, failed.next, failed.commands) == ("CPU", False, "", ())


# -- its next start, and the next release


def test_how_its_identity_changes_with_the_next_start() -> None:
    sealed, *rest = running(uuid="99999999-2222-4333-8444-000000000000")
    found = OneVMStage(sealed | {"tpm": True}, *rest).take()
    assert found.restart is not None
    assert found.restart.loses == "persistent TPM"
    assert found.identity.next_uuid in found.restart.identity
    assert found.identity.uuid == "99999999-2222-4333-8444-000000000000"
    same = OneVMStage(*running()).take().restart
    assert same is not None
    assert (same.identity, same.loses, same.required) == ("", "", "")


def test_a_uuid_that_is_derived_from_the_name() -> None:
    found = OneVMStage(STOPPED).take().identity
    assert (found.origin, found.next_uuid) == ("name", "8d9794ca-8c84-5204-b98a-721424eaae6f")
    found = OneVMStage(STOPPED | {"uuid": "none at all"}).take().identity
    assert (found.origin, found.invalid) == ("spec", "it is not a valid UUID")


def test_what_waits_for_its_next_start_by_its_condition() -> None:
    one, *rest = running()
    text = "a non-live-updatable field was changed in the template spec"
    waits = {"type": "RestartRequired", "status": "True", "message": text}
    restart = OneVMStage(one | {"over": {"status": {"conditions": [waits]}}}, *rest).take().restart
    assert restart is not None
    assert restart.required == text
    restart = (
        OneVMStage(one | {"over": {"status": {"conditions": [waits | {"status": "False"}]}}}, *rest).take().restart
    )
    assert restart is not None
    assert restart.required == ""


def test_a_feature_with_which_it_could_not_start_again() -> None:
    one, *rest = running()
    asks = {"devices": {"gpus": [{"name": "g", "deviceName": "example.org/gpu"}]}}
    permitted: Row = {"configuration": {"permittedHostDevices": {"pciHostDevices": []}}}
    found = OneVMStage(one | {"domain": asks}, *rest, KUBEVIRT | {"over": {"spec": permitted}}).take()
    assert found.restart is not None
    (refused,) = found.restart.refused
    assert "example.org/gpu is not in permittedHostDevices" in refused
    first = found.features[0]
    assert (first.allowed, first.asked_by) == (False, ("VirtualMachine",))
    assert "WillFailAtRestart" in {each.reason for each in found.findings}


def test_what_the_next_release_of_kubevirt_would_change_for_it() -> None:
    found = OneVMStage(*running(), KUBEVIRT | {"version": "v1.7.0"}).take().upgrade
    assert (found.to, found.unknown, found.appears, found.goes) == ("v1.8.0", "", (), ())

    def upgrade(*, terminates: bool, **more: Any) -> tuple[list[str], list[str]]:
        rows = [STOPPED | {"runStrategy": "Always", "terminate": terminates} | more, KUBEVIRT | {"version": "v1.8.4"}]
        other = STOPPED | {"name": "other", "uid": "vm-other", "terminate": True}
        found = OneVMStage(*rows, other).take().upgrade
        assert (found.to, found.unknown) == ("v1.9.0", "")
        return [each.reason for each in found.appears], [each.reason for each in found.goes]

    assert upgrade(terminates=False) == ([], [])
    assert upgrade(terminates=True) == ([], ["StartBlocked"])  # the gate RebootPolicy is on by then
    twice = [{"name": "default", "bridge": {}, "masquerade": {}}]  # which is refused from then on
    template = {"networks": [{"name": "default", "pod": {}}]}
    both = upgrade(terminates=False, domain={"devices": {"interfaces": twice}}, template=template)
    assert both == (["StartBlocked"], [])
    old = OneVMStage(STOPPED, KUBEVIRT | {"version": "v9.9.0"}).take().upgrade
    assert (old.to, old.appears) == ("", ())
    assert "v9.9" in old.unknown


# -- what it is


def test_by_which_revision_it_has_its_instancetype_and_whether_that_differs() -> None:
    one = STOPPED | {"uid": "u-db", "name": "db", "instancetype": {"name": "u1"}, "instancetypeRef": "r"}
    same = U1 | {"spec": {"cpu": {"guest": 1}}}
    (size,) = OneVMStage(one, same, revision(vm="db")).take("db").sizes
    assert (size.role, size.mode, size.revision, size.differs, size.failure) == (
        "instancetype",
        "revision",
        "r",
        (),
        "",
    )
    (size,) = OneVMStage(one, U1 | {"spec": {"cpu": {"guest": 2}}}, revision(vm="db")).take("db").sizes
    assert size.differs == ("cpu.guest",)
    (size,) = OneVMStage(one, same).take("db").sizes
    assert (size.differs, size.failure) == (None, "ControllerRevision ns/r does not exist")
    (size,) = OneVMStage(one, same, unseen=["ControllerRevision"]).take("db").sizes
    assert (size.failure, size.differs, size.unknown) == ("", None, "controllerrevisions.apps is missing")
    (size,) = OneVMStage(one | {"instancetypeRef": None}).take("db").sizes
    assert (size.mode, size.failure) == ("unversioned", "VirtualMachineClusterInstancetype u1 does not exist")


def test_its_interfaces_with_claims_and_addresses() -> None:
    mac = {"blue": "02:00:00:00:00:01"}
    reports = [{"name": "blue", "mac": mac["blue"], "ipAddress": "10.0.0.7"}]
    one, vmi, pod = running(networks={"blue": "blue", "red": "red"}, macs=mac, reports=reports)
    claim: Row = {"kind": "IPAMClaim", "name": "a.blue", "vm": "a", "owner": "vm-a", "ips": ["10.0.0.7/16"]}
    rows = [one | {"networks": {"blue": "blue", "red": "red"}}, vmi, pod, claim]
    nad: Row = {"kind": "NetworkAttachmentDefinition", "name": "blue"}
    blue, red = OneVMStage(*rows, nad).take().interfaces
    assert (blue.network, blue.nad, blue.macs, blue.addresses) == ("blue", "ns/blue", (mac["blue"],), ("10.0.0.7",))
    assert blue.claim is not None
    assert (blue.claim.name, blue.claimed, blue.missing, blue.unknown) == ("a.blue", ("10.0.0.7/16",), "", "")
    assert (red.claim, red.missing) == (None, "NAD ns/red does not exist")

    unseen = ["NetworkAttachmentDefinition", "IPAMClaim"]
    blue, red = OneVMStage(*rows, nad, unseen=unseen).take().interfaces
    assert (red.missing, blue.claim) == ("", None)
    assert red.unknown.startswith("NAD ns/red: ")


# -- which VM, and what can't be seen


def test_a_vmi_that_stands_alone() -> None:
    found = OneVMStage(*guest("a", owned=False, networks={})).take()
    assert (found.vm, found.restart) == (None, None)
    assert found.vmi is not None
    assert found.runs is not None
    assert found.runs.node == "node01"


def test_a_vmi_of_an_earlier_vm_of_the_name_is_not_its() -> None:
    found = OneVMStage(STOPPED | {"uid": "another"}, *guest("a", networks={})).take()
    assert (found.vmi, found.runs) == (None, None)


def test_a_pending_vmi_says_why_and_which_nodes_could_take_it() -> None:
    one, vmi, _ = running(phase="Scheduling", node="", migratable="Unknown")
    found = OneVMStage(one, vmi).take()
    assert found.runs is not None
    assert (found.runs.node, found.runs.phase) == ("", "Scheduling")
    assert (found.targets, found.drain, found.migration) == (None, None, None)
    assert found.restart is not None
    assert found.restart.start.fitting == 3


@pytest.mark.parametrize(
    ("rows", "unseen", "name", "said"),
    [
        ([STOPPED | {"name": "web-1"}], [], "wbe-1", "no VM is called 'ns/wbe-1'; did you mean ns/web-1?"),
        (guest("web-2", networks={}), [], "web", "no VM is called 'ns/web'; did you mean ns/web-2?"),
        ([], [], "a", "no VM is called 'ns/a'; there are no VMs"),
        ([], ["VirtualMachineInstance"], "a",
         "no VM called 'ns/a' is seen, and there may be one: virtualmachineinstances.kubevirt.io is missing"),
        ([STOPPED | {"undecodable": True}], [], "a", "VirtualMachine ns/a could not be read: "),
    ],
)  # fmt: skip
def test_one_that_is_not_there(rows: list[Row], unseen: list[str], name: str, said: str) -> None:
    with pytest.raises(NotThereError) as error:
        OneVMStage(*rows, unseen=unseen).take(name)
    assert str(error.value).startswith(said)


def test_only_what_it_has_to_do_with_counts_as_not_seen() -> None:
    kinds = ["StorageClass", "NetworkAttachmentDefinition", "IPAMClaim", "ControllerRevision"]
    found = OneVMStage(*running(), unseen=kinds).take()
    assert found.unseen == ()
    assert [each.check for each in found.unanswered] == ["feature_nodes"]  # no VM is looked at without revisions
    found = OneVMStage(*running(), unseen=kinds[:3]).take()
    assert (found.unanswered, vm.exit_code(found)) == ((), 0)
    found = OneVMStage(*running(networks={"blue": "blue"}), unseen=["NetworkAttachmentDefinition"]).take()
    assert "mac_duplicates" in {each.check for each in found.unanswered}
    found = OneVMStage(*running(networks={"blue": "blue"}), unseen=kinds).take()
    assert {each.kind for each in found.unseen} == {"NetworkAttachmentDefinition", "IPAMClaim"}
    assert vm.exit_code(found) == 2


def test_an_undecodable_node_is_said_and_one_elsewhere_that_is_no_pod_is_not() -> None:
    broken = node("node09", undecodable=True)
    found = OneVMStage(*running(), broken).take()
    assert [each.name for each in found.unread] == ["node09"]
    assert vm.exit_code(found) == 2
    elsewhere = STOPPED | {"name": "x", "namespace": "far", "undecodable": True}
    assert OneVMStage(*running(), elsewhere).take().unread == ()


def test_a_vm_alone_says_what_it_is() -> None:
    every = [name for name in OneVMStage().kinds if name != "VirtualMachine"]
    one = STOPPED | {"uuid": "11111111-2222-4333-8444-000000000001", "instancetype": {"name": "u1"}}
    found = OneVMStage(one | {"networks": {"blue": "blue"}}, nodes=[], unseen=every).take()
    assert found.identity.next_uuid == "11111111-2222-4333-8444-000000000001"
    assert [each.nad for each in found.interfaces] == ["ns/blue"]
    (size,) = found.sizes
    assert (size.name, size.failure, size.unknown != "") == ("u1", "", True)
    assert found.runs is not None
    assert found.runs.unknown == "virtualmachineinstances.kubevirt.io is missing"
    assert found.restart is not None
    assert found.restart.start.unknown == "nodes is missing"
    assert vm.exit_code(found) == 2


def test_what_a_restore_of_it_will_duplicate_and_how_to_make_it_anew() -> None:
    uuid = "3e6c1f0a-6f0e-4d6b-9a43-0c8e5b1d2f31"
    saved: Row = {"kind": "VirtualMachineSnapshotContent", "name": "c", "snapshot": "s", "source": "a", "uuid": uuid}
    restore: Row = {"kind": "VirtualMachineRestore", "name": "r", "target": "copy"}
    elsewhere: Row = {"kind": "VirtualMachineRestore", "namespace": "other", "name": "r", "target": "a"}
    (found,) = OneVMStage(STOPPED | {"uuid": uuid}, saved, restore, elsewhere).take().copies
    assert (found.reason, str(found.subject)) == ("RestoreWillDuplicate", "VirtualMachineRestore ns/r")
    assert found.message == "The restore of snapshot s will make VM copy with the firmware UUID of ns/a."
    anew = found.commands[1]
    assert "  target: {apiGroup: kubevirt.io, kind: VirtualMachine, name: copy}\n" in anew
    assert '  - \'{"op": "replace", "path": "/spec/template/spec/domain/firmware/uuid", "value": ""}\'\nRESTORE' in anew
    text = whole_vm(OneVMStage(STOPPED | {"uuid": uuid}, saved, restore).take())
    assert "Restores and clones that have not run\n  info RestoreWillDuplicate" in text


def test_a_restore_that_takes_it_out_is_not_named() -> None:
    saved: Row = {"kind": "VirtualMachineSnapshotContent", "name": "c", "snapshot": "s", "source": "a", "serial": "s-1"}
    path = "/spec/template/spec/domain/firmware/serial"
    restore: Row = {"kind": "VirtualMachineRestore", "name": "r", "target": "copy"}
    patches = {"patches": [f'{{"op": "replace", "path": "{path}", "value": ""}}']}
    assert OneVMStage(STOPPED | {"serial": "s-1"}, saved, restore).take().copies
    assert OneVMStage(STOPPED | {"serial": "s-1"}, saved, restore | patches).take().copies == ()


def test_two_vms_beside_each_other_say_why_one_moves_and_the_other_does_not() -> None:
    stage = OneVMStage(*running("a"), *running("b", migratable=False))
    stage.evaluate()
    found = at_once(vm.QUESTION.steps(stage.engine, None, VMQuery("ns", "a", beside="ns/b")))
    assert found.beside == Ref("VirtualMachine", "ns", "b", "vm-b")
    said = {each.what: (each.here, each.there) for each in found.differences}
    assert said["migrate"][0] == "yes"
    assert said["migrate"][1].startswith("no: ")
    assert said["LiveMigratable"][0] == "True"
    assert "run strategy" not in said
    assert "node" not in said
    text = whole_vm(found)
    assert "Where ns/b differs\n  migrate: yes\n    ns/b: no: " in text
    same = at_once(vm.QUESTION.steps(stage.engine, None, VMQuery("ns", "a", beside="a")))
    assert same.differences == ()
    assert "Nothing that is compared differs in ns/a." in whole_vm(same)
    with pytest.raises(NotThereError, match="no VM is called 'ns/c'"):
        at_once(vm.QUESTION.steps(stage.engine, None, VMQuery("ns", "a", beside="c")))
