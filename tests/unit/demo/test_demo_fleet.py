"""The sample fleet holds together, is wrong only where it says so, and its story comes back to its beginning."""

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from demo.fleet.sample import healthy_vms, sample_fleet
from demo.fleet.samples import compose_key
from demo.story import play, steps
from exporter.checks import all_checks
from tests.evaluation import Evaluation
from tests.fakeapi.apiserver import FakeApiServer

Obj = dict[str, Any]

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
FLEET = sample_fleet(NOW)
BY_UID = {obj["metadata"]["uid"]: obj for obj in FLEET.objects}
WRONG = {(t.kind, t.namespace, t.name) for t in FLEET.troubles}


def every(kind: str, objects: list[Obj] = FLEET.objects) -> list[Obj]:
    return [obj for obj in objects if obj["kind"] == kind]


def place(obj: Obj) -> tuple[str, str, str]:
    return obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def found(objects: Iterable[Obj] = FLEET.objects) -> dict[tuple[str, str, str], set[str]]:
    """The reasons for which the product finds each object of the fleet."""
    evaluation, reasons = Evaluation(all_checks(), now=NOW.timestamp()), defaultdict(set)
    for obj in objects:
        if obj["kind"] in evaluation.kinds:
            evaluation.seen(obj)
    evaluation.evaluate()
    for finding in evaluation.engine.findings():
        subject = finding.subject
        reasons[subject.kind, subject.namespace, subject.name].add(finding.reason)
    return dict(reasons)


REASONS = found()


def vms_found_for(*reasons: str) -> set[tuple[str, str, str]]:
    return {at for at, why in REASONS.items() if at[0] == "VirtualMachine" and why & {*reasons}}


def given(pod: Obj) -> dict[str, list[str]]:
    """NAD to addresses, as the pod's annotation has it."""
    networks = json.loads(pod["metadata"]["annotations"]["k8s.ovn.org/pod-networks"])
    return {nad: network["ip_addresses"] for nad, network in networks.items() if nad != "default"}


def test_the_fleet_is_of_some_size_and_always_the_same() -> None:
    assert 95 <= len(every("VirtualMachine")) <= 105
    assert len(every("Node")) == 5
    assert sample_fleet(NOW) == FLEET


def test_names_and_uids_are_unique() -> None:
    assert len(BY_UID) == len(FLEET.objects)
    assert len({place(obj) for obj in FLEET.objects}) == len(FLEET.objects)


def test_every_owner_of_what_is_well_exists() -> None:
    for obj in FLEET.objects:
        if place(obj) in WRONG:
            continue
        for owner in obj["metadata"].get("ownerReferences", ()):
            found = BY_UID[owner["uid"]]
            assert (found["kind"], found["metadata"]["name"]) == (owner["kind"], owner["name"])
            assert found["metadata"].get("namespace") in (None, obj["metadata"]["namespace"])


def test_claims_are_named_after_vm_and_network() -> None:
    networks = {json.loads(nad["spec"]["config"])["name"] for nad in every("NetworkAttachmentDefinition")}
    for claim in every("IPAMClaim"):
        vm, _, logical = claim["metadata"]["name"].rpartition(".")
        assert claim["metadata"]["name"] == compose_key(vm, logical)
        assert claim["metadata"]["labels"] == {"kubevirt.io/vm": vm}
        if claim["metadata"]["name"] != "cache-7.blue":  # whose fault that is
            assert claim["metadata"]["finalizers"] == ["kubevirt.io/persistent-ipam"]
        assert claim["spec"]["network"] in networks


@pytest.mark.parametrize(
    ("vm", "network", "name"),
    [("vm-a", "data", "vm-a.data"), ("probe-vmi", "Red_Net", "probe-vmi.red.net"), ("a.b", "c", "a.b.c")],
)
def test_the_rule_of_claim_names(vm: str, network: str, name: str) -> None:
    assert compose_key(vm, network) == name


def within(part: Any, whole: Any) -> bool:
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and within(part[key], whole[key]) for key in part)
    return bool(part == whole)


def test_running_vms_agree_with_their_vmis_and_pods() -> None:
    vmis = {place(vmi)[1:]: vmi for vmi in every("VirtualMachineInstance") if vmi["status"]["phase"] == "Running"}
    launchers = [pod for pod in every("Pod") if pod["metadata"]["labels"].get("kubevirt.io") == "virt-launcher"]
    pods = [pod for pod in launchers if "kubevirt.io/migrationJobUID" not in pod["metadata"]["labels"]]
    assert len(pods) == len(vmis) > 40
    edited = {at[1:] for at in vms_found_for("SpecRunMismatch", "WillFailAtRestart", "HealsAtRestart")}
    preset = {at for at, why in REASONS.items() if "PresetInUse" in why}
    for pod in pods:
        annotations, labels = pod["metadata"]["annotations"], pod["metadata"]["labels"]
        vmi = vmis[pod["metadata"]["namespace"], annotations["kubevirt.io/domain"]]
        assert labels["kubevirt.io/created-by"] == vmi["metadata"]["uid"]
        assert vmi["status"]["activePods"] == {pod["metadata"]["uid"]: pod["spec"]["nodeName"]}
        assert vmi["status"]["nodeName"] == pod["spec"]["nodeName"]
        vm = BY_UID[vmi["metadata"]["ownerReferences"][0]["uid"]]
        template = vm["spec"]["template"]["spec"]
        if "instancetype" in vm["spec"] or place(vmi) in preset:
            assert within(template, vmi["spec"])
            assert template != vmi["spec"]
        else:
            assert (template == vmi["spec"]) == (place(vm)[1:] not in edited)
        revision = ("ControllerRevision", vm["metadata"]["namespace"], vmi["status"]["virtualMachineRevisionName"])
        assert revision in {place(obj) for obj in FLEET.objects}
    on = [vm for vm in every("VirtualMachine") if vm["status"]["printableStatus"] == "Running"]
    assert len(on) == len(vmis) - 1  # one is on its way out


def test_firmware_uuids_and_pod_addresses_are_unique() -> None:
    firmware = Counter(vm["spec"]["template"]["spec"]["domain"]["firmware"]["uuid"] for vm in every("VirtualMachine"))
    shared = {
        place(vm)
        for vm in every("VirtualMachine")
        if firmware[vm["spec"]["template"]["spec"]["domain"]["firmware"]["uuid"]] > 1
    }
    assert shared == vms_found_for("Duplicate", "LatentDuplicate")
    pods = [pod["status"]["podIP"] for pod in every("Pod") if "podIP" in pod["status"]]
    assert len(set(pods)) == len(pods)


def test_pods_hold_what_their_claims_reserve() -> None:
    claims = {place(claim)[1:]: claim for claim in every("IPAMClaim")}
    held = 0
    for pod in every("Pod"):
        for element in json.loads(pod["metadata"]["annotations"].get("k8s.v1.cni.cncf.io/networks", "[]")):
            if "ipam-claim-reference" in element:
                claim = claims[pod["metadata"]["namespace"], element["ipam-claim-reference"]]
                assert given(pod)[f"{element['namespace']}/{element['name']}"] == claim["status"]["ips"]
                held += 1
    assert held > 30


def test_addresses_are_shared_only_where_it_says_so() -> None:
    readable = [claim for claim in every("IPAMClaim") if isinstance(claim["status"]["ips"], list)]
    claimed = Counter((c["spec"]["network"], ip) for c in readable for ip in c["status"]["ips"])
    shared = {place(c) for c in readable if any(claimed[c["spec"]["network"], ip] > 1 for ip in c["status"]["ips"])}
    assert shared == {("IPAMClaim", "telecom", "hlr-1.sig"), ("IPAMClaim", "telecom", "hlr-1-clone.sig")}


def test_what_is_said_to_be_wrong_is_found_and_nothing_else() -> None:
    assert len(WRONG) == len(FLEET.troubles)
    assert set(REASONS) == WRONG
    dying = {place(c) for c in every("IPAMClaim") if "deletionTimestamp" in c["metadata"]}
    assert len(dying) == 6
    assert dying <= WRONG


def test_vms_with_an_instancetype_have_a_copy_of_it_and_run_with_what_it_gives() -> None:
    well = [vm for vm in every("VirtualMachine") if "instancetype" in vm["spec"] and place(vm) not in WRONG]
    copies = {place(each): each for each in every("ControllerRevision")}
    running = {place(vmi)[1:]: vmi["spec"]["domain"] for vmi in every("VirtualMachineInstance")}
    kept = {place(each): each for each in FLEET.objects if "instancetype.kubevirt.io" in each["apiVersion"]}
    assert len(well) >= 15
    for vm in well:
        for role in ("instancetype", "preference"):
            if role in vm["spec"]:
                namespace = vm["metadata"]["namespace"]
                copied = copies[
                    "ControllerRevision", namespace, vm["status"][f"{role}Ref"]["controllerRevisionRef"]["name"]
                ]
                matcher = vm["spec"][role]
                within_namespace = "" if "Cluster" in matcher["kind"] else namespace
                live = kept[matcher["kind"], within_namespace, matcher["name"]]
                assert copied["data"]["spec"] == live["spec"]
                assert len(copied["metadata"]["labels"]) == 5
                if role == "instancetype" and place(vm)[1:] in running:
                    domain = running[place(vm)[1:]]
                    assert domain["memory"] == live["spec"]["memory"]
                    assert domain["cpu"]["sockets"] == live["spec"]["cpu"]["guest"]


def test_stopped_vms_keep_their_claims() -> None:
    stopped = [vm for vm in healthy_vms(NOW) if not vm.running and vm.network]
    assert len(stopped) >= 4
    existing = {place(obj) for obj in FLEET.objects}
    assert {("IPAMClaim", vm.namespace, vm.claim_name) for vm in stopped} <= existing


def picture(server: FakeApiServer) -> set[tuple[str, str, str]]:
    """What is there, launcher pods by their VM and start revisions not at all: those are named anew."""
    seen = set()
    for plural in ("virtualmachines", "virtualmachineinstances", "ipamclaims", "pods", "persistentvolumeclaims"):
        for obj in server.objects(plural):
            kind, namespace, name = place(obj)
            seen.add((kind, namespace, obj["metadata"].get("annotations", {}).get("kubevirt.io/domain", name)))
    return seen


def test_each_round_of_the_story_ends_where_it_began() -> None:
    server = FakeApiServer()
    server.load(FLEET.objects)
    before = picture(server)
    revisions = len(server.objects("controllerrevisions"))
    for turn in (1, 2, 3):
        changes = 0
        for happen, sentence in steps(server, NOW, turn):
            version = server.version
            happen()
            changes += server.version > version
            assert sentence.endswith(".")
        assert changes == 19
        assert picture(server) == before
        assert len(server.objects("controllerrevisions")) == revisions
    uids = {vm["metadata"]["uid"] for vm in server.objects("virtualmachines")}
    owners = [claim["metadata"].get("ownerReferences", []) for claim in server.objects("ipamclaims")]
    assert sum(owner["uid"] not in uids for refs in owners for owner in refs) == 6  # as in the beginning


def test_the_first_step_opens_a_finding_and_the_second_closes_it() -> None:
    server = FakeApiServer()
    server.load(FLEET.objects)
    story = steps(server, NOW, 1)

    next(story)[0]()
    claim = server.get("ipamclaims", "shop", "flash-sale-1.blue")
    assert "deletionTimestamp" in claim["metadata"]
    assert ("VirtualMachine", "shop", "flash-sale-1") not in picture(server)
    next(story)[0]()
    assert ("IPAMClaim", "shop", "flash-sale-1.blue") not in picture(server)


def test_an_instancetype_that_is_deleted_breaks_the_vms_without_a_copy_and_no_others() -> None:
    server = FakeApiServer()
    server.load(FLEET.objects)
    kinds = ("virtualmachines", "virtualmachineinstances", "controllerrevisions", "virtualmachineinstancetypes")
    others = ("virtualmachineclusterinstancetypes", "virtualmachineclusterpreferences", "kubevirts")

    def of(reason: str) -> set[str]:
        reasons = found(obj for plural in (*kinds, *others) for obj in server.objects(plural))
        return {at[2] for at, why in reasons.items() if reason in why and at[1] == "telecom"}

    steps_by_text = [(sentence, happen) for happen, sentence in steps(server, NOW, 1)]
    deleted, created, copied = [
        happen for text, happen in steps_by_text if "signalling" in text or "get ControllerRevisions" in text
    ]
    deleted()
    assert of("ObjectMissing") == {"smsc-3", "smsc-4"}
    assert of("ObjectGone") == {"smsc-1", "smsc-2"}
    created()
    assert of("ObjectMissing") == set()
    assert of("ObjectRecreated") == {"smsc-1", "smsc-2"}
    copied()
    assert of("ObjectRecreated") == of("RevisionMissing") == of("OrphanedRevision") == set()
    assert of("Unversioned") == {"smsc-3", "smsc-4"}


def test_a_gate_that_is_switched_off_hurts_running_stopped_and_pending_vms_until_it_is_on_again() -> None:
    server = FakeApiServer()
    server.load(FLEET.objects)
    kinds = ("virtualmachines", "virtualmachineinstances", "kubevirts")

    def refused() -> set[tuple[str, str, str]]:
        evaluation = Evaluation(
            (check for check in all_checks() if check.id == "feature_mismatch"), now=NOW.timestamp()
        )
        for plural in kinds:
            for obj in server.objects(plural):
                evaluation.seen(obj)
        evaluation.evaluate()
        found = (each for each in evaluation.engine.findings() if each.feature == "downward_metrics")
        return {(each.subject.kind, each.subject.name, each.reason) for each in found}

    off, on = [happen for happen, sentence in steps(server, NOW, 1) if "DownwardMetrics" in sentence]
    assert refused() == set()
    off()
    assert refused() == {
        ("VirtualMachine", "hss-1", "NotEditable"),
        ("VirtualMachine", "hss-2", "NotEditable"),
        ("VirtualMachine", "hss-spare-1", "StoppedRequestsDisabled"),
        ("VirtualMachineInstance", "dpi", "PendingStartedBefore"),
    }
    on()
    assert refused() == set()


def test_the_fleet_has_a_vm_in_each_state_of_a_feature_and_the_healthy_have_none() -> None:
    check = next(each for each in all_checks() if each.id == "feature_mismatch")
    assert set().union(*REASONS.values()) & set(check.reasons) == set(check.reasons) - {"BreaksAtUpgrade"}
    assert all("VSock" in trouble.wrong for trouble in FLEET.troubles if trouble.kind == "KubeVirt")


def test_the_story_gives_way_to_other_writers() -> None:
    server = FakeApiServer()  # nothing of what it is about is there
    for happen, _ in steps(server, NOW, 1):
        happen()
    for happen, _ in steps(server, NOW, 2):
        happen()


async def test_the_story_goes_on_until_it_is_cancelled() -> None:
    server = FakeApiServer()
    server.load(FLEET.objects)
    said: list[str] = []
    enough = asyncio.Event()

    def say(sentence: str) -> None:
        said.append(sentence)
        if len(said) == 38:
            enough.set()

    task = asyncio.create_task(play(server, say, pace=0))
    await enough.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert said[:19] == said[19:38]
