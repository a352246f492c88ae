"""What KubeVirt itself makes of instancetypes, preferences and their revisions, and what is found of it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from exporter.__main__ import main
from exporter.questions.commands import commands
from tests.cluster.conftest import Tools
from tests.cluster.exporter import Exporter
from tests.cluster.resources import VMIS, VMS
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.orders import true
from tests.kubevirt.releases import MISSING_SIZE_TAKEN, OLD_SIZES_GONE, lacks, needs
from tests.kubevirt.shell import run
from tests.kubevirt.sizes import CLUSTER_INSTANCETYPE, INSTANCETYPE, KINDS, PREFERENCE, Sizes, sized
from tests.kubevirt.stage import Answer, Stage
from tests.manifests import Object
from tests.waiting import wait_until

Found = tuple[str, str, str]  # the subject's name, the reason, the severity
Shell = Callable[[str], int]

UNCONTROLLABLE = "can't be stopped or restarted"


@pytest.fixture
def shell(kubevirt: ControlPlane, binary: Tools, tmp_path: Path) -> Shell:
    """Runs a command as a person does, and answers with its exit code."""
    return lambda command: run(command, kubevirt, binary, tmp_path)


@pytest.fixture
def sizes(stage: Stage) -> Iterator[Sizes]:
    with sized(stage) as made:
        yield made


def findings(exporter: Exporter, stage: Stage) -> list[Object]:
    reported = exporter.report()["findings"]
    return [
        each for each in reported if ours(each["check"], stage, each["subject"]["namespace"], each["subject"]["name"])
    ]


def ours(check: str, stage: Stage, namespace: str, name: str) -> bool:
    return check.startswith("instancetype_") and (namespace == stage.namespace or name.startswith(stage.namespace))


def wait_found(exporter: Exporter, stage: Stage, *wanted: Found) -> list[Object]:
    def found() -> list[Found]:
        return sorted((f["subject"]["name"], f["reason"], f["severity"]) for f in findings(exporter, stage))

    with contextlib.suppress(TimeoutError):
        wait_until(lambda: found() == sorted(wanted), 30, "what is found", every=0.02)
    assert found() == sorted(wanted)
    return findings(exporter, stage)


def run_commands(shell: Shell, *found: Object) -> None:
    """Those that a finding names to look at it, to the letter."""
    for finding in found:
        looks = [each.text for each in commands(finding["commands"]) if not each.changes]
        assert looks
        assert [each for each in looks if shell(each) != 0] == [], finding["reason"]


def modes(exporter: Exporter, family: str, name: str) -> dict[str, float]:
    """How many VMs use an object, by mode, as Prometheus reads it."""
    lines = [line for line in exporter.get("/metrics")[1].splitlines() if line.startswith(f"{family}{{")]
    rows = [line.rpartition(" ") for line in lines if f'name="{name}"' in line]
    counts = {labels.partition('mode="')[2].partition('"')[0]: float(value) for labels, _, value in rows}
    return {mode: count for mode, count in counts.items() if count}


def wait_modes(exporter: Exporter, family: str, name: str, **wanted: float) -> None:
    wait_until(lambda: modes(exporter, family, name) == wanted, 30, f"{family} of {name} is {wanted}", every=0.02)


def test_all_ways_to_use_them_are_read_and_none_is_a_finding(
    exporter: Exporter, patient: Exporter, stage: Stage, sizes: Sizes
) -> None:
    small, own = sizes.small(), sizes.small("own", INSTANCETYPE)
    linux, windows = sizes.prefer("linux"), sizes.prefer("windows", PREFERENCE)
    volume(stage, small["name"], windows["name"])
    stage.running("by-ref", instancetype=small, preference=linux)
    stage.vm("of-namespace", strategy="Halted", instancetype=own, preference=windows)
    stage.vm("of-many", strategy="Halted", instancetype={**small, "kind": "virtualmachineclusterinstancetypes"})
    stage.running("pinned", instancetype=small)
    sizes.pin("pinned", sizes.wait_ref("pinned"))
    infer = {"inferFromVolume": "root"}
    root = {"name": "root", "persistentVolumeClaim": {"claimName": "root"}}
    devices = {"devices": {"disks": [{"name": "root", "disk": {}}]}}
    stage.vm("inferred", strategy="Halted", instancetype=infer, preference=infer, domain=devices, volumes=[root])
    sizes.pool("web", 2, instancetype=small, preference=linux)
    for vm in ("of-many", "inferred", "web-0", "web-1"):
        sizes.wait_ref(vm)
    sizes.wait_ref("of-namespace", "preference")

    sizes.snapshot("by-ref", "online")
    sizes.snapshot("of-namespace", "offline")
    sizes.restore("offline", "of-namespace")
    sizes.restore("online", "restored")
    restored = sizes.vm("restored")["spec"]
    assert restored["instancetype"]["revisionName"].startswith("restored-")
    assert stage.act("restored", "start") == Answer()
    stage.wait_running("restored")

    wait_modes(exporter, "kubevirt_instancetype_vms", small["name"], revision=5, pinned=2)
    wait_modes(exporter, "kubevirt_instancetype_vms", own["name"], revision=1)
    wait_modes(exporter, "kubevirt_preference_vms", linux["name"], revision=3, pinned=1)
    wait_modes(exporter, "kubevirt_preference_vms", windows["name"], revision=2)
    last = sizes.ownerless(sizes.wait_ref("by-ref"))  # whatever was written before is known to who finds it
    (orphan,) = wait_found(exporter, stage, (last, "OrphanedRevision", "info"))
    assert orphan["evidence"]["cause"] == "ownerless"
    alarming = [each for each in patient.opened if each.severity != "info"]
    reported = [each for each in alarming if ours(each.check, stage, each.subject.namespace, each.subject.name)]
    assert [f"{each.subject.name}: {each.message}" for each in reported] == []


def volume(stage: Stage, instancetype: str, preference: str) -> None:
    """A claim that says what VMs made from it shall be like."""
    labels = {
        "instancetype.kubevirt.io/default-instancetype": instancetype,
        "instancetype.kubevirt.io/default-preference": preference,
        "instancetype.kubevirt.io/default-preference-kind": PREFERENCE,
    }
    meta = {"namespace": stage.namespace, "name": "root", "labels": labels}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    stage.client.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec})


def test_an_instancetype_that_is_deleted_before_its_vm_has_a_revision_is_missing(
    kubevirt: ControlPlane, exporter: Exporter, stage: Stage, sizes: Sizes
) -> None:
    with kubevirt.without("virt-controller"):
        small = sizes.small()
        name = small["name"]
        stage.vm("db", instancetype=small)
        unversioned = ("db", "Unversioned", "warning")
        wait_found(exporter, stage, unversioned, (name, "DeletableInUse", "warning"))
        wait_modes(exporter, "kubevirt_instancetype_vms", name, unversioned=1)

        guard(stage, name, "example.com/in-use")
        sizes.delete(small)
        wait_found(exporter, stage, unversioned, (name, "DeletableInUse", "critical"))
        guard(stage, name)
        missing = ("db", "ObjectMissing", "critical")
        wait_found(exporter, stage, missing)
    words = f'virtualmachineclusterinstancetypes.instancetype.kubevirt.io "{name}" not found'
    if MISSING_SIZE_TAKEN.here:
        sizes.wait_failure("db", "FailedFindInstancetype", words)
    else:
        wait_until(lambda: words in stage.refusal("db"), 30, "KubeVirt takes no change of it")
    wait_found(exporter, stage, missing)

    sizes.small()
    stage.wait_running("db")
    wait_found(exporter, stage)


def guard(stage: Stage, instancetype: str, *finalizers: str) -> None:
    patch = {"metadata": {"finalizers": list(finalizers)}}
    stage.client.patch(KINDS[CLUSTER_INSTANCETYPE], None, instancetype, patch)


@needs(MISSING_SIZE_TAKEN)
def test_a_vm_whose_revision_is_deleted_is_out_of_control_until_its_status_forgets_it(
    exporter: Exporter, stage: Stage, sizes: Sizes, shell: Shell
) -> None:
    small, vms = sizes.small(), ("stops", "restarts", "ends")
    before = {vm: stage.running(vm, instancetype=small) for vm in vms}
    wait_found(exporter, stage)
    revisions = {vm: sizes.wait_ref(vm) for vm in vms}
    for revision in revisions.values():
        sizes.lose(revision)
    lost = [(vm, "RevisionMissing", "critical") for vm in vms]
    for finding in wait_found(exporter, stage, *lost):
        assert UNCONTROLLABLE in finding["message"]
        assert revisions[finding["subject"]["name"]] in finding["message"]

    assert stage.act("stops", "stop") == Answer()
    assert stage.act("restarts", "restart") == Answer()
    stage.client.delete(VMIS, stage.namespace, "ends")
    stage.wait_gone("ends")
    for vm in vms:
        words = f'controllerrevisions.apps "{revisions[vm]}" not found'
        sizes.wait_failure(vm, "FailedFindInstancetype", words)
    wait_until(lambda: observed(sizes.vm("stops")), 30, "KubeVirt has seen that it is to stop")
    wait_until(lambda: not true(sizes.vm("ends"), "Ready"), 30, "KubeVirt has seen that it has ended")
    for vm in ("stops", "restarts"):
        runs = stage.wait_running(vm)
        assert runs["metadata"]["uid"] == before[vm]["metadata"]["uid"]
        assert "deletionTimestamp" not in runs["metadata"]
    assert stage.vmi("ends") is None

    run_commands(shell, *wait_found(exporter, stage, *lost))
    for vm in vms:
        sizes.forget(vm)
        sizes.wait_ref(vm)
    stage.wait_gone("stops")
    stage.wait_ended(before["restarts"])
    stage.wait_running("restarts")
    stage.wait_running("ends")
    wait_found(exporter, stage)


@lacks(MISSING_SIZE_TAKEN)
def test_a_vm_whose_revision_is_deleted_takes_no_stop_and_restarts_once_its_status_forgets_it(
    exporter: Exporter, stage: Stage, sizes: Sizes, shell: Shell
) -> None:
    before = stage.running("db", instancetype=sizes.small())
    revision = sizes.wait_ref("db")
    sizes.lose(revision)
    (lost,) = wait_found(exporter, stage, ("db", "RevisionMissing", "critical"))
    assert UNCONTROLLABLE in lost["message"]
    assert f'controllerrevisions.apps "{revision}" not found' in stage.act("db", "stop").message
    assert stage.act("db", "restart") == Answer()
    sizes.wait_failure("db", "FailedCreate")
    assert stage.wait_running("db")["metadata"]["uid"] == before["metadata"]["uid"]
    run_commands(shell, lost)

    sizes.forget("db")
    stage.wait_ended(before)
    stage.wait_running("db")
    assert stage.act("db", "stop") == Answer()
    stage.wait_gone("db")
    wait_found(exporter, stage)


def observed(vm: Object) -> bool:
    """Whether virt-controller has looked at the VM as it is written now."""
    return bool(vm["metadata"]["generation"] == vm["status"].get("observedGeneration"))


def test_a_superseded_revision_stays_needed_while_what_started_with_it_runs(
    exporter: Exporter, stage: Stage, sizes: Sizes, shell: Shell
) -> None:
    old, new = sizes.small(), sizes.small("large", cpus=2)
    before = stage.running("runs", instancetype=old)
    stage.vm("rests", strategy="Halted", instancetype=old)
    superseded = {vm: sizes.wait_ref(vm) for vm in ("runs", "rests")}
    for vm, revision in superseded.items():
        stage.client.patch(VMS, stage.namespace, vm, {"spec": {"instancetype": new}})
        sizes.wait_ref(vm, other=revision)
    of = {vm: (revision, "OrphanedRevision", "info") for vm, revision in superseded.items()}
    (orphan,) = wait_found(exporter, stage, of["rests"])
    assert orphan["evidence"]["cause"] == "superseded"
    last = (sizes.ownerless(superseded["rests"]), "OrphanedRevision", "info")
    wait_found(exporter, stage, of["rests"], last)

    assert stage.act("runs", "restart") == Answer()
    stage.wait_ended(before)
    stage.wait_running("runs")
    run_commands(shell, *wait_found(exporter, stage, *of.values(), last))
    assert {sizes.revision(revision) is not None for revision in superseded.values()} == {True}


@needs(MISSING_SIZE_TAKEN)
def test_a_pinned_revision_without_labels_is_taken_away_by_kubevirt_or_stops_it(
    kubevirt: ControlPlane, exporter: Exporter, stage: Stage, sizes: Sizes, shell: Shell
) -> None:
    """It makes a copy with labels in its place, which fails where there is one of that name."""
    small = sizes.small()
    stage.vm("old", strategy="Halted", instancetype=small)
    made = sizes.wait_ref("old")
    with kubevirt.without("virt-controller"):
        stage.vm("new", strategy="Halted", instancetype={**small, "revisionName": "bare-new"})
        sizes.pin("old", "bare-old")
        for vm in ("old", "new"):
            sizes.bare(f"bare-{vm}", vm, made)
        run_commands(shell, *wait_found(exporter, stage, *((vm, "LabellessPin", "critical") for vm in ("old", "new"))))
    wait_until(lambda: sizes.revision("bare-new") is None, 60, "KubeVirt has taken what the new VM is pinned to away")
    sizes.wait_failure("new", "FailedFindInstancetype", 'controllerrevisions.apps "bare-new" not found')
    sizes.wait_failure("old", "FailedCreate")
    assert sizes.revision("bare-old") is not None
    rests = ("old", "LabellessPin", "critical"), (made, "OrphanedRevision", "info")
    wait_found(exporter, stage, ("new", "RevisionMissing", "warning"), *rests)
    stage.client.patch(VMS, stage.namespace, "new", {"spec": {"instancetype": {"revisionName": None}}})
    wait_found(exporter, stage, *rests)
    assert stage.act("new", "start") == Answer()
    stage.wait_running("new")


@needs(OLD_SIZES_GONE)
def test_a_revision_of_the_first_shape_stops_its_vm_pinned_or_not(
    kubevirt: ControlPlane, exporter: Exporter, stage: Stage, sizes: Sizes, shell: Shell
) -> None:
    """One that only the status names KubeVirt would not take, and fails at the conversion before that."""
    small, vms = sizes.small(), ("pinned", "loose")
    undecodable = [(vm, "RevisionUndecodable", "critical") for vm in vms]
    needed = (small["name"], "DeletableInUse", "warning")
    with kubevirt.without("virt-controller"):
        stage.vm("pinned", instancetype={**small, "revisionName": "first-pinned"})
        stage.vm("loose", instancetype=small)
        for vm in vms:
            sizes.first_shape(f"first-{vm}", vm, {"cpu": {"guest": 1}, "memory": {"guest": "64Mi"}})
        sizes.refer("loose", small, "first-loose")
        run_commands(shell, *wait_found(exporter, stage, *undecodable, needed))
        assert [stage.refusal(vm) for vm in vms] == ["", ""]
    why = {"pinned": "FailedFindInstancetype", "loose": "FailedCreate"}
    for vm, reason in why.items():
        sizes.wait_failure(vm, reason)
        assert "Object 'Kind' is missing" in (sizes.failure(vm) or "")[1]
    assert [stage.vmi(vm) for vm in vms] == [None, None]
    assert sizes.ref("loose") == "first-loose"
    wait_found(exporter, stage, *undecodable, needed)

    sizes.forget("loose")
    stage.wait_running("loose")
    wait_found(exporter, stage, undecodable[0])


def test_what_becomes_of_an_instancetype_after_its_vm_has_a_revision_is_information(
    exporter: Exporter, stage: Stage, sizes: Sizes
) -> None:
    small = sizes.small()
    stage.vm("db", strategy="Halted", instancetype=small)
    sizes.wait_ref("db")
    stage.client.patch(KINDS[CLUSTER_INSTANCETYPE], None, small["name"], {"spec": {"cpu": {"guest": 2}}})
    wait_found(exporter, stage, ("db", "Drifted", "info"))
    sizes.delete(small)
    wait_found(exporter, stage, ("db", "ObjectGone", "info"))
    assert stage.act("db", "start") == Answer()
    stage.wait_running("db")
    sizes.small()
    (again,) = wait_found(exporter, stage, ("db", "ObjectRecreated", "info"))
    assert again["evidence"]["specEqual"] in (True, "true")


@needs(MISSING_SIZE_TAKEN)
def test_a_pool_whose_instancetype_is_deleted_makes_vms_that_cannot_start(
    exporter: Exporter, stage: Stage, sizes: Sizes
) -> None:
    small = sizes.small()
    sizes.pool("web", 1, instancetype=small)
    sizes.wait_ref("web-0")
    wait_found(exporter, stage)
    sizes.delete(small)
    found = ("web", "PoolObjectMissing", "warning"), ("web-0", "ObjectGone", "info")
    wait_found(exporter, stage, *found)
    sizes.scale("web", 2)
    wait_found(exporter, stage, *found, ("web-1", "ObjectMissing", "warning"))
    words = f'virtualmachineclusterinstancetypes.instancetype.kubevirt.io "{small["name"]}" not found'
    sizes.wait_failure("web-1", "FailedFindInstancetype", words)
    sizes.scale("web", 0)


def test_a_vmi_that_a_preset_has_changed_is_found(exporter: Exporter, stage: Stage) -> None:
    preset = {"selector": {"matchLabels": {"size": "small"}}, "domain": {"devices": {}, "cpu": {"cores": 2}}}
    meta = {"namespace": stage.namespace, "name": "small"}
    kind = {"apiVersion": VMS.api_version, "kind": "VirtualMachineInstancePreset"}
    stage.client.create({**kind, "metadata": meta, "spec": preset})
    stage.running("other")
    stage.running("db", vmi_labels={"size": "small"})
    wait_found(exporter, stage, ("db", "PresetInUse", "warning"))


@needs(MISSING_SIZE_TAKEN)
def test_the_deletion_of_an_instancetype_does_to_vms_what_its_preview_says(
    kubevirt: ControlPlane, exporter: Exporter, stage: Stage, sizes: Sizes, capsys: pytest.CaptureFixture[str]
) -> None:
    small, versioned = sizes.small(), ("by-ref", "pinned", "web-0")
    for vm in ("by-ref", "pinned"):
        stage.vm(vm, strategy="Manual", instancetype=small)
    sizes.pin("pinned", sizes.wait_ref("pinned"))
    sizes.pool("web", 1, instancetype=small)
    for vm in versioned:
        sizes.wait_ref(vm)
    with kubevirt.without("virt-controller"):
        stage.vm("late", strategy="Manual", instancetype=small)
        foreseen = preview(kubevirt, small["name"], capsys)
        sizes.delete(small)
    appearing = [each for each in foreseen if each[0] == "appears"]
    breaks = {name for _, outcome, name, _, _ in appearing if outcome == "breaks"}
    assert breaks == {"late", "web"}
    assert {name for _, outcome, name, _, _ in appearing if outcome == "safe"} == set(versioned)
    wait_found(exporter, stage, *((name, reason, severity) for _, _, name, reason, severity in appearing))

    words = f'virtualmachineclusterinstancetypes.instancetype.kubevirt.io "{small["name"]}" not found'
    sizes.wait_failure("late", "FailedFindInstancetype", words)
    for vm in ("by-ref", "pinned", "late"):
        stage.client.patch(VMS, stage.namespace, vm, {"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}})
        assert stage.act(vm, "start") == Answer()
    for vm in ("by-ref", "pinned"):
        stage.wait_running(vm)
    sizes.scale("web", 2)
    sizes.wait_failure("web-1", "FailedFindInstancetype", words)
    assert stage.vmi("late") is None

    sizes.small()
    stage.wait_running("late")  # the start that was asked for is still to be done


def preview(
    kubevirt: ControlPlane, instancetype: str, capsys: pytest.CaptureFixture[str]
) -> list[tuple[str, str, str, str, str]]:
    """Of each finding that its deletion would change: how, the outcome, the subject, the reason and the severity."""
    main(["impact", "--delete-instancetype", instancetype, "-o", "json", "--kubeconfig", str(kubevirt.kubeconfig())])
    impact = json.loads(capsys.readouterr().out)
    assert (impact["leftOut"], impact["unknownInAll"]) == (0, 0)
    rows = ((each["change"], each["outcome"], each["finding"]) for each in impact["findings"])
    return [(change, outcome, f["subject"]["name"], f["reason"], f["severity"]) for change, outcome, f in rows]
