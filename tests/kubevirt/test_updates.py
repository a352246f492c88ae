"""Migrations by which KubeVirt puts VMs into launchers of its own release: they fail, or they succeed."""

from __future__ import annotations

from tests.cluster.exporter import Exporter
from tests.cluster.resources import VMIMS
from tests.kubevirt.migration_findings import MOVES, becomes, none_of, reasons
from tests.kubevirt.settings import Settings
from tests.kubevirt.stage import Answer, Stage
from tests.kubevirt.updates import outdate, outdated, plug_cpus, wait_applied
from tests.waiting import wait_until

TRIED_TWICE = 240  # seconds: KubeVirt looks for VMs to update twice a minute, and waits after a failure


def test_updates_that_fail_are_a_warning_and_the_others_are_not(
    stage: Stage, exporter: Exporter, patient: Exporter, settings: Settings
) -> None:
    for name in ("db", "web"):
        stage.running(name, **MOVES)
        outdate(stage, name)
    stage.orders.mismatches.add(stage.key("db"))
    settings.updates("LiveMigrate")
    wait_until(lambda: stage.phases("db")[:2] == ["Failed", "Failed"], TRIED_TWICE, "two updates of db have failed")
    finding = becomes(exporter, stage, "MigrationFailing", "warning")
    assert (finding["subject"]["name"], finding["evidence"]["failed"] >= 2) == ("db", True)
    assert finding["evidence"]["cause"] == "CPU"
    assert finding["message"].endswith(". A KubeVirt update waits for it.")
    assert "With its owner's consent, restart the VM" in finding["next"]
    wait_until(lambda: not outdated(stage, "web"), 60, "web is updated")
    stage.wait_phases("web", "Succeeded")
    becomes(patient, stage, "MigrationFailing", "warning")
    assert (reasons(patient, stage, "web"), set(reasons(patient, stage, "db"))) == ([], {"MigrationFailing"})

    met: dict[str, int] = {}

    def rests() -> bool:
        """KubeVirt waits before the next one, and nothing is overdue meanwhile. One that is under way can look so."""
        before, found = stage.phases("db"), set(reasons(exporter, stage, "db"))
        state = f"{' '.join(before)}: {' '.join(sorted(found))}"
        met[state] = met.get(state, 0) + 1
        return set(before) == {"Failed"} and "MigrationOverdue" not in found and stage.phases("db") == before

    try:
        wait_until(rests, TRIED_TWICE, "nothing is overdue between two of its updates")
    except TimeoutError as error:
        error.add_note(f"met: {met}")
        raise

    settings.updates()  # nobody waits any more, once the one that is under way has ended
    for each in stage.migrations("db"):
        if each["status"]["phase"] == "Pending":
            stage.client.delete(VMIMS, stage.namespace, each["metadata"]["name"])
    stage.orders.mismatches.clear()
    wait_until(lambda: set(stage.phases("db")) == {"Failed"}, 60, "no migration of db is under way")
    assert stage.act("db", "migrate") == Answer()
    none_of(exporter, stage, "migrations")
    assert not outdated(stage, "db")


def test_a_vm_that_was_only_plugged_into_is_waited_for_by_nobody(
    stage: Stage, exporter: Exporter, settings: Settings
) -> None:
    domain = {"devices": {}, "cpu": {"sockets": 1}, "memory": {"guest": "1Gi"}}
    stage.running("db", domain=domain, **MOVES)
    stage.orders.fails.add(stage.key("db"))
    settings.updates("LiveMigrate")
    plug_cpus(stage, "db", 2)
    wait_until(lambda: stage.phases("db")[:2] == ["Failed", "Failed"], TRIED_TWICE, "two migrations of db have failed")
    finding = becomes(exporter, stage, "MigrationFailing", "info")
    assert finding["evidence"]["madeFor"] == "a workload update"
    stage.orders.fails.clear()
    wait_applied(stage, "db", TRIED_TWICE)
    none_of(exporter, stage, "migrations")
