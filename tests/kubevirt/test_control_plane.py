"""What tests of this folder build on: KubeVirt's own control plane decides, and its VMs run, move and end."""

from __future__ import annotations

import uuid
from datetime import datetime

from tests.cluster.exporter import Exporter, grant
from tests.cluster.resources import KUBEVIRTS, NAMESPACES, VMIMS, VMS
from tests.kubevirt.conftest import MakeStage
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.installation import NAMESPACE, NODES, VERSION
from tests.kubevirt.orders import true
from tests.kubevirt.releases import EVACUATE_CANCEL, EVICTION_REQUESTED, UUID_OF_ITS_OWN, needs
from tests.kubevirt.stage import Answer, Stage
from tests.manifests import Object
from tests.waiting import wait_until

DENIED = 'admission webhook "virt-launcher-eviction-interceptor.kubevirt.io" denied the request: '


def triggered(stage: Stage, name: str) -> Answer:
    return Answer(429, f'{DENIED}Eviction triggered evacuation of VMI "{stage.namespace}/{name}"')


def requested(vmi: Object | None) -> bool:
    return bool(vmi and true(vmi, "EvictionRequested"))


def test_kubevirt_is_deployed(kubevirt: ControlPlane) -> None:
    status = kubevirt.admin.get(KUBEVIRTS, NAMESPACE, "kubevirt")["status"]
    assert (status["phase"], status["observedKubeVirtVersion"]) == ("Deployed", VERSION)


def test_a_vm_runs_is_stopped_and_started_by_hand(stage: Stage) -> None:
    stage.vm("db", strategy="Manual")
    assert stage.act("db", "start") == Answer()
    vmi = stage.wait_running("db")
    assert true(vmi, "LiveMigratable")
    assert [each["spec"]["nodeName"] for each in stage.pods("db")] == [vmi["status"]["nodeName"]]

    assert stage.act("db", "stop") == Answer()
    stage.wait_gone("db")
    wait_until(lambda: printed(stage) == "Stopped", 30, "the VM says that it is stopped")
    assert stage.act("db", "start") == Answer()
    stage.wait_running("db")


def printed(stage: Stage) -> str:
    return str(stage.client.get(VMS, stage.namespace, "db")["status"]["printableStatus"])


def test_a_guest_that_shuts_down_is_started_again_if_its_vm_is_always_to_run(stage: Stage) -> None:
    first = stage.running("db")
    stage.orders.powers_off.add(stage.key("db"))
    stage.wait_ended(first)
    stage.orders.powers_off.discard(stage.key("db"))
    assert stage.wait_running("db")["metadata"]["uid"] != first["metadata"]["uid"]


def test_a_guest_that_crashes_is_started_again_if_its_vm_is_to_rerun_on_failure(stage: Stage) -> None:
    first = stage.running("db", strategy="RerunOnFailure")
    stage.orders.crashes.add(stage.key("db"))
    stage.wait_ended(first)
    stage.orders.crashes.discard(stage.key("db"))
    stage.wait_running("db")


def test_a_migration_that_somebody_asks_for_can_be_aborted(stage: Stage) -> None:
    source = stage.running("db")["status"]["nodeName"]
    stage.orders.holds.add(stage.key("db"))
    assert stage.act("db", "migrate") == Answer()
    stage.wait_phases("db", "Running")
    stage.client.delete(VMIMS, stage.namespace, stage.migrations("db")[0]["metadata"]["name"])
    stage.wait_phases("db")
    vmi = stage.wait_running("db")
    assert (vmi["status"]["nodeName"], vmi["status"]["migrationState"]["abortStatus"]) == (source, "Succeeded")
    wait_until(lambda: len(running_pods(stage)) == 1, 30, "the pod that it did not come to has ended")


def test_an_eviction_of_a_vm_that_can_migrate_moves_it(stage: Stage) -> None:
    source = stage.running("db", eviction="LiveMigrate")["status"]["nodeName"]
    stage.orders.holds.add(stage.key("db"))
    assert stage.evict("db", dry_run=True) == triggered(stage, "db")
    assert stage.evacuation("db") == ""

    assert stage.evict("db") == triggered(stage, "db")
    assert stage.evacuation("db") == source
    stage.wait_phases("db", "Running")

    stage.orders.holds.clear()
    stage.wait_phases("db", "Succeeded")
    stage.wait_evacuation("db", "")
    vmi = stage.wait_running("db")
    assert vmi["status"]["nodeName"] != source
    wait_until(lambda: len(running_pods(stage)) == 1, 30, "the pod that it left has ended")


def running_pods(stage: Stage) -> list[Object]:
    return [pod for pod in stage.pods("db") if pod["status"]["phase"] == "Running"]


@needs(EVICTION_REQUESTED)
def test_a_vmi_says_that_its_eviction_is_requested_until_it_has_moved(stage: Stage) -> None:
    stage.running("db", eviction="LiveMigrate")
    stage.orders.holds.add(stage.key("db"))
    stage.evict("db")
    wait_until(lambda: requested(stage.vmi("db")), 30, "the VMI says that its eviction is requested")
    stage.orders.holds.clear()
    stage.wait_phases("db", "Succeeded")
    wait_until(lambda: not requested(stage.vmi("db")), 30, "the VMI says no more that its eviction is requested")


def test_an_eviction_of_a_vm_that_cannot_migrate_is_denied_without_a_request(stage: Stage) -> None:
    stage.orders.fixed.add(stage.key("db"))
    stage.running("db", eviction="LiveMigrate")
    words = "VMI db is configured with an eviction strategy but is not live-migratable"
    assert stage.evict("db") == Answer(429, DENIED + words)
    assert stage.evacuation("db") == ""
    assert stage.migrations("db") == []


def test_an_eviction_ends_a_vm_without_an_eviction_strategy(stage: Stage) -> None:
    first = stage.running("db")
    assert stage.evict("db") == Answer()
    stage.wait_ended(first)
    stage.wait_running("db")


def test_a_migration_that_fails_is_tried_again_after_a_while(stage: Stage) -> None:
    source = stage.running("db", eviction="LiveMigrate")["status"]["nodeName"]
    stage.orders.fails.add(stage.key("db"))
    stage.evict("db")
    stage.wait_phases("db", "Failed", "Pending")
    wait_until(lambda: "MigrationBackoff" in reasons(stage), 30, "KubeVirt says that it waits")
    assert stage.evacuation("db") == source

    stage.orders.fails.clear()
    stage.wait_phases("db", "Failed", "Succeeded")
    stage.wait_evacuation("db", "")
    failed, succeeded = stage.migrations("db")
    assert moment(succeeded, "Scheduling") - moment(failed, "Failed") >= 19  # of the 20 s there are, in whole ones


def reasons(stage: Stage) -> set[str]:
    return {event["reason"] for event in stage.events("db")}


def moment(migration: Object, phase: str) -> float:
    """When it came to this phase, in seconds."""
    rows = migration["status"]["phaseTransitionTimestamps"]
    (text,) = (row["phaseTransitionTimestamp"] for row in rows if row["phase"] == phase)
    return datetime.fromisoformat(text).timestamp()


def test_a_migration_that_finds_no_node_waits_and_its_pod_says_why(stage: Stage) -> None:
    stage.running("db", eviction="LiveMigrate")
    stage.orders.unplaced.add(stage.key("db"))
    stage.evict("db")
    stage.wait_phases("db", "Scheduling")
    wait_until(lambda: ("Pending", "Unschedulable") in why(stage), 30, "the migration's pod says that no node will do")


def why(stage: Stage) -> list[tuple[str, str]]:
    """The phase of each launcher pod, with the reasons of its conditions."""
    pods = [pod["status"] for pod in stage.pods("db")]
    return [(pod["phase"], row.get("reason", "")) for pod in pods for row in pod.get("conditions", [])]


def test_an_eviction_of_a_vm_that_others_move_is_a_request_and_nobody_acts(stage: Stage) -> None:
    source = stage.running("db", eviction="External")["status"]["nodeName"]
    assert stage.evict("db") == triggered(stage, "db")
    if EVICTION_REQUESTED.here:
        wait_until(lambda: requested(stage.vmi("db")), 30, "the VMI says that its eviction is requested")
    # KubeVirt looks at all requests at once: when it has moved this one, it has seen the other.
    stage.running("other", eviction="LiveMigrate")
    stage.evict("other")
    stage.wait_phases("other", "Succeeded")
    assert stage.evacuation("db") == source
    assert stage.migrations("db") == []
    again = Answer(429, triggered(stage, "db").message.replace("Eviction t", "Evacuation in progress: Eviction t"))
    assert stage.evict("db") == again


@needs(EVACUATE_CANCEL)
def test_a_request_is_cancelled_by_who_names_its_node(stage: Stage) -> None:
    source = stage.running("db", eviction="External")["status"]["nodeName"]
    stage.evict("db")
    assert stage.cancel_evacuation("db", "node99").code == 500
    assert stage.evacuation("db") == source
    assert stage.cancel_evacuation("db", source) == Answer()
    assert stage.evacuation("db") == ""


def test_a_vm_does_not_move_to_a_node_that_is_cordoned(stage: Stage) -> None:
    source = stage.running("db", eviction="LiveMigrate")["status"]["nodeName"]
    others = sorted({*NODES} - {source})
    stage.cordon(others[0])
    stage.evict("db")
    stage.wait_evacuation("db", "")
    assert stage.wait_running("db")["status"]["nodeName"] == others[1]


def test_a_node_that_is_dead_is_not_ready_until_it_is_back(stage: Stage) -> None:
    stage.orders.dead.add("node03")
    stage.wait_ready("node03", ready=False)
    stage.orders.dead.discard("node03")
    stage.wait_ready("node03", ready=True)


@needs(UUID_OF_ITS_OWN)
def test_vms_of_one_name_have_different_uuids(make_stage: MakeStage) -> None:
    found = {firmware(make_stage().vm("db", strategy="Halted")) for _ in range(2)}
    assert len(found) == 2
    assert all(uuid.UUID(each).version == 4 for each in found)


def firmware(vm: Object) -> str:
    return str(vm["spec"]["template"]["spec"]["domain"]["firmware"]["uuid"])


def test_a_namespace_goes_with_all_that_is_in_it(stage: Stage) -> None:
    stage.running("db", eviction="LiveMigrate")
    stage.clear()
    gone = stage.client.find
    wait_until(lambda: gone(NAMESPACES, None, stage.namespace) is None, 60, "the namespace is gone")


def test_without_virt_controller_a_request_waits_for_it(kubevirt: ControlPlane, stage: Stage) -> None:
    source = stage.running("db", eviction="LiveMigrate")["status"]["nodeName"]
    with kubevirt.without("virt-controller"):
        assert stage.evict("db") == triggered(stage, "db")
        assert (stage.evacuation("db"), stage.migrations("db")) == (source, [])
    stage.wait_phases("db", "Succeeded")


def test_without_virt_api_a_launcher_cannot_be_evicted(kubevirt: ControlPlane, stage: Stage) -> None:
    stage.running("db")
    with kubevirt.without("virt-api"):
        assert stage.evict("db").code == 500
    assert stage.act("db", "stop") == Answer()


def test_the_exporter_reads_it(kubevirt: ControlPlane, stage: Stage) -> None:
    grant(kubevirt.admin)
    stage.running("db")
    with Exporter(kubevirt.kubeconfig("steward-exporter")) as exporter:
        exporter.wait_ready()
        assert exporter.report()["unknown"] == []
        found = {each["reason"] for each in exporter.report(f"?namespace={stage.namespace}")["findings"]}
        assert found == (set() if UUID_OF_ITS_OWN.here else {"NotPersisted"})
