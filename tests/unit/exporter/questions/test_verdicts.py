"""The verdict on an act says every open finding that forbids it, and never more than was looked at."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from exporter.cli.output.vm import whole_vm
from exporter.domain.acts import Act, Among
from exporter.engine.evaluate import at_once
from exporter.findings.check import Check
from exporter.findings.finding import VMS, Finding
from exporter.questions import vm
from exporter.questions.vm import Verdict
from exporter.questions.vm.verdicts import verdicts
from exporter.store.cluster import Cluster
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.source import SyncState

from ....all_of import each_of, named
from ....check_cases import CASES_OF, CHECKS, unforbidden
from ....drain_rows import node
from ....evaluation import Evaluation
from ....one_vm import OneVMStage, running
from ....rows import full

# Whoever may not stop or start a VM may not restart it either.
COVERS = {
    "start": {Act.START, Act.RESTART},
    "restart": {Act.START, Act.STOP, Act.RESTART, Act.END},
    "stop": {Act.STOP, Act.END},
    "migrate": {Act.MIGRATE},
    "drain": {Act.DRAIN},
    "upgrade": set(),
    "delete": {Act.DELETE},  # of what is about the VM
}
# To delete another object than the VM is no act on the VM.
ON_VMS = set().union(*COVERS.values()) - {Act.DELETE}
FORBIDDING = [
    check
    for check in CHECKS
    if any(each.forbids and ON_VMS & set(each.forbids.acts) for each in check.reasons.values())
]


def _stage(check: Check, case: dict[str, Any]) -> Evaluation:
    evaluation = Evaluation([check], case.get("unsynced", ()), indexes=vm.INDEXES)
    for name, state in case.get("sync_state", {}).items():
        evaluation.sync_state(name, SyncState(state))
    evaluation.given(case["given"])
    evaluation.evaluate()
    return evaluation


_PLACES = ("Node", "Namespace", "NetworkAttachmentDefinition", "Deployment", "Service", "MutatingWebhookConfiguration")


def _with_its_vms(evaluation: Evaluation) -> Evaluation:
    """Of a finding on a VMI that stands alone, or on a pod whose VM is gone: the VM is there, too. Of one that is about
    each VM somewhere: one is there.
    """
    cluster = evaluation.engine.cluster
    for each in list(evaluation.engine.findings()):
        subject, name = each.subject, each.vm or each.subject.name
        if not each.forbids or subject.kind == "Node":
            continue
        networks = {}
        if subject.kind in _PLACES:
            name = f"on-{subject.name}"
            networks = {"n": subject.path} if subject.kind == "NetworkAttachmentDefinition" else {}
        namespace = subject.namespace or (subject.name if subject.kind == "Namespace" else "ns")
        if not cluster.get(VirtualMachine, namespace, name):
            row = {"kind": "VirtualMachine", "namespace": namespace, "name": name, "uid": f"vm-{name}"}
            evaluation.seen(full(row | {"runStrategy": "Always", "networks": networks}))
            if subject.kind in _PLACES:
                vmi = {"kind": "VirtualMachineInstance", "namespace": namespace, "name": name, "vm": f"vm-{name}"}
                evaluation.seen(full(vmi | {"migratable": True, "networks": networks}))
    evaluation.evaluate()
    return evaluation


def _of_vms(evaluation: Evaluation) -> dict[tuple[str, str], list[Finding]]:
    """The findings that forbid something, by their VM, where that is there."""
    found: dict[tuple[str, str], list[Finding]] = {}
    cluster = evaluation.engine.cluster
    there = {
        (each.namespace, each.name) for kind in (VirtualMachine, VirtualMachineInstance) for each in cluster.all(kind)
    }
    for each in evaluation.engine.findings():
        if each.forbids is None or not each.forbids.acts:
            continue
        subject, among = each.subject, each.forbids.among
        keys = {(subject.namespace, each.vm or subject.name)}
        if among is not Among.OWN or subject.kind == "Namespace":
            within = subject.name if subject.kind == "Namespace" else subject.namespace
            keys = {key for key in there if among is Among.CLUSTER or key[0] == within}
        elif subject.kind == "Node":
            keys = {key for key in there if subject.name in _nodes(cluster, key)}
        elif subject.kind == "NetworkAttachmentDefinition":
            keys = {key for key in there if subject.path in _nads(cluster, key)}
        for key in keys & there:
            found.setdefault(key, []).append(each)
    return found


def _nodes(cluster: Cluster, key: tuple[str, str]) -> set[str]:
    """That of its VMI, if it has one."""
    vm, vmi = cluster.get(VirtualMachine, *key), cluster.get(VirtualMachineInstance, *key)
    own = vmi is not None and (vm is None or vmi.vm_uid == vm.uid) and not (vm is not None and vmi.final)
    return {vmi.node} if vmi is not None and own else set()


def _nads(cluster: Cluster, key: tuple[str, str]) -> set[str]:
    both = cluster.get(VirtualMachine, *key), cluster.get(VirtualMachineInstance, *key)
    return {nad for each in both if each is not None for _, nad, _ in each.networks if nad}


def said(verdicts: tuple[Verdict, ...], finding: Finding, text: str) -> set[str]:
    """The acts that it forbids, once all verdicts on these say so."""
    assert finding.forbids is not None
    acts = set()
    for each in verdicts:
        if COVERS[each.act].isdisjoint(finding.forbids.acts):
            continue
        if each.act == "delete" and finding.subject.kind not in (*VMS, "IPAMClaim"):
            continue
        assert each.answer == "no", (each, finding.reason)
        reasons = {one.reason: one for one in each.reasons}
        assert finding.reason in reasons, (each, finding.reason)
        assert finding.forbids.why in " ".join(each.whys) or reasons[finding.reason].fails
        assert f"({finding.reason})" in text
        (sentence,) = [
            one for one in vm.said(verdicts) if set(each.whys) == set(one.whys) and f" {each.act}" in one.head
        ]
        assert f"  {sentence.head}:" in text
        acts.add(each.act)
    return acts


@each_of("check", named(FORBIDDING, lambda check: check.id))
def test_each_reason_that_forbids_an_act_is_said_in_each_of_its_cases(check: Check) -> None:
    silent = {name for name, each in check.reasons.items() if each.forbids and ON_VMS & set(each.forbids.acts)}
    for case in CASES_OF[check].values():
        if case["finds"] == []:
            continue
        for given in (lambda same: same, _with_its_vms):
            evaluation = given(_stage(check, case))
            for key, findings in _of_vms(evaluation).items():
                found = at_once(vm.steps(evaluation.engine, *key))
                text = whole_vm(found, 10_000)
                silent -= {each.reason for each in findings if said(found.verdicts, each, text)}
    assert silent == set()


@each_of("check", named(CHECKS, lambda check: check.id))
def test_each_finding_about_a_vm_is_among_those_of_the_vm_whichever_of_its_objects_is_the_subject(check: Check) -> None:
    for case in CASES_OF[check].values():
        engine = _stage(check, case).engine
        for each in engine.findings():
            key = each.subject.namespace, each.vm
            if not any(engine.cluster.get(kind, *key) for kind in (VirtualMachine, VirtualMachineInstance)):
                continue
            found = at_once(vm.steps(engine, *key))
            assert each.fingerprint in {one.fingerprint for one in (*found.findings, *found.copies)}, each
            assert each.reason in whole_vm(found)
            assert "No finding is open on it" not in whole_vm(found) or each.reason in {o.reason for o in found.copies}


# What a message says that a VM can't do.
SAYS = {
    Act.START: re.compile(
        r"(can't|cannot|do(es)? not|will not|won't) start\b|can't be started"
        r"|no launcher pod can be created|pods on .* hang|no VM starts|starts of the VM in a row failed",
        re.I,
    ),
    Act.MIGRATE: re.compile(
        r"can't( be)? migrate|migration will fail|next ones will fail too|none is migrated|no VM .*(moves|migrates)",
        re.I,
    ),
}


@each_of("check", named(CHECKS, lambda check: check.id))
def test_what_a_message_says_that_a_vm_can_not_do_is_forbidden_or_its_cases_say_why_not(check: Check) -> None:
    otherwise = set()
    for case in CASES_OF[check].values():
        if case["finds"] == []:
            continue
        for each in _stage(check, case).engine.findings():
            acts = set(each.forbids.acts) if each.forbids is not None else set()
            for act, says in SAYS.items():
                if says.search(each.message) and not acts & ({act, Act.RESTART} if act is Act.START else {act}):
                    assert each.reason in unforbidden(check), each.message
                    otherwise.add(each.reason)
    assert otherwise == unforbidden(check).keys()


def answers(stage: OneVMStage) -> dict[str, str]:
    return {each.act: each.answer for each in stage.take().verdicts}


def test_what_stands_in_nobodys_way() -> None:
    every = ("restart", "stop", "migrate", "drain", "upgrade", "delete")
    assert answers(OneVMStage(*running())) == dict.fromkeys(every, "yes")
    assert "It can be restarted and migrated." in whole_vm(OneVMStage(*running()).take())
    halted = running()[0] | {"runStrategy": "Halted"}
    assert answers(OneVMStage(halted)) == dict.fromkeys(("start", "upgrade", "delete"), "yes")
    assert "It can be started." in whole_vm(OneVMStage(halted).take())


def test_a_restart_after_which_it_is_another_is_forbidden_by_its_finding() -> None:
    other, vmi, pod = running()
    found = OneVMStage(other | {"uuid": "22222222-2222-4333-8444-000000000097"}, vmi, pod).take()
    said = {each.act: each.answer for each in found.verdicts}
    assert {act for act, answer in said.items() if answer != "yes"} == {"restart", "stop"}
    assert (said["restart"], said["stop"]) == ("no", "no")
    assert "firmware UUID becomes" in whole_vm(found, 10_000)


def test_what_nothing_forbids_and_changes_it_is_a_yes_with_changes() -> None:
    found = OneVMStage(*running()).take()
    assert found.restart is not None
    for changed in ({"identity": "another"}, {"revisions": ("a copy",)}):
        restart = msgspec.structs.replace(found.restart, **changed)
        said = verdicts(msgspec.structs.replace(found, restart=restart), (), (), ())
        assert [each.act for each in said if each.answer == "changes"] == ["restart", "stop"]
        assert (said[0].head, said[0].whys) == ("It can be restarted, with changes", tuple(vm.changes(restart)))


def test_without_a_node_it_is_no() -> None:
    stage = OneVMStage(*running(), nodes=[node("node01", taints=["gpu:NoSchedule"])])
    said = {each.act: each for each in stage.take().verdicts}
    assert {said[each].answer for each in ("restart", "stop", "migrate")} == {"no"}
    assert "no other node could take it" in said["migrate"].whys
    assert "it would not start again: no node could take it" in said["stop"].whys


def test_what_is_not_seen_is_no_yes() -> None:
    for kind in ("Node", "KubeVirt", "VirtualMachineInstance"):
        found = OneVMStage(*running(), unseen=[kind]).take()
        needs = [each for each in found.verdicts if each.act not in ("upgrade", "delete")]
        assert {each.answer for each in needs} <= {"unknown", "no"}, kind
        unknown = [why for each in needs if each.answer == "unknown" for why in each.whys]
        assert "could take it" not in " ".join(unknown)
    said = answers(OneVMStage(*running(migratable="Unknown")))
    assert (said["restart"], said["stop"], said["migrate"]) == ("yes", "yes", "unknown")
    assert answers(OneVMStage(*running(), unseen=["KubeVirt"]))["upgrade"] == "unknown"
    assert answers(OneVMStage(*running(), unseen=["ControllerRevision"]))["delete"] == "unknown"


def unpassing(stage: OneVMStage) -> dict[str, bool]:
    """Of each act that is forbidden, whether something is wrong by that."""
    found = stage.take().verdicts
    return {each.act: any(not one.passing for one in each.reasons) for each in found if each.answer == "no"}


def test_what_ends_by_itself_or_is_as_its_owner_wants_it_is_no_yes_and_no_fault() -> None:
    vm_row, *rest = running()
    moving = {"kind": "VirtualMachineInstanceMigration", "name": "m", "vmi": "a", "phase": "Running"}
    assert unpassing(OneVMStage(*running(), moving)) == {"migrate": False}
    assert unpassing(OneVMStage(vm_row | {"runStrategy": "Once"}, *rest)) == {"restart": False}
    of_all = dict.fromkeys(("restart", "stop", "migrate", "delete"), False)
    assert unpassing(OneVMStage(vm_row | {"deleting": True}, *rest)) == of_all
    ending = {"kind": "Namespace", "name": "ns", "deleting": True}
    assert unpassing(OneVMStage(*running(), ending)) == of_all
    locked = {"runStrategy": "Halted", "over": {"status": {"restoreInProgress": "r1"}}}
    assert unpassing(OneVMStage(vm_row | locked)) == {"start": False, "delete": False}
    protected = {"over": {"metadata": {"labels": {"kubevirt.io/vm-delete-protection": "True"}}}}
    assert unpassing(OneVMStage(vm_row | protected, *rest)) == {"delete": False}
    assert vm.exit_code(OneVMStage(*running(), moving).take()) == 0


def test_without_its_nad_it_neither_starts_nor_migrates_whether_or_not_a_finding_says_so() -> None:
    found = OneVMStage(*running(networks={"n": "ns/gone"})).take()
    assert {each.act: each.answer for each in found.verdicts}["migrate"] == "no"
    assert found.drain is not None
    assert (found.drain.state, found.drain.reason) == ("blocked", "NadMissing")
    named = running()[0] | {"runStrategy": "Halted", "networks": {"n": "ns/gone"}}
    assert answers(OneVMStage(named))["start"] == "no"
    assert "It will not start:" in whole_vm(OneVMStage(named).take())
    assert vm.exit_code(OneVMStage(named).take()) == 1


def test_what_has_only_just_begun_leaves_a_verdict_open() -> None:
    check = next(each for each in CHECKS if each.id == "instancetype_vms")
    evaluation = Evaluation([check], initial=False, indexes=vm.INDEXES)
    small = {"kind": "VirtualMachineClusterInstancetype", "name": "small", "uid": "t1", "generation": 1}
    named_by = {"kind": "VirtualMachine", "name": "db", "uid": "u1", "instancetype": {"name": "small"}, "networks": {}}
    evaluation.given([small, named_by])
    evaluation.evaluate()

    def answer() -> tuple[str, str]:
        found = at_once(vm.steps(evaluation.engine, "ns", "db"))
        (start,) = [each for each in found.verdicts if each.act == "start"]
        return start.answer, " ".join(start.whys)

    before = answer()[0]
    assert "ObjectMissing" not in answer()[1]
    assert before != "no"
    evaluation.gone("VirtualMachineClusterInstancetype", "", "small")
    evaluation.evaluate()
    assert not [each for each in evaluation.engine.findings() if each.reason == "ObjectMissing"]
    assert "(ObjectMissing), which has not lasted for long enough" in answer()[1]
    assert answer()[0] == "unknown"
    evaluation.now += 61
    evaluation.evaluate()
    assert answer()[0] == "no"


STARTED_BY = {
    "Always": "KubeVirt starts it again after a shutdown in the guest, and not after virtctl stop",
    "Once": "KubeVirt doesn't start it again",
    "Manual": "KubeVirt doesn't start it again",
    "RerunOnFailure": "KubeVirt starts it again after a failure, and not after virtctl stop or a shutdown in the guest",
}


def test_a_stop_says_who_starts_it_again_by_its_run_strategy() -> None:
    vm_row, *rest = running()
    for strategy, again in STARTED_BY.items():
        found = OneVMStage(vm_row | {"runStrategy": strategy}, *rest).take()
        (stop,) = [each for each in found.verdicts if each.act == "stop"]
        assert (stop.answer, stop.then) == ("yes", (again,)), strategy
    for strategy, why in (("Halted", "it is being stopped already"), ("WaitAsReceiver", "virtctl stop does nothing")):
        found = OneVMStage(vm_row | {"runStrategy": strategy}, *rest).take()
        (stop,) = [each for each in found.verdicts if each.act == "stop"]
        assert stop.answer == "no"
        assert why in " ".join(stop.whys), strategy


def test_a_deletion_says_what_goes_with_it_and_who_else_needs_that() -> None:
    vm_row, *rest = running()
    claim = {"kind": "IPAMClaim", "name": "a.n", "vm": "a", "owner": "vm-a", "ips": ["10.0.0.5/24"]}
    found = OneVMStage(vm_row, *rest, claim).take()
    (delete,) = [each for each in found.verdicts if each.act == "delete"]
    going = "1 IPAMClaim (10.0.0.5) and the DataVolumes and PVCs of its dataVolumeTemplates, if it has any"
    assert delete.then == (f"with it go {going}",)
    of = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineClusterInstancetype", "spec": {}}
    revision = {"kind": "ControllerRevision", "name": "rev", "vm": "a", "owner": "vm-a", "of": of}
    size = {"name": "small", "revisionName": "rev"}
    other = {"kind": "VirtualMachine", "name": "b", "uid": "vm-b", "networks": {}, "instancetype": size}
    found = OneVMStage(vm_row, *rest, revision, other).take()
    (delete,) = [each for each in found.verdicts if each.act == "delete"]
    assert delete.answer == "no"
    assert "its ControllerRevision rev, which goes with it, is needed by VM b" in delete.whys


def test_a_stop_says_which_disks_it_empties() -> None:
    vm_row, vmi, *rest = running()
    disks = [{"name": each} for each in ("root", "tmp", "data")] + [{"name": "tools", "cdrom": {}}]
    volumes = [
        {"name": "root", "containerDisk": {"image": "a"}},
        {"name": "tmp", "emptyDisk": {"capacity": "1Gi"}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "tools", "containerDisk": {"image": "b"}},
        {"name": "shared", "ephemeral": {"persistentVolumeClaim": {"claimName": "shared"}}},
    ]
    over = {"spec": {"volumes": volumes, "domain": {"devices": {"disks": disks}}}}
    found = OneVMStage(vm_row, vmi | {"over": over}, *rest).take()
    by_act = {each.act: each for each in found.verdicts}
    lost = "what the guest wrote to root (containerDisk), tmp (emptyDisk) is lost"
    assert (by_act["stop"].answer, by_act["stop"].then[0]) == ("changes", lost)
    assert (by_act["restart"].answer, by_act["restart"].then) == ("changes", (lost,))
    assert lost not in (*by_act["migrate"].whys, *by_act["drain"].whys)
    ended = vmi | {"over": over, "phase": "Succeeded"}
    found = OneVMStage(vm_row | {"runStrategy": "Manual"}, ended).take()
    assert [each.then for each in found.verdicts if each.act == "start"] == [()]


def test_an_address_that_another_holds_is_not_released_with_the_vm_and_it_does_not_start_again() -> None:
    (check,) = (each for each in CHECKS if each.id == "ipam_claims")
    told = 0
    stages = [_with_its_vms(_stage(check, case)) for case in CASES_OF[check].values()]
    for evaluation in stages:
        for key, findings in _of_vms(evaluation).items():
            if all(each.reason != "DuplicateIP" for each in findings):
                continue
            by_act = {each.act: each for each in at_once(vm.steps(evaluation.engine, *key)).verdicts}
            assert by_act["delete"].answer == "no", key
            assert "DuplicateIP" in {each.reason for each in by_act["delete"].reasons}
            if "stop" in by_act and by_act["stop"].answer == "changes":
                assert any("it must not be started again" in each for each in by_act["stop"].then)
            told += 1
    assert told
