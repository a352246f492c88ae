"""Why migrations failed stays known though KubeVirt deletes them, and each failure counts once."""

from __future__ import annotations

from itertools import permutations

import pytest

from exporter.counts import migrations
from exporter.store.source import SyncState
from tests.failed_migrations import CPU, MIGRATION, STUCK, VMI, Fleet, failed, minute, status_of, vmi
from tests.rows import full


@pytest.fixture
def fleet() -> Fleet:
    made = Fleet()
    made.see(vmi())
    return made


# -- what is kept


def test_they_stay_known_when_kubevirt_has_deleted_the_migrations(fleet: Fleet) -> None:
    fleet.see(*(failed(f"m{at}", at, CPU if at % 2 else STUCK) for at in range(7)))
    fleet.gone(MIGRATION, *(f"m{at}" for at in range(7)))
    assert fleet.kept() == [(f"m{at}", "CPU" if at % 2 else "Timeout") for at in reversed(range(7))]
    (kept,) = fleet.report().vmis
    assert (kept.namespace, kept.name, kept.uid) == ("ns", "db", "u-db")
    first = kept.failures[0]
    assert (first.at, first.uid, first.migration, first.failure, first.text) == (
        minute(6),
        "m6",
        "m6",
        "Timeout",
        STUCK,
    )
    assert first.meaning == "the guest writes to its memory faster than it is copied"
    assert [each.lasting for each in kept.failures] == [False, True, False, True, False, True, False]


def test_of_one_vmi_the_last_ten_are_kept(fleet: Fleet) -> None:
    for at in range(25):
        fleet.see(failed(f"m{at}", at, CPU))
        fleet.gone(MIGRATION, f"m{at}")
    assert fleet.kept() == [(f"m{at}", "CPU") for at in range(24, 14, -1)]
    assert fleet.counted() == {"CPU": 25}


def test_there_is_an_end_to_what_is_kept_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "_OF_ALL", 4)
    fleet = Fleet()
    for at, name in enumerate(("a", "b", "c")):
        fleet.see(vmi(name), failed(f"m-{name}1", at, CPU, name), failed(f"m-{name}2", at, CPU, name))
    assert [len(fleet.kept(name)) for name in ("a", "b", "c")] == [0, 2, 2]
    assert fleet.report().dropped == 1
    fleet.see(failed("m-b3", 9, CPU, "b"))
    assert [len(fleet.kept(name)) for name in ("a", "b", "c")] == [0, 3, 0]
    assert fleet.counted() == {"CPU": 7}


def test_a_migration_that_succeeds_or_runs_is_no_failure(fleet: Fleet) -> None:
    for phase in (None, "Pending", "Running", "Succeeded"):
        fleet.see(failed("m1", 1, phase=phase))
    fleet.see(vmi(migration=status_of("m1", 1) | {"failed": False}))
    assert (fleet.kept(), fleet.counted(), fleet.failures.version) == ([], {}, 0)


def test_they_go_with_the_vmi(fleet: Fleet) -> None:
    fleet.see(failed("m1", 1, CPU), failed("m2", 2, CPU))
    fleet.gone(VMI, "db")
    assert (fleet.kept(), fleet.report().vmis) == ([], ())
    assert fleet.counted() == {"CPU": 2}


def test_the_next_vmi_of_the_name_begins_anew(fleet: Fleet) -> None:
    """Even where its deletion was missed. What failed before it was created is of the one before."""
    fleet.see(failed("m1", 1, CPU))
    fleet.see(vmi(uid="u-next", created=minute(5)))
    assert fleet.kept() == []
    fleet.see(failed("m6", 6, STUCK))
    assert fleet.kept() == [("m6", "Timeout")]
    assert [each.uid for each in fleet.report().vmis] == ["u-next"]


def test_whose_vmi_is_not_seen_is_counted_and_kept_once_it_is() -> None:
    fleet = Fleet()
    fleet.see(failed("m1", 1, CPU))
    assert (fleet.kept(), fleet.counted()) == ([], {"CPU": 1})
    fleet.see(vmi())
    assert (fleet.kept(), fleet.counted()) == ([("m1", "CPU")], {"CPU": 1})


def test_what_each_was_made_for(fleet: Fleet) -> None:
    fleet.see(failed("m1", 1, evacuates="node07"), failed("kubevirt-workload-update-x", 2), failed("m3", 3))
    (kept,) = fleet.report().vmis
    assert [each.made_for for each in kept.failures] == ["", "a workload update", "the evacuation of node node07"]


def test_the_vmi_that_failed_last_comes_first() -> None:
    fleet = Fleet()
    fleet.see(vmi("a"), vmi("b"), vmi("c"))
    fleet.see(failed("m2", 2, vmi="a"), failed("m3", 3, vmi="b"), failed("m1", 1, vmi="c"))
    assert [each.name for each in fleet.report().vmis] == ["b", "a", "c"]


def test_what_can_not_be_seen_is_said() -> None:
    fleet = Fleet(listed=False)
    assert fleet.report().unseen == (VMI, MIGRATION)
    fleet.evaluation.sync_state(VMI, SyncState.LIVE)
    fleet.evaluation.sync_state(MIGRATION, SyncState.FORBIDDEN)
    assert fleet.report().unseen == (MIGRATION,)


# -- whatever the order in which the two objects arrive


def test_any_order_of_what_says_the_same_of_one_failure_gives_the_same() -> None:
    """virt-handler writes it into the VMI's status; virt-controller ends the migration, then copies the text."""
    steps = {
        "status": lambda: vmi(migration=status_of("m1", 1, CPU)),
        "ended": lambda: failed("m1", 1),
        "copied": lambda: failed("m1", 1, CPU),
        "again": lambda: failed("m1", 1, CPU, rejected="migrationRejectedByResourceQuota"),
    }
    for order in permutations(steps):
        fleet = Fleet()
        fleet.see(vmi(), failed("m1", 1, phase="Running"))
        fleet.see(*(steps[each]() for each in order))
        assert (fleet.kept(), fleet.counted()) == ([("m1", "CPU")], {"CPU": 1}), order


def test_what_the_status_of_the_vmi_says_alone(fleet: Fleet) -> None:
    """Its migration was deleted before anybody saw it fail."""
    fleet.see(vmi(migration=status_of("m1", 1, CPU)))
    assert (fleet.kept(), fleet.counted()) == ([("", "CPU")], {"CPU": 1})
    fleet.see(vmi(migration=status_of("m2", 2, STUCK)))
    assert (fleet.kept(), fleet.counted()) == ([("", "Timeout"), ("", "CPU")], {"CPU": 1, "Timeout": 1})


def test_the_status_goes_on_to_the_next_migration_and_the_text_stays(fleet: Fleet) -> None:
    fleet.see(failed("m1", 1), vmi(migration=status_of("m1", 1, CPU)))
    fleet.see(vmi(migration={"migrationUid": "m2", "startTimestamp": minute(2)}), failed("m2", 2, STUCK))
    assert fleet.kept() == [("m2", "Timeout"), ("m1", "CPU")]
    assert [each.text for each in fleet.failures.of("ns", "db")] == [STUCK, CPU]


def test_a_failure_in_the_status_takes_the_name_of_a_migration_that_has_not_ended(fleet: Fleet) -> None:
    fleet.see(failed("m1", 1, phase="Running", evacuates="node01"), vmi(migration=status_of("m1", 3, CPU)))
    (kept,) = fleet.failures.of("ns", "db")
    assert (kept.migration, kept.made_for) == ("m1", "the evacuation of node node01")
    fleet.gone(MIGRATION, "m1")
    fleet.see(vmi(migration=status_of("m1", 4, CPU)))
    assert fleet.failures.of("ns", "db") == (kept,)


def test_what_is_known_already_changes_nothing(fleet: Fleet) -> None:
    fleet.see(failed("m1", 1, CPU))
    version = fleet.failures.version
    fleet.see(failed("m1", 1, CPU, rejected="migrationRejectedByResourceQuota"), vmi(migration=status_of("m1", 2, CPU)))
    assert fleet.failures.version == version
    fleet.see(failed("m2", 2))
    assert fleet.failures.version > version


def test_a_status_that_names_no_migration_says_nothing(fleet: Fleet) -> None:
    fleet.see(vmi(migration=status_of("", 1, CPU)))
    assert (fleet.kept(), fleet.counted()) == ([], {})


def test_one_that_is_deleted_before_it_runs_was_aborted(fleet: Fleet) -> None:
    fleet.see(failed("m1", 1, deleting=True, phaseSince="2026-06-03T16:20:01Z"))
    fleet.gone(MIGRATION, "m1")
    assert (fleet.kept(), fleet.counted()) == ([("m1", "Aborted")], {"Aborted": 1})


def test_one_that_is_deleted_long_after_it_failed_was_not(fleet: Fleet) -> None:
    fleet.see(failed("m1", 1), failed("m1", 1, deleting=True))
    assert fleet.kept() == [("m1", "Other")]


def test_times_are_those_of_the_objects(fleet: Fleet) -> None:
    fleet.evaluation.now = 0.0
    fleet.seconds = 1e9
    fleet.see(failed("late", 9), failed("early", 3, created="2099-01-01T00:00:00Z"))
    assert fleet.kept() == [("late", "Other"), ("early", "Other")]


# -- what is counted


def test_a_failure_without_a_text_is_other_when_none_has_come_for_a_minute(fleet: Fleet) -> None:
    fleet.see(failed("m1", 1), failed("m2", 2))
    fleet.seconds = 59.0
    assert fleet.counted() == {}
    fleet.see(failed("m2", 2, STUCK))
    assert fleet.counted() == {"Timeout": 1}
    fleet.seconds = 60.0
    assert fleet.counted() == {"Timeout": 1, "Other": 1}
    fleet.see(failed("m1", 1, CPU))  # far too late to count it otherwise: a counter never goes back
    assert fleet.counted() == {"Timeout": 1, "Other": 1}
    assert fleet.kept() == [("m2", "Timeout"), ("m1", "CPU")]


def test_a_text_that_is_of_no_class_counts_at_once(fleet: Fleet) -> None:
    fleet.see(failed("m1", 1, "something else"))
    assert fleet.counted() == {"Other": 1}


def test_every_class_is_there_at_0() -> None:
    classes = ("SameHost", "CPU", "DeviceState", "Timeout", "Disk", "Memory", "Connection", "Aborted", "Other")
    assert Fleet().failures.by_class() == dict.fromkeys(classes, 0)


async def test_a_relist_counts_what_failed_meanwhile_and_nothing_twice(fleet: Fleet) -> None:
    fleet.see(failed("m1", 1, CPU))
    fleet.objects[MIGRATION, "ns", "m2"] = failed("m2", 2, CPU)
    await fleet.relist(MIGRATION, VMI, MIGRATION)
    assert (fleet.kept(), fleet.counted()) == ([("m2", "CPU"), ("m1", "CPU")], {"CPU": 2})


async def test_a_server_that_was_restored_from_a_backup_counts_nothing_twice(fleet: Fleet) -> None:
    """Its objects are older than those that were held, which are forgotten first."""
    for each in (vmi(), failed("m1", 1, CPU)):
        each["metadata"]["resourceVersion"] = "900"
        fleet.see(each)
    for each in fleet.objects.values():
        each["metadata"]["resourceVersion"] = "3"
    await fleet.relist(MIGRATION, VMI)
    assert (fleet.kept(), fleet.counted()) == ([("m1", "CPU")], {"CPU": 1})


async def test_nor_does_a_kind_that_was_not_served_for_a_while(fleet: Fleet) -> None:
    fleet.see(*(failed(f"m{at}", at, CPU) for at in range(5)))
    fleet.evaluation.sync_state(MIGRATION, SyncState.ABSENT)
    await fleet.relist(MIGRATION)
    assert fleet.counted() == {"CPU": 5}
    fleet.see(failed("m9", 9, CPU))
    assert fleet.counted() == {"CPU": 6}


async def test_the_uids_that_are_known_have_an_end(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "_KNOWN", 3)
    for at in range(9):
        fleet.see(failed(f"m{at}", at, CPU))
    assert len(fleet.failures._counts._known) == 3
    assert fleet.counted() == {"CPU": 9}


# -- a restart


@pytest.mark.parametrize("order", [(VMI, MIGRATION), (MIGRATION, VMI)])
async def test_after_a_restart_it_is_what_the_objects_show_and_counts_from_0(
    fleet: Fleet, order: tuple[str, str]
) -> None:
    fleet.see(*(failed(f"m{at}", at, CPU) for at in range(7)))
    fleet.gone(MIGRATION, "m0", "m1")
    fleet.see(vmi(migration=status_of("m9", 9, STUCK)))
    again = await fleet.restarted(*order)
    assert fleet.kept() == [("", "Timeout"), *((f"m{at}", "CPU") for at in range(6, -1, -1))]
    assert again.kept() == [("", "Timeout"), *((f"m{at}", "CPU") for at in range(6, 1, -1))]
    assert (fleet.counted(), again.counted()) == ({"CPU": 7, "Timeout": 1}, {})

    again.see(failed("m10", 10, STUCK), failed("m9", 9, STUCK))
    assert again.kept()[:2] == [("m10", "Timeout"), ("m9", "Timeout")]
    assert again.counted() == {"Timeout": 1}


async def test_what_fails_between_the_first_lists_of_the_two_kinds_counts(fleet: Fleet) -> None:
    fleet.see(failed("m1", 1, CPU))
    started = Fleet(listed=False)
    started.objects = dict(fleet.objects)
    await started.relist(MIGRATION)
    started.see(failed("m2", 2, STUCK))
    await started.relist(VMI)
    assert started.kept() == [("m2", "Timeout"), ("m1", "CPU")]
    assert started.counted() == {"Timeout": 1}


async def test_what_is_there_when_it_begins_to_look_was_there_before(fleet: Fleet) -> None:
    fleet.see(failed("m1", 1, CPU))
    engine = fleet.evaluation.engine
    fleet.failures = migrations.MigrationFailures(engine.cluster, lambda: 0.0)
    engine.observe(fleet.failures.changed)
    assert (fleet.kept(), fleet.counted()) == ([("m1", "CPU")], {})
    fleet.see(failed("m1", 1, STUCK), failed("m2", 2, CPU))
    assert (fleet.kept(), fleet.counted()) == ([("m2", "CPU"), ("m1", "Timeout")], {"CPU": 1})


# -- what it costs


def test_what_is_no_failure_looks_nothing_up(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("looked up")

    monkeypatch.setattr(migrations, "failures_shown", refuse)
    fleet.see(failed("m1", 1, phase="Running"), failed("m2", 2, phase="Succeeded"))
    fleet.see(vmi(node="node02"), vmi(migration={"migrationUid": "m1", "startTimestamp": minute(1)}))
    fleet.see(full({"kind": VMI, "name": "web", "namespace": "other"}))
    fleet.gone(MIGRATION, "m1", "m2")
    with pytest.raises(AssertionError, match="looked up"):
        fleet.see(failed("m3", 3))
